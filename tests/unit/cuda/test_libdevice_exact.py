"""Functions whose results are exact or correctly rounded, against integers and fractions."""

import ctypes
import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.cuda import libdevice
from pygpulib.jit.intrinsics.device_catalogue import FUNCTIONS
from pygpulib.jit.intrinsics.exact_rounding import rounded
from tests.helpers import native
from tests.helpers.cuda_programs import compile_prepared, run_both, run_cuda
from tests.helpers.elementwise import kernel_for
from tests.helpers.library_columns import columns, is_same
from tests.helpers.packages import needs_vendor_packages

NAMES = [name for name, (row, _) in FUNCTIONS.items() if row.ulp == 0]
ROWS = 300


@pytest.mark.parametrize("name", NAMES)
def test_processors_give_the_exact_result(name):
    row, reference = FUNCTIONS[name]
    operands = columns(row, ROWS)
    out = np.zeros(ROWS, row.result.numpy)
    native.over(getattr(libdevice, name), operands, out)
    for found, *numbers in zip(out, *operands, strict=True):
        expected = reference(*numbers)
        assert is_same(found, expected), (numbers, found, expected)


@needs_vendor_packages
@pytest.mark.parametrize("name", NAMES)
def test_the_library_gives_the_exact_result(name):
    row, _ = FUNCTIONS[name]
    operands = columns(row, 64, seed=1)
    kernel = kernel_for(getattr(libdevice, name), len(operands))
    run_both(kernel, 2, 32, *operands, np.zeros(64, row.result.numpy))


DIRECTIONS = ("rn", "rd", "ru", "rz")


@pytest.mark.parametrize("mode", DIRECTIONS)
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fractions_round_as_they_should(operation, mode, dtype):
    row, _ = FUNCTIONS["dadd_rn" if dtype is np.float64 else "fadd_rn"]
    x, y = columns(row, ROWS, seed=2)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[operation]
    with np.errstate(all="ignore"):
        nearest = function(x, y)
    found = np.array([rounded(operation, mode, a, b) for a, b in zip(x, y, strict=True)])
    assert found.dtype == dtype
    with np.errstate(all="ignore"):
        below = np.nextafter(nearest, dtype(-math.inf))
        above = np.nextafter(nearest, dtype(math.inf))
    for lower, near, upper, value in zip(below, nearest, above, found, strict=True):
        allowed = {"rn": (near,), "rd": (lower, near), "ru": (near, upper)}.get(
            mode, (lower, near, upper)
        )
        assert any(value == one or (value != value and near != near) for one in allowed)


def test_directions_enclose_the_exact_result():
    third = [rounded("div", mode, np.float64(1), np.float64(3)) for mode in DIRECTIONS]
    assert [value.hex() for value in third] == [
        "0x1.5555555555555p-2",
        "0x1.5555555555555p-2",
        "0x1.5555555555556p-2",
        "0x1.5555555555555p-2",
    ]
    assert rounded("add", "ru", np.float32(1), np.float32(1e-30)) == np.float32(1.0000001)
    assert rounded("mul", "rz", np.float64(1e200), np.float64(1e200)) == np.finfo(float).max
    assert rounded("mul", "ru", np.float64(1e-200), np.float64(1e-200)) == 5e-324
    assert np.signbit(rounded("add", "rd", np.float64(1), np.float64(-1)))
    assert rounded("sqrt", "rd", np.float64(2)) ** 2 < 2 < rounded("sqrt", "ru", np.float64(2)) ** 2


# ---------------------------------------------------------------------- several results, halves


@pytest.mark.parametrize(("suffix", "dtype"), [("", np.float64), ("f", np.float32)])
def test_remainders_and_quotients(suffix, dtype):
    function = ctypes.CDLL(None).remquo
    function.restype = ctypes.c_double
    row, _ = FUNCTIONS["dadd_rn" if dtype is np.float64 else "fadd_rn"]
    x, y = columns(row, ROWS, seed=3)
    y[::3] = x[::3] / dtype(7.3)
    rest, quotient = np.zeros(ROWS, dtype), np.zeros(ROWS, np.int32)
    native.over(getattr(libdevice, f"remquo{suffix}"), (x, y), rest, quotient)
    for found, last, a, b in zip(rest, quotient, x, y, strict=True):
        whole = ctypes.c_int(0)
        expected = function(ctypes.c_double(a), ctypes.c_double(b), ctypes.byref(whole))
        assert is_same(found, dtype(expected)), (a, b)
        if math.isfinite(a) and math.isfinite(b) and b != 0:
            sign = -1 if whole.value < 0 else 1
            assert last == sign * (abs(whole.value) & 7), (a, b)


