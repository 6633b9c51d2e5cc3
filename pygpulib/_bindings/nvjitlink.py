"""The interface of nvJitLink, the vendor's assembler and linker for the code of GPUs."""

from __future__ import annotations

from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p

from pygpulib._bindings.library import Function

WHEEL_PLACES = ("cu13/lib/libnvJitLink.so.13", "nvjitlink/lib/libnvJitLink.so.12")
LIBRARY_NAMES = ("libnvJitLink.so.13", "libnvJitLink.so.12")

INPUT_PTX = 2

ERROR_NAMES = {
    1: "UNRECOGNIZED_OPTION",
    2: "MISSING_ARCH",
    3: "INVALID_INPUT",
    4: "PTX_COMPILE",
    5: "NVVM_COMPILE",
    6: "INTERNAL",
    7: "THREADPOOL",
    8: "UNRECOGNIZED_INPUT",
    9: "FINALIZE",
}

_HANDLE = c_void_p
_SIZE = POINTER(c_size_t)

FUNCTIONS = {
    "nvJitLinkVersion": Function("tell its version", (POINTER(c_uint), POINTER(c_uint))),
    "nvJitLinkCreate": Function("start", (POINTER(_HANDLE), c_int, POINTER(c_char_p))),
    "nvJitLinkDestroy": Function("end", (POINTER(_HANDLE),)),
    "nvJitLinkAddData": Function("read the code", (_HANDLE, c_int, c_char_p, c_size_t, c_char_p)),
    "nvJitLinkComplete": Function("translate the code", (_HANDLE,)),
    "nvJitLinkGetLinkedCubinSize": Function("tell the size of its result", (_HANDLE, _SIZE)),
    "nvJitLinkGetLinkedCubin": Function("give its result", (_HANDLE, c_void_p)),
    "nvJitLinkGetErrorLogSize": Function("tell the size of its log", (_HANDLE, _SIZE)),
    "nvJitLinkGetErrorLog": Function("give its log", (_HANDLE, c_char_p)),
    "nvJitLinkGetInfoLogSize": Function("tell the size of its log", (_HANDLE, _SIZE)),
    "nvJitLinkGetInfoLog": Function("give its log", (_HANDLE, c_char_p)),
}
"""Every function under its exported name; each returns a status."""
