"""NVIDIA's libraries of functions: which there are, where, and in which version."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_uint
from typing import TYPE_CHECKING

from pygpulib._bindings.library import Function, Library
from pygpulib._record import record
from pygpulib.errors import LibraryError

if TYPE_CHECKING:
    from collections.abc import Callable


@record(eq=True)
class VendorLibrary:
    """A library of the vendor, which may be installed.

    Attributes
    ----------
    title : str
        Its name in messages.
    key : str
        Its name for `cuda.pathfinder`.
    use : str
        What it is good for here.
    functions : dict
        The function that tells its version.
    read_version : callable
        Calls that function.
    """

    title: str
    key: str
    use: str
    functions: dict[str, Function]
    read_version: Callable[[Library], str]


def _dotted(number: int) -> str:
    """Return the version that CUDA's libraries code as 1000 * major + 100 * minor + patch."""
    return f"{number // 1000}.{number % 1000 // 100}.{number % 100}"


def _cublas_version(library: Library) -> str:
    number = c_int()
    library.cublasGetVersion_v2(None, ctypes.byref(number))
    # Since version 11 with one digit more for the minor version.
    return f"{number.value // 10000}.{number.value % 10000 // 100}.{number.value % 100}"


def _nvjitlink_version(library: Library) -> str:
    major, minor = c_uint(), c_uint()
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _plain_version(name: str) -> Callable[[Library], str]:
    def read(library: Library) -> str:
        number = c_int()
        getattr(library, name)(ctypes.byref(number))
        return _dotted(number.value)

    return read


def _with_plain_version(title: str, key: str, use: str, name: str) -> VendorLibrary:
    table = {name: Function("tell its version", (POINTER(c_int),))}
    return VendorLibrary(title, key, use, table, _plain_version(name))


VENDOR_LIBRARIES = (
    VendorLibrary(
        "cuBLAS",
        "cublas",
        "matrix products",
        {"cublasGetVersion_v2": Function("tell its version", (ctypes.c_void_p, POINTER(c_int)))},
        _cublas_version,
    ),
    _with_plain_version("cuFFT", "cufft", "Fourier transforms", "cufftGetVersion"),
    _with_plain_version("cuRAND", "curand", "random numbers", "curandGetVersion"),
    _with_plain_version("cuSOLVER", "cusolver", "linear algebra", "cusolverGetVersion"),
    VendorLibrary(
        "nvJitLink",
        "nvJitLink",
        "machine code made in advance",
        {"nvJitLinkVersion": Function("tell its version", (POINTER(c_uint), POINTER(c_uint)))},
        _nvjitlink_version,
    ),
)


def find_vendor_library(library: VendorLibrary) -> str | None:
    """Return version and path of a library, or None if it is not installed.

    Parameters
    ----------
    library : VendorLibrary
        The library.

    Raises
    ------
    LibraryError
        If it is installed and does not tell its version.
    """
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        found = pathfinder.load_nvidia_dynamic_lib(library.key)
    except pathfinder.DynamicLibNotFoundError:
        return None
    opened = Library(
        library.title, ctypes.CDLL(found.abs_path), library.functions, _refuse(library.title)
    )
    return f"{library.read_version(opened)}, {found.abs_path}"


def _refuse(title: str) -> Callable[[str, int], None]:
    def check_status(name: str, status: int) -> None:
        raise LibraryError(f"{title} does not work", detail=f"{name} returned {status}")

    return check_status
