"""Kernels linked with code that other compilers made."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver_cuda.modules import NO_OPTIONS, ImageOptions, LogBuffer
from pygpulib.errors import DriverError, ImageError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib._bindings.library import Library
    from pygpulib.core.foreign_code import ForeignCode

_INPUTS = {
    "cubin": cu.JIT_INPUT_CUBIN,
    "ptx": cu.JIT_INPUT_PTX,
    "fatbin": cu.JIT_INPUT_FATBINARY,
    "object": cu.JIT_INPUT_OBJECT,
    "archive": cu.JIT_INPUT_LIBRARY,
}

_ADVICE = {
    "cu": ("CUDA C++", "translate it with nvcc -rdc=true -ptx, and link the PTX"),
    "ltoir": ("intermediate code", "have its compiler make PTX or an object, and link that"),
}


def link_code(
    library: Library, parts: Sequence[ForeignCode], options: ImageOptions = NO_OPTIONS
) -> bytes:
    """Link code for the current device.

    Parameters
    ----------
    library : Library
        The driver library.
    parts : sequence of ForeignCode
        The kernel and what it calls.
    options : ImageOptions
        What the driver's compiler is told.

    Returns
    -------
    bytes
        Machine code.

    Raises
    ------
    UnsupportedFeatureError
        If a part is of a kind that the driver does not link.
    ImageError
        If a file cannot be read, or the driver does not accept the code; with the messages of its
        linker.
    """
    inputs = [(_input_of(part), _read(part), part.name.encode()) for part in parts]
    log = LogBuffer(options)
    state = ctypes.c_void_p()
    library.cuLinkCreate_v2(log.count, log.numbers, log.values, ctypes.byref(state))
    try:
        for kind, data, name in inputs:
            library.cuLinkAddData_v2(state, kind, data, len(data), name, 0, None, None)
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        library.cuLinkComplete(state, ctypes.byref(address), ctypes.byref(size))
        # The code is the linker's.
        return ctypes.string_at(address.value or 0, size.value)
    except (DriverError, ImageError) as error:
        names = ", ".join(part.name for part in parts)
        raise log.explain(
            ImageError(
                f"a kernel could not be linked with code in other languages ({names})",
                detail=str(error),
                help="look whether the functions are defined there, under these very names",
            ),
            error.code,
        ) from None
    finally:
        library.cuLinkDestroy(state)


def _input_of(part: ForeignCode) -> int:
    if part.kind in _INPUTS:
        return _INPUTS[part.kind]
    what, advice = _ADVICE[part.kind]
    raise UnsupportedFeatureError(
        f"{part.name} is {what}, which the driver cannot link with kernels", help=advice
    )


def _read(part: ForeignCode) -> bytes:
    try:
        data = Path(part.name).read_bytes() if part.data is None else part.data
    except OSError as cause:
        raise ImageError(
            f"the file {part.name}, which a kernel is to be linked with, cannot be read",
            detail=str(cause),
            help="pass the path of a file that exists, or the code itself as cuda.PTXSource(...)",
        ) from cause
    # The driver wants the end of a text to be marked.
    return data.rstrip(b"\0") + b"\0" if part.kind == "ptx" else data
