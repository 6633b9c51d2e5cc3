"""DLPack capsules: NumPy makes and reads them, and what it does not know is relabelled.

NumPy hands on neither small floats nor memory of a GPU. The former go as integers, the latter as
memory of the host, which nobody looks at here: a capsule is only an address with a description,
in which this module puts the right labels.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.driver import HostArray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib.core.array import ndarray

_CODES = {
    4: dtypes.bfloat16,
    10: dtypes.float8_e4m3fn,
    12: dtypes.float8_e5m2,
    14: dtypes.float8_e8m0fnu,
}
"""DLPack's numbers of the families of types, as far as NumPy lacks them."""

_UNSIGNED = 1
HOST, PINNED = 1, 3
"""DLPack's numbers for memory of the host, and the same pinned for CUDA."""

# Where the device is: after the tensor's address. The structure that has a version starts with
# that, two pointers and flags. The type follows after the device and the number of axes.
_PLACES = {b"dltensor": 8, b"dltensor_versioned": 40}
_TYPE_AFTER_DEVICE = 12
_FLAGS_PLACE = 24
_IS_COPY = 2


class Exporter(Protocol):
    """What speaks DLPack."""

    def __dlpack__(self, **options: object) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


def export_array(array: HostArray, options: Mapping[str, object]) -> object:
    """Return a capsule of a host array.

    Parameters
    ----------
    array : numpy.ndarray
        Of any numbers.
    options : mapping
        What the consumer asks for.
    """
    row = dtypes.find_small(array.dtype)
    bits: Exporter = array if row is None else array.view(f"u{row.size_bytes}")  # type: ignore[assignment]
    capsule = bits.__dlpack__(**options)
    if row is not None:
        _code_of(capsule).value = next(code for code, known in _CODES.items() if known == row)
    return capsule


def export_device_array(
    array: ndarray, device: tuple[int, int], options: Mapping[str, object], *, is_copy: bool
) -> object:
    """Return a capsule of an array that the host does not address.

    Parameters
    ----------
    array : ndarray
        Of any numbers; kept alive by the capsule and by who takes it.
    device : tuple of int
        DLPack's name of its device.
    options : mapping
        What the consumer asks for, as far as NumPy understands it.
    is_copy : bool
        Whether the array was made for the consumer.
    """
    row = dtypes.find_small(array.dtype)
    described = np.asarray(_Described(array))
    elements = described if row is None else described.view(row.numpy)
    capsule = export_array(elements, options)
    _device_of(capsule)[:] = list(device)
    if is_copy and _name_of(capsule) == b"dltensor_versioned":
        pointer = _pointer_of(capsule, b"dltensor_versioned")
        ctypes.c_uint64.from_address(pointer + _FLAGS_PLACE).value |= _IS_COPY
    return capsule


class _Described:
    """A device array as NumPy describes arrays, kept alive by the array that NumPy makes of it."""

    def __init__(self, array: ndarray) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, object]:
        array = self._array
        row = dtypes.find_small(array.dtype)
        return {
            "version": 3,
            "typestr": array.dtype.str if row is None else f"<u{row.size_bytes}",
            "shape": array.shape,
            "strides": array.strides,
            "data": (array.address, array.buffer.is_readonly),
        }


def import_array(x: Exporter) -> HostArray:
    """Return a NumPy array over the memory of another library's array on the host.

    Parameters
    ----------
    x : object with ``__dlpack__``
        The array.
    """
    return _import(_Bits(x, None))


def import_device_array(x: Exporter, stream: int | None) -> tuple[HostArray, bool]:
    """Return a NumPy array over memory that the host does not address.

    Parameters
    ----------
    x : object with ``__dlpack__``
        The array.
    stream : int, optional
        The stream that is to wait for the other library's work.

    Returns
    -------
    numpy.ndarray
        Only its description and its address are of use. It keeps the memory.
    bool
        Whether nobody may write to it. What has no version says nothing about that: libraries
        write to it.
    """
    bits = _Bits(x, stream)
    array = _import(bits)
    return array, bits.has_version and not array.flags.writeable


def _import(bits: _Bits) -> HostArray:
    try:
        array: HostArray = np.from_dlpack(bits)  # type: ignore[arg-type]
    finally:
        bits.put_labels_back()
    return array if bits.dtype is None else array.view(bits.dtype.numpy)


class _Bits:
    """An array as bits on the host, for NumPy; ``dtype`` says what they are if it does not know."""

    def __init__(self, x: Exporter, stream: int | None) -> None:
        self.x = x
        self.dtype: dtypes.DType | None = None
        self.has_version = False
        self._stream = stream
        # The capsule lives as long as this object, and with it the labels.
        self._capsule: object = None
        self._device: tuple[ctypes.Array[ctypes.c_int32], list[int]] | None = None

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST, 0

    def __dlpack__(self, **options: object) -> object:
        if self._stream is not None:
            options["stream"] = self._stream
        self._capsule = capsule = self.x.__dlpack__(**options)
        self.has_version = _name_of(capsule) == b"dltensor_versioned"
        label = _device_of(capsule)
        self._device = label, list(label)
        label[:] = [HOST, 0]
        code = _code_of(capsule)
        self.dtype = _CODES.get(code.value)
        if self.dtype is not None:
            code.value = _UNSIGNED
        return capsule

    def put_labels_back(self) -> None:
        """Let the other library find its own device when it is told that the memory is free."""
        if self._device is not None:
            label, original = self._device
            label[0], label[1] = original


def _device_of(capsule: object) -> ctypes.Array[ctypes.c_int32]:
    """Return the place in a capsule that names its device."""
    name = _name_of(capsule)
    return (ctypes.c_int32 * 2).from_address(_pointer_of(capsule, name) + _PLACES[name])


def _code_of(capsule: object) -> ctypes.c_uint8:
    """Return the place in a capsule that says to which family its type belongs."""
    return ctypes.c_uint8.from_address(ctypes.addressof(_device_of(capsule)) + _TYPE_AFTER_DEVICE)


_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
