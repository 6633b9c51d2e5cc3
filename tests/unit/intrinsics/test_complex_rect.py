import cmath
import itertools
import math

import numpy as np

from pygpulib import cuda

VALUES = [0.0, -0.0, 1.0, -2.5, 1e-310, 700.0, math.inf, -math.inf, math.nan]


def test_signs_of_zero_are_those_of_python():
    pairs = [
        (r, phi)
        for r, phi in itertools.product(VALUES, repeat=2)
        # Elsewhere Python raises, or the sign of a NaN's zero is nobody's business.
        if not math.isnan(r) and (math.isfinite(phi) or r == 0)
    ]

    @cuda.jit
    def kernel(r, phi, out):
        i = cuda.grid(1)
        if i < r.size:
            out[i] = cmath.rect(r[i], phi[i])

    r, phi = np.array(pairs).T.copy()
    out = np.zeros(len(pairs), complex)
    kernel[2, 64](r, phi, out)
    for (radius, angle), found in zip(pairs, out, strict=True):
        try:
            expected = cmath.rect(radius, angle)
        except ValueError:
            continue
        for one, other in [(found.real, expected.real), (found.imag, expected.imag)]:
            if math.isnan(other):
                assert math.isnan(one), (radius, angle)
            else:
                assert math.isclose(one, other, rel_tol=1e-14), (radius, angle)
                assert math.copysign(1, one) == math.copysign(1, other), (radius, angle)
