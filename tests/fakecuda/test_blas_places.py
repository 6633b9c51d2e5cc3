"""Arrays at odd addresses, which a GPU does not read, and numbers that an output writes over."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pygpulib import blas, cuda
from tests.helpers.cublas_fake import replace_cublas


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def numbers(dtype, *shape):
    rng = np.random.default_rng(len(shape))
    if dtype == "i1":
        return rng.integers(-9, 9, shape).astype(dtype)
    made = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype[0] == "c" else 0)
    return made.astype(dtype)


def at_odd_address(host, flipped=False):
    """Return a device array that begins one byte after where its dtype may."""
    memory = cuda.to_device(np.zeros(host.nbytes + 1, np.uint8))
    shape = (*host.shape[:-2], *host.shape[:-3:-1]) if flipped else host.shape
    array = memory[1:].view(host.dtype).reshape(*shape)
    if flipped:
        array = array.transpose(*range(host.ndim - 2), host.ndim - 1, host.ndim - 2)
    array[...] = host
    assert array.address % 2
    return array


def solve(a, b):
    factors, pivots, _ = blas.getrf_batched(a)
    host = factors.copy_to_host()
    odd = at_odd_address(host, flipped=True)
    return blas.getrs_batched("N", odd, at_odd_address(pivots.copy_to_host()), b)


A, B, STACK = (3, 4), (4, 2), (3, 4, 4)
CALLS = {
    "gemm": (A, B, lambda a, b: blas.gemm("N", "N", 2, a, b), lambda a, b: 2 * a @ b),
    "gemv": (A, (4,), lambda a, b: blas.gemv("N", 2, a, b), lambda a, b: 2 * a @ b),
    "symm": (
        (4, 4),
        B,
        lambda a, b: blas.symm("L", "L", 1, a, b),
        lambda a, b: (np.tril(a) + np.tril(a, -1).T) @ b,
    ),
    "nothing": (A, B, lambda a, b: blas.gemm("N", "N", 0, a, b), lambda a, b: 0 * a @ b),
    "stack": (
        STACK,
        STACK,
        lambda a, b: blas.gemm_strided_batched("C", "N", 1, a, b),
        lambda a, b: a.conj().transpose(0, 2, 1) @ b,
    ),
    "vectors": (
        STACK,
        (3, 4),
        lambda a, b: blas.gemv_batched("N", 1, a, b),
        lambda a, b: (a @ b[:, :, None])[:, :, 0],
    ),
    "lists": (
        STACK,
        STACK,
        lambda a, b: blas.gemm_batched("T", "C", 1, list(a), list(b))[1],
        lambda a, b: a[1].T @ b[1].conj().T,
    ),
    "factors": (
        STACK,
        STACK,
        solve,
        np.linalg.solve,
    ),
    "squares": (
        (3, 5, 4),
        (3, 5, 2),
        lambda a, b: blas.gels_batched("N", a, b)[0],
        lambda a, b: np.linalg.pinv(a) @ b,
    ),
}
MIXED = {
    "gemm_ex": (A, B, lambda a, b: blas.gemm_ex("N", "N", 1, a, b)),
    "matmul": (STACK, (*B[:1], 2), blas.matmul),
    "relu": (A, B, lambda a, b: blas.matmul(a, b, activation="relu")),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("flipped", [False, True])
def test_factors_at_odd_addresses(library, fake_cuda, name, dtype, flipped):
    first, second, call, reference = CALLS[name]
    a, b = numbers(dtype, *first), numbers(dtype, *second)
    got = call(at_odd_address(a, flipped), at_odd_address(b, flipped and b.ndim > 1))
    np.testing.assert_allclose(
        got.copy_to_host(), reference(a, b), rtol=2e-3 if dtype == "f4" else 1e-9, atol=1e-3
    )
    assert not fake_cuda.internal_errors


# Integers are not finished.
PRODUCTS = [each for each in product(MIXED, ("f2", "f4", "f8", "i1")) if each != ("relu", "i1")]


@pytest.mark.parametrize(("name", "dtype"), PRODUCTS)
@pytest.mark.parametrize("flipped", [False, True])
def test_mixed_factors_at_odd_addresses(library, fake_cuda, name, dtype, flipped):
    first, second, call = MIXED[name]
    a, b = numbers(dtype, *first), numbers(dtype, *second)
    got = call(at_odd_address(a, flipped), at_odd_address(b, flipped)).copy_to_host()
    expected = a.astype("f8") @ b.astype("f8")
    expected = np.maximum(expected, 0) if name == "relu" else expected
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-2)
    assert not fake_cuda.internal_errors


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_outputs_and_more_at_odd_addresses(library, fake_cuda, dtype):
    a, c = numbers(dtype, 4, 4), numbers(dtype, 3, 4, 4)
    alpha, bias = numbers(dtype, 1)[0], numbers(dtype, 4)
    x = cuda.to_device(a)
    odd = at_odd_address(c[0])
    blas.gemm("N", "N", at_odd_address(alpha.reshape(1)).reshape(()), x, x, 2, odd)
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(odd.copy_to_host(), alpha * a @ a + 2 * c[0], **tolerance)
    stack = at_odd_address(c)
    many = cuda.to_device(np.stack([a, 2 * a, 3 * a]))
    blas.gemm_strided_batched("N", "N", 1, many, x, 2, stack)
    expected = many.copy_to_host() @ a + 2 * c
    np.testing.assert_allclose(stack.copy_to_host(), expected, **tolerance)
    for beta in (2, 0, cuda.to_device(np.array(2, dtype)), at_odd_address(alpha.reshape(1))[0:1]):
        stack, number = at_odd_address(c), beta if isinstance(beta, int) else beta.reshape(())
        blas.gemm_strided_batched("N", "N", 1, many[:, :, :0], x[:0], number, stack)
        np.testing.assert_allclose(stack.copy_to_host(), float(number) * c, **tolerance)
    lists = list(at_odd_address(c))
    blas.gemm_batched("N", "N", 1, [x] * 3, [x] * 3, 2, lists)
    np.testing.assert_allclose(lists[2].copy_to_host(), a @ a + 2 * c[2], **tolerance)
    odd = at_odd_address(c[1])
    blas.gemm_ex("N", "N", 1, x, x, 2, odd)
    np.testing.assert_allclose(odd.copy_to_host(), a @ a + 2 * c[1], **tolerance)
    made = blas.matmul(x, x, beta=2, C=at_odd_address(c[2]), bias=at_odd_address(bias))
    np.testing.assert_allclose(made.copy_to_host(), a @ a + 2 * c[2] + bias, **tolerance)
    assert not fake_cuda.internal_errors


def element(array, *place):
    """Return an element as an array without axes, in the same memory."""
    return array[tuple([slice(i, i + 1) for i in place])].reshape(())


OVERWRITTEN = {
    "scal": (lambda a, x: blas.scal(element(x, 0), x), lambda a, x: x[0] * x),
    "axpy": (lambda a, x: blas.axpy(element(x, 2), a[0], x), lambda a, x: x[2] * a[0] + x),
    "gemv": (
        lambda a, x: blas.gemv("N", element(x, 0), a, a[1], element(x, 1), x),
        lambda a, x: x[0] * a @ a[1] + x[1] * x,
    ),
    "nothing": (
        lambda a, x: blas.gemv("N", 0, a, a[1], element(x, 1), x),
        lambda a, x: x[1] * x,
    ),
    "stack": (
        lambda a, x: blas.gemv_batched("N", element(x, 3), a, a[1], element(x, 1), x.reshape(1, 4)),
        lambda a, x: (x[3] * a @ a[1] + x[1] * x)[None],
    ),
    "list": (
        lambda a, x: blas.gemm_batched(
            "N",
            "T",
            element(x, 0),
            [a, a],
            [a[:1], a[:1]],
            element(x, 1),
            [x.reshape(4, 1), cuda.to_device(np.ones((4, 1)))],
        )[1],
        lambda a, x: x[0] * a @ a[:1].T + x[1],
    ),
    "one after the other": (
        lambda a, x: blas.gemm_batched(
            "N", "T", element(x, 0), [a, a], [a[:1], a[:1]], 1, [x.reshape(4, 1)] * 2
        )[1],
        lambda a, x: 2 * x[0] * a @ a[:1].T + x[:, None],
    ),
    "gemm_ex": (
        lambda a, x: blas.gemm_ex("N", "T", element(x, 0), a, a[:1], element(x, 1), x[:, None]),
        lambda a, x: x[0] * a @ a[:1].T + x[1] * x[:, None],
    ),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
@pytest.mark.parametrize("times", [1, 2])
def test_numbers_that_the_output_writes_over(library, fake_cuda, name, times):
    call, reference = OVERWRITTEN[name]
    a = numbers("f8", 4, 4)
    for _ in range(times):
        x = numbers("f8", 4)
        got = call(cuda.to_device(a), cuda.to_device(x))
        np.testing.assert_allclose(got.copy_to_host(), reference(a, x), rtol=1e-12)
    assert not fake_cuda.internal_errors


def test_a_plan_is_left_where_a_number_is_written_over(library, fake_cuda):
    a, host = cuda.to_device(numbers("f8", 4, 4)), numbers("f8", 4)
    for place in ("elsewhere", "inside", "elsewhere"):
        x = cuda.to_device(host)
        alpha = element(x, 1) if place == "inside" else cuda.to_device(host[1:2]).reshape(())
        blas.gemv("N", alpha, a, a[0], 1, x)
        expected = host[1] * numbers("f8", 4, 4) @ numbers("f8", 4, 4)[0] + host
        np.testing.assert_allclose(x.copy_to_host(), expected)
    assert not fake_cuda.internal_errors
