"""Handles of cuBLAS and cublasLt: what a thread needs to use them on a device."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._bindings.cublas import (
    ATOMICS_ALLOWED,
    ATOMICS_NOT_ALLOWED,
    MATH_MODES,
    POINTER_MODE_HOST,
)
from pygpulib.blas import cuda_functions, cuda_lt
from pygpulib.core.creation import device_array
from pygpulib.errors import LibraryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.cuda_lt import LightHandle
    from pygpulib.core.array import ndarray
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.core.driver_cuda.contexts import Context

# What NVIDIA recommends, the larger one from compute capability 9.0 on.
_WORKSPACE_BYTES = 4 << 20
_LARGE_WORKSPACE_BYTES = 32 << 20
_MOST_WORKSPACES = 8
# NOT_INITIALIZED and ALLOC_FAILED: the first often means the second.
_PERHAPS_FULL = (1, 3)


def set_up(
    context: Context, create: Callable[[], object], statuses: tuple[int, ...] = _PERHAPS_FULL
) -> None:
    """Make a handle of a library, which takes device memory that this package may be keeping.

    Parameters
    ----------
    context : Context
        The device, which is current.
    create : callable
        Makes the handle.
    statuses : tuple of int
        Those that may say that memory is full.

    Raises
    ------
    LibraryError
        If the library refuses, also once all memory that can be given back has been.
    """
    try:
        create()
    except LibraryError as error:
        if error.code not in statuses:
            raise
    else:
        return
    context.synchronize()
    context.trim()
    try:
        create()
    except LibraryError as error:
        info = context.memory_info()
        made = type(error)(
            error.problem,
            detail=f"{error.detail}\n{info.free:,} of {info.total:,} bytes of the device's memory "
            "are free",
            help="delete arrays that are no longer needed, or end other programs on this GPU",
        )
        made.code = error.code
        raise made from error


class Handle:
    """cuBLAS's state for one device in one thread.

    Parameters
    ----------
    driver : CudaDriver
        The back end; the device is current.
    """

    def __init__(self, driver: CudaDriver) -> None:
        library = cuda_functions.open_cublas()
        context = driver.contexts.current()
        self.library = library
        self.pointer = ctypes.c_void_p()
        set_up(context, lambda: library.cublasCreate_v2(ctypes.byref(self.pointer)))
        self._context = context
        self._light: LightHandle | None = None
        self._workspaces: dict[int, ndarray] = {}
        properties = driver.device_properties(context.ordinal)
        is_large = properties.compute_capability >= (9, 0)
        self._workspace_bytes = _LARGE_WORKSPACE_BYTES if is_large else _WORKSPACE_BYTES
        self._stream: int | None = None
        self._mode = POINTER_MODE_HOST
        self._math = MATH_MODES["default"]
        self._atomics = ATOMICS_NOT_ALLOWED
        destroy = partial(library.cublasDestroy_v2, self.pointer)
        # Finalizers must not call the library: it may wait for the device.
        self._retire: Callable[[], None] = partial(context.retirement.add, context.handle, destroy)

    def __del__(self) -> None:
        retire = getattr(self, "_retire", None)
        if retire is not None:
            retire()

    @property
    def light(self) -> LightHandle | None:
        """The state of cublasLt, None where that is not installed."""
        library = cuda_lt.open_cublaslt()
        if self._light is None and library is not None:
            context = self._context
            made = cuda_lt.LightHandle(library)
            set_up(context, made.create)
            made.retire = partial(context.retirement.add, context.handle, made.destroyer())
            self._light = made
        return self._light

    def workspace(self, stream: int) -> ndarray:
        """Return memory that the library may use for what is queued on a stream."""
        found = self._workspaces.get(stream)
        if found is None:
            if len(self._workspaces) >= _MOST_WORKSPACES:
                # Given back in the order of its stream.
                del self._workspaces[next(iter(self._workspaces))]
            found = device_array(self._workspace_bytes, np.uint8, stream=stream)
            self._workspaces[stream] = found
        return found

    def use_stream(self, stream: int) -> None:
        """Queue what follows on a stream, with a workspace that no other stream uses."""
        if stream == self._stream:
            return
        self.library.cublasSetStream_v2(self.pointer, stream)
        # A new stream makes cuBLAS forget the workspace.
        workspace = self.workspace(stream)
        self.library.cublasSetWorkspace_v2(self.pointer, workspace.address, workspace.size)
        self._stream = stream

    def use_numbers(self, mode: int) -> None:
        """Say whether numbers are on the host or the device."""
        if mode != self._mode:
            self.library.cublasSetPointerMode_v2(self.pointer, mode)
            self._mode = mode

    def use_math(self, mode: str) -> None:
        """Allow products of another precision."""
        number = MATH_MODES[mode]
        if number != self._math:
            self.library.cublasSetMathMode(self.pointer, number)
            self._math = number

    def use_atomics(self, is_allowed: bool) -> None:
        """Allow sums whose order is left to chance."""
        mode = ATOMICS_ALLOWED if is_allowed else ATOMICS_NOT_ALLOWED
        if mode != self._atomics:
            self.library.cublasSetAtomicsMode(self.pointer, mode)
            self._atomics = mode
