"""Arrays over the memory at an address."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from pygpulib.errors import ArgumentTypeError


def carray(ptr: Any, shape: Any, dtype: Any = None) -> Any:
    """Return a C-contiguous array over the memory at an address, in a kernel or on the host.

    Parameters
    ----------
    ptr : pointer
        In a kernel, a parameter whose type is ``CPointer(...)`` or ``voidptr``; on the host, a
        pointer of `ctypes`.
    shape : int or tuple of int
        How many elements there are; nobody checks it.
    dtype : Type or dtype-like, optional
        Type of the elements. Default: what the pointer points to.

    Returns
    -------
    array
        A view; whoever owns the memory has to keep it.
    """
    return _view_of_memory("carray", ptr, shape, dtype, "C")


def farray(ptr: Any, shape: Any, dtype: Any = None) -> Any:
    """Return a Fortran-contiguous array over the memory at an address; see `carray`.

    Parameters
    ----------
    ptr : pointer
        As for `carray`.
    shape : int or tuple of int
        How many elements there are.
    dtype : Type or dtype-like, optional
        Type of the elements.

    Returns
    -------
    array
        A view.
    """
    return _view_of_memory("farray", ptr, shape, dtype, "F")


def _view_of_memory(name: str, ptr: Any, shape: Any, dtype: Any, order: Any) -> Any:
    """Return a NumPy array over the memory that a pointer of ctypes points to."""
    if not isinstance(ptr, ctypes.c_void_p | ctypes._Pointer):
        raise ArgumentTypeError(
            f"{name} was given {ptr!r}",
            detail="expected a pointer of ctypes",
            help="write array.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), for example",
        )
    wanted = None if dtype is None else _numpy_dtype(dtype)
    known = np.dtype(ptr._type_) if isinstance(ptr, ctypes._Pointer) else wanted
    if known is None:
        raise ArgumentTypeError(
            f"{name} needs a dtype, because the pointer does not say what lies there",
            help=f"write {name}(pointer, shape, numpy.float32)",
        )
    if wanted not in (None, known):
        raise ArgumentTypeError(
            f"{name} is asked for elements of {wanted}, and the pointer points to {known}",
            help="leave the dtype out, or pass a ctypes.c_void_p",
        )
    address = ctypes.cast(ptr, ctypes.c_void_p).value or 0
    memory = (ctypes.c_char * (known.itemsize * int(np.prod(shape)))).from_address(address)
    return np.ndarray(shape, known, memoryview(memory), order=order)


def _numpy_dtype(dtype: object) -> np.dtype[Any]:
    from pygpulib.jit.declarations import element_of_type, parse_type

    return element_of_type(parse_type(dtype)).numpy
