"""Where the interpreter and NumPy keep the parts of their objects, found by looking.

Native code that reads an array's address from the object itself is fifty times as fast as any
interface for it. The layouts are stable, but not promised: they are checked against living
objects, and what does not come out as expected is not used.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import ALL_DTYPES, DType

_WORD = ctypes.sizeof(ctypes.c_void_p)


@record(eq=True)
class ObjectLayouts:
    """Offsets in bytes from the start of an object.

    Attributes
    ----------
    type : int
        Of the type of any object.
    array_data, array_ndim, array_shape, array_strides, array_dtype, array_flags : int
        Of the parts of a NumPy array.
    device_view : int
        Of the NumPy view in an array of this package.
    scalars : dict of DType to int
        Of the number in a NumPy scalar.
    """

    type: int
    array_data: int
    array_ndim: int
    array_shape: int
    array_strides: int
    array_dtype: int
    array_flags: int
    device_view: int
    scalars: dict[DType, int]

    def place_of_number(self, dtype: DType) -> int | None:
        """Return where a NumPy scalar of a type keeps its number, None where that is not known."""
        if dtype.is_small and dtype not in self.scalars:
            # Their package is imported when they are used.
            self.scalars.update(_find_scalars((dtype,)))
        return self.scalars.get(dtype)


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _int(address: int) -> int:
    return ctypes.c_int.from_address(address).value


_FLAGS = (
    ("c_contiguous", 0x001),
    ("f_contiguous", 0x002),
    ("aligned", 0x100),
    ("writeable", 0x400),
)


def _is_array_layout(found: ObjectLayouts, array: np.ndarray[Any, Any]) -> bool:
    """Check the layout against one array; pointers are followed only when all else fits."""
    address = id(array)
    flags = _int(address + found.array_flags)
    plain = (
        _word(address + found.type) == id(type(array))
        and _word(address + found.array_data) == array.ctypes.data
        and _int(address + found.array_ndim) == array.ndim
        and _word(address + found.array_dtype) == id(array.dtype)
        and all(bool(flags & bit) is bool(getattr(array.flags, name)) for name, bit in _FLAGS)
    )
    if not plain:
        return False
    shape, strides = _word(address + found.array_shape), _word(address + found.array_strides)
    if strides - shape != _WORD * array.ndim:
        return False
    lengths = (ctypes.c_ssize_t * array.ndim).from_address(shape)
    steps = (ctypes.c_ssize_t * array.ndim).from_address(strides)
    return tuple(lengths) == array.shape and tuple(steps) == array.strides


def _sample_arrays() -> list[np.ndarray[Any, Any]]:
    plain = np.arange(24.0)
    matrix = np.zeros((3, 5, 7), np.int16)
    frozen = np.zeros(4, np.complex64)
    frozen.flags.writeable = False
    odd = np.zeros(17, np.uint8)[1:].view(np.float32)
    return [plain, matrix, matrix.T, frozen, odd, plain[::-2], np.zeros((0, 3), bool)]


def _find_word(address: int, size: int, wanted: int) -> int | None:
    """Return the only place in an object that holds a word."""
    places = [place for place in range(0, size, _WORD) if _word(address + place) == wanted]
    return places[0] if len(places) == 1 else None


def _find_scalars(rows: Iterable[DType]) -> dict[DType, int]:
    """Return where NumPy scalars keep their number, for those where it is where it should be."""
    found, header = {}, object.__basicsize__
    for row in rows:
        if row.is_bool:
            continue
        # No alignment is larger than a word, so that the number follows the header.
        value = row.numpy.type(93 + 57j if row.is_complex else 93)
        size = row.size_bytes
        if type(value).__basicsize__ >= header + size:
            stored = ctypes.string_at(id(value) + header, size)
            if stored == value.tobytes():
                found[row] = header
    return found


def probe_layouts() -> ObjectLayouts | None:
    """Find the layouts of this process, or None where they are not what is expected."""
    # A count and a type; free-threaded and tracing builds have more, and may move objects' parts.
    header = object.__basicsize__
    is_plain = header == 2 * _WORD and not hasattr(sys, "gettotalrefcount")
    if sys.implementation.name != "cpython" or _WORD != 8 or not is_plain:
        return None
    device_array = ndarray(3)
    view_place = _find_word(id(device_array), ndarray.__basicsize__, id(device_array.host_view))
    if view_place is None:
        return None
    found = ObjectLayouts(
        type=header - _WORD,
        array_data=header,
        array_ndim=header + 8,
        array_shape=header + 16,
        array_strides=header + 24,
        array_dtype=header + 40,
        array_flags=header + 48,
        device_view=view_place,
        scalars=_find_scalars(ALL_DTYPES),
    )
    if np.ndarray.__basicsize__ < header + 52:
        return None
    return found if all(_is_array_layout(found, array) for array in _sample_arrays()) else None


_is_enabled = True


@cache
def _probe_once() -> ObjectLayouts | None:
    return probe_layouts()


def object_layouts() -> ObjectLayouts | None:
    """Return the layouts, or None where objects have to be asked through their interfaces."""
    return _probe_once() if _is_enabled else None


def enable_layouts(enabled: bool) -> None:
    """Let native code read objects or not; what was made before stays as it is."""
    global _is_enabled  # noqa: PLW0603
    _is_enabled = enabled
