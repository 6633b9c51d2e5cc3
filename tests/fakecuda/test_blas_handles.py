"""What cuBLAS is told besides its routines: streams, modes, threads, and what it refuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib._bindings import cublas
from pygpulib.blas import cuda_functions
from pygpulib.blas.binding import CuBLASError, cuBlas
from pygpulib.errors import ArgumentError, DeviceMismatchError, LibraryError
from tests.helpers.cublas_fake import replace_cublas


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def test_numbers_in_device_memory_are_not_waited_for(library, fake_cuda):
    stream = cuda.stream()
    alpha = cuda.to_device(np.array(2.0), stream=stream)
    x = cuda.to_device(np.arange(4.0), stream=stream)
    y = cuda.to_device(np.ones(4), stream=stream)
    stream.synchronize()
    before = len(fake_cuda.calls)
    blas.axpy(alpha, x, y, stream=stream)
    names = [call.name for call in fake_cuda.calls[before:]]
    assert not [name for name in names if "Synchronize" in name or "DtoH" in name]
    alpha.copy_to_device(np.array(5.0), stream=stream)
    blas.scal(3.0, y, stream=stream)
    assert y.copy_to_host(stream=stream).tolist() == [3, 9, 15, 21]
    assert library.modes == [1, 0]


def test_a_number_of_the_host_joins_one_of_the_device(library):
    a, x = cuda.to_device(np.eye(3)), cuda.to_device(np.arange(3.0))
    y = cuda.to_device(np.ones(3))
    blas.gemv("N", 2.0, a, x, cuda.to_device(np.array(10.0)), y)
    assert y.copy_to_host().tolist() == [10, 12, 14]
    narrow = cuda.to_device(np.array(1, np.int32))
    blas.gemv("N", narrow, a, x, 0, y)
    assert y.copy_to_host().tolist() == [0, 1, 2]


def test_every_thread_has_a_handle(library):
    x = cuda.to_device(np.ones(5))
    assert blas.nrm2(x) == pytest.approx(5**0.5)
    found = []

    def work():
        found.append(float(blas.dot(x, x)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [5, 5, 5]
    assert len(library.created) == 4


def test_handles_keep_a_bounded_number_of_workspaces(library, fake_cuda):
    x = cuda.to_device(np.ones(3))
    for _ in range(30):
        stream = cuda.stream()
        blas.scal(1.0, x, stream=stream)
        stream.synchronize()
    cuda.synchronize()
    alive = [each for each in fake_cuda.leaks() if "memory of 4194304 bytes" in each]
    assert 0 < len(alive) <= 10


def test_precision_is_that_of_the_thread(library):
    a = cuda.to_device(np.ones((2, 2), np.float32))
    blas.gemm("N", "N", 1.0, a, a)
    with blas.math_mode("tf32"):
        blas.gemm("N", "N", 1.0, a, a)
        blas.gemm("N", "N", 1.0, a, a)
    blas.gemm("N", "N", 1.0, a, a)
    assert library.maths == [cublas.MATH_MODES["tf32"], cublas.MATH_MODES["default"]]
    with pytest.raises(ArgumentError) as caught, blas.math_mode("fast"):
        pass
    assert str(caught.value) == (
        "the argument mode is 'fast'\nexpected 'default', 'pedantic', 'tf32'"
    )


def test_large_sizes_use_the_long_functions(library):
    # A distance that no int holds, between the elements of a vector of one.
    x = cuda.to_device(np.ones(1))
    cuBlas().Dscal(1, 3.0, x, 1 << 32)
    assert x.copy_to_host().tolist() == [3]
    assert [name for name, _ in library.calls] == ["cublasDscal_v2_64"]
    with pytest.raises(ArgumentError) as caught:
        cuBlas().Dtpttr("L", 1, x, x, 1 << 32)
    assert str(caught.value) == (
        "tpttr: the arrays are too large for cuBLAS\nsizes and distances go up to 2147483647"
    )


def test_what_the_library_refuses_is_an_error(library):
    library.refused["cublasDscal_v2"] = 13
    with pytest.raises(CuBLASError) as caught:
        blas.scal(2.0, cuda.to_device(np.ones(2)))
    assert str(caught.value) == (
        "cuBLAS could not do scal: a kernel failed\n"
        "cublasDscal_v2 returned CUBLAS_STATUS_EXECUTION_FAILED (13)"
    )
    assert caught.value.code == 13


@pytest.mark.fake_gpus(device_count=2)
def test_arrays_must_be_on_the_device_in_use(library):
    x = cuda.to_device(np.ones(2))
    with cuda.gpus[1]:
        with pytest.raises(DeviceMismatchError) as caught:
            blas.scal(2.0, x)
        assert str(caught.value) == (
            "an array is on device 0\nthe calling thread uses device 1\n"
            "help: call cuda.select_device(...), or copy the array"
        )
        y = cuda.to_device(np.ones(2))
        blas.scal(2.0, y)
        assert y.copy_to_host().tolist() == [2, 2]
    blas.scal(3.0, x)
    assert x.copy_to_host().tolist() == [3, 3]
    assert len(library.created) == 2


def test_a_missing_library_is_named(fake_cuda, monkeypatch):
    monkeypatch.setattr(cuda_functions, "find_cublas", lambda _: None)
    cuda_functions.open_cublas.cache_clear()
    with pytest.raises(LibraryError) as caught:
        blas.nrm2(cuda.to_device(np.ones(2)))
    assert str(caught.value) == (
        "BLAS on a GPU needs cuBLAS, which is not installed\n"
        "neither a package of NVIDIA nor the system has libcublas\n"
        "help: pip install pygpulib[cuda13] (or cuda12)"
    )
