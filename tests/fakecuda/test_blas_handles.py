"""What cuBLAS is told besides its routines: streams, modes, threads, and what it refuses."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib._bindings import cublas
from pygpulib.blas import cuda_functions
from pygpulib.blas.binding import CuBLASError, cuBlas
from pygpulib.errors import ArgumentError, DeviceMismatchError, LibraryError, ShapeError
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


def no_waiting(fake):
    """Return the calls since the last look that wait for the device or read it back."""
    names = [call.name for call in fake.calls]
    fake.calls.clear()
    return [name for name in names if "Synchronize" in name or "DtoH" in name]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("is_default", [False, True])
def test_no_number_of_the_device_is_read_back(library, fake_cuda, dtype, is_default):
    stream = 0 if is_default else cuda.stream()
    numbers = [
        cuda.to_device(np.array(value, kind), stream=stream)
        for value, kind in ((2, dtype), (3, dtype), (2, "f4"))
    ]
    alpha, beta, other = numbers
    a = cuda.to_device(np.arange(4, dtype=dtype).reshape(2, 2), stream=stream)
    c = cuda.to_device(np.ones((2, 2), dtype), stream=stream)
    empty = cuda.device_array((2, 0), dtype, stream=stream)
    empties = cuda.device_array((3, 2, 0), dtype, stream=stream)
    stack = cuda.to_device(np.ones((3, 2, 2), dtype), stream=stream)
    host = np.arange(4, dtype=dtype).reshape(2, 2)
    cases = [
        (lambda: blas.gemm("N", "N", alpha, a, a, beta, c, stream=stream), 2 * host @ host + 3),
        (lambda: blas.gemm("N", "N", other, a, a, 0, c, stream=stream), 2 * host @ host),
        (lambda: blas.gemm("N", "T", 1, empty, empty, beta, c, stream=stream), 6 * host @ host),
        (lambda: blas.gemm("N", "T", 1, empty, empty, 0, c, stream=stream), 0 * host),
        (
            lambda: blas.gemm_strided_batched("N", "N", alpha, stack, a, stream=stream)[1],
            2 * np.ones((2, 2)) @ host,
        ),
        (
            lambda: blas.gemm_strided_batched(
                "N", "T", 1, empties, empty, other, stack, stream=stream
            ),
            np.full((3, 2, 2), 2),
        ),
    ]
    if dtype != "c16":
        cases += [
            (lambda: blas.gemm_ex("N", "N", other, a, a, 1, c, stream=stream), 2 * host @ host),
            (lambda: blas.gemm_ex("N", "N", 1, a, a, alpha, c, stream=stream), 5 * host @ host),
        ]
    for work, expected in cases:
        stream.synchronize() if stream else cuda.synchronize()
        fake_cuda.calls.clear()
        got = work()
        assert no_waiting(fake_cuda) == []
        np.testing.assert_allclose(got.copy_to_host(stream=stream), expected)


@pytest.mark.parametrize("is_default", [False, True])
@pytest.mark.parametrize("name", ["gemm", "syrk", "ger", "spr", "of another dtype"])
def test_new_outputs_belong_to_the_stream(library, fake_cuda, name, is_default):
    stream = None if is_default else cuda.stream()
    host = np.arange(4.0).reshape(2, 2)
    a = cuda.to_device(host, stream=stream or 0)
    calls = {
        "gemm": (lambda: blas.gemm("N", "N", 1, a, a, stream=stream), host @ host),
        "syrk": (lambda: blas.syrk("L", "N", 1, a, stream=stream), np.tril(host @ host.T)),
        "ger": (lambda: blas.ger(1, a[0], a[1], stream=stream), np.outer(host[0], host[1])),
        "spr": (lambda: blas.spr("L", 1, a[1], stream=stream), [4, 6, 9]),
        "of another dtype": (
            lambda: blas.gemm("N", "N", 1j, a, a, 2, a, stream=stream),
            1j * host @ host + 2 * host,
        ),
    }
    work, expected = calls[name]
    # The second call has a plan.
    for _ in range(2):
        cuda.synchronize()
        fake_cuda.calls.clear()
        got = work()
        assert no_waiting(fake_cuda) == []
        assert got.stream is (stream or 0)
        np.testing.assert_array_equal(got.copy_to_host(), expected)


@pytest.mark.parametrize(
    "work",
    [
        lambda a, **stream: blas.gemm("N", "N", 1, a[0], a[1], **stream),
        lambda a, **stream: blas.gemm("N", "N", 1j, a[0], a[1], 0, a[2], **stream),
        lambda a, **stream: blas.gemm_strided_batched("N", "N", 1, a, a, **stream)[0],
        lambda a, **stream: blas.gemm_batched("N", "N", 1, [a[0]], [a[1]], **stream)[0],
        lambda a, **stream: blas.gemv_batched("N", 1, [a[0]], [a[0, 0]], **stream)[0],
        lambda a, **stream: blas.gemm_ex("N", "N", 1, a[0], a[1], **stream),
        lambda a, **stream: blas.matmul(a, a, activation="relu", **stream)[0],
        lambda a, **stream: blas.getrf_batched(a, **stream)[1],
    ],
)
def test_results_outlive_the_variable_of_their_stream(library, work):
    host = np.ones((3, 2, 2))
    expected = work(host)

    def compute():
        stream = cuda.stream()
        return work(cuda.to_device(host, stream=stream), stream=stream)

    results = [compute() for _ in range(3)]
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(result.copy_to_host(), expected)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_rotations_in_device_memory_are_not_read_back(library, fake_cuda, kind):
    param = np.array([-1.0, 0.5, -2.0, 3.0, 0.25], kind)
    x, y = (cuda.to_device(np.arange(3, dtype="f8") + i) for i in range(2))
    on_device = cuda.to_device(param)
    fake_cuda.calls.clear()
    blas.rotm(x, y, on_device)
    assert no_waiting(fake_cuda) == []
    expected = np.array([[0.5, 3.0], [-2.0, 0.25]]) @ [np.arange(3.0), np.arange(3.0) + 1]
    for got, wanted in zip((x, y), expected, strict=True):
        np.testing.assert_allclose(got.copy_to_host(), wanted)
    z = cuda.to_device(np.arange(3, dtype=kind))
    getattr(cuBlas(), f"{'S' if kind == 'f4' else 'D'}rotm")(3, z, 1, z, 1, on_device)
    assert library.modes == [1]
    blas.rotm(x, y, param)
    assert library.modes == [1, 0]
    with pytest.raises(ShapeError, match=r"rotm: the argument param has shape \(4,\)"):
        blas.rotm(x, y, on_device[:4])
    # Numbers at a distance are packed on the device.
    spread = cuda.to_device(np.repeat(param, 2))[::2]
    blas.rotm(x, y, spread)


def test_what_an_integer_product_is_multiplied_with(library):
    a = cuda.to_device(np.ones((4, 4), np.int8))
    for factor in (3, cuda.to_device(np.array(3)), 3.0):
        got = blas.gemm_ex("N", "N", factor, a, a)
        np.testing.assert_array_equal(got.copy_to_host(), np.full((4, 4), 12))
    for factor, shown in ((2.5, "2.5"), (cuda.to_device(np.array(3.0)), "an array of float64")):
        with pytest.raises(ArgumentError) as caught:
            blas.gemm_ex("N", "N", factor, a, a)
        assert str(caught.value) == (
            f"gemm_ex: the argument alpha is {shown}\n"
            "expected an integer of 32 bits: the product is computed in int32\n"
            "help: ask for compute='float32'"
        )


@pytest.mark.parametrize("status", [1, 3])
@pytest.mark.parametrize("name", ["cublasCreate_v2", "cublasLtCreate"])
def test_a_full_device_is_emptied_before_giving_up(library, fake_cuda, name, status):
    x = cuda.to_device(np.ones((2, 2), "f4"))
    kept = cuda.device_array(1 << 20, np.uint8)
    del kept
    refused = library.light.refused if "Lt" in name else library.refused_next
    refused[name] = [status]
    fake_cuda.calls.clear()
    got = blas.matmul(x, x, activation="relu")
    np.testing.assert_array_equal(got.copy_to_host(), np.full((2, 2), 2))
    assert "cuMemPoolTrimTo" in [call.name for call in fake_cuda.calls]
    assert len(library.created) == 1


@pytest.mark.parametrize("name", ["cublasCreate_v2", "cublasLtCreate"])
def test_a_device_that_stays_full_is_an_error_with_numbers(library, name):
    x = cuda.to_device(np.ones((2, 2), "f4"))
    refused = library.light.refused if "Lt" in name else library.refused_next
    refused[name] = [1, 1]
    with pytest.raises(CuBLASError) as caught:
        blas.matmul(x, x, activation="relu")
    problem, status, memory, advice = str(caught.value).splitlines()
    title = "cublasLt" if "Lt" in name else "cuBLAS"
    assert problem == f"{title} could not be set up: CUDA could not be used, or its memory is full"
    assert status == f"{name} returned CUBLAS_STATUS_NOT_INITIALIZED (1)"
    free, total = cuda.current_context().get_memory_info()
    assert memory == f"{free:,} of {total:,} bytes of the device's memory are free"
    assert (
        advice == "help: delete arrays that are no longer needed, or end other programs on this GPU"
    )
    assert caught.value.code == 1
    # Afterwards there may be memory again.
    blas.matmul(x, x, activation="relu")


def test_other_refusals_of_a_handle_are_final(library, fake_cuda):
    library.refused_next["cublasCreate_v2"] = [8]
    with pytest.raises(CuBLASError) as caught:
        blas.nrm2(cuda.to_device(np.ones(2)))
    assert caught.value.code == 8
    assert "cuMemPoolTrimTo" not in [call.name for call in fake_cuda.calls]


def test_sums_in_any_order_are_allowed_by_the_thread(library):
    x = cuda.to_device(np.ones(2))
    blas.scal(2.0, x)
    assert library.atomics == []
    with blas.deterministic(False):
        blas.scal(2.0, x)
        with blas.deterministic():
            blas.scal(2.0, x)
    blas.scal(2.0, x)
    assert library.atomics == [1, 0]


def test_the_mode_of_pyculibs_class_reaches_the_library(library):
    face, x = cuBlas(), cuda.to_device(np.ones(2))
    face.atomics_mode = 1
    face.Dscal(2, 2.0, x, 1)
    assert library.atomics == [1]
    face.atomics_mode = 0
    face.Dscal(2, 2.0, x, 1)
    assert library.atomics == [1, 0]
