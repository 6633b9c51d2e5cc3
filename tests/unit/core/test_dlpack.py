"""Numbers that NumPy does not hand on, through DLPack."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.dtypes import SMALL_FLOATS

TYPES = [row.numpy for row in SMALL_FLOATS]
# (family, bits, lanes) of DLPack's DLDataType, from its header.
LABELS = {
    "bfloat16": (4, 16, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
    "float32": (2, 32, 1),
}


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    )


class Versioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned, up to the tensor."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Foreign:
    """An array of another library; its way to speak of versions is the old one, if asked."""

    def __init__(self, array, *, is_old):
        self.array = array
        if is_old:
            self.__class__ = _OldForeign

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class _OldForeign(Foreign):
    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def read(capsule):
    """Return the tensor in a capsule, by DLPack's structures."""
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    if '"dltensor_versioned"' in repr(capsule):
        return Versioned.from_address(pointer(capsule, b"dltensor_versioned")).tensor
    return Tensor.from_address(pointer(capsule, b"dltensor"))


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}], ids=str)
@pytest.mark.parametrize("name", LABELS)
def test_a_capsule_says_what_the_numbers_are(name, options):
    array = cuda.device_array((3, 2), name)
    capsule = array.__dlpack__(**options)
    tensor = read(capsule)
    assert (tensor.code, tensor.bits, tensor.lanes) == LABELS[name]
    assert (tensor.data, tensor.ndim, tensor.shape[0]) == (array.address, 2, 3)


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("dtype", [*TYPES, np.dtype("f4")], ids=str)
def test_memory_is_shared(dtype, is_old):
    device = cuda.to_device(np.array([[1, 2, 4], [8, 16, 32]]).astype(dtype).T)
    shared = cuda.from_dlpack(Foreign(device, is_old=is_old))
    assert (shared.dtype, shared.shape, shared.strides) == (dtype, (3, 2), device.strides)
    assert shared.address == device.address
    if is_old:  # which does not say whether it may be written to
        assert shared.copy_to_host().tolist() == device.copy_to_host().tolist()
        return
    shared[0, 1] = 64
    assert device.copy_to_host().astype(float).tolist() == [[1, 64], [2, 16], [4, 32]]


def test_kernels_take_such_arrays_of_others():
    device = cuda.to_device(np.arange(4).astype(ml_dtypes.bfloat16))

    @cuda.jit
    def double(x):
        x[cuda.grid(1)] *= 2

    double[1, 4](Foreign(device, is_old=False))
    assert device.copy_to_host().tolist() == [0, 2, 4, 6]
