"""Comparisons and choices of PTX, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import evaluate, floats, integers, pairs, same_floats

INTEGERS = {"u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8"}
FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
ORDER = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind):
    dtype = INTEGERS[kind]
    a, b = pairs(integers(dtype, 8), integers(dtype, 8))
    names = {
        **ORDER,
        **({n: ORDER[o] for n, o in UNSIGNED_NAMES.items()} if kind[0] == "u" else {}),
    }
    for name, function in names.items():
        found = evaluate(f"setp.{name}.{kind} {{d}}, {{0}}, {{1}}", [a, b], bool)
        np.testing.assert_array_equal(found, function(a, b))


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_ordered_and_unordered(kind):
    a, b = pairs(floats(FLOATS[kind], 6), floats(FLOATS[kind], 6))
    unordered = np.isnan(a) | np.isnan(b)
    for name, function in ORDER.items():
        with np.errstate(invalid="ignore"):
            holds = function(a, b)
        found = evaluate(f"setp.{name}.{kind} {{d}}, {{0}}, {{1}}", [a, b], bool)
        np.testing.assert_array_equal(found, holds & ~unordered)
        found = evaluate(f"setp.{name}u.{kind} {{d}}, {{0}}, {{1}}", [a, b], bool)
        np.testing.assert_array_equal(found, holds | unordered)
    found = evaluate(f"setp.num.{kind} {{d}}, {{0}}, {{1}}", [a, b], bool)
    np.testing.assert_array_equal(found, ~unordered)
    found = evaluate(f"setp.nan.{kind} {{d}}, {{0}}, {{1}}", [a, b], bool)
    np.testing.assert_array_equal(found, unordered)


@pytest.mark.parametrize(
    ("name", "function"),
    [("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)],
)
@pytest.mark.parametrize("negated", ["", "!"])
def test_combinations_and_second_predicates(name, function, negated):
    a, b = pairs(integers("i4", 8), integers("i4", 8))
    c = np.arange(a.size) % 3 == 0
    first, second = evaluate(
        f"setp.lt.{name}.s32 {{d0}}|{{d1}}, {{0}}, {{1}}, {negated}{{2}}", [a, b, c], [bool, bool]
    )
    other = ~c if negated else c
    np.testing.assert_array_equal(first, function(a < b, other))
    np.testing.assert_array_equal(second, function(a >= b, other))


def test_set_gives_all_ones_or_one():
    a, b = pairs(integers("i4", 8), integers("i4", 8))
    found = evaluate("set.lt.u32.s32 {d}, {0}, {1}", [a, b], "u4")
    np.testing.assert_array_equal(found, np.where(a < b, 0xFFFFFFFF, 0))
    found = evaluate("set.ge.f32.s32 {d}, {0}, {1}", [a, b], "f4")
    same_floats(found, np.where(a >= b, 1, 0).astype("f4"))


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "f32", "f64"])
def test_choice_by_predicate(kind):
    size = int(kind[1:]) // 8
    a, b = integers(f"u{size}", 50), integers(f"u{size}", 50, seed=1)
    c = np.arange(a.size) % 2 == 0
    found = evaluate(f"selp.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [a, b, c], a.dtype)
    np.testing.assert_array_equal(found, np.where(c, a, b))


def test_choice_by_sign():
    c = np.array([1, 0, -1, -(2**31)], np.int32)
    a, b = np.uint64([10, 20, 30, 40]), np.uint64([1, 2, 3, 4])
    found = evaluate("slct.u64.s32 {d}, {0}, {1}, {2}", [a, b, c], "u8")
    assert found.tolist() == [10, 20, 3, 4]
    f = np.array([1, -0.0, -1e-40, np.nan], np.float32)
    assert evaluate("slct.u64.f32 {d}, {0}, {1}, {2}", [a, b, f], "u8").tolist() == [10, 20, 3, 4]
    found = evaluate("slct.ftz.u64.f32 {d}, {0}, {1}, {2}", [a, b, f], "u8")
    assert found.tolist() == [10, 20, 30, 4]


def test_packed_halves_have_two_predicates():
    a, b = np.float16([1, 5, 2, np.nan]).view("u4"), np.float16([2, 4, 2, 0]).view("u4")
    first, second = evaluate("setp.lt.f16x2 {d0}|{d1}, {0}, {1}", [a, b], [bool, bool])
    assert first.tolist() == [True, False]
    assert second.tolist() == [False, False]
