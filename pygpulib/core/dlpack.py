"""DLPack for the numbers that NumPy does not hand on: small floats go as integers, relabelled."""

from __future__ import annotations

import ctypes
from typing import Protocol

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.driver import HostArray

_CODES = {
    4: dtypes.bfloat16,
    10: dtypes.float8_e4m3fn,
    12: dtypes.float8_e5m2,
    14: dtypes.float8_e8m0fnu,
}
"""DLPack's numbers of the families of types, as far as NumPy lacks them."""

_UNSIGNED = 1

# Where the type is: after the tensor's address, device and number of axes. The structure that has a
# version starts with that, two pointers and flags.
_PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}


class Exporter(Protocol):
    """What speaks DLPack."""

    def __dlpack__(self, **options: object) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


def export_array(array: HostArray, options: dict[str, object]) -> object:
    """Return a capsule of a host array.

    Parameters
    ----------
    array : numpy.ndarray
        Of any numbers.
    options : dict
        What the consumer asks for.
    """
    row = dtypes.find_small(array.dtype)
    bits: Exporter = array if row is None else array.view(f"u{row.size_bytes}")  # type: ignore[assignment]
    capsule = bits.__dlpack__(**options)
    if row is not None:
        _code_of(capsule).value = next(code for code, known in _CODES.items() if known == row)
    return capsule


def import_array(x: Exporter) -> HostArray:
    """Return a NumPy array over the memory of another library's array on the host.

    Parameters
    ----------
    x : object with ``__dlpack__``
        The array.
    """
    bits = _Bits(x)
    array: HostArray = np.from_dlpack(bits)  # type: ignore[arg-type]
    return array if bits.dtype is None else array.view(bits.dtype.numpy)


class _Bits:
    """An array as its bits, where NumPy does not know its numbers; ``dtype`` says what they are."""

    def __init__(self, x: Exporter) -> None:
        self.x = x
        self.dtype: dtypes.DType | None = None

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options: object) -> object:
        capsule = self.x.__dlpack__(**options)
        code = _code_of(capsule)
        self.dtype = _CODES.get(code.value)
        if self.dtype is not None:
            code.value = _UNSIGNED
        return capsule


def _code_of(capsule: object) -> ctypes.c_uint8:
    """Return the place in a capsule that says to which family its type belongs."""
    name = _name_of(capsule)
    return ctypes.c_uint8.from_address(_pointer_of(capsule, name) + _PLACES[name])


_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
