"""The CUDA back end: cuBLAS on arrays in device memory."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pygpulib.blas import cuda_functions, mixed_cuda
from pygpulib.blas.batched_cuda import CudaBatched
from pygpulib.blas.cuda_functions import (
    ENUMS,
    LARGEST_INT,
    WITHOUT_LONG,
    function_name,
    too_large,
)
from pygpulib.blas.cuda_handles import Handle
from pygpulib.blas.cuda_kernels import Kernels
from pygpulib.blas.cuda_matrices import find_matrix
from pygpulib.blas.cuda_numbers import convert, place_numbers, read_host_number, read_number, send
from pygpulib.blas.layout import find_increment
from pygpulib.blas.precision import current_math_mode, is_deterministic
from pygpulib.blas.routines import FLAGS, LETTERS, NUMBERS, ROUTINES
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, device_array_like
from pygpulib.core.device import selected_ordinal
from pygpulib.core.ordering import order_after
from pygpulib.errors import DeviceMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pygpulib.blas.engine import DType, Finish, Product
    from pygpulib.blas.routines import Routine
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.core.layout import Shape


class CudaEngine:
    """The `Engine` protocol over arrays in device memory.

    Parameters
    ----------
    driver : CudaDriver
        The back end.
    """

    short_ways: Mapping[str, Callable[..., Any]] = {}

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._threads = threading.local()
        self.batched = CudaBatched(self)
        self._kernels = Kernels()
        cuda_functions.open_cublas()

    @property
    def version(self) -> int:
        """The version of the library."""
        number = ctypes.c_int()
        cuda_functions.open_cublas().cublasGetVersion_v2(None, ctypes.byref(number))
        return number.value

    @contextmanager
    def handle(self, stream: int) -> Iterator[Handle]:
        """Return a context in which the thread's handle queues work on a stream."""
        ordinal = selected_ordinal()
        handles: dict[int, Handle] = self._threads.__dict__.setdefault("handles", {})
        context = self._driver.contexts.current()
        if ordinal not in handles:
            handles[ordinal] = Handle(self._driver)
        found = handles[ordinal]
        found.use_stream(stream)
        found.use_math(current_math_mode())
        found.use_atomics(not is_deterministic())
        if stream not in context.pending.own:
            context.pending.prepare(stream)
        try:
            yield found
        finally:
            # Before an error, something may have been queued.
            context.pending.mark(stream)

    # ------------------------------------------------------------------------------- arrays

    def adopt(self, array: HostArray | ndarray, stream: int) -> ndarray:
        """Return an array of this device; what is on the host is copied."""
        if isinstance(array, ndarray):
            if array.device_ordinal != selected_ordinal():
                raise DeviceMismatchError(
                    f"an array is on device {array.device_ordinal}",
                    detail=f"the calling thread uses device {selected_ordinal()}",
                    help="call cuda.select_device(...), or copy the array",
                )
            order_after([array.buffer], stream)
            return array
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        made = device_array_like(native, stream)
        made.copy_to_device(native, stream)
        return made

    def publish(self, native: ndarray, target: HostArray | ndarray, stream: int) -> None:
        """Copy a result to the host, if that is where it belongs."""
        if isinstance(target, ndarray):
            return
        native.copy_to_host(target, stream)
        self._driver.synchronize_stream(stream)

    def address(self, array: ndarray) -> int:
        """Return the address of the first element."""
        return array.address

    def empty(self, shape: Shape, dtype: DType, order: str, stream: int) -> ndarray:
        """Return a new array."""
        return device_array(shape, dtype, order=order, stream=stream)

    def copy(self, array: ndarray, dtype: DType, order: str, stream: int) -> ndarray:
        """Return a packed copy of an array, converted."""
        made = device_array(array.shape, dtype, order=order, stream=stream)
        if array.dtype == dtype and dtype.name in LETTERS and array.ndim == 2 and array.size:
            source = find_matrix(array)
            if source is not None:
                self._write_op(array, source.is_flipped, source.leading, made, order == "C", stream)
                return made
        convert(array, made, stream)
        return made

    def _write_op(
        self,
        array: ndarray,
        source_flipped: bool,
        leading: int,
        target: ndarray,
        target_flipped: bool,
        stream: int,
        letter: str = "",
    ) -> None:
        """Write op(A) to an array, which the library does for both orientations."""
        rows, columns = target.shape[::-1] if target_flipped else target.shape
        values = {
            "transa": letter or ("N" if source_flipped == target_flipped else "T"),
            "transb": "N",
            "m": rows,
            "n": columns,
            "alpha": self.number(1.0, array.dtype, False),
            "A": array.address,
            "lda": leading,
            "beta": self.number(0.0, array.dtype, False),
            "B": target.address,
            "ldb": max(rows, 1),
            "C": target.address,
            "ldc": max(rows, 1),
        }
        self.run(ROUTINES["geam"], LETTERS[array.dtype.name], values, stream)

    def assign(self, target: ndarray, source: ndarray, stream: int) -> None:
        """Copy between two arrays of the same shape and dtype."""
        target.copy_to_device(source, stream)

    def conjugate(self, array: ndarray, stream: int) -> ndarray:
        """Return a new vector with conjugated elements: a row, transposed and conjugated."""
        step = find_increment(array.shape, array.strides, array.itemsize)
        source = array if step > 0 else self.copy(array, array.dtype, "C", stream)
        made = device_array(array.shape, array.dtype, stream=stream)
        column = made.reshape(-1, 1)
        if array.size:
            self._write_op(source, False, step if step > 0 else 1, column, False, stream, "C")
        return made

    def scale(self, array: ndarray, factor: Any, stream: int) -> None:
        """Multiply an array in place; 0 makes zeros whatever it held."""
        if isinstance(factor, ndarray):
            order_after([factor.buffer], stream)
            number = self.copy(factor, array.dtype, "C", stream)
        else:
            number = send(read_host_number(factor, array.dtype), stream)
        self._kernels.scale(array, number, stream)

    # ------------------------------------------------------------------------------ routines

    def number(self, value: Any, dtype: DType, is_real: bool) -> Any:
        """Return a number as memory that the library reads, on the host or the device."""
        element = np.zeros(0, dtype).real.dtype if is_real else dtype
        return read_number(value, element)

    def multiply_mixed(
        self, product: Product, a: ndarray, b: ndarray, c: ndarray, stream: int
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c."""
        mixed_cuda.multiply_mixed(self, product, (a, b), c, stream)

    def multiply_and_finish(self, wanted: Finish, stream: int) -> bool:
        """Do a product with finished elements in one call of cublasLt, if it can."""
        return mixed_cuda.multiply_and_finish(self, wanted, stream)

    def finish(
        self, work: ndarray, bias: ndarray | None, activation: str | None, out: ndarray, stream: int
    ) -> None:
        """Write f(work + bias) to out, with a kernel."""
        self._kernels.finish(work, bias, activation, out, stream)

    def run(self, routine: Routine, letter: str, values: dict[str, Any], stream: int) -> Any:
        """Queue a routine; one that returns a number is waited for."""
        is_long = any(abs(value) > LARGEST_INT for value in _integers(routine, values))
        if is_long and routine.name in WITHOUT_LONG:
            raise too_large(routine.name)
        names = [name for name in (*NUMBERS, "param") if name in routine.native]
        numbers = place_numbers([values[name] for name in names], stream)
        places = dict(zip(names, numbers.addresses, strict=True))
        result = self._result(routine, letter, is_long)
        arguments = []
        for name in routine.native:
            if name in FLAGS:
                arguments.append(ENUMS[name][values[name]])
            elif name == "result":
                arguments.append(result.ctypes.data)
            else:
                arguments.append(places[name] if name in places else values[name])
        with self.handle(stream) as handle:
            # Results are always for the host.
            handle.use_numbers(numbers.mode)
            name = function_name(routine, letter, is_long)
            getattr(handle.library, name)(handle.pointer, *arguments)
        return result[()] if routine.returns_number else None

    def _result(self, routine: Routine, letter: str, is_long: bool) -> np.ndarray[Any, Any]:
        dtype = np.dtype({"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}[letter])
        if routine.name in ("amax", "amin"):
            return np.zeros((), np.int64 if is_long else np.int32)
        if routine.name in ("nrm2", "asum"):
            return np.zeros((), np.zeros(0, dtype).real.dtype)
        return np.zeros((), dtype)


def _integers(routine: Routine, values: dict[str, Any]) -> Iterator[int]:
    """Yield the sizes and distances among the arguments of a routine."""
    arrays = {operand.name for operand in routine.operands}
    for name in routine.native:
        if name not in FLAGS and name not in NUMBERS and name not in arrays:
            value = values.get(name)
            if isinstance(value, int):
                yield value


def create(driver: Driver) -> CudaEngine:
    """Return a new engine."""
    return CudaEngine(cast("CudaDriver", driver))
