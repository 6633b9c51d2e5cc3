"""Integer arithmetic of PTX, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import evaluate, integers, pairs

DTYPES = {"u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8"}


def wrapped(values: list[int], dtype: np.dtype) -> np.ndarray:
    bits = dtype.itemsize * 8
    return np.array([v & ((1 << bits) - 1) for v in values], f"u{bits // 8}").view(dtype)


def check(template, function, kinds, dtype, result=None, **options):
    dtype = np.dtype(dtype)
    a, b = pairs(integers(dtype, 20), integers(dtype, 20, seed=1))
    values = [a, b, integers(dtype, 2000, seed=2)[: a.size]][:kinds]
    found = evaluate(template, values, result or dtype)
    rows = zip(*[v.tolist() for v in values], strict=True)
    expected = wrapped([function(*row) for row in rows], np.dtype(result or dtype))
    np.testing.assert_array_equal(found, expected)


def truncated_quotient(a, b):
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul.lo", lambda a, b: a * b),
        ("min", min),
        ("max", max),
        ("div", truncated_quotient),
        ("rem", lambda a, b: a - truncated_quotient(a, b) * b if b else a),
    ],
)
def test_binary(name, function, kind):
    check(f"{name}.{kind} {{d}}, {{0}}, {{1}}", function, 2, DTYPES[kind])


@pytest.mark.parametrize("kind", DTYPES)
def test_high_half_of_products(kind):
    bits = np.dtype(DTYPES[kind]).itemsize * 8
    check(f"mul.hi.{kind} {{d}}, {{0}}, {{1}}", lambda a, b: a * b >> bits, 2, DTYPES[kind])
    check(
        f"mad.hi.{kind} {{d}}, {{0}}, {{1}}, {{2}}",
        lambda a, b, c: (a * b >> bits) + c,
        3,
        DTYPES[kind],
    )


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide_products(kind):
    dtype = np.dtype(DTYPES[kind])
    wide = np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")
    check(f"mul.wide.{kind} {{d}}, {{0}}, {{1}}", lambda a, b: a * b, 2, dtype, wide)
    a, b = pairs(integers(dtype, 10), integers(dtype, 10, seed=1))
    c = integers(wide, 2000, seed=3)[: a.size]
    found = evaluate(f"mad.wide.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [a, b, c], wide)
    values = [x * y + z for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    np.testing.assert_array_equal(found, wrapped(values, wide))


@pytest.mark.parametrize("kind", DTYPES)
def test_multiply_add(kind):
    check(f"mad.lo.{kind} {{d}}, {{0}}, {{1}}, {{2}}", lambda a, b, c: a * b + c, 3, DTYPES[kind])


@pytest.mark.parametrize("kind", DTYPES)
def test_sum_of_absolute_difference(kind):
    check(
        f"sad.{kind} {{d}}, {{0}}, {{1}}, {{2}}",
        lambda a, b, c: abs(a - b) + c,
        3,
        DTYPES[kind],
    )


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_signs(kind):
    check(f"neg.{kind} {{d}}, {{0}}", lambda a: -a, 1, DTYPES[kind])
    check(f"abs.{kind} {{d}}, {{0}}", abs, 1, DTYPES[kind])


def clamp(value):
    return min(max(value, -(2**31)), 2**31 - 1)


@pytest.mark.parametrize(
    ("template", "function", "count"),
    [
        ("add.sat.s32 {d}, {0}, {1}", lambda a, b: clamp(a + b), 2),
        ("sub.sat.s32 {d}, {0}, {1}", lambda a, b: clamp(a - b), 2),
        ("mad.hi.sat.s32 {d}, {0}, {1}, {2}", lambda a, b, c: clamp((a * b >> 32) + c), 3),
    ],
)
def test_saturation(template, function, count):
    check(template, function, count, "i4")


def low_24(value, signed):
    value &= 0xFFFFFF
    return value - (1 << 24) if signed and value >> 23 else value


@pytest.mark.parametrize(("kind", "signed"), [("u32", False), ("s32", True)])
def test_products_of_24_bits(kind, signed):
    def product(a, b):
        return low_24(a, signed) * low_24(b, signed)

    check(f"mul24.lo.{kind} {{d}}, {{0}}, {{1}}", product, 2, DTYPES[kind])
    check(f"mul24.hi.{kind} {{d}}, {{0}}, {{1}}", lambda a, b: product(a, b) >> 16, 2, DTYPES[kind])
    check(
        f"mad24.lo.{kind} {{d}}, {{0}}, {{1}}, {{2}}",
        lambda a, b, c: product(a, b) + c,
        3,
        DTYPES[kind],
    )


@pytest.mark.parametrize("size", [32, 64])
def test_carries_make_sums_of_any_size(size):
    dtype = f"u{size // 8}"
    low_a, low_b = pairs(integers(dtype, 10), integers(dtype, 10, seed=1))
    high_a, high_b = integers(dtype, 600, seed=2)[: low_a.size], low_b[::-1]
    for first, second, function in (
        ("add.cc", "addc", lambda a, b: a + b),
        ("sub.cc", "subc", lambda a, b: a - b),
    ):
        low, high = evaluate(
            f"{first}.u{size} {{d0}}, {{0}}, {{2}}; {second}.u{size} {{d1}}, {{1}}, {{3}}",
            [low_a, high_a, low_b, high_b],
            [dtype, dtype],
        )
        columns = [x.tolist() for x in (low_a, high_a, low_b, high_b)]
        for a0, a1, b0, b1, f0, f1 in zip(*columns, low.tolist(), high.tolist(), strict=True):
            exact = function((a1 << size) + a0, (b1 << size) + b0) % (1 << 2 * size)
            assert (f1 << size) + f0 == exact


def test_carries_go_through_chains_and_products():
    a, b = pairs(integers("u4", 10), integers("u4", 10, seed=1))
    low, high = evaluate(
        "mad.lo.cc.u32 {d0}, {0}, {1}, 0xfffffff0; madc.hi.u32 {d1}, {0}, {1}, 5",
        [a, b],
        ["u4", "u4"],
    )
    exact = [(x * y + 0x5FFFFFFF0) % 2**64 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert [(h << 32) + x for h, x in zip(high.tolist(), low.tolist(), strict=True)] == exact
    # addc.cc hands the carry on.
    carry = evaluate(
        "add.cc.u32 {d}, {0}, {1}; addc.cc.u32 {d}, 0xffffffff, 0; addc.u32 {d}, 0, 0", [a, b], "u4"
    )
    expected = [int(x + y >= 2**32) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert carry.tolist() == expected


@pytest.mark.parametrize(("kind", "dtype"), [("s16x2", "i2"), ("u16x2", "u2")])
def test_packed_halves(kind, dtype):
    a, b = (integers(dtype, 50, seed).reshape(-1)[:60] for seed in (1, 2))
    packed = [x.view(np.uint32) for x in (a, b)]
    for name, function in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
        found = evaluate(f"{name}.{kind} {{d}}, {{0}}, {{1}}", packed, "u4").view(dtype)
        np.testing.assert_array_equal(found, function(a, b))


def test_dot_products_of_bytes():
    a, b = pairs(integers("u4", 10), integers("u4", 10, seed=1))
    c = integers("i4", 2000, 2)[: a.size]
    x, y = a.view("i1").reshape(-1, 4).astype(int), b.view("u1").reshape(-1, 4).astype(int)
    found = evaluate("dp4a.s32.u32 {d}, {0}, {1}, {2}", [a, b, c], "i4")
    np.testing.assert_array_equal(found, wrapped(((x * y).sum(1) + c).tolist(), np.dtype("i4")))
