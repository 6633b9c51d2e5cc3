"""Packed arrays, which go a shorter way: the numbers and the rules are those of all others."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.errors import ArgumentError, ShapeError

PLACES = pytest.mark.parametrize("place", [np.copy, cuda.to_device], ids=["host", "device"])
DTYPES = pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])


def numbers(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype[0] == "c" else 0)
    return made.astype(dtype)


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)


@PLACES
@DTYPES
@pytest.mark.parametrize("count", [1, 8, 5000])
def test_numbers_from_vectors(place, dtype, count):
    x, y = numbers(dtype, count), numbers(dtype, count, seed=1)
    real = x.real.dtype
    for got, expected, kind in [
        (blas.dot(place(x), place(y)), (x * y).sum(), x.dtype),
        (blas.dotc(place(x), place(y)), (x.conj() * y).sum(), x.dtype),
        (blas.nrm2(place(x)), np.sqrt((abs(x) ** 2).sum()), real),
        (blas.asum(place(x)), (abs(x.real) + abs(x.imag)).sum(), real),
    ]:
        assert got.dtype == kind
        np.testing.assert_allclose(got, expected, rtol=2e-3 if real == "f4" else 1e-10)


@PLACES
@DTYPES
@pytest.mark.parametrize("alpha", [2, -0.5, 0.0, True, np.float32(2), 1 + 0j, np.array(3.0)])
def test_vectors_are_changed_in_place(place, dtype, alpha):
    x, y = place(numbers(dtype, 6)), place(numbers(dtype, 6, seed=1))
    kept, before = np.asarray(x).copy(), np.asarray(y).copy()
    is_widened = isinstance(alpha, complex) and dtype[0] == "f"
    added = blas.axpy(alpha, x, y)
    assert (added is y) == (not is_widened)
    same(added, alpha * kept + before)
    scaled = blas.scal(alpha, x)
    assert (scaled is x) == (not is_widened)
    same(scaled, alpha * kept)


@PLACES
@DTYPES
@pytest.mark.parametrize("count", [1, 7])
def test_vectors_are_copied_exchanged_and_searched(place, dtype, count):
    x, y = numbers(dtype, count), numbers(dtype, count, seed=1)
    first, second = place(x), place(y)
    exchanged = blas.swap(first, second)
    assert exchanged[0] is first
    assert exchanged[1] is second
    np.testing.assert_array_equal(np.asarray(first), y)
    np.testing.assert_array_equal(np.asarray(second), x)
    assert blas.copy(first, second) is second
    np.testing.assert_array_equal(np.asarray(second), y)
    found = blas.amax(first)
    assert type(found) is int
    assert found == np.argmax(abs(y.real) + abs(y.imag))
    memory = place(numbers(dtype, 2 * count))
    expected = np.asarray(memory)[:count].copy()
    np.testing.assert_array_equal(
        np.asarray(blas.copy(memory[:count], memory[1 : count + 1])), expected
    )


@PLACES
def test_numbers_that_are_none_or_infinite_multiply(place):
    with np.errstate(invalid="ignore", over="ignore"):
        for alpha in (np.nan, np.inf, -np.inf, 1e308, 1e300):
            for dtype in ("f4", "f8"):
                x = np.array([1.0, -2.0], dtype)
                expected = (alpha * x.astype("f8")).astype(dtype)
                got = np.asarray(blas.scal(alpha, place(x)))
                np.testing.assert_array_equal(got, expected)


def test_vectors_that_lie_in_other_ways():
    memory = numbers("f8", 40)
    kept = memory.copy()
    for x, y in [
        (memory[:6], memory[3:9]),
        (memory[:12:2], memory[30:18:-2]),
        (memory[5::-1], memory[10:16]),
        (np.frombuffer(b"\0" + memory.tobytes(), "f8", 6, 1), memory[:6].astype(">f8")),
    ]:
        product, total = (x * y).sum(), 2 * x + y
        same(blas.dot(x, y), product)
        same(blas.axpy(2.0, x, y), total)
        memory[...] = kept
    same(blas.axpy(1.0, memory[:6], memory[:6]), 2 * kept[:6])


@PLACES
def test_rules_for_packed_vectors(place):
    x, frozen = place(np.ones(3)), np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="scal: the argument x is read-only"):
        blas.scal(2.0, frozen)
    for name, call in {
        "axpy: the argument y": lambda: blas.axpy(2.0, place(frozen), frozen),
        "copy: the argument y": lambda: blas.copy(x, frozen),
        "swap: the argument x": lambda: blas.swap(frozen, x),
        "swap: the argument y": lambda: blas.swap(x, frozen),
    }.items():
        with pytest.raises(ArgumentError, match=f"{name} is read-only"):
            call()
    same(x, [1, 1, 1])
    same(blas.axpy(2.0, frozen, x), [3, 3, 3])
    for call in (blas.dot, blas.copy, blas.swap, lambda x, y: blas.axpy(1.0, x, y)):
        with pytest.raises(ShapeError, match=r"the argument y has shape \(2,\)"):
            call(place(np.ones(3)), place(np.ones(2)))
    assert blas.dot(place(np.ones(0)), place(np.ones(0))) == 0
    assert blas.nrm2(place(np.ones(3, "f4"))).dtype == np.float32
    assert blas.dot(place(np.ones(3, "f4")), place(np.ones(3))).dtype == np.float64


@PLACES
@pytest.mark.parametrize("stream", [None, 0, "new"])
def test_streams_are_no_detour(place, stream):
    stream = cuda.stream() if stream == "new" else stream
    x, a = place(np.arange(4.0)), place(np.arange(16.0).reshape(4, 4))
    same(blas.nrm2(x, stream=stream), np.sqrt(14))
    same(blas.gemm("N", "N", 1, a, a, stream=stream), np.asarray(a) @ np.asarray(a))
    with pytest.raises(TypeError, match="the argument stream is 'fast'"):
        blas.nrm2(x, stream="fast")


@PLACES
@DTYPES
@pytest.mark.parametrize("order", ["C", "F"])
def test_small_products_into_parts_of_one_buffer(place, dtype, order):
    memory = place(numbers(dtype, 64))
    parts = [
        memory[start : start + 16].reshape((4, 4), order=order) for start in (0, 16, 40, 8, 3, 44)
    ]
    for a, b, c in [(0, 1, 2), (0, 0, 1), (0, 1, 3), (4, 1, 1), (2, 0, 2), (0, 2, 5)]:
        first, second, out = (np.asarray(parts[i]).copy() for i in (a, b, c))
        got = blas.gemm("N", "T", 2, parts[a], parts[b], 3, parts[c])
        assert got is parts[c]
        same(got, 2 * first @ second.T + 3 * out)
        memory[:] = numbers(dtype, 64)


OPS = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}


@PLACES
@DTYPES
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("trans", OPS)
def test_packed_matrices_times_vectors(place, dtype, order, trans):
    a = np.array(numbers(dtype, 3, 5), order=order)
    x, y = (
        numbers(dtype, 5 if trans == "N" else 3),
        numbers(dtype, 3 if trans == "N" else 5, seed=1),
    )
    product = OPS[trans](a) @ x
    same(blas.gemv(trans, 2, place(a), place(x)), 2 * product)
    out = place(y)
    assert blas.gemv(trans, -0.5, place(a), place(x), 3.0, out) is out
    same(out, 3 * y - 0.5 * product)
    unread = place(np.full_like(y, np.nan))
    same(blas.gemv(trans, 1, place(a), place(x), 0, unread), product)
    same(blas.gemv(trans, 0, place(np.full_like(a, np.nan)), place(x), 2, place(y)), 2 * y)
    for wrong in (place(y[:-1]), place(np.append(y, y))):
        with pytest.raises(ShapeError, match="gemv: the argument y has shape"):
            blas.gemv(trans, 1, place(a), place(x), 1, wrong)


def test_vectors_that_share_memory_with_a_matrix():
    memory = numbers("f8", 30)
    for a, x, y in [
        (memory[:9].reshape(3, 3), memory[9:12], memory[6:9]),
        (memory[:9].reshape(3, 3), memory[9:12], memory[10:13]),
        (memory[:9].reshape(3, 3), memory[3:6], memory[3:6]),
        (memory[:9].reshape(3, 3).T, memory[20:14:-2], memory[9:18:3]),
    ]:
        expected = 2 * a @ x + y
        same(blas.gemv("N", 2, a, x, 1, y), expected)
        memory[...] = numbers("f8", 30)


@pytest.mark.cpu_only("only there the number of threads depends on the size")
@pytest.mark.parametrize("dtype", ["f4", "c16"])
@pytest.mark.parametrize("size", [63, 64, 130, 201])
@pytest.mark.parametrize("orders", ["CCC", "FCF"])
def test_packed_products_of_all_sizes(dtype, size, orders):
    a, b, c = (
        np.array(numbers(dtype, size, size, seed=i), order=order) for i, order in enumerate(orders)
    )
    bound = size * np.finfo(dtype).eps
    made = blas.gemm("N", "T", 1, a, b)
    assert made.dtype == dtype
    assert abs(made - a @ b.T).max() <= 8 * bound
    expected = a @ b.T + 2 * c
    assert blas.gemm("N", "T", 1, a, b, 2, c) is c
    assert abs(c - expected).max() <= 8 * bound


@PLACES
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("c", [1, 0.6, np.float32(0.6), np.array(0.6)])
def test_vectors_are_rotated(place, dtype, c):
    x, y = numbers(dtype, 6), numbers(dtype, 6, seed=1)
    first, second = place(x), place(y)
    made = blas.rot(first, second, c, 0.8)
    assert made[0] is first
    assert made[1] is second
    same(first, c * x + 0.8 * y)
    same(second, c * y - 0.8 * x)
    with pytest.raises(ArgumentError, match="rot: the arguments x and y share memory"):
        blas.rot(first[:3], first[1:4], c, 0.8)
    with pytest.raises(ShapeError, match="rot: the argument y has shape"):
        blas.rot(first, second[1:], c, 0.8)
    with pytest.raises(ArgumentError, match="rot: the argument c is"):
        blas.rot(first, second, 1j, 0.8)


@PLACES
@DTYPES
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (1, 4), (4, 1), (1, 1)])
def test_outer_products_are_added_to_packed_matrices(place, dtype, order, shape):
    a = np.array(numbers(dtype, *shape), order=order)
    x, y = numbers(dtype, shape[0], seed=1), numbers(dtype, shape[1], seed=2)
    for alpha in (2, -0.5, True, np.float32(2), 1j) if dtype[0] == "c" else (2, -0.5, True):
        out = place(a)
        assert blas.ger(alpha, place(x), place(y), out) is out
        same(out, alpha * np.outer(x, y) + a)
    same(blas.ger(3, place(x), place(y)), 3 * np.outer(x, y))
    out = place(a)
    blas.ger(0, place(np.full_like(x, np.nan)), place(y), out)
    same(out, a)
    with pytest.raises(ShapeError, match="ger: the argument A has shape"):
        blas.ger(1, place(np.append(x, x)), place(y), place(a))


def test_outer_products_of_parts_of_the_matrix():
    for order in "CF":
        a = np.array(numbers("f8", 3, 3), order=order)
        expected = np.outer(a[0], a[:, 1]) + a
        same(blas.ger(1, a[0], a[:, 1], a), expected)
    frozen = np.zeros((2, 2))
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="ger: the argument A is read-only"):
        blas.ger(1, frozen[0], frozen[1], frozen)


@PLACES
@DTYPES
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("trans", ["N", "T", "C", "h"])
@pytest.mark.parametrize("uplo", ["L", "U", "u"])
def test_packed_triangles_multiply_and_solve(place, dtype, order, trans, uplo):
    full = numbers(dtype, 4, 4) + 3 * np.eye(4, dtype=dtype)
    inside = np.tril(np.ones((4, 4), bool)) if uplo == "L" else np.triu(np.ones((4, 4), bool))
    # What is not used may hold anything.
    given = np.array(np.where(inside, full, np.nan), order=order)
    x = numbers(dtype, 4, seed=1)
    for diag in (False, True, "N", "U", np.True_):
        is_unit = diag in (True, "U")
        square = np.where(inside, full, 0)
        if is_unit:
            np.fill_diagonal(square, 1)
        square = OPS["C" if trans == "h" else trans](square)
        out = place(x)
        assert blas.trmv(uplo, trans, diag, place(given), out) is out
        same(out, square @ x)
        assert blas.trsv(uplo, trans, diag, place(given), out) is out
        np.testing.assert_allclose(np.asarray(out), x, rtol=1e-4, atol=1e-4)


@PLACES
def test_rules_for_triangles(place):
    a, x = place(np.eye(3)), place(np.ones(3))
    for name in ("trmv", "trsv"):
        work = getattr(blas, name)
        for wrong, told in (("X", "uplo is 'X'"), (3, "uplo is 3"), (["L"], r"uplo is \['L'\]")):
            with pytest.raises(ArgumentError, match=f"{name}: the argument {told}"):
                work(wrong, "N", False, a, x)
        with pytest.raises(ArgumentError, match=f"{name}: the argument diag is 2"):
            work("L", "N", 2, a, x)
        with pytest.raises(ShapeError, match=f"{name}: the argument x has shape"):
            work("L", "N", False, a, place(np.ones(4)))
        with pytest.raises(ShapeError, match=f"{name}: the argument A has shape"):
            work("L", "N", False, place(np.ones((3, 2))), x)
        same(work("L", "N", False, a[:0, :0], x[:0]), [])
    memory = 2 * np.eye(3)
    row = memory[1]
    expected = memory @ row
    same(blas.trmv("L", "N", False, memory, row), expected)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
@pytest.mark.parametrize("size", [3, 70])
def test_new_products_lie_where_the_factors_do(dtype, size):
    a, b = numbers(dtype, size, size), numbers(dtype, size, size, seed=1)
    made = blas.gemm("N", "T", 2, cuda.to_device(a), cuda.to_device(b))
    assert isinstance(made, cuda.devicearray.DeviceNDArray)
    assert made.dtype == dtype
    np.testing.assert_allclose(made.copy_to_host(), 2 * a @ b.T, rtol=1e-3, atol=1e-3)
