"""What the functions accept, and what they say about the rest."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.threads import one_thread
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

A = np.arange(12.0).reshape(3, 4)
B = np.arange(8.0).reshape(4, 2)
X = np.arange(4.0)

ERRORS = [
    (
        lambda: blas.gemm("N", "N", 1, A, A),
        ShapeError,
        "gemm: the argument B has shape (3, 4), which does not fit the other arguments\n"
        "expected k x n, so length 4 along axis 0: A has shape (3, 4) and transa is 'N', "
        "which makes k 4",
    ),
    (
        lambda: blas.gemm("T", "N", 1, A, B),
        ShapeError,
        "gemm: the argument B has shape (4, 2), which does not fit the other arguments\n"
        "expected k x n, so length 3 along axis 0: A has shape (3, 4) and transa is 'T', "
        "which makes k 3",
    ),
    (
        lambda: blas.gemm("N", "N", 1, A, B, 0, np.zeros((3, 3))),
        ShapeError,
        "gemm: the argument C has shape (3, 3), which does not fit the other arguments\n"
        "expected m x n, so length 2 along axis 1: B has shape (4, 2) and transb is 'N', "
        "which makes n 2",
    ),
    (
        lambda: blas.gemv("N", 1, A, A),
        ShapeError,
        "gemv: the argument x has 2 axes\nexpected one axis, its shape is (3, 4)",
    ),
    (
        lambda: blas.dot(X, X[:3]),
        ShapeError,
        "dot: the argument y has shape (3,), which does not fit the other arguments\n"
        "expected n, so length 4 along axis 0: x has shape (4,), which makes n 4",
    ),
    (
        lambda: blas.trsv("L", "N", False, A, X),
        ShapeError,
        "trsv: the argument A has shape (3, 4), which does not fit the other arguments\n"
        "expected n x n, so length 3 along axis 1: A has shape (3, 4), which makes n 3",
    ),
    (
        lambda: blas.tpmv("L", "N", False, X, X[:2]),
        ShapeError,
        "tpmv: the argument AP has shape (4,), which does not fit the other arguments\n"
        "expected n (n + 1) / 2, so length 3 along axis 0: x has shape (2,), which makes n 2",
    ),
    (
        lambda: blas.gbmv("N", 3, 1, 1, 1.0, A[:2], X),
        ShapeError,
        "gbmv: the argument A has shape (2, 4), which does not fit the other arguments\n"
        "expected diagonals x n, so length 3 along axis 0: the argument kl is 1",
    ),
    (
        lambda: blas.tpttr("L", np.zeros(4)),
        ShapeError,
        "tpttr: the argument AP has 4 elements\n"
        "expected n (n + 1) / 2 of them, those of a triangle",
    ),
    (
        lambda: blas.amax(X[:0]),
        ShapeError,
        "amax: the argument x has no elements\n"
        "expected at least one: an empty vector has no largest or smallest element",
    ),
    (
        lambda: blas.gemm("X", "N", 1, A, B),
        ArgumentError,
        "gemm: the argument transa is 'X'\n"
        "expected 'N' (as it is), 'T' (transposed) or 'C' (transposed and conjugated)",
    ),
    (
        lambda: blas.symv("M", 1, A, X),
        ArgumentError,
        "symv: the argument uplo is 'M'\n"
        "expected 'L' (the lower triangle) or 'U' (the upper triangle)",
    ),
    (
        lambda: blas.trmm("L", "U", "N", 2, 1, A, B),
        ArgumentError,
        "trmm: the argument diag is 2\n"
        "expected True (ones on the diagonal, whatever it holds) or False",
    ),
    (
        lambda: blas.gemm("N", "N", [1], A, B),
        ArgumentError,
        "gemm: the argument alpha is not a number: [1]\n"
        "expected a number, or an array without axes that holds one",
    ),
    (
        lambda: blas.her("L", 1j, X.astype("c16")),
        ArgumentError,
        "her: the argument alpha is 1j\n"
        "expected a real number: the result is Hermitian with no other",
    ),
    (
        lambda: blas.herk("L", "T", 1, A.astype("c16")),
        ArgumentError,
        "herk: the argument trans is 'T' and the arrays are complex\nexpected 'N' or 'C'",
    ),
    (
        lambda: blas.gemm("N", "N", 1, A, B, 2),
        ArgumentError,
        "gemm: the argument beta is given, and C is not\nbeta multiplies C\n"
        "help: give C, or leave beta out",
    ),
    (
        lambda: blas.scal(2, np.broadcast_to(X, (4,))),
        ArgumentError,
        "scal: the argument x is read-only\nthe routine writes to it",
    ),
    (
        lambda: blas.ger(1, X, X, np.lib.stride_tricks.as_strided(X, (4, 4), (8, 0))),
        ArgumentError,
        "ger: elements of the argument A share memory\n"
        "the routine writes to it, and the result would depend on the order\n"
        "help: give a copy, or leave it out",
    ),
    (
        lambda: blas.gemm("N", "N", 1, A.astype(int), B),
        DTypeError,
        "gemm: the argument A has the unsupported dtype int64\n"
        "expected float32, float64, complex64 or complex128\n"
        "help: convert it first, with .astype(...)",
    ),
    (
        lambda: blas.hemv("L", 1, np.eye(4), X),
        DTypeError,
        "hemv: the argument A has the unsupported dtype float64\n"
        "expected complex64 or complex128\n"
        "help: convert it first, with .astype(...)",
    ),
    (
        lambda: blas.dot([1.0, 2.0], X),
        ArgumentTypeError,
        "dot: the argument x is a list\nexpected an array\n"
        "help: make it one with numpy.asarray(...) or cuda.to_device(...)",
    ),
    (
        lambda: blas.gbmv("N", 3.5, 1, 1, 1, A, X),
        ArgumentTypeError,
        "gbmv: the argument m is 3.5\nexpected an integer",
    ),
    (
        lambda: blas.gbmv("N", -3, 1, 1, 1, A, X),
        ArgumentError,
        "gbmv: the argument m is -3\nexpected zero or more",
    ),
    (
        lambda: blas.rotm(X, X.copy(), [1.0, 2.0]),
        ShapeError,
        "rotm: the argument param has shape (2,)\nexpected five numbers: flag, h11, h21, h12, h22",
    ),
    (
        lambda: blas.rotmg(1j, 1, 1, 1),
        DTypeError,
        "rotmg: the argument d1 has the unsupported dtype complex128\n"
        "expected a number of dtype float32, float64",
    ),
    (
        lambda: blas.gemm_strided_batched("N", "N", 1, A[None], A[None]),
        ShapeError,
        "gemm_strided_batched: the argument B has shape (1, 3, 4), which does not fit A\n"
        "A has shape (1, 3, 4): expected 4 rows of op(B), got 3",
    ),
    (
        lambda: blas.getrf_batched(A[None]),
        ShapeError,
        "getrf_batched: the argument A has shape (1, 3, 4), which does not fit the other "
        "arguments\nexpected length 3 along axis 2: the matrices are square",
    ),
    (
        lambda: blas.gemm_batched("N", "N", 1, [A], [B, B]),
        ShapeError,
        "gemm_batched: the sequences are of different lengths\nA has 1 matrices, B 2",
    ),
    (
        lambda: blas.gemm_ex("N", "N", 1, A.astype("f2"), B.astype("f4")),
        DTypeError,
        "gemm_ex: the factors are of different dtypes: float16 and float32\n"
        "help: convert one of them first, with .astype(...)",
    ),
    (
        lambda: blas.gemm_ex("N", "N", 1, A, B, compute="tf32"),
        ArgumentError,
        "gemm_ex: float64 arrays are not multiplied in 'tf32'\nexpected 'float64'",
    ),
    (
        lambda: blas.matmul(A, B, bias=X),
        ShapeError,
        "matmul: the argument bias has shape (4,)\nexpected (2,), one element for each column",
    ),
    (
        lambda: blas.matmul(A, B, activation="tanh"),
        ArgumentError,
        "matmul: the argument activation is 'tanh'\nexpected 'relu' or 'gelu'",
    ),
    (
        lambda: blas.dot(A, X),
        ShapeError,
        "dot: the argument x has 2 axes\nexpected one axis, its shape is (3, 4)",
    ),
    (
        lambda: blas.gemm("N", "N", 1, A, B[0]),
        ShapeError,
        "gemm: the argument B has 1 axis\nexpected two axes, its shape is (2,)",
    ),
    (
        lambda: blas.gemm(["N"], "N", 1, A, B),
        ArgumentError,
        "gemm: the argument transa is ['N']\nexpected 'N' (as it is), 'T' (transposed) or 'C' "
        "(transposed and conjugated)",
    ),
    (
        lambda: blas.gemm("N", "N", 1, A, B, stream="fast"),
        ArgumentTypeError,
        "the argument stream is 'fast'\nexpected a stream, 0 for the default stream, or an object "
        "with __cuda_stream__\nhelp: create one with cuda.stream()",
    ),
    (
        lambda: blas.gemm("N", "N", 10**400, A, B),
        ArgumentError,
        "gemm: the argument alpha is too large\nexpected a number below 1e308",
    ),
    (
        lambda: blas.her("L", np.array(2j), X.astype("c16")),
        ArgumentError,
        "her: the argument alpha is np.complex128(2j)\n"
        "expected a real number: the result is Hermitian with no other",
    ),
    (
        lambda: blas.her("L", cuda.to_device(np.array(2j)), X.astype("c16")),
        ArgumentError,
        "her: the argument alpha is ndarray(0.+2.j)\n"
        "expected a real number: the result is Hermitian with no other",
    ),
    (
        lambda: blas.rot(X.astype("c16"), X.astype("c16"), 1j, 1),
        ArgumentError,
        "rot: the argument c is 1j\nexpected a real number: so are cosines",
    ),
    (
        lambda: blas.getrf_batched(A[None].astype(int)),
        DTypeError,
        "getrf_batched: the argument A has the unsupported dtype int64\n"
        "expected float32, float64, complex64 or complex128\n"
        "help: convert it first, with .astype(...)",
    ),
    (
        lambda: blas.getrs_batched("N", np.eye(2)[None], np.array([[1, 3]], "i4"), B[None, :2]),
        ArgumentError,
        "getrs_batched: the argument pivots names row 3\n"
        "expected what getrf_batched returned: numbers from 1 to 2",
    ),
    (
        lambda: blas.getri_batched(np.eye(2)[None], np.array([[0, 1]], "i4")),
        ArgumentError,
        "getri_batched: the argument pivots names row 0\n"
        "expected what getrf_batched returned: numbers from 1 to 2",
    ),
    (
        lambda: blas.gemm_ex("N", "N", 0.5, A.astype("i1"), B.astype("i1")),
        ArgumentError,
        "gemm_ex: the argument alpha is 0.5\nexpected an integer of 32 bits: the product is "
        "computed in int32\nhelp: ask for compute='float32'",
    ),
    (
        lambda: blas.gemm_ex("N", "N", 1, A.astype("i1"), B.astype("i1"), 2**70, np.ones((3, 2))),
        DTypeError,
        "gemm_ex: a product of int8 arrays in int32 is not float64\nexpected int32",
    ),
    (
        lambda: blas.gemm_ex("N", "N", -(2**31) - 1, A.astype("i1"), B.astype("i1")),
        ArgumentError,
        "gemm_ex: the argument alpha is -2147483649\nexpected an integer of 32 bits: the product "
        "is computed in int32\nhelp: ask for compute='float32'",
    ),
    (
        lambda: blas.matmul(A, B, bias=["a", "b"]),
        DTypeError,
        "matmul: the argument bias has the unsupported dtype <U1\nexpected real numbers",
    ),
    (
        lambda: blas.matmul(A, B, beta=1, C=(A @ B).astype("c8")),
        DTypeError,
        "matmul: the argument C has the unsupported dtype complex64\nexpected real numbers",
    ),
    (
        lambda: blas.matmul(np.ma.masked_array(A), B),
        ArgumentTypeError,
        "matmul: the argument A is a MaskedArray\nexpected an array\n"
        "help: make it one with numpy.asarray(...) or cuda.to_device(...)",
    ),
    (
        lambda: blas.matmul(A, B, alpha=1j),
        ArgumentError,
        "matmul: the argument alpha is 1j\n"
        "expected a real number: there are no complex products in mixed precision",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_mistakes_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_a_missing_argument_is_named():
    with pytest.raises(TypeError, match=r"gemv\(\) missing 1 required positional argument: 'x'"):
        blas.gemv("N", 1.0, A)


def test_numbers_do_not_widen_arrays_of_one_dtype():
    a, b = A.astype("f4"), B.astype("f4")
    assert blas.gemm("N", "N", 2.5, a, b).dtype == np.float32
    assert blas.gemm("N", "N", np.float64(2.5), a, b).dtype == np.float32
    assert blas.gemm("N", "N", 2.5j, a, b).dtype == np.complex64
    assert blas.gemm("N", "N", 1, a, B).dtype == np.float64
    assert blas.axpy(2.0, a[0].astype("c8"), a[1]).dtype == np.complex128


def test_a_widened_output_is_a_new_array():
    y = np.ones(3, np.float32)
    got = blas.gemv("N", 1, A, X, 2, y)
    assert got.dtype == np.float64
    assert (y == 1).all()
    np.testing.assert_allclose(got, A @ X + 2)


def test_big_endian_arrays_are_converted():
    np.testing.assert_allclose(blas.gemm("N", "N", 1, A.astype(">f8"), B), A @ B)


def test_letters_may_be_small():
    np.testing.assert_allclose(blas.gemm("t", "h", 1, A.T.copy(), B.T.copy()), A @ B)
    x = np.ones(2)
    blas.trsv("u", "n", "N", np.diag([2.0, 4.0]), x)
    assert x.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_numbers_may_be_arrays_without_axes(place):
    alpha, beta = place(np.array(2.0)), place(np.array(3.0))
    y = np.ones(3)
    np.testing.assert_allclose(blas.gemv("N", alpha, A, X, beta, y), 2 * A @ X + 3)


def test_results_are_where_the_arrays_are():
    assert type(blas.gemm("N", "N", 1, A, B)) is np.ndarray
    on_device = blas.gemm("N", "N", 1, cuda.to_device(A), B)
    assert isinstance(on_device, cuda.devicearray.DeviceNDArray)
    np.testing.assert_allclose(on_device.copy_to_host(), A @ B)
    host = np.zeros((3, 2))
    assert blas.gemm("N", "N", 1, cuda.to_device(A), cuda.to_device(B), 0, host) is host
    np.testing.assert_allclose(host, A @ B)


def test_outputs_that_overlap_factors():
    memory = np.arange(40.0)
    a, c = memory[:16].reshape(4, 4), memory[2:18].reshape(4, 4)
    expected = a @ a
    blas.gemm("N", "N", 1, a, a.copy(), 0, c)
    np.testing.assert_allclose(c, expected)
    square = np.arange(9.0).reshape(3, 3)
    expected = square @ square.T
    np.testing.assert_allclose(blas.gemm("N", "T", 1, square, square, 0, square), expected)
    x = np.arange(4.0)
    np.testing.assert_allclose(blas.axpy(2, x[:3], x[1:]), [1, 4, 7])
    lower = np.arange(1.0, 10).reshape(3, 3)
    expected = np.tril(lower) @ lower[1]
    np.testing.assert_allclose(blas.trmv("L", "N", False, lower, lower[1]), expected)


def test_a_product_of_nothing_is_what_beta_leaves():
    for order in "CF":
        c = np.ones((3, 2), order=order)
        blas.gemm("N", "N", 1, np.ones((3, 0)), np.ones((0, 2)), 4, c)
        assert (c == 4).all()
        c[...] = np.nan
        blas.gemm("N", "N", 1, np.ones((3, 0)), np.ones((0, 2)), 0, c)
        assert (c == 0).all()
    assert blas.gemv("N", 1, np.ones((3, 0)), np.ones(0)).tolist() == [0, 0, 0]
    assert blas.gemv("T", 1, np.ones((0, 3)), np.ones(0), 2, np.ones(3)).tolist() == [2, 2, 2]
    assert blas.dot(X[:0], X[:0]) == 0


def test_the_first_of_equal_elements_is_found():
    x = np.array([1.0, -3, 3, 0, -0.0])
    assert blas.amax(x) == 1
    assert blas.amin(x) == 3
    assert blas.amax(x[::-1]) == 2
    assert blas.amax(np.array([3 + 4j, 5 + 0j, 1 - 6j])) == 0


def test_threads_do_not_share_arguments():
    rng = np.random.default_rng(0)
    pairs = [(rng.random((40, 30)), rng.random((30, 50))) for _ in range(4)]
    failed = []

    def work(a, b):
        for _ in range(50):
            c = blas.gemm("N", "N", 2.0, a[::2], b, 0, np.empty((20, 50)))
            if not np.allclose(c, 2 * a[::2] @ b):
                failed.append(a)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_rotations():
    r, _, c, s = blas.rotg(3.0, 4.0)
    assert (float(r), float(c), float(s)) == (5.0, 0.6, 0.8)
    r, _, c, s = blas.rotg(np.complex64(1j), np.complex64(2))
    np.testing.assert_allclose([c * 1j + s * 2, -np.conj(s) * 1j + c * 2], [r, 0], atol=1e-6)
    x, y = np.array([3.0, 1]), np.array([4.0, 2])
    blas.rot(x, y, 0.6, 0.8)
    np.testing.assert_allclose([x[0], y[0]], [5, 0], atol=1e-15)
    param = blas.rotmg(2.0, 3.0, 4.0, 5.0)
    x, y = np.array([4.0]), np.array([5.0])
    blas.rotm(x, y, param)
    np.testing.assert_allclose(y, 0, atol=1e-14)


def test_calls_that_look_alike_are_told_apart():
    rng = np.random.default_rng(1)
    for order in "CF":
        a, b, c = (np.array(rng.random((70, 70)), order=order) for _ in range(3))
        expected = a @ a
        np.testing.assert_allclose(blas.gemm("N", "N", 1.0, a, a, 0, c), expected)
        np.testing.assert_allclose(blas.gemm("N", "N", 1.0, a, b, 0, c), a @ b)
        np.testing.assert_allclose(blas.gemm("N", "N", 1.0, a, b, 0.0, c), a @ b)
        np.testing.assert_allclose(blas.gemm("N", "N", 2.0, b, a, 0, c), 2 * b @ a)
        expected = a @ b
        np.testing.assert_allclose(blas.gemm("N", "N", 1.0, a, b, 0, a), expected)
        memory = rng.random(5000)
        one, other = (memory[start:][:4900].reshape((70, 70), order=order) for start in (0, 100))
        expected = one @ b
        np.testing.assert_allclose(blas.gemm("N", "N", 1.0, one, b, 0, other), expected)
        b.flags.writeable = False
        with pytest.raises(ArgumentError, match="the argument C is read-only"):
            blas.gemm("N", "N", 1.0, c, a, 0, b)
    x, y = np.arange(3.0), np.arange(3.0)
    for param in (np.array([-1.0, 1, 2, 3, 4]), np.array([-1.0, 5, 6, 7, 8])):
        expected = param[1] * x + param[3] * y
        np.testing.assert_allclose(blas.rotm(x.copy(), y.copy(), param)[0], expected)


def test_results_of_calls_that_look_alike_are_different_arrays():
    x, y = np.arange(70.0), np.ones(70)
    first = blas.ger(1.0, x, y)
    second = blas.ger(2.0, x, y)
    np.testing.assert_allclose(first, np.outer(x, y))
    np.testing.assert_allclose(second, 2 * np.outer(x, y))


def test_products_of_middle_size_leave_the_number_of_threads_alone():
    control = one_thread()
    if control is None:
        pytest.skip("SciPy's BLAS has no such function")
    before = control._get()
    a = np.random.default_rng(2).random((100, 100))
    with control:
        assert control._get() == 1
        np.testing.assert_allclose(blas.gemm("N", "T", 1.0, a, a), a @ a.T)
        assert control._get() == 1
    assert control._get() == before


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_small_products_of_any_order_and_letter(dtype):
    rng = np.random.default_rng(3)
    ops = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}
    for transa, transb, orders in itertools.product(
        "NTC", "NTC", itertools.product("CF", repeat=3)
    ):
        a = rng.random((2, 3) if transa == "N" else (3, 2))
        b = rng.random((3, 4) if transb == "N" else (4, 3))
        c = rng.random((2, 4))
        a, b, c = (
            np.array(each * (1 + 2j) if dtype == "c16" else each, dtype, order=order)
            for each, order in zip((a, b, c), orders, strict=True)
        )
        product = 2 * ops[transa](a) @ ops[transb](b)
        np.testing.assert_allclose(blas.gemm(transa, transb, 2, a, b), product, rtol=1e-5)
        expected = product + 3 * c
        assert blas.gemm(transa, transb, 2, a, b, 3.0, c) is c
        np.testing.assert_allclose(c, expected, rtol=1e-5)
        c[...] = np.nan
        blas.gemm(transa, transb, 2, a, b, 0, c)
        np.testing.assert_allclose(c, product, rtol=1e-5)


def test_a_number_in_an_array_is_read_at_each_call():
    big = np.ones((70, 70))
    zero, two = np.zeros(()), np.full((), 2.0)
    np.testing.assert_array_equal(blas.gemm("N", "N", 1, big, big, zero), 70 * big)
    with pytest.raises(ArgumentError, match="the argument beta is given, and C is not"):
        blas.gemm("N", "N", 1, big, big, two)
    z = np.zeros((2, 2), complex)
    blas.her("L", np.array(1 + 0j), np.ones(2, complex), z)
    with pytest.raises(ArgumentError, match="expected a real number"):
        blas.her("L", np.array(1 + 2j), np.ones(2, complex), z)


@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
@pytest.mark.parametrize("repeat", range(2))
def test_two_outputs_do_not_share_elements(place, repeat):
    memory = place(np.arange(10.0))
    for x, y in [
        (memory[:4], memory[1:5]),
        (memory[:4], memory[3::-1]),
        (memory[:6:2], memory[4:7]),
        (memory[3:4], memory[3:4]),
    ]:
        with pytest.raises(ArgumentError, match="rot: the arguments x and y share memory"):
            blas.rot(x, y, 0.6, 0.8)
    with pytest.raises(ArgumentError, match="swap: the arguments x and y share memory"):
        blas.swap(memory[:4], memory[3::-1])
    np.testing.assert_array_equal(np.asarray(memory), np.arange(10.0))
    blas.swap(memory[:4], memory[:4])
    blas.swap(memory[:0], memory[:0])
    np.testing.assert_array_equal(np.asarray(memory), np.arange(10.0))
    blas.swap(memory[::2], memory[1::2])
    np.testing.assert_array_equal(np.asarray(memory), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8])
    blas.swap(memory[:5], memory[9:4:-1])
    np.testing.assert_array_equal(np.asarray(memory), [8, 9, 6, 7, 4, 5, 2, 3, 0, 1])


def test_a_plan_for_two_outputs_does_not_serve_those_that_share_elements():
    memory = np.arange(10.0)
    blas.swap(memory[:4], memory[4:8])
    with pytest.raises(ArgumentError, match="share memory"):
        blas.swap(memory[:4], memory[2:6])


def test_factors_are_not_read_if_alpha_is_zero():
    bad = np.full((2, 2), np.nan)
    stack, ones = np.full((3, 2, 2), np.nan), np.ones((2, 2))
    np.testing.assert_array_equal(blas.gemm("N", "N", 0, bad, ones, 2, ones.copy()), 2 * ones)
    np.testing.assert_array_equal(blas.gemm_ex("N", "N", 0, bad, ones, 2, ones.copy()), 2 * ones)
    np.testing.assert_array_equal(blas.gemm_ex("N", "N", 0, bad, ones), 0 * ones)
    found = blas.gemm_strided_batched("N", "N", 0, stack, ones, 2, np.ones((3, 2, 2)))
    np.testing.assert_array_equal(found, np.full((3, 2, 2), 2.0))
    found = blas.gemm_strided_batched("N", "N", 0, stack, ones, 0, stack.copy())
    np.testing.assert_array_equal(found, np.zeros((3, 2, 2)))


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_numbers_beyond_float32_are_infinite(dtype):
    x = np.ones(3, dtype)
    with np.errstate(invalid="ignore"):
        added, multiplied = blas.axpy(1e300, x, x.copy()), blas.scal(-1e300, x.copy())
    np.testing.assert_array_equal(added.real, np.full(3, np.inf))
    np.testing.assert_array_equal(multiplied.real, np.full(3, -np.inf))


def test_the_diagonal_may_be_told_by_numbers():
    a = np.array([[2.0, 0], [1, 4]])
    for unit, flag in ((False, 0), (True, 1), (True, np.int64(1))):
        expected = blas.trsv("L", "N", unit, a, np.array([4.0, 8]))
        np.testing.assert_array_equal(blas.trsv("L", "N", flag, a, np.array([4.0, 8])), expected)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_factors_of_triangles_are_not_read_if_alpha_is_zero(dtype):
    bad, ones = np.full((2, 2), np.nan, dtype), np.ones((2, 2), dtype)
    for routine in (blas.syrk, blas.syrkx, blas.syr2k):
        factors = [bad] if routine is blas.syrk else [bad, bad]
        got = routine("L", "N", 0, *factors, 2, ones.copy())
        np.testing.assert_array_equal(got, [[2, 1], [2, 2]])
    np.testing.assert_array_equal(blas.syr2("L", 0, bad[0], bad[0], ones.copy()), ones)
