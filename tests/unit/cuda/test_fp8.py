"""The functions of ``cuda.fp8``; the types are tested with the other small floats."""

from enum import IntEnum

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.core import dtypes
from pygpulib.cuda import fp8
from pygpulib.cuda.fp8 import fp8_interpretation_t, saturation_t
from tests.helpers.small_floats import nearest

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Rounding(IntEnum):
    """As CUDA's enumeration."""

    ZERO = 1
    UP = 2


NUMBERS = np.array(
    [0.0, -0.0, 1.0, 0.3, -7.7, 447, 448, 463.9, 464, 464.1, -480, 57344, 61439, 61440, -7e4,
     1e30, np.inf, -np.inf, np.nan, 2.0**-9, 2.0**-10, 2.0**-17, 1e-30, 2.0**127]
)  # fmt: skip


def convert(function, x, *options):
    out = np.zeros(len(x), np.uint8)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i], *options)

    kernel[1, 64](x, out)
    return out


FORMATS = {
    fp8_interpretation_t.E4M3: (dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fn),
    fp8_interpretation_t.E5M2: (dtypes.float8_e5m2, ml_dtypes.float8_e5m2),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("function", "dtype"),
    [(fp8.cvt_double_to_fp8, np.float64), (fp8.cvt_float_to_fp8, np.float32)],
)
def test_bits_of_numbers(function, dtype, form):
    row, numpy_type = FORMATS[form]
    x = NUMBERS.astype(dtype)
    found = convert(function, x, saturation_t.SATFINITE, form)
    expected = np.array([nearest(number, row) for number in x.tolist()])
    np.testing.assert_array_equal(found.view(numpy_type).astype(float), expected)
    # Without saturation it is what ml_dtypes does.
    found = convert(function, x, saturation_t.NOSAT, form)
    expected = x.astype(np.float32).astype(numpy_type)
    np.testing.assert_array_equal(found.view(numpy_type).astype(float), expected.astype(float))


def test_bits_of_powers_of_two():
    x = np.array([1.0, 1.5, -3.0, 0.0, 2.0**127, 2.0**127 * 1.5, np.inf, np.nan, 1e-45])
    up = [127, 128, 129, 0, 254, 254, 254, 255, 0]
    down = [127, 127, 128, 0, 254, 254, 254, 255, 0]
    for function, source in (
        (fp8.cvt_double_to_e8m0, np.float64),
        (fp8.cvt_float_to_e8m0, np.float32),
    ):
        column = x.astype(source)
        for rounding, expected in ((Rounding.UP, up), (Rounding.ZERO, down)):
            found = convert(function, column, saturation_t.SATFINITE, rounding)
            assert found.tolist() == expected
            beyond = [5, 6] if rounding is Rounding.UP else [6]
            found = convert(function, column, saturation_t.NOSAT, rounding)
            assert found.tolist() == [255 if at in beyond else n for at, n in enumerate(expected)]


def test_bits_of_bfloat16():
    codes = np.arange(256).astype(np.uint8)
    words, back, small = np.zeros(256, np.uint16), np.zeros(256, np.uint8), np.zeros(256, np.uint8)

    @cuda.jit
    def kernel(codes, words, back, small):
        i = cuda.grid(1)
        raw = fp8.cvt_e8m0_to_bf16raw(codes[i])
        words[i] = raw.x
        back[i] = fp8.cvt_bfloat16raw_to_e8m0(raw, saturation_t.NOSAT, Rounding.UP)
        small[i] = fp8.cvt_bfloat16raw_to_fp8(
            raw, saturation_t.SATFINITE, fp8_interpretation_t.E5M2
        )

    kernel[4, 64](codes, words, back, small)
    powers = codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    np.testing.assert_array_equal(words.view(ml_dtypes.bfloat16).astype(np.float32), powers)
    assert back.tolist() == codes.tolist()
    expected = [nearest(number, dtypes.float8_e5m2) for number in powers.tolist()]
    np.testing.assert_array_equal(small.view(ml_dtypes.float8_e5m2).astype(float), expected)


def test_names():
    assert fp8.fp8_e4m3 is types.float8_e4m3fn
    assert fp8.fp8_e4m3.__name__ == "float8_e4m3fn"
    assert cuda.fp8 is fp8
