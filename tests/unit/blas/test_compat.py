"""pyculib's class, and cuBLAS's functions under their names."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.blas import Blas
from pygpulib.blas.binding import (
    CUBLAS_POINTER_MODE_DEVICE,
    INV_STATUS,
    STATUS,
    CuBLASError,
    cuBlas,
)
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

A = np.arange(20.0).reshape(4, 5)
B = np.arange(30.0).reshape(5, 6)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_sizes_select_the_leading_parts(order, place):
    a, b = place(np.array(A, order=order)), place(np.array(B, order=order))
    c = place(np.ones((4, 6), order=order))
    assert Blas().gemm("N", "N", 2, 3, 4, 1.0, a, b, 1.0, c) is None
    expected = np.ones((4, 6))
    expected[:2, :3] += A[:2, :4] @ B[:4, :3]
    np.testing.assert_allclose(np.asarray(c), expected)


def test_arguments_may_be_named():
    y = np.zeros(4)
    Blas().gemv(trans="N", m=4, n=5, alpha=1, A=A, x=np.ones(5), beta=0, y=y)
    np.testing.assert_allclose(y, A.sum(axis=1))


def test_each_vector_has_its_own_step():
    x, y = np.arange(3.0), np.arange(6.0)[::2]
    Blas().rot(x, y, 0.0, 1.0)
    assert (x.tolist(), y.tolist()) == ([0, 2, 4], [0, -1, -2])


def test_packed_triangles_may_have_two_axes():
    packed = np.array([[1.0, 2], [3, 4]], order="F")
    x = np.ones(2)
    Blas().tpmv("L", "N", False, 2, packed, x)
    assert x.tolist() == [1, 5]


def test_the_stream_is_kept():
    stream = cuda.stream()
    library = Blas(stream)
    assert library.stream is stream
    library.stream = 0
    assert library.stream == 0


def test_mistakes_are_named():
    library = Blas()
    with pytest.raises(DTypeError) as caught:
        library.dot(A[0], A[0].astype("f4"))
    assert str(caught.value) == (
        "dot: the argument y has dtype float32\nexpected float64, the dtype of x\n"
        "help: convert one of them: y.astype(...)"
    )
    with pytest.raises(ShapeError) as caught:
        library.gemv("N", 4, 6, 1, A, np.ones(6), 0, np.ones(4))
    assert str(caught.value) == (
        "gemv: the argument A is too small: its shape is (4, 5)\nexpected at least (4, 6)"
    )


def test_typed_functions_take_addresses_and_distances():
    library = cuBlas()
    a, b = cuda.to_device(np.asfortranarray(A)), cuda.to_device(np.asfortranarray(B))
    c = cuda.device_array((4, 6), order="F")
    library.Dgemm("N", "N", 4, 6, 5, 1.0, a, 4, b, 5, 0.0, c, 4)
    np.testing.assert_allclose(c.copy_to_host(), A @ B)
    assert library.Idamax(20, a, 1) == 20
    assert library.Ddot(2, a, 4, a, 4) == 1
    assert library.Dnrm2(5, a, 4).dtype == np.float64
    z = cuda.to_device(np.array([1 + 1j, 2]))
    library.Zdscal(2, 3.0, z, 1)
    assert z.copy_to_host().tolist() == [3 + 3j, 6]


def test_numbers_are_taken_from_the_device_in_any_mode():
    library = cuBlas()
    library.pointer_mode = CUBLAS_POINTER_MODE_DEVICE
    assert library.pointer_mode == CUBLAS_POINTER_MODE_DEVICE
    x = cuda.to_device(np.ones(3))
    library.Dscal(3, cuda.to_device(np.array(5.0)), x, 1)
    library.Dscal(3, 2.0, x, 1)
    assert x.copy_to_host().tolist() == [10, 10, 10]


def test_what_cublas_would_refuse_has_its_status():
    library = cuBlas()
    a = cuda.to_device(A)
    for call in (
        lambda: library.Dgemm("N", "N", 4, 4, 4, 1.0, a, 3, a, 4, 0.0, a, 4),
        lambda: library.Dgemv("N", 4, 4, 1.0, a, 4, a, 0, 0.0, a, 1),
    ):
        with pytest.raises(CuBLASError, match="CUBLAS_STATUS_INVALID_VALUE") as caught:
            call()
        assert isinstance(caught.value, ArgumentError)
        assert STATUS[caught.value.code] == "CUBLAS_STATUS_INVALID_VALUE"
    assert INV_STATUS["CUBLAS_STATUS_NOT_SUPPORTED"] == 15
    with pytest.raises(CuBLASError) as caught:
        library.pointer_mode = 5
    assert str(caught.value) == (
        "pointer_mode: the mode is 5\nexpected one of the library's constants "
        "(CUBLAS_STATUS_INVALID_VALUE)"
    )


def test_numbers_for_real_arrays_are_real():
    x = np.ones(2)
    Blas().scal(2 + 0j, x)
    assert x.tolist() == [2, 2]
    with pytest.raises(ArgumentError) as caught:
        Blas().scal(2j, x)
    assert str(caught.value) == (
        "scal: the argument alpha is 2j\nexpected a real number: the arrays are of dtype float64"
    )
    with pytest.raises(ArgumentError) as caught:
        cuBlas().Dscal(2, 2j, cuda.to_device(x), 1)
    assert str(caught.value) == (
        "Dscal: the argument alpha is 2j\nexpected a real number: the function takes no other"
    )


def test_typed_functions_name_arguments_of_a_wrong_kind():
    x = cuda.to_device(np.ones(2))
    with pytest.raises(ArgumentTypeError) as caught:
        cuBlas().Ddot(2, np.ones(2), 1, x, 1)
    assert str(caught.value) == (
        "Ddot: the argument x is a NumPy array\nexpected an array in device memory\n"
        "help: copy it there with cuda.to_device(...)"
    )
    with pytest.raises(ArgumentTypeError) as caught:
        cuBlas().Ddot(2, x, 1.5, x, 1)
    assert str(caught.value) == "Ddot: the argument incx is 1.5\nexpected an integer"
