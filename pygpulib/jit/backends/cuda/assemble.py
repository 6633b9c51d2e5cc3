"""From PTX to machine code without a GPU, by the vendor's library nvJitLink.

At run time the driver translates PTX itself; this is for files that are made in advance, and for
tests.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

from pygpulib._bindings import nvjitlink
from pygpulib._bindings.library import Library, open_shared
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib._record import record
from pygpulib.errors import ImageError, LibraryError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Which versions of nvJitLink, from the first to before the second, know which generations.
_NO_END = (99, 0)
_GENERATIONS = (
    ((12, 0), _NO_END, "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90"),
    ((12, 8), _NO_END, "sm_100 sm_120"),
    ((12, 8), (13, 0), "sm_101"),
    ((12, 9), _NO_END, "sm_103 sm_121"),
    ((13, 0), _NO_END, "sm_88 sm_110"),
)


@record(eq=True)
class Assembled:
    """Machine code for one generation of GPUs.

    Attributes
    ----------
    cubin : bytes
        The code, an ELF file.
    log : str
        What the assembler said.
    """

    cubin: bytes
    log: str


def assemble(ptx: str, sm: str, options: Iterable[str] = ()) -> bytes:
    """Return machine code; see `assemble_with_log`."""
    return assemble_with_log(ptx, sm, options).cubin


def assemble_with_log(ptx: str, sm: str, options: Iterable[str] = ()) -> Assembled:
    """Translate PTX.

    Parameters
    ----------
    ptx : str
        The program.
    sm : str
        The generation of GPUs, for example ``"sm_80"``; that of the program or a newer one.
    options : iterable of str
        More options of nvJitLink, such as ``"-verbose"``.

    Raises
    ------
    LibraryError
        If nvJitLink is not installed, or too old for the generation.
    ImageError
        If it refuses the program; the message has what it says.
    """
    library = _library()
    _check_generation(library, sm)
    texts = [f"-arch={sm}".encode(), *(option.encode() for option in options)]
    handle = ctypes.c_void_p()
    array = (ctypes.c_char_p * len(texts))(*texts)
    library.nvJitLinkCreate(ctypes.byref(handle), len(texts), array)
    code = ptx.encode()
    try:
        library.nvJitLinkAddData(handle, nvjitlink.INPUT_PTX, code, len(code), b"kernel.ptx")
        library.nvJitLinkComplete(handle)
        size = ctypes.c_size_t()
        library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        library.nvJitLinkGetLinkedCubin(handle, cubin)
        return Assembled(cubin.raw, _log(library, handle, "Info"))
    except ImageError as error:
        said = _log(library, handle, "Error")
        raise ImageError(f"{error.problem} for {sm}", detail=said or error.detail) from error
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def is_available() -> bool:
    """Return whether nvJitLink is installed."""
    return _open() is not None


def _log(library: Library, handle: ctypes.c_void_p, kind: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvJitLinkGet{kind}LogSize")(handle, ctypes.byref(size))
    if not size.value:
        return ""
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvJitLinkGet{kind}Log")(handle, text)
    return text.value.decode(errors="replace").strip()


def _check_status(name: str, status: int) -> None:
    meaning = nvjitlink.ERROR_NAMES.get(status, "an unknown status")
    raise ImageError(
        f"nvJitLink could not {nvjitlink.FUNCTIONS[name].action}",
        detail=f"{name} returned {meaning} ({status})",
    )


def _check_generation(library: Library, sm: str) -> None:
    """Refuse what the library does not know: it ends the process then."""
    version = tuple(map(int, library.version.split(".")))
    known = [
        name
        for since, end, names in _GENERATIONS
        if since <= version < end
        for name in names.split()
    ]
    if sm not in known:
        raise LibraryError(
            f"nvJitLink {library.version} makes no code for {sm}",
            detail=f"it does for {', '.join(known)}",
        )


@cache
def _open() -> Library | None:
    in_wheel = find_in_wheels(nvjitlink.WHEEL_PLACES)
    handle = open_shared([in_wheel] if in_wheel else nvjitlink.LIBRARY_NAMES)
    if handle is None:
        return None
    library = Library("nvJitLink", handle, nvjitlink.FUNCTIONS, _check_status)
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    library.version = f"{major.value}.{minor.value}"
    return library


def _library() -> Library:
    library = _open()
    if library is None:
        raise LibraryError(
            "nvJitLink, which translates PTX without a GPU, is not installed",
            help="install nvidia-nvjitlink, or let the driver translate the code",
        )
    return library
