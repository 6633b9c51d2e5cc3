"""cuSOLVER on matrices in device memory whose columns are contiguous."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings.cublas import DATA_TYPES, FILL_MODES, OPERATIONS
from pygpulib._bindings.cusolver import (
    EIG_MODES,
    EIG_TYPES,
    PARAMETER_KINDS,
    PARAMETERS,
    ROUTINES,
    Routine,
    find_cusolver,
)
from pygpulib.blas.routines import LETTERS
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.device import selected_ordinal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver_cuda import CudaDriver

_CODES: dict[str, Mapping[Any, int]] = {
    "trans": OPERATIONS,
    "uplo": FILL_MODES,
    "jobz": EIG_MODES,
    "jobvl": EIG_MODES,
    "jobvr": EIG_MODES,
    "itype": EIG_TYPES,
    "jobu": {letter: ord(letter) for letter in "ASN"},
    "jobvt": {letter: ord(letter) for letter in "ASN"},
}
_TYPE_OF = "datatype"


class Handle:
    """cuSOLVER's state for one device in one thread.

    Parameters
    ----------
    driver : CudaDriver
        The back end; the device is current.
    library : Library
        The library.

    Attributes
    ----------
    pointer : ctypes.c_void_p
        What the library knows it by.
    """

    def __init__(self, driver: CudaDriver, library: Library) -> None:
        self._context = driver.contexts.current()
        self._library = library
        self._retire: list[Callable[[], None]] = []
        # Room on the host that the last routine was given: it may use it until its work is done.
        self.host_space: np.ndarray[Any, Any] | None = None
        self.pointer = self._make("")
        self._parameters: dict[str, ctypes.c_void_p] = {}

    def parameters(self, name: str) -> ctypes.c_void_p:
        """Return the parameters of a routine, at their defaults."""
        kind = PARAMETERS.get(name, PARAMETER_KINDS[0])
        if kind not in self._parameters:
            self._parameters[kind] = self._make(kind)
        return self._parameters[kind]

    def _make(self, kind: str) -> ctypes.c_void_p:
        """Return something new of the library's, which is given back when the handle dies."""
        made = ctypes.c_void_p()
        getattr(self._library, f"cusolverDnCreate{kind}")(ctypes.byref(made))
        destroy = partial(getattr(self._library, f"cusolverDnDestroy{kind}"), made)
        # Finalizers must not call the library: it may wait for the device.
        context = self._context
        self._retire.append(partial(context.retirement.add, context.handle, destroy))
        return made

    def __del__(self) -> None:
        for retire in reversed(getattr(self, "_retire", [])):
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

    def has(self, name: str) -> bool:
        """Return whether the library has a generic routine, which older ones may lack."""
        return self._library.has(ROUTINES[name].function_name(""))

    def run(self, name: str, stream: int, **values: Any) -> None:
        """Queue a routine.

        Parameters
        ----------
        name : str
            Its name for real numbers.
        stream : int
            Where it is queued.
        **values
            Its arguments by name: numbers, letters, and device arrays. Leading dimensions, types
            and what the routine needs room for are added here.
        """
        routine = ROUTINES[name]
        matrix: ndarray = values["a"]
        function = routine.function_name(LETTERS[matrix.dtype.name])
        if "aarray" in routine.arguments:
            values["aarray"] = _addresses(matrix, stream)
        with self._handle(stream) as handle:
            given = {
                key: handle.parameters(name) if key == "params" else _native(key, values)
                for key in routine.arguments
            }
            space = self._add_space(function, routine, handle, given, (matrix.itemsize, stream))
            getattr(self._library, function)(
                handle.pointer, *[given[key] for key in routine.arguments]
            )
            del space

    def _add_space(
        self,
        function: str,
        routine: Routine,
        handle: Handle,
        given: dict[str, Any],
        place: tuple[int, int],
    ) -> ndarray | None:
        """Add what a routine needs room for; return the memory on the device."""
        if routine.sizing is None:
            return None
        itemsize, stream = place
        integer = ctypes.c_size_t if routine.is_generic else ctypes.c_int
        told = {key: integer() for key in routine.sizes}
        query = given | {key: ctypes.byref(size) for key, size in told.items()}
        tell = getattr(self._library, f"{function}_bufferSize")
        tell(handle.pointer, *[query[key] for key in routine.sizing])
        given |= {key: size.value for key, size in told.items()}
        length = told[routine.sizes[0]].value * (1 if routine.is_generic else itemsize)
        space = device_array(max(length, 1), np.uint8, stream=stream)
        given["work"] = given["bufferondevice"] = space.address
        if routine.is_generic:
            handle.host_space = np.empty(max(given["workspaceinbytesonhost"], 1), np.uint8)
            given["bufferonhost"] = handle.host_space.ctypes.data
        return space

    @contextmanager
    def _handle(self, stream: int) -> Iterator[Handle]:
        """Return a context in which the thread's handle queues work on a stream."""
        ordinal = selected_ordinal()
        handles: dict[int, Handle] = self._threads.__dict__.setdefault("handles", {})
        context = self._driver.contexts.current()
        if ordinal not in handles:
            handles[ordinal] = Handle(self._driver, self._library)
        found = handles[ordinal]
        self._library.cusolverDnSetStream(found.pointer, stream)
        if stream not in context.pending.own:
            context.pending.prepare(stream)
        yield found
        context.pending.mark(stream)


def _native(key: str, values: Mapping[str, Any]) -> Any:
    """Return an argument as the library takes it."""
    if key.startswith(_TYPE_OF) or key == "computetype":
        array = values.get(key.removeprefix(_TYPE_OF))
        return DATA_TYPES[(values["a"] if array is None else array).dtype.name]
    value = values.get(key)
    if value is None and key.startswith("ld"):
        return _leading(values.get(key[2:]), values["a"])
    if isinstance(value, ndarray):
        return value.address
    return _CODES[key][value] if key in _CODES else value


def _leading(array: ndarray | None, other: ndarray) -> int:
    """Return the elements from one column to the next; those of another matrix for no matrix."""
    matrix = other if array is None else array
    return max(matrix.strides[-1] // matrix.itemsize, matrix.shape[-2])


def _addresses(stack: ndarray, stream: int) -> ndarray:
    """Return the addresses of the matrices of a stack with one axis, in device memory."""
    places = stack.address + np.arange(stack.shape[0], dtype=np.int64) * stack.strides[0]
    made = device_array(stack.shape[0], np.int64, stream=stream)
    made.copy_to_device(places, stream)
    return made


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


def eps_of(array: ndarray) -> float:
    """Return the distance of numbers around 1."""
    dtype: Any = array.dtype
    return float(np.finfo(dtype).eps)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of absolute values."""
    return np.zeros(0, dtype).real.dtype
