"""Special functions of the device library against exact arithmetic, on processors and as PTX."""

import mpmath as mp
import numpy as np
import pytest

from pygpulib.cuda import libdevice
from pygpulib.jit.intrinsics.device_catalogue import FUNCTIONS
from tests.helpers import native
from tests.helpers.cuda_programs import compile_prepared, run_cuda
from tests.helpers.elementwise import kernel_for
from tests.helpers.library_columns import is_same
from tests.helpers.packages import needs_vendor_packages
from tests.helpers.ulps import error_in_ulps

DIGITS = 50
DTYPES = {"": np.float64, "f": np.float32}


def inverse_erfc(p):
    if p > 1e-3:
        return mp.erfinv(1 - p)
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(p), mp.sqrt(-mp.log(p)))


def scaled_erfc(x):
    if x > 1e6:
        return (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


EXACT = {
    "erfcx": scaled_erfc,
    "erfinv": mp.erfinv,
    "erfcinv": inverse_erfc,
    "normcdf": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
    "normcdfinv": lambda p: -mp.sqrt(2) * inverse_erfc(2 * p),
}
# What the GPU's functions keep to, in units in the last place, by precision.
ON_GPUS = {
    "erfcx": (4, 6),
    "erfinv": (5, 4),
    "erfcinv": (6, 4),
    "normcdf": (5, 5),
    "normcdfinv": (8, 5),
}


def arguments(name, dtype):
    rng = np.random.default_rng(7)
    tiny = 10.0 ** rng.uniform(-300 if dtype is np.float64 else -36, -1, 60)
    edge = 10.0 ** rng.uniform(-15 if dtype is np.float64 else -6, -1, 40)
    low = -26 if dtype is np.float64 else -9
    found = {
        "erfcx": [rng.uniform(low, 1, 150), rng.uniform(0, 60, 100), 1 / tiny],
        "erfinv": [rng.uniform(-1, 1, 200), tiny, 1 - edge],
        "erfcinv": [rng.uniform(0, 2, 200), tiny, 1 + edge, 1 - edge],
        "normcdf": [rng.uniform(1.4 * low, 6, 200), rng.uniform(-1, 1, 100)],
        "normcdfinv": [rng.uniform(0, 1, 200), tiny],
    }[name]
    return np.concatenate(found).astype(dtype)


def worst(name, x, out):
    with mp.workdps(DIGITS):
        errors = [
            (error_in_ulps(found, EXACT[name](mp.mpf(float(value)))), value)
            for value, found in zip(x, out, strict=True)
        ]
    return max(errors)


@pytest.mark.cpu_only("GPUs have the library's own functions, which promise less")
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_processors_keep_to_the_promised_error(name, suffix):
    x = arguments(name, DTYPES[suffix])
    out = np.zeros_like(x)
    native.over(getattr(libdevice, name + suffix), (x,), out)
    row, _ = FUNCTIONS[name + suffix]
    error, value = worst(name, x, out)
    assert error <= row.ulp, (value, error)


@needs_vendor_packages
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_gpus_keep_to_their_error(name, suffix):
    x = np.random.default_rng(0).permutation(arguments(name, DTYPES[suffix]))[:64]
    out = np.zeros_like(x)
    kernel = kernel_for(getattr(libdevice, name + suffix), 1)
    run_cuda(compile_prepared(kernel, x, out), 2, 32, (x, out))
    error, value = worst(name, x, out)
    assert error <= ON_GPUS[name][suffix == "f"], (value, error)


EDGES = {
    "erfcx": {np.inf: 0.0, -np.inf: np.inf, 0.0: 1.0, -30.0: np.inf, np.nan: np.nan},
    "erfinv": {1.0: np.inf, -1.0: -np.inf, -0.0: -0.0, 1.5: np.nan, -np.inf: np.nan},
    "erfcinv": {0.0: np.inf, 2.0: -np.inf, 1.0: 0.0, -0.5: np.nan, 2.5: np.nan, np.nan: np.nan},
    "normcdf": {np.inf: 1.0, -np.inf: 0.0, 0.0: 0.5, 50.0: 1.0, -50.0: 0.0, np.nan: np.nan},
    "normcdfinv": {0.0: -np.inf, 1.0: np.inf, 0.5: 0.0, 1.5: np.nan, -1.0: np.nan, np.nan: np.nan},
}


@needs_vendor_packages
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", EDGES)
def test_special_arguments_are_the_same_everywhere(name, suffix):
    x = np.array([*EDGES[name]], DTYPES[suffix])
    for on_gpu in (False, True):
        out = np.zeros_like(x)
        function = getattr(libdevice, name + suffix)
        if on_gpu:
            kernel = kernel_for(function, 1)
            run_cuda(compile_prepared(kernel, x, out), 1, len(x), (x, out))
        else:
            native.over(function, (x,), out)
        for value, found, expected in zip(x, out, EDGES[name].values(), strict=True):
            assert is_same(found, expected), (on_gpu, value, found)


# ----------------------------------------------------------------------------- Bessel functions

BESSEL = {
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
}


def is_near(dtype, x, found, exact):
    """Return whether a value is as good as the documentation says."""
    limit = 5e-12 if dtype is np.float64 else 2.2e-6
    slack = 16 * float(np.finfo(dtype).eps)
    return abs(found - exact) <= (limit if x > 8 else slack * max(abs(exact), 0.5))


@pytest.mark.parametrize("on_gpu", [False, pytest.param(True, marks=needs_vendor_packages)])
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", [*BESSEL, "jn", "yn"])
def test_bessel_functions(name, suffix, on_gpu):
    dtype = DTYPES[suffix]
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(0.5, 8, 40), rng.uniform(8, 1000, 24)]).astype(dtype)
    orders = rng.integers(0, 4, 64).astype(np.int32)
    columns = (orders, x) if name in ("jn", "yn") else (x,)
    out = np.zeros_like(x)
    function = getattr(libdevice, name + suffix)
    if on_gpu:
        kernel = kernel_for(function, len(columns))
        run_cuda(compile_prepared(kernel, *columns, out), 2, 32, (*columns, out))
    else:
        native.over(function, columns, out)
    for order, value, found in zip(orders, map(float, x), map(float, out), strict=True):
        exact = {"jn": mp.besselj, "yn": mp.bessely}.get(name)
        expected = float(exact(int(order), value) if exact else BESSEL[name](value))
        assert is_near(dtype, value, found, expected), (order, value, found, expected)


