"""Logic, shifts, fields and bytes of PTX, against Python's integers and strings of digits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import evaluate, integers, pairs

UNSIGNED = {"b16": "u2", "b32": "u4", "b64": "u8"}
COUNTS = np.array([0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 2**32 - 1], np.uint32)


@pytest.mark.parametrize("kind", UNSIGNED)
def test_logic(kind):
    dtype = UNSIGNED[kind]
    a, b = pairs(integers(dtype, 10), integers(dtype, 10, seed=1))
    for name, want in {"and": a & b, "or": a | b, "xor": a ^ b}.items():
        found = evaluate(f"{name}.{kind} {{d}}, {{0}}, {{1}}", [a, b], dtype)
        np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(evaluate(f"not.{kind} {{d}}, {{0}}", [a], dtype), ~a)
    np.testing.assert_array_equal(evaluate(f"cnot.{kind} {{d}}, {{0}}", [a], dtype), a == 0)


def test_logic_of_predicates():
    a, b = pairs(np.array([False, True]), np.array([False, True]))
    for name, want in {"and": a & b, "or": a | b, "xor": a ^ b}.items():
        found = evaluate(f"{name}.pred {{d}}, {{0}}, {{1}}", [a, b], bool)
        np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(evaluate("not.pred {d}, {0}", [a], bool), ~a)
    np.testing.assert_array_equal(evaluate("mov.pred {d}, {0}", [a], bool), a)


@pytest.mark.parametrize("table", [0x00, 0x96, 0xE8, 0xCA, 0xFF, 0x1B])
def test_any_function_of_three_bits(table):
    a, b, c = (integers("u4", 40, seed) for seed in range(3))
    found = evaluate(f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {table}", [a, b, c], "u4")
    for x, y, z, f in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
        for bit in range(32):
            row = (x >> bit & 1) << 2 | (y >> bit & 1) << 1 | (z >> bit & 1)
            assert f >> bit & 1 == table >> row & 1


@pytest.mark.parametrize("size", [16, 32, 64])
def test_shifts_clamp_their_counts(size):
    a, count = pairs(integers(f"u{size // 8}", 20), COUNTS)
    columns = list(zip(a.tolist(), count.tolist(), strict=True))
    found = evaluate(f"shl.b{size} {{d}}, {{0}}, {{1}}", [a, count], a.dtype)
    assert found.tolist() == [(x << min(n, size)) % (1 << size) for x, n in columns]
    for kind in ("u", "b"):
        found = evaluate(f"shr.{kind}{size} {{d}}, {{0}}, {{1}}", [a, count], a.dtype)
        assert found.tolist() == [x >> min(n, size) for x, n in columns]
    signed = a.view(f"i{size // 8}")
    found = evaluate(f"shr.s{size} {{d}}, {{0}}, {{1}}", [signed, count], signed.dtype)
    columns = list(zip(signed.tolist(), count.tolist(), strict=True))
    assert found.tolist() == [x >> min(n, size) for x, n in columns]


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@pytest.mark.parametrize("side", ["l", "r"])
def test_funnel_shifts(side, mode):
    low, count = pairs(integers("u4", 20), COUNTS)
    high = integers("u4", 2000, seed=1)[: len(low)]
    found = evaluate(f"shf.{side}.{mode}.b32 {{d}}, {{0}}, {{1}}, {{2}}", [low, high, count], "u4")
    for x, y, n, f in zip(low.tolist(), high.tolist(), count.tolist(), found.tolist(), strict=True):
        amount = n % 32 if mode == "wrap" else min(n, 32)
        both = y << 32 | x
        shifted = both << amount >> 32 if side == "l" else both >> amount
        assert f == shifted % 2**32


@pytest.mark.parametrize("size", [32, 64])
def test_counting_and_reversing(size):
    a = integers(f"u{size // 8}", 100)
    digits = [f"{x:0{size}b}" for x in a.tolist()]
    found = evaluate(f"popc.b{size} {{d}}, {{0}}", [a], "u4")
    assert found.tolist() == [d.count("1") for d in digits]
    found = evaluate(f"clz.b{size} {{d}}, {{0}}", [a], "u4")
    assert found.tolist() == [len(d) - len(d.lstrip("0")) for d in digits]
    found = evaluate(f"brev.b{size} {{d}}, {{0}}", [a], a.dtype)
    assert found.tolist() == [int(d[::-1], 2) for d in digits]
    found = evaluate(f"bfind.u{size} {{d}}, {{0}}", [a], "i4")
    assert found.tolist() == [x.bit_length() - 1 for x in a.tolist()]
    signed = a.view(f"i{size // 8}")
    found = evaluate(f"bfind.s{size} {{d}}, {{0}}", [signed], "i4")
    highest = [(x if x >= 0 else ~x).bit_length() - 1 for x in signed.tolist()]
    assert found.tolist() == highest
    found = evaluate(f"bfind.shiftamt.s{size} {{d}}, {{0}}", [signed], "i4")
    assert found.tolist() == [size - 1 - h if h >= 0 else -1 for h in highest]


def field(value: int, start: int, length: int, size: int, signed: bool) -> int:
    """Extract a field bit by bit, as the definition of bfe says."""
    last = size - 1
    sign = 0
    if signed and length:
        sign = value >> min(start + length - 1, last) & 1
    bits = [
        value >> (start + i) & 1 if i < length and start + i <= last else sign for i in range(size)
    ]
    return sum(bit << i for i, bit in enumerate(bits))


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_fields(kind):
    size = int(kind[1:])
    dtype = f"u{size // 8}"
    places = np.array([0, 1, 7, 31, 32, 40, 63, 64, 200, 255, 256 + 3], np.uint32)
    start, length = pairs(places, places)
    a = integers(dtype, 200, seed=5)[-len(start) :]
    b = integers(dtype, 200, seed=6)[-len(start) :]
    found = evaluate(f"bfe.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [a, start, length], dtype)
    rows = list(zip(a.tolist(), start.tolist(), length.tolist(), strict=True))
    assert found.tolist() == [field(x, s & 255, n & 255, size, kind[0] == "s") for x, s, n in rows]
    found = evaluate(f"bfi.b{size} {{d}}, {{0}}, {{1}}, {{2}}, {{3}}", [a, b, start, length], dtype)
    for (x, s, n), y, f in zip(rows, b.tolist(), found.tolist(), strict=True):
        want = y
        for bit in range(n & 255):
            place = (s & 255) + bit
            if place < size:
                want = want & ~(1 << place) | (x >> bit & 1) << place
        assert f == want


def test_masks_and_extensions():
    places = np.array([0, 1, 7, 31, 32, 40, 200], np.uint32)
    start, length = pairs(places, places)
    found = evaluate("bmsk.clamp.b32 {d}, {0}, {1}", [start, length], "u4")
    rows = list(zip(start.tolist(), length.tolist(), strict=True))
    assert found.tolist() == [((1 << min(n, 32)) - 1) << min(s, 32) & 0xFFFFFFFF for s, n in rows]
    a = integers("u4", 60, seed=5)[-len(start) :]
    found = evaluate("szext.clamp.u32 {d}, {0}, {1}", [a, length], "u4")
    rows = list(zip(a.tolist(), length.tolist(), strict=True))
    assert found.tolist() == [x % (1 << min(n, 32)) for x, n in rows]
    found = evaluate("szext.clamp.s32 {d}, {0}, {1}", [a, length], "i4")
    want = [x % (1 << min(n, 32)) - ((1 << min(n, 32)) if n and x >> (min(n, 32) - 1) & 1 else 0)
            for x, n in rows]  # fmt: skip
    assert found.tolist() == want


def test_masks_and_extensions_that_wrap():
    places = np.array([0, 1, 7, 31, 32, 40, 200], np.uint32)
    start, length = pairs(places, places)
    found = evaluate("bmsk.wrap.b32 {d}, {0}, {1}", [start, length], "u4")
    rows = zip(start.tolist(), length.tolist(), strict=True)
    assert found.tolist() == [((1 << n % 32) - 1) << s % 32 & 0xFFFFFFFF for s, n in rows]
    found = evaluate("szext.wrap.u32 {d}, 0xffffffff, {0}", [length], "u4")
    assert found.tolist() == [(1 << n % 32) - 1 for n in length.tolist()]


def test_nth_set_bit():
    masks = np.uint32([0b10110, 0b10110, 0b10110, 0b10110, 6])
    bases, offsets = np.uint32([1, 3, 4, 0, 0]), np.int32([2, 0, -2, 1, 3])
    found = evaluate("fns.b32 {d}, {0}, {1}, {2}", [masks, bases, offsets], "u4")
    assert found.tolist() == [2, 0xFFFFFFFF, 2, 1, 0xFFFFFFFF]


def test_permuted_bytes():
    a, b, selector = (integers("u4", 200, seed) for seed in range(3))
    found = evaluate("prmt.b32 {d}, {0}, {1}, {2}", [a, b, selector], "u4")
    rows = zip(a.tolist(), b.tolist(), selector.tolist(), found.tolist(), strict=True)
    for x, y, s, f in rows:
        source = (y << 32 | x).to_bytes(8, "little")
        result = []
        for place in range(4):
            digit = s >> 4 * place & 15
            byte = source[digit & 7]
            result.append((0xFF if byte & 0x80 else 0) if digit & 8 else byte)
        assert f == int.from_bytes(bytes(result), "little")


@pytest.mark.parametrize(
    ("mode", "table"),
    [
        ("f4e", ["3210", "4321", "5432", "6543"]),
        ("b4e", ["5670", "6701", "7012", "0123"]),
        ("rc8", ["0000", "1111", "2222", "3333"]),
        ("ecl", ["3210", "3211", "3222", "3333"]),
        ("ecr", ["0000", "1110", "2210", "3210"]),
        ("rc16", ["1010", "3232", "1010", "3232"]),
    ],
)
def test_named_permutations(mode, table):
    a, b = np.full(4, 0x33221100, np.uint32), np.full(4, 0x77665544, np.uint32)
    found = evaluate(f"prmt.b32.{mode} {{d}}, {{0}}, {{1}}, {{2}}", [a, b, np.arange(4, dtype="u4")], "u4")  # noqa: E501  # fmt: skip
    assert [f"{f:08x}" for f in found.tolist()] == ["".join(d * 2 for d in row) for row in table]
