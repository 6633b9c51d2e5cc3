"""The vendor's real assembler: PTX to machine code, with no GPU and no driver."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

_PTX = 2  # NVJITLINK_INPUT_PTX
_USED = re.compile(
    r"Function properties for '?(?P<name>[\w$]+)'?:?\s*\n"
    r"(?:.*\n)??info\s*: used (?P<registers>\d+) registers.*?(?P<stack>\d+) stack"
    r"(?:.*?(?P<shared>\d+) bytes smem)?(?:.*?(?P<constant>\d+) bytes cmem)?"
    r"(?:.*?(?P<local>\d+) bytes lmem)?"
)


class AssemblyError(ValueError):
    """What the assembler says about a PTX text it refuses."""


class Usage(NamedTuple):
    """What a kernel needs of the hardware."""

    registers: int
    shared_bytes: int
    local_bytes: int


class Assembly(NamedTuple):
    """Machine code, and what its kernels need, by name."""

    cubin: bytes
    kernels: dict[str, Usage]
    log: str


@functools.cache
def assembler_library() -> ctypes.CDLL:
    """Return the vendor's library from its wheel."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(root).glob("*/lib/libnvJitLink.so.*"), reverse=True):
            return ctypes.CDLL(str(path))
    message = "no wheel has libnvJitLink; install the packages of the extra 'test'"
    raise FileNotFoundError(message)


@functools.cache
def knows_arch(arch: str) -> bool:
    """Return whether the assembler makes code for an architecture."""
    handle = _create([f"-arch={arch}"])
    if handle is not None:
        assembler_library().nvJitLinkDestroy(ctypes.byref(handle))
    return handle is not None


def _create(options: list[str]) -> ctypes.c_void_p | None:
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    handle = ctypes.c_void_p()
    library = assembler_library()
    return None if library.nvJitLinkCreate(ctypes.byref(handle), len(options), words) else handle


@functools.lru_cache(maxsize=1024)
def assemble(ptx: str, arch: str, max_registers: int = 0) -> Assembly:
    """Assemble a PTX text for an architecture such as ``"sm_80"``."""
    library = assembler_library()
    options = [f"-arch={arch}", "-verbose"]
    options += [f"-maxrregcount={max_registers}"] if max_registers else []
    handle = _create(options)
    if handle is None:
        raise AssemblyError(f"the assembler does not take {' '.join(options)}")
    try:
        data = ptx.rstrip("\0").encode() + b"\0"
        length = ctypes.c_size_t(len(data))
        bad = library.nvJitLinkAddData(handle, _PTX, data, length, b"kernel.ptx")
        if bad or library.nvJitLinkComplete(handle):
            raise AssemblyError(_read_text(library, handle, "ErrorLog"))
        log = _read_text(library, handle, "InfoLog")
        return Assembly(_read_bytes(library, handle, "LinkedCubin"), _find_usage(log), log)
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def _read_bytes(library: ctypes.CDLL, handle: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvJitLinkGet{what}Size")(handle, ctypes.byref(size))
    data = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvJitLinkGet{what}")(handle, data)
    return data.raw[: size.value]


def _read_text(library: ctypes.CDLL, handle: ctypes.c_void_p, what: str) -> str:
    return _read_bytes(library, handle, what).rstrip(b"\0").decode()


def _find_usage(log: str) -> dict[str, Usage]:
    return {
        found["name"]: Usage(
            int(found["registers"]),
            int(found["shared"] or 0),
            # Local arrays lie on the stack.
            int(found["stack"]) + int(found["local"] or 0),
        )
        for found in _USED.finditer(log)
    }
