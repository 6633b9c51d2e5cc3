"""Device arrays that kernels see as globals or captured variables."""

import gc
import weakref

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.errors import KernelTypeError

TABLE = cuda.to_device(np.arange(6.0).reshape(2, 3))


@cuda.jit
def read_table(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = TABLE[1, i] + TABLE.shape[1] + TABLE[:, ::2][0, -1]


def test_a_captured_array_is_read_where_it_is():
    out = np.zeros(3)
    read_table[1, 4](out)
    assert out.tolist() == [3 + 5, 4 + 5, 5 + 5]
    TABLE[1, 0] = 10
    read_table[1, 4](out)
    assert out.tolist() == [10 + 5, 4 + 5, 5 + 5]
    TABLE[1, 0] = 3


@pytest.mark.parametrize("order", "CFA")
def test_a_captured_array_is_written_where_it_is(order):
    wide = np.zeros((4, 6), np.int32, order="F" if order == "F" else "C")
    device = cuda.to_device(wide)
    view = device[:, ::2] if order == "A" else device

    @cuda.jit
    def kernel():
        i, j = cuda.grid(2)
        if i < view.shape[0] and j < view.shape[1]:
            view[i, j] += 10 * i + j
            cuda.atomic.add(view, (i, j), 100)

    kernel[1, (4, 8)]()
    kernel[1, (4, 8)]()
    expected = wide[:, ::2] if order == "A" else wide
    expected += 2 * (100 + np.add.outer(10 * np.arange(4), np.arange(expected.shape[1])))
    np.testing.assert_array_equal(device.copy_to_host(), wide)


def test_a_kernel_keeps_what_it_captures():
    def make():
        device = cuda.to_device(np.arange(3))

        @cuda.jit
        def kernel(out):
            out[cuda.threadIdx.x] = device[cuda.threadIdx.x]

        return kernel, weakref.ref(device)

    kernel, reference = make()
    out = np.zeros(3)
    kernel[1, 3](out)
    kernel.__wrapped__.__closure__[0].cell_contents = None
    gc.collect()
    assert reference() is not None
    kernel[1, 3](out)
    assert out.tolist() == [0, 1, 2]
    del kernel
    gc.collect()
    assert reference() is None


def test_dtypes_that_kernels_do_not_have_are_refused():
    strings = cuda.to_device(np.array(["a", "b"], "S3"))

    @cuda.jit
    def kernel(out):
        out[0] = strings[0] == strings[1]

    with pytest.raises(KernelTypeError, match=r"the array 'strings' has dtype \|S3"):
        kernel[1, 1](np.zeros(1))


class Foreign:
    """Another library's array."""

    def __init__(self, array, **changes):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}
        self.array = array


def test_arrays_of_other_libraries_are_read_and_written_where_they_are(monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)
    foreign = Foreign(cuda.to_device(np.arange(6.0).reshape(2, 3))[:, ::2])

    @cuda.jit(device=True)
    def read(i, j):
        return foreign[i, j]

    @cuda.jit
    def kernel(out):
        i, j = cuda.grid(2)
        out[i, j] = read(i, j) + foreign.shape[1]
        foreign[i, j] = -1

    out = np.zeros((2, 2))
    kernel[1, (2, 2)](out)
    assert out.tolist() == [[2, 4], [5, 7]]
    assert foreign.array.copy_to_host().tolist() == [[-1, -1], [-1, -1]]


def test_an_array_with_a_mask_is_refused(monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)
    foreign = Foreign(cuda.to_device(np.zeros(3)), mask=cuda.to_device(np.zeros(3, bool)))

    @cuda.jit
    def kernel(out):
        out[0] = foreign[0]

    with pytest.raises(KernelTypeError) as raised:
        kernel[1, 1](np.zeros(1))
    assert raised.value.problem.endswith(
        ": the array 'foreign' of type Foreign cannot be used in a kernel"
    )
    assert "Masked arrays are not supported" in raised.value.detail
    assert raised.value.help == "fill the masked elements first"


def test_mapped_arrays_are_read_and_written_where_they_are():
    mapped = cuda.mapped_array(3, np.int32)
    mapped[:] = [1, 2, 3]

    @cuda.jit
    def kernel():
        mapped[cuda.threadIdx.x] *= 10

    kernel[1, 3]()
    mapped[0] = 7
    kernel[1, 3]()
    assert mapped.tolist() == [70, 200, 300]
