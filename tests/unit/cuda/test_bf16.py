"""The functions of ``cuda.bf16``."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.core.dtypes import bfloat16 as row
from pygpulib.cuda import bf16
from tests.helpers.small_floats import magnitudes, nearest

BF16 = ml_dtypes.bfloat16
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-40, 3.3e38, np.inf, -np.inf, np.nan]
NUMBERS = np.array([*SPECIAL, *np.random.default_rng(16).normal(scale=8, size=40)], BF16)
PAIRS = np.array(np.meshgrid(NUMBERS, NUMBERS)).reshape(2, -1)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def apply(function, *columns, dtype=BF16):
    """Return what a function of the module gives for each element."""
    out = np.zeros(len(columns[0]), dtype)

    @cuda.jit
    def one(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i])

    @cuda.jit
    def two(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i], y[i])

    @cuda.jit
    def three(x, y, z, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i], y[i], z[i])

    kernel = (one, two, three)[len(columns) - 1]
    kernel[(len(out) + 63) // 64, 64](*columns, out)
    return out


def same(found, expected):
    a, b = found.astype(float), np.asarray(expected).astype(float)
    np.testing.assert_array_equal(a, b)
    numbers = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers])


BINARY = {
    "hadd": np.add,
    "hadd_rn": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "heq": np.equal,
    "hne": lambda x, y: (x < y) | (x > y),
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
    "hequ": lambda x, y: ~((x < y) | (x > y)),
    "hneu": np.not_equal,
    "hgeu": lambda x, y: ~(x < y),
    "hgtu": lambda x, y: ~(x <= y),
    "hleu": lambda x, y: ~(x > y),
    "hltu": lambda x, y: ~(x >= y),
    "hadd_sat": lambda x, y: np.nan_to_num(np.clip(x + y, 0, 1).astype("f4")),
    "hsub_sat": lambda x, y: np.nan_to_num(np.clip(x - y, 0, 1).astype("f4")),
    "hmul_sat": lambda x, y: np.nan_to_num(np.clip(x * y, 0, 1).astype("f4")),
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    x, y = PAIRS
    expected = BINARY[name](x, y)
    if name.endswith("_sat"):
        expected = np.where(expected == 0, 0.0, expected)  # NumPy's may be a negative zero
    found = apply(getattr(bf16, name), x, y, dtype=expected.dtype)
    same(np.abs(found) if name.endswith("_sat") else found, expected)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("hmax", np.fmax), ("hmin", np.fmin), ("hmax_nan", np.maximum), ("hmin_nan", np.minimum)],
)
def test_extremes(name, reference):
    x, y = PAIRS
    found, expected = apply(getattr(bf16, name), x, y), reference(x.astype("f4"), y.astype("f4"))
    np.testing.assert_array_equal(found.astype("f4"), expected)


UNARY = {
    "habs": np.abs,
    "hneg": np.negative,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "hsqrt": np.sqrt,
    "hrcp": lambda x: 1 / x,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: 10.0**x,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hsin": np.sin,
    "hcos": np.cos,
    "htanh": np.tanh,
    "htanh_approx": np.tanh,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    expected = [nearest(float(UNARY[name](np.float64(x))), row) for x in NUMBERS.astype(float)]
    same(apply(getattr(bf16, name), NUMBERS), expected)


def test_questions():
    same(apply(bf16.hisnan, NUMBERS, dtype=bool), np.isnan(NUMBERS))
    expected = np.where(np.isinf(NUMBERS), np.sign(NUMBERS.astype(float)), 0)
    assert apply(bf16.hisinf, NUMBERS, dtype=int).tolist() == expected.astype(int).tolist()


def test_fused_multiply_and_add_rounds_once():
    x, y = PAIRS
    z = np.roll(x, 7)
    # A tie that only the addend decides, far below what a float64 holds beside it.
    tie = np.array([1.0, 1.0, 1 + 2.0**-7], BF16), np.array([1.0, 1 + 2.0**-7, 0.5], BF16)
    x, y = np.concatenate([x, tie[1], tie[1]]), np.concatenate([y, tie[0] * BF16(0.5), tie[1]])
    z = np.concatenate([z, np.array([2.0**-90, -(2.0**-90), 2.0**-120] * 2, BF16)])
    found = apply(bf16.hfma, x, y, z)
    expected = [
        exact_fma(*numbers) for numbers in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    ]
    same(np.abs(found), np.abs(expected))
    relu = apply(bf16.hfma_relu, x, y, z).astype(float)
    np.testing.assert_array_equal(relu, np.where(np.array(expected) < 0, 0, expected))
    unit = apply(bf16.hfma_sat, x, y, z).astype(float)
    np.testing.assert_array_equal(unit, np.nan_to_num(np.clip(expected, 0, 1)))


def exact_fma(x, y, z):
    """Return ``x * y + z`` in bfloat16, by fractions."""
    if not all(map(math.isfinite, (x, y, z))):
        return float(np.float64(x) * np.float64(y) + np.float64(z))
    return nearest(Fraction(x) * Fraction(y) + Fraction(z), row)


INTEGERS = ["int16", "uint16", "int32", "uint32", "int64", "uint64"]


def directed(number, mode):
    """Return the bfloat16 next to a number in a direction."""
    near = nearest(number, row)
    known = [-x for x in magnitudes(row)[:0:-1]] + magnitudes(row)
    known = [-math.inf, *known, math.inf]
    is_up = mode == "ru" or (mode == "rz" and number < 0)
    if mode == "rn" or near == number or number != number:
        return near
    below = [x for x in known if x <= number][-1]
    above = next(x for x in known if x >= number)
    return above if is_up else below


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("source", [*INTEGERS, "float32"])
def test_numbers_are_rounded_in_a_direction(source, mode):
    rng = np.random.default_rng(17)
    if source == "float32":
        x = np.array([1.5, 0.1, -0.1, 3.4e38, -3.4e38, 1e-45, -1e-45, np.inf, -np.inf], source)
        x = np.concatenate([x, rng.normal(size=10).astype(source), [np.float32(np.nan)]])
    else:
        info = np.iinfo(source)
        x = np.array([0, 1, 255, 256, 257, 789, 32767, info.max, info.max - 1, info.min], source)
        x = np.concatenate([x, rng.integers(info.min, info.max, 15, source)])
    found = apply(getattr(bf16, f"{source}_to_bfloat16_{mode}"), x)
    expected = [directed(number, mode) for number in x.tolist()]
    np.testing.assert_array_equal(found.astype(float), expected)


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("target", ["int8", "uint8", *INTEGERS])
def test_numbers_become_integers_that_saturate(target, mode):
    if target.endswith("int8") and mode != "rz":
        assert not hasattr(bf16, f"bfloat16_to_{target}_{mode}")
        return
    x = np.array([*NUMBERS, 300, -300, 70000, -70000, 2**31, 2.0**40, 2.0**63, 2.0**64], BF16)
    x = np.concatenate([x, -x])
    rounding = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[mode]
    info = np.iinfo(target)
    expected = []
    for number in rounding(x.astype(float)).tolist():
        if number != number:
            expected.append(0)
        else:
            whole = int(max(min(number, 1e30), -1e30))
            expected.append(min(max(whole, info.min), info.max))
    found = apply(getattr(bf16, f"bfloat16_to_{target}_{mode}"), x, dtype=target)
    assert found.tolist() == expected


def test_bits():
    x = np.arange(65536).astype(np.uint16)
    same(apply(bf16.uint16_as_bfloat16, x).view(np.uint16), x)
    same(apply(bf16.bfloat16_as_uint16, x.view(BF16), dtype=np.uint16), x)
    assert apply(bf16.bfloat16_as_int16, np.array([-1.5], BF16), dtype=np.int16) == [-16448]
    assert apply(bf16.int16_as_bfloat16, np.array([0x3FC0], np.int16)) == [1.5]


def test_names_of_cuda_and_of_numpy():
    pairs = {
        "int2bfloat16_rn": "int32_to_bfloat16_rn",
        "bfloat162ull_rz": "bfloat16_to_uint64_rz",
        "bfloat162char_rz": "bfloat16_to_int8_rz",
        "short_as_bfloat16": "int16_as_bfloat16",
        "float2bfloat16_ru": "float32_to_bfloat16_ru",
        "double2bfloat16": "float64_to_bfloat16",
        "bfloat162float": "bfloat16_to_float32",
    }
    for cuda_name, numpy_name in pairs.items():
        assert getattr(bf16, cuda_name) is getattr(bf16, numpy_name)
    assert bf16.bfloat16 is bf16.nv_bfloat16 is types.bfloat16 is cuda.types.bfloat16
    assert bf16.hexp.__doc__ == "Return what CUDA's ``hexp`` does."
    assert set(bf16.__all__) <= set(dir(bf16))


def test_functions_also_work_in_python():
    assert bf16.hadd(1, 2) == 3
    assert isinstance(bf16.hmul(1.5, 2), BF16)
    assert bf16.hfma(2, 3, 4) == 10
    assert bf16.hne(1, math.nan) is False
    assert bf16.hsqrt(2) == BF16(math.sqrt(2))
