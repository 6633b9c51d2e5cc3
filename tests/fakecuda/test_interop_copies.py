"""Copies on a device that a kernel makes: without the host, in the order of their stream."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.driver_cuda.copies import MAX_PIECES
from pygpulib.ufuncs import copying
from tests.fakecuda.devices import cuda_in_use, names_of_calls

HOST = {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize", "cuCtxSynchronize"}
HOST |= {"cuMemcpy2DAsync_v2", "cuMemcpy3DAsync_v2"}

VALUES = [0, 1, 2, 77, 5, 100, 3]
DTYPES = [np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64]
DTYPES += [np.complex64, np.complex128, ml_dtypes.bfloat16]


@pytest.fixture
def driver(fake_driver):
    # Those of other tests are loaded on devices that are gone.
    copying._copier.cache_clear()
    with cuda_in_use(fake_driver) as driver:
        yield driver
        copying._copier.cache_clear()


def copied_without_host(fake, target, source, stream=0):
    """Copy and check that the host had no part in it."""
    fake.calls.clear()
    if stream:
        target.setitem(slice(None), source, stream=stream)
    else:
        target.bind(cuda.per_thread_default_stream())[...] = source
    names = names_of_calls(fake)
    assert not HOST & set(names)
    assert "cuLaunchKernel" in names
    cuda.synchronize()
    return target.copy_to_host()


@pytest.mark.fake_gpus(use_assembler=False)
@pytest.mark.parametrize("source", DTYPES, ids=lambda t: np.dtype(t).name)
def test_a_copy_converts_as_numpy_does(fake_driver, driver, source):
    host = np.array(VALUES).astype(source)
    array = cuda.to_device(host)
    for dtype in DTYPES:
        if dtype == source or (host.dtype.kind == "c" and np.dtype(dtype).kind != "c"):
            continue
        target = cuda.device_array(len(VALUES), dtype)
        result = copied_without_host(fake_driver, target, array)
        np.testing.assert_array_equal(result, host.astype(dtype), err_msg=str(dtype))


SHAPES = {
    "reversed": (lambda a: a[::-1, :, ::2], lambda a: a[:, :, 1::2]),
    "transposed": (lambda a: a.T, lambda a: a),
    "broadcast": (lambda a: a[:1, :1, 1::2], lambda a: a[:, ::-1, ::2]),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_scattered_elements_are_copied(fake_driver, driver, name, stream, monkeypatch):
    from pygpulib.core.driver_cuda import copies

    monkeypatch.setattr(copies, "MAX_PIECES", 2)
    read, write = SHAPES[name]
    host = np.arange(64).reshape(4, 4, 4)
    expected = np.zeros((4, 4, 4), np.int64)
    write(expected)[...] = read(host)
    target = cuda.to_device(np.zeros((4, 4, 4), np.int64))
    source = read(cuda.to_device(host))
    view = write(target)
    copied_without_host(fake_driver, view, source, cuda.stream() if stream else 0)
    np.testing.assert_array_equal(target.copy_to_host(), expected)


def test_many_boxes_are_copied_by_a_kernel(fake_driver, driver):
    count = MAX_PIECES + 6
    host = np.arange(count * 8, dtype=np.int16).reshape(count, 4, 2)
    target = cuda.device_array((4, count), np.int16)
    result = copied_without_host(fake_driver, target, cuda.to_device(host)[::-1, :, 0].T)
    np.testing.assert_array_equal(result, host[::-1, :, 0].T)


def test_memory_is_converted_in_place(fake_driver, driver):
    array = cuda.to_device(np.arange(8, dtype=np.int32))
    result = copied_without_host(fake_driver, array.view(np.float32), array)
    np.testing.assert_array_equal(result, np.arange(8))


def test_overlapping_views_are_copied_as_by_numpy(fake_driver, driver):
    array, host = cuda.to_device(np.arange(64, dtype=np.float64)), np.arange(64.0)
    halves, expected = array.view(np.float32), host.view(np.float32)
    halves[:64] = array
    expected[:64] = host
    np.testing.assert_array_equal(halves.copy_to_host(), expected)


def test_what_kernels_cannot_use_goes_through_the_host(fake_driver, driver):
    packed = np.dtype([("tag", np.int8), ("value", np.float64)])
    records = np.zeros(5, packed)
    records["value"] = np.arange(5)
    target = cuda.device_array(5, np.float32)
    target[:] = cuda.to_device(records)["value"]
    np.testing.assert_array_equal(target.copy_to_host(), np.arange(5))
    dates = cuda.device_array(3, "datetime64[s]")
    dates[:] = cuda.to_device(np.array(["2020", "2021", "2022"], "datetime64[D]"))
    assert dates.copy_to_host().tolist()[0].year == 2020
    empty = cuda.device_array(0, np.int8)
    empty[:] = cuda.device_array(0, np.int64)
