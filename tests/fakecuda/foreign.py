"""Other libraries' arrays on a fake device: their own memory, streams and protocols."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.fakecuda.client import Client

KDLCUDA = 2


class Library:
    """A library for GPUs that calls the driver itself, on a stream of its own.

    Parameters
    ----------
    client : Client
        The driver; a context must be current.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        # Does not wait for the default stream, as those of PyTorch and CuPy can be.
        self.stream = client.stream(flags=1)
        self.lent = 0

    def fill(self, array: Array, value: int) -> None:
        """Queue work: all bytes become a value."""
        self.client.call("cuMemsetD8Async", array.address, value, array.nbytes, self.stream)

    def read(self, array: Array) -> Any:
        """Return the elements after the library's own work so far."""
        host = np.empty(array.shape, array.dtype)
        self.client.call(
            "cuMemcpyDtoHAsync_v2", host.ctypes.data, array.address, host.nbytes, self.stream
        )
        self.client.call("cuStreamSynchronize", self.stream)
        return host

    def close(self) -> None:
        self.client.call("cuStreamDestroy_v2", self.stream)


class Array:
    """An array of the library."""

    def __init__(self, library: Library, shape: tuple[int, ...], dtype: Any) -> None:
        self.library, self.shape, self.dtype = library, shape, np.dtype(dtype)
        self.nbytes = int(np.prod(shape)) * self.dtype.itemsize
        self.address = library.client.allocate(max(self.nbytes, 1))

    def free(self) -> None:
        self.library.client.call("cuMemFree_v2", self.address)


class InterfaceArray(Array):
    """An array that speaks version 3 of ``__cuda_array_interface__``, like CuPy's and JAX's."""

    names_stream = True

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": self.library.stream if self.names_stream else None,
            "version": 3,
        }


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)

# What capsules point to; consumers may have them to the end of the process.
_alive: list[object] = []

_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_USED = {
    name: ctypes.create_string_buffer(b"used_" + name)
    for name in (b"dltensor", b"dltensor_versioned")
}
_NAME = ctypes.create_string_buffer(b"dltensor")


class TensorArray(Array):
    """An array that speaks DLPack only, as its old versions knew it."""

    device = (KDLCUDA, 0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: int | None = None) -> object:
        self.asked_stream = stream
        if stream not in (None, -1):
            self._let_wait(stream)
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        tensor = Tensor(
            self.address,
            *self.device,
            len(self.shape),
            _CODES[self.dtype.kind],
            8 * self.dtype.itemsize,
            1,
            shape,
            None,
            0,
        )
        managed = Managed(tensor, None, None)

        def delete(pointer: int) -> None:
            # As a library does that keeps devices apart.
            found = Managed.from_address(pointer).tensor
            assert (found.device_type, found.device_id) == self.device
            self.library.lent -= 1

        deleter = _Deleter(delete)
        managed.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
        self.library.lent += 1
        _alive.append((managed, shape, deleter))
        return _new(ctypes.addressof(managed), ctypes.addressof(_NAME), None)

    def _let_wait(self, stream: int) -> None:
        client = self.library.client
        event = client.event(flags=2)
        client.call("cuEventRecord", event, self.library.stream)
        client.call("cuStreamWaitEvent", stream, event, 0)
        client.call("cuEventDestroy_v2", event)


class Consumed:
    """A capsule taken by a consumer, until `close`."""

    def __init__(self, capsule: object) -> None:
        self.name = _name(capsule)
        kind = Versioned if self.name == b"dltensor_versioned" else Managed
        self._address = _pointer(capsule, self.name)
        self.managed = kind.from_address(self._address)
        self.tensor = self.managed.tensor
        _rename(capsule, ctypes.addressof(_USED[self.name]))

    @property
    def shape(self) -> list[int]:
        return self.tensor.shape[: self.tensor.ndim]

    @property
    def strides(self) -> list[int]:
        return self.tensor.strides[: self.tensor.ndim]

    def close(self) -> None:
        """Give the memory back, as consumers do."""
        _Deleter(self.managed.deleter)(self._address)