def test_negative_orders_are_no_numbers():
    orders, x, out = np.array([-1, 0, 2], np.int32), np.full(3, 1.5), np.zeros(3)
    for name in ("jn", "yn"):
        native.over(getattr(libdevice, name), (orders, x), out)
        assert np.isnan(out).tolist() == [True, False, False]


# ------------------------------------------------------------------------------ fast functions

FAST = {
    "cos": (np.cos, -3, 3, 1e-6),
    "exp": (np.exp, -5, 5, 1e-4),
    "exp10": (lambda x: 10**x, -3, 3, 1e-4),
    "log": (np.log, 3, 50, 1e-6),
    "log10": (np.log10, 3, 50, 1e-6),
    "log2": (np.log2, 3, 50, 1e-6),
    "sin": (np.sin, -3, 3, 1e-6),
    "tan": (np.tan, -1.2, 1.2, 1e-5),
}


@pytest.mark.parametrize("on_gpu", [False, pytest.param(True, marks=needs_vendor_packages)])
@pytest.mark.parametrize("name", [*FAST, "pow", "fdivide"])
def test_fast_functions(name, on_gpu):
    rng = np.random.default_rng(6)
    reference, low, high, tolerance = FAST.get(name, (np.power, 0.5, 3, 1e-5))
    x = rng.uniform(low, high, 64).astype(np.float32)
    y = rng.uniform(1, 4, 64).astype(np.float32)
    columns = (x,) if name in FAST else (x, y)
    if name == "fdivide":
        reference = np.divide
    out = np.zeros_like(x)
    function = getattr(libdevice, f"fast_{name}f")
    if on_gpu:
        kernel = kernel_for(function, len(columns))
        prepared = compile_prepared(kernel, *columns, out)
        run_cuda(prepared, 2, 32, (*columns, out))
    else:
        native.over(function, columns, out)
    expected = reference(*(column.astype(np.float64) for column in columns))
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
