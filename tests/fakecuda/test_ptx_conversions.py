"""cvt of PTX, against Python's integers and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import evaluate, floats, integers, same_floats

INTEGERS = {"u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8",
            "s64": "i8"}  # fmt: skip
FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
ROUND = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def wrap(value: int, dtype: np.dtype) -> int:
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers(target, source):
    values = integers(INTEGERS[source], 30)
    dtype = np.dtype(INTEGERS[target])
    found = evaluate(f"cvt.{target}.{source} {{d}}, {{0}}", [values], dtype)
    assert found.tolist() == [wrap(v, dtype) for v in values.tolist()]
    limits = np.iinfo(dtype)
    found = evaluate(f"cvt.sat.{target}.{source} {{d}}, {{0}}", [values], dtype)
    assert found.tolist() == [min(max(v, limits.min), limits.max) for v in values.tolist()]


def test_narrow_results_fill_wide_registers_by_sign():
    values = np.array([0x1234, 0x80, 0x7F, 0xFFFF], np.uint32)
    signed = evaluate("cvt.s8.u32 {d}, {0}", [values], "i4")
    assert signed.tolist() == [0x34, -128, 127, -1]
    unsigned = evaluate("cvt.u8.u32 {d}, {0}", [values], "u4")
    assert unsigned.tolist() == [0x34, 0x80, 0x7F, 0xFF]


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_float_to_integer(target, source, mode):
    dtype = np.dtype(INTEGERS[target])
    limits = np.iinfo(dtype)
    edges = [float(limits.max), float(limits.min), 0.5, 1.5, -0.5, -1.5, 126.5, -128.5, 1e10]
    with np.errstate(over="ignore"):
        values = np.concatenate([floats(FLOATS[source]), np.array(edges, FLOATS[source])])
    found = evaluate(f"cvt.{mode}.{target}.{source} {{d}}, {{0}}", [values], dtype)
    wide = source == "f64" or dtype.itemsize == 8
    for value, result in zip(values.tolist(), found.tolist(), strict=True):
        if math.isnan(value):
            assert result == (wrap(1 << (dtype.itemsize * 8 - 1), dtype) if wide else 0)
        elif math.isinf(value):
            assert result == (limits.max if value > 0 else limits.min)
        else:
            assert result == min(max(ROUND[mode](value), limits.min), limits.max)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", FLOATS)
def test_integer_to_float(target, source, mode):
    values = integers(INTEGERS[source])
    kind = np.dtype(FLOATS[target]).type
    found = evaluate(f"cvt.{mode}.{target}.{source} {{d}}, {{0}}", [values], kind)
    for value, result in zip(values.tolist(), found, strict=True):
        check_rounding(Fraction(value), result, kind, mode)


def check_rounding(exact: Fraction, result: np.floating, kind: type, mode: str) -> None:
    """Check by the definition: no other value of the type is nearer, or on the wanted side."""
    with np.errstate(over="ignore"):
        below, above = (np.nextafter(result, kind(s)) for s in (-np.inf, np.inf))
    if np.isinf(result):
        assert abs(exact) > Fraction(float(np.finfo(kind).max))
        assert mode in ("rn", "rp" if result > 0 else "rm")
        return
    here = Fraction(float(result))
    match "rm" if mode == "rz" and exact > 0 else "rp" if mode == "rz" else mode:
        case "rm":
            assert here <= exact
            assert np.isinf(above) or exact < Fraction(float(above))
        case "rp":
            assert exact <= here
            assert np.isinf(below) or Fraction(float(below)) < exact
        case _:
            for other in (below, above):
                if np.isfinite(other):
                    distance = abs(Fraction(float(other)) - exact)
                    assert abs(here - exact) <= distance
                    if abs(here - exact) == distance:
                        assert result.view(f"u{result.itemsize}") % 2 == 0


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("target", "source"), [("f32", "f64"), ("f16", "f32"), ("f16", "f64")])
def test_narrower_floats(target, source, mode):
    random = np.random.default_rng(3)
    near = random.uniform(-4, 4, 50) * 2.0 ** random.integers(-26, 16, 50)
    values = np.concatenate([floats(FLOATS[source], 100), near.astype(FLOATS[source])])
    kind = np.dtype(FLOATS[target]).type
    found = evaluate(f"cvt.{mode}.{target}.{source} {{d}}, {{0}}", [values], kind)
    for value, result in zip(values.tolist(), found, strict=True):
        if math.isfinite(value):
            check_rounding(Fraction(value), result, kind, mode)
            if not value:
                assert np.signbit(result) == np.signbit(value)
        else:
            np.testing.assert_equal(float(result), value)


@pytest.mark.parametrize(("target", "source"), [("f64", "f32"), ("f32", "f16"), ("f64", "f16")])
def test_wider_floats_are_exact(target, source):
    values = floats(FLOATS[source])
    found = evaluate(f"cvt.{target}.{source} {{d}}, {{0}}", [values], FLOATS[target])
    same_floats(found, values.astype(FLOATS[target]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_rounding_to_whole_floats(kind):
    values = floats(FLOATS[kind])
    functions = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    for mode, function in functions.items():
        found = evaluate(f"cvt.{mode}.{kind}.{kind} {{d}}, {{0}}", [values], FLOATS[kind])
        same_floats(found, function(values))


def test_saturation_and_flushing():
    values = np.array([-1, 0.25, 2, np.nan, np.inf, -0.0, 1e-40], np.float64)
    found = evaluate("cvt.rn.sat.f32.f64 {d}, {0}", [values], "f4")
    same_floats(found, np.array([0, 0.25, 1, 0, 1, 0, 1e-40], np.float32))
    small = np.array([1e-40, -1e-40, 1e-30], np.float32)
    found = evaluate("cvt.ftz.f64.f32 {d}, {0}", [small], "f8")
    same_floats(found, np.array([0, -0.0, float(small[2])]))
    found = evaluate("cvt.rn.ftz.f32.f64 {d}, {0}", [np.array([1e-40, 1.0])], "f4")
    same_floats(found, np.array([0, 1], np.float32))
    found = evaluate("cvt.rpi.ftz.s32.f32 {d}, {0}", [small], "i4")
    assert found.tolist() == [0, 0, 1]


def test_negative_values_can_become_zero():
    values = np.array([-2.5, -0.0, 0.25, 1.5, np.inf, -np.inf], np.float32)
    found = evaluate("cvt.rn.relu.f16.f32 {d}, {0}", [values], "f2")
    same_floats(found, np.array([0, 0, 0.25, 1.5, np.inf, 0], np.float16))


def test_bfloat16():
    values = np.concatenate([floats("f4", 200), np.array([1.00390625, 1.01171875], np.float32)])
    found = evaluate("cvt.rn.bf16.f32 {d}, {0}", [values], "u2")
    for value, bits in zip(values, found.tolist(), strict=True):
        if np.isnan(value):
            assert bits == 0x7FFF
            continue
        raw = int(value.view(np.uint32))
        low, rest = raw >> 16, raw & 0xFFFF
        assert bits == low + (rest > 0x8000 or (rest == 0x8000 and low & 1))
    back = evaluate("cvt.f32.bf16 {d}, {0}", [found], "f4")
    same_floats(back, (found.astype(np.uint32) << 16).view(np.float32))


def test_pairs():
    a = np.array([1.0, -2.5, 1e6], np.float32)
    b = np.array([0.5, np.inf, 1e-8], np.float32)
    found = evaluate("cvt.rn.f16x2.f32 {d}, {0}, {1}", [a, b], "u4").view("f2").reshape(-1, 2)
    with np.errstate(over="ignore"):
        same_floats(found, np.stack([b, a], 1).astype(np.float16))
