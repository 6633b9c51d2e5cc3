"""bfloat16 and 8-bit floats: every number, every pair of types, compiled and interpreted.

The references are the definition of the types (`tests.helpers.small_floats`) and ``ml_dtypes``,
whose arithmetic rounds each operation, as CUDA's does.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.dtypes import (
    ALL_DTYPES,
    SMALL_FLOATS,
    DType,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
)
from tests.helpers import contract
from tests.helpers.contract import Column
from tests.helpers.small_floats import FORMS, magnitudes, nearest
from tests.helpers.ways import define, run_interpreted, run_native

REALS = [row for row in ALL_DTYPES if not row.is_complex]
BF16 = ml_dtypes.bfloat16


@pytest.fixture(autouse=True)
def quiet():
    """Let the references overflow, and see nans of all kinds."""
    with np.errstate(all="ignore"):
        yield


def each_way(text: str, inputs: tuple[Column, ...], *results: Any) -> list[tuple[Column, ...]]:
    """Run statements per element, compiled and interpreted; return both sets of results."""
    names = [*"xyz"[: len(inputs)], *(f"out{at}" for at in range(len(results)))]
    lines = [
        f"def kernel({', '.join(f'{name}s' for name in names)}):",
        "    i = cuda.grid(1)",
        "    if i < xs.size:",
        *(f"        {name} = {name}s[i]" for name in names[: len(inputs)]),
        *(f"        out{at}s[i] = {each}" for at, each in enumerate(text.split("; "))),
    ]
    kernel = define("\n".join(lines) + "\n", "kernel", math=math)
    found = []
    for run in (run_native, run_interpreted):
        outs = tuple(np.zeros(len(inputs[0]), dtype) for dtype in results)
        run(kernel, (len(inputs[0]) + 63) // 64, 64, *inputs, *outs)
        found.append(outs)
    return found


def check(found: Column, expected: Column, text: str, **columns: Column) -> None:
    """Check numbers, the signs of zeros included; all nans are alike."""
    wide = [column.astype(np.float64) for column in (found, expected)]
    contract.assert_all(contract.same_bits(*wide), text, found=found, expected=expected, **columns)


def codes(dtype: DType) -> Column:
    """Return every number of a type."""
    return np.arange(1 << dtype.bits).astype(f"u{dtype.size_bytes}").view(dtype.numpy)


def numbers_near(dtype: DType, source: np.dtype[Any]) -> Column:
    """Return numbers of a type: all kinds, and those close to where rounding changes."""
    rng = np.random.default_rng(source.num)
    plain = np.concatenate([contract.edges(source), contract.random_values(rng, source, 500)])
    if source.kind == "f":
        known = np.array(magnitudes(dtype))
        at = rng.integers(0, len(known) - 1, 1500)
        factors = rng.choice([1.0, 1 + 2.0**-52, 1 - 2.0**-53, 1 + 2.0**-23], 1500)
        ties = (known[at] + known[at + 1]) / 2 * factors * rng.choice([-1, 1], 1500)
        return np.concatenate([plain, ties.astype(source)])
    if source.itemsize < 4:
        return plain
    shifts = rng.integers(0, 8 * source.itemsize - 10, 500).astype(source)
    beside = rng.integers(0, 3, 500).astype(source) - np.array(1, source)
    return np.concatenate([plain, (np.array(257, source) << shifts) + beside])


# ------------------------------------------------------------------------------------ conversions


@pytest.mark.parametrize("source", [*REALS, bfloat16], ids=str)
@pytest.mark.parametrize("target", FORMS, ids=str)
def test_numbers_are_rounded_once(target: DType, source: DType) -> None:
    x = codes(bfloat16) if source is bfloat16 else numbers_near(target, source.numpy)
    expected = np.array([nearest(number, target) for number in x.tolist()])
    for (found,) in each_way("x", (x,), target.numpy):
        check(found, expected, f"{source} to {target}", x=x)


@pytest.mark.parametrize("target", REALS, ids=str)
@pytest.mark.parametrize("source", SMALL_FLOATS, ids=str)
def test_every_number_converts_to_every_type(source: DType, target: DType) -> None:
    x = codes(source)
    single = x.astype(np.float32)
    ((native,), (interpreted,)) = each_way("x", (x,), target.numpy)
    assert contract.same_bits(native, interpreted).all()
    if target.is_bool:
        assert (native == (single != 0)).all()
        return
    inside = contract.fits(single, target.numpy)
    expected = contract.cast(np.where(inside, single, 0), target.numpy)
    contract.assert_all(contract.same_bits(native, expected) | ~inside, str(target), x=x)


@pytest.mark.parametrize("dtype", SMALL_FLOATS, ids=str)
def test_bits_are_kept(dtype: DType) -> None:
    x = codes(dtype)
    whole = np.dtype(f"u{dtype.size_bytes}")
    for copied, viewed in each_way(f"x; x.view(np.{whole})", (x,), dtype.numpy, whole):
        assert (copied.view(whole) == x.view(whole)).all()
        assert (viewed == x.view(whole)).all()


def test_powers_of_two_are_rounded_up() -> None:
    x = np.array([0, 1, 1.5, -3, 4, 2.0**-127, 2.0**-126 * 1.01, 2.0**127 * 1.5, np.inf, np.nan])
    expected = np.array([2.0**-127, 1, 2, 4, 4, 2.0**-127, 2.0**-125, 2.0**127, 2.0**127, np.nan])
    for source in (np.float32, np.float64):
        for (found,) in each_way("x", (x.astype(source),), float8_e8m0fnu.numpy):
            check(found, expected, "power of two", x=x)
    beyond = np.array([1 + 2.0**-50, 2.0**-127 * (1 + 2.0**-50)])
    for (found,) in each_way("x", (beyond,), float8_e8m0fnu.numpy):
        check(found, np.array([2, 2.0**-126]), "just above", x=beyond)


# ------------------------------------------------------------------------------------- arithmetic


def common(other: DType) -> np.dtype[Any]:
    """Return what a bfloat16 and another number compute in."""
    if other.is_small or other.is_integer or other.is_bool:
        return np.dtype(BF16)
    return np.dtype(np.float64 if other.name == "float64" else np.float32)


def rounded(x: Column, dtype: np.dtype[Any]) -> Column:
    if dtype != BF16:
        return x.astype(dtype)
    return np.array([nearest(number, bfloat16) for number in x.tolist()]).astype(BF16)


def operands(other: DType) -> tuple[Column, Column]:
    rng = np.random.default_rng(7)
    values = numbers_near(bfloat16, other.numpy) if other is not bfloat16 else codes(other)
    x = rng.choice(codes(bfloat16), 2500)
    close = rng.uniform(-300, 300, 2500).astype(BF16)
    near = close.astype(np.float64).astype(other.numpy)
    return np.concatenate([x, close]), np.concatenate([rng.choice(values, 2500), near])


OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}


@pytest.mark.parametrize("other", [row for row in REALS if not row.is_bool] + [bfloat16], ids=str)
def test_operators(other: DType) -> None:
    x, y = operands(other)
    dtype = common(other)
    a, b = rounded(x, dtype), rounded(y, dtype)
    text = "; ".join(f"x {symbol} y" for symbol in OPERATORS)
    # Stored as float64, so that a result of another type would show.
    for found in each_way(text, (x, y), *[np.float64] * len(OPERATORS)):
        for (symbol, function), result in zip(OPERATORS.items(), found, strict=True):
            check(result, function(a, b), f"x {symbol} y", x=x, y=y)


@pytest.mark.parametrize("other", [*REALS, bfloat16], ids=str)
def test_comparisons_are_exact(other: DType) -> None:
    x, y = operands(other)
    y[::3] = y[::3] if other.is_bool else np.where(np.isfinite(x), x, 0)[::3].astype(other.numpy)
    rules = {
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        ">": operator.gt,
        ">=": operator.ge,
    }
    text = "; ".join(f"x {symbol} y" for symbol in rules)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    if other.is_integer and other.bits == 64:
        pairs = [(a, float(b)) for a, b in pairs]  # a float meets it as a float64
    for found in each_way(text, (x, y), *[np.bool_] * len(rules)):
        for (symbol, rule), result in zip(rules.items(), found, strict=True):
            expected = np.array([rule(a, b) for a, b in pairs])
            contract.assert_all(result == expected, f"x {symbol} y", x=x, y=y)


def test_one_operand() -> None:
    x = codes(bfloat16)
    for negative, absolute, truth in each_way("-x; abs(x); not x", (x,), BF16, BF16, np.bool_):
        check(negative, -x, "-x", x=x)
        check(absolute, np.abs(x), "abs(x)", x=x)
        assert (truth == (x == 0)).all()


def test_division_with_remainder_and_powers() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(scale=50, size=(2, 3000)).astype(BF16)
    a, b = x.astype(np.float32), y.astype(np.float32)
    for quotient, rest, square, cube in each_way("x // y; x % y; x**2; x**-3", (x, y), *[BF16] * 4):
        check(quotient, np.floor_divide(a, b).astype(BF16), "x // y", x=x, y=y)
        check(rest, np.remainder(a, b).astype(BF16), "x % y", x=x, y=y)
        check(square, (a * a).astype(BF16), "x**2", x=x)
        check(cube, (1 / (a * a * a)).astype(BF16), "x**-3", x=x)


def test_a_choice_keeps_the_type() -> None:
    x, y = operands(bfloat16)
    text = "min(x, y); np.maximum(x, y); x if x < y else y; x + 1 if i % 2 else x"
    for low, high, chosen, stepped in each_way(text, (x, y), *[np.float64] * 4):
        check(low, np.where(y < x, y, x), "min(x, y)", x=x, y=y)
        check(high, np.maximum(x, y), "maximum", x=x, y=y)
        check(chosen, np.where(x < y, x, y), "x if x < y else y", x=x, y=y)
        both = np.where(np.arange(len(x)) % 2, x + BF16(1), x)
        check(stepped, both, "x + 1 if i % 2 else x", x=x)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "tanh", "floor", "trunc", "atan"])
def test_functions_are_rounded_to_the_type(name: str) -> None:
    x = codes(bfloat16)
    x = x[np.abs(x.astype(np.float32)) < 1e4]
    reference = getattr(np, {"atan": "arctan"}.get(name, name))
    exact = reference(x.astype(np.float64))
    expected = np.array([nearest(number, bfloat16) for number in exact.tolist()])
    ((native,), (interpreted,)) = each_way(f"math.{name}(x)" if name != "trunc" else "np.trunc(x)",
        (x,), np.float64)  # fmt: skip
    for found in (native, interpreted):
        # Rounded through float32, which a tie can come out of on the other side.
        assert contract.same_bits(found, expected).mean() > 0.999
        near = np.abs(found - expected) <= np.abs(expected) * 2.0**-7
        contract.assert_all(contract.same_bits(found, expected) | near, name, x=x)
        check(found, rounded(found, np.dtype(BF16)), "a bfloat16", x=x)


def test_eight_bits_compute_as_float32() -> None:
    x, y = codes(float8_e5m2), np.roll(codes(float8_e5m2), 77)
    text = "x + y; x * 3; -x; x / y"
    a, b = x.astype(np.float32), y.astype(np.float32)
    for total, product, negative, quotient in each_way(text, (x, y), *[np.float64] * 4):
        check(total, a + b, "x + y", x=x, y=y)
        check(product, a * np.float32(3), "x * 3", x=x)
        check(negative, -a, "-x", x=x)
        check(quotient, a / b, "x / y", x=x, y=y)


def test_what_has_another_type_meets_in_one_that_holds_both() -> None:
    x, y = codes(float8_e4m3fn)[:8], codes(float8_e8m0fnu)[124:132]
    for (found,) in each_way("x if i % 2 else y", (x, y), np.float64):
        check(found, np.where(np.arange(8) % 2, x.astype(float), y.astype(float)), "either")


# --------------------------------------------------------------------------------- threads, memory


def test_atomic_operations_take_turns() -> None:
    x = np.arange(1, 129).astype(BF16)

    def kernel(x, out):
        i = cuda.grid(1)
        cuda.atomic.add(out, 0, x[i % 4])
        cuda.atomic.sub(out, 1, x[0])
        cuda.atomic.max(out, 2, x[i])
        cuda.atomic.min(out, 3, -x[i])
        cuda.atomic.cas(out, 4, x[1] - x[1], x[1])
        out[6 + i] = cuda.atomic.exch(out, 5, x[2])

    for run in (run_native, run_interpreted):
        out = np.zeros(6 + 64, BF16)
        run(kernel, 2, 32, x, out)
        assert out[:6].tolist() == [160, -64, 64, -64, 2, 3]
        assert sorted(out[6:].tolist()) == [0, *[3] * 63]


def test_warps_and_shared_memory() -> None:
    x = np.arange(32).astype(BF16)

    def kernel(x, out):
        i = cuda.threadIdx.x
        buffer = cuda.shared.array(32, "bfloat16")
        own = cuda.local.array(2, cuda.bf16.bfloat16)
        buffer[i], own[i % 2] = x[i], x[i]
        cuda.syncthreads()
        out[0, i] = buffer[31 - i] + own[i % 2]
        out[1, i] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
        out[2, i] = cuda.shfl_sync(0xFFFFFFFF, x[i], i // 2)
        out[3, i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 3)

    for run in (run_native, run_interpreted):
        out = np.zeros((4, 32), BF16)
        run(kernel, 1, 32, x, out)
        at = np.arange(32)
        expected = [np.full(32, 31), at ^ 1, at // 2, np.where(at + 3 < 32, at + 3, at)]
        assert (out.astype(int) == np.array(expected)).all()


def test_reductions_of_whole_arrays() -> None:
    x = (np.arange(1, 40) / 7).astype(BF16)

    def kernel(x, out):
        out[0], out[1], out[2] = np.sum(x), x.max(), np.min(x)

    total = BF16(0)
    for number in x:
        total = total + number
    for run in (run_native, run_interpreted):
        out = np.zeros(3)
        run(kernel, 1, 1, x, out)
        assert out.tolist() == [total, x.max(), x.min()]


def test_multiply_and_add_are_never_fused() -> None:
    x, y = operands(bfloat16)

    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * y[i] + x[i]

    out = np.zeros(len(x), BF16)
    run_native(kernel, (len(x) + 63) // 64, 64, x, y, out, fma=True)
    check(out, x * y + x, "x * y + x", x=x, y=y)