@needs_vendor_packages
@pytest.mark.parametrize(("suffix", "dtype"), [("", np.float64), ("f", np.float32)])
def test_remainders_and_quotients_on_gpus(suffix, dtype):
    row, _ = FUNCTIONS["dadd_rn" if dtype is np.float64 else "fadd_rn"]
    x, y = columns(row, 64, seed=4)
    y[::3] = x[::3] / dtype(7.3)
    kernel = kernel_for(getattr(libdevice, f"remquo{suffix}"), 2, 2)
    run_both(kernel, 2, 32, x, y, np.zeros(64, dtype), np.zeros(64, np.int32))


def test_sines_and_cosines_of_half_turns():
    x = np.array([0.0, 0.25, 0.5, 1.0, 1.5, -0.25])
    sine, cosine = np.zeros_like(x), np.zeros_like(x)
    native.over(libdevice.sincospi, (x,), sine, cosine)
    np.testing.assert_allclose(sine, np.sin(np.pi * x), atol=1e-15)
    np.testing.assert_allclose(cosine, np.cos(np.pi * x), atol=1e-15)
    assert cosine[2] == 0
    single = [np.zeros(6, np.float32), np.zeros(6, np.float32)]
    native.over(libdevice.sincospif, (x,), *single)
    np.testing.assert_array_equal(single, np.float32([sine, cosine]))
    native.over(libdevice.fast_sincosf, (x,), *single)
    np.testing.assert_allclose(single, [np.sin(x), np.cos(x)], rtol=1e-6)


def test_halves():
    numbers = np.arange(-(2**15), 2**15).astype(np.int16)
    values = np.zeros(len(numbers), np.float32)
    native.over(libdevice.half2float, (numbers,), values)
    np.testing.assert_array_equal(values, numbers.view(np.float16).astype(np.float32))
    rng = np.random.default_rng(0)
    values = np.float32(2.0 ** rng.uniform(-28, 17, 1000) * rng.choice([-1, 1], 1000))
    found = np.zeros(1000, np.int16)
    native.over(libdevice.float2half_rn, (values,), found)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, values.astype(np.float16).view(np.int16))


@needs_vendor_packages
@pytest.mark.parametrize("name", ["half2float", "float2half_rn"])
def test_halves_on_gpus(name):
    numbers = (np.arange(-64, 64) * 300).astype(np.int16)
    values = np.arange(-64, 64).astype(np.float32) * np.float32(0.37)
    given, out = (numbers, values) if name == "half2float" else (values, numbers)
    run_cuda(
        compile_prepared(kernel_for(getattr(libdevice, name), 1), given, out), 4, 32, (given, out)
    )
    halves, singles = numbers.view(np.float16), values
    if name == "half2float":
        np.testing.assert_array_equal(singles, halves.astype(np.float32))
    else:
        np.testing.assert_array_equal(halves, singles.astype(np.float16))


def test_integers_are_seen_with_the_sign_of_the_function():
    @cuda.jit
    def kernel(out):
        out[0] = libdevice.umulhi(-1, -1)
        out[1] = libdevice.mulhi(-1, -1)
        out[2] = libdevice.byte_perm(0x33221100, 0x77665544, 0x7531)
        out[3] = libdevice.uint2double_rn(-1)
        out[4] = libdevice.double2uint_rn(-3.0)
        out[5] = libdevice.hiloint2double(0x3FF80000, 0) * 2

    out = np.zeros(6, np.int64)
    kernel[1, 1](out)
    assert out.tolist() == [2**32 - 2, 0, 0x77553311, 2**32 - 1, 0, 3]
