"""cuSOLVER on matrices in device memory whose columns are contiguous."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings.cublas import FILL_MODES, OPERATIONS
from pygpulib._bindings.cusolver import EIG_MODES, ROUTINES, find_cusolver
from pygpulib.blas.routines import LETTERS
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.device import selected_ordinal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver_cuda import CudaDriver

_CODES: dict[str, dict[str, int]] = {
    "trans": OPERATIONS,
    "uplo": FILL_MODES,
    "jobz": EIG_MODES,
    "jobu": {"A": ord("A"), "S": ord("S"), "N": ord("N")},
}
_CODES["jobvt"] = _CODES["jobu"]


class Handle:
    """cuSOLVER's state for one device in one thread.

    Parameters
    ----------
    driver : CudaDriver
        The back end; the device is current.
    library : Library
        The library.
    """

    def __init__(self, driver: CudaDriver, library: Library) -> None:
        context = driver.contexts.current()
        self.pointer = ctypes.c_void_p()
        library.cusolverDnCreate(ctypes.byref(self.pointer))
        destroy = partial(library.cusolverDnDestroy, self.pointer)
        # Finalizers must not call the library: it may wait for the device.
        self._retire: Callable[[], None] = partial(context.retirement.add, context.handle, destroy)

    def __del__(self) -> None:
        retire = getattr(self, "_retire", None)
        if retire is not None:
            retire()


class Solver:
    """The library, with a handle for each thread and device.

    Parameters
    ----------
    driver : CudaDriver
        The back end.
    library : Library
        The library.
    """

    def __init__(self, driver: CudaDriver, library: Library) -> None:
        self._driver = driver
        self._library = library
        self._threads = threading.local()

    def run(self, name: str, stream: int, **values: Any) -> None:  # noqa: ANN401
        """Queue a routine.

        Parameters
        ----------
        name : str
            Its name for real numbers.
        stream : int
            Where it is queued.
        **values
            Its arguments by name: numbers, letters, and device arrays; the workspace is added
            here.
        """
        routine = ROUTINES[name]
        matrix: ndarray = values["a"]
        function = routine.function_name(LETTERS[matrix.dtype.name])
        given = {key: _native(key, value) for key, value in values.items()}
        with self._handle(stream) as handle:
            work = None
            if routine.sizing is not None:
                size = ctypes.c_int()
                tell_size = getattr(self._library, f"{function}_bufferSize")
                tell_size(handle, *[given[key] for key in routine.sizing], ctypes.byref(size))
                work = device_array(max(size.value, 1), matrix.dtype, stream=stream)
                given |= {"work": work.address, "lwork": size.value, "rwork": None}
            getattr(self._library, function)(handle, *[given[key] for key in routine.arguments])

    @contextmanager
    def _handle(self, stream: int) -> Iterator[ctypes.c_void_p]:
        """Return a context in which the thread's handle queues work on a stream."""
        ordinal = selected_ordinal()
        handles: dict[int, Handle] = self._threads.__dict__.setdefault("handles", {})
        context = self._driver.contexts.current()
        if ordinal not in handles:
            handles[ordinal] = Handle(self._driver, self._library)
        found = handles[ordinal].pointer
        self._library.cusolverDnSetStream(found, stream)
        if stream not in context.pending.own:
            context.pending.prepare(stream)
        yield found
        context.pending.mark(stream)


def _native(key: str, value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, ndarray):
        return value.address
    return _CODES[key][value] if isinstance(value, str) else value


def open_solver(driver: CudaDriver) -> Solver | None:
    """Return the library for a back end, or None if it is not installed."""
    library = find_cusolver()
    return None if library is None else Solver(driver, library)


def is_offered(*arrays: object) -> bool:
    """Return whether arrays are what the library computes with: matrices of one dtype.

    Empty ones are the host's business: it knows what is expected of them.
    """
    return all(
        isinstance(array, ndarray)
        and array.dtype.name in LETTERS
        and array.dtype.isnative
        and array.dtype == arrays[0].dtype  # type: ignore[attr-defined]
        and array.size > 0
        for array in arrays
    )


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of absolute values."""
    return np.zeros(0, dtype).real.dtype
