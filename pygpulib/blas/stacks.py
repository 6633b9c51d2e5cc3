"""What calls for stacks of problems have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.arguments import common_dtype, read_array
from pygpulib.blas.call import check_writable
from pygpulib.blas.engine import current_engine
from pygpulib.blas.routines import ROUTINES
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ShapeError, counted

if TYPE_CHECKING:
    from pygpulib.blas.arguments import GivenArray
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike

_GEMM = ROUTINES["gemm"]


class Problem:
    """What the calls for stacks have in common: reading arrays, and results of the right kind.

    Parameters
    ----------
    name : str
        The function, for messages.
    stream : Stream, 0 or None
        Where the work is queued.
    **arrays : array
        The arrays by their names.
    """

    def __init__(self, name: str, stream: StreamLike, **arrays: Any) -> None:
        self.name = name
        self.stream = stream_handle(stream)
        # Results keep it, and not only its number: it may not be dropped before they are.
        self._home: StreamLike = 0 if stream is None else stream
        self.engine = current_engine()
        self.given = {each: read_array(_GEMM, each, value, name) for each, value in arrays.items()}
        self.dtype = common_dtype(_GEMM, self.given.values(), {})
        self._on_device = any(isinstance(each, ndarray) for each in self.given.values())
        self._results: list[tuple[Any, GivenArray]] = []

    def read(self, name: str, ndim: int) -> Any:
        """Return an argument as an array of the engine in the common dtype, with so many axes."""
        array = self.given[name]
        if array.ndim not in (ndim, ndim - 1):
            raise ShapeError(
                f"{self.name}: the argument {name} has {counted(array.ndim, 'axis', 'axes')}",
                detail=f"expected {ndim}, the first of which counts the problems",
            )
        native = self.engine.adopt(array, self.stream)
        if array.dtype != self.dtype:
            native = self.engine.copy(native, self.dtype, "C", self.stream)
        return native if native.ndim == ndim else native.reshape(1, *native.shape)

    def count(self, **arrays: Any) -> int:
        """Return the number of problems that stacks agree on."""
        counts = {name: array.shape[0] for name, array in arrays.items()}
        found = {count for count in counts.values() if count != 1}
        if len(found) > 1:
            listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ShapeError(
                f"{self.name}: the stacks are of different lengths: {listed}",
                detail="expected the same number of problems in each, or one for all",
            )
        return found.pop() if found else 1

    def require(self, name: str, array: Any, **lengths: tuple[int, int]) -> None:
        """Check lengths of an array: ``axis_name=(axis, wanted)``."""
        given = tuple(self.given[name].shape)
        for rule, (axis, wanted) in lengths.items():
            if array.shape[axis] != wanted:
                place = axis - array.ndim + len(given)
                where = (
                    f"length {wanted} along axis {place}" if place >= 0 else f"{wanted} problems"
                )
                raise ShapeError(
                    f"{self.name}: the argument {name} has shape {given}, "
                    "which does not fit the other arguments",
                    detail=f"expected {where}: {rule.replace('_', ' ')}",
                )

    def require_square(self, name: str, array: Any) -> int:
        """Return the order of a stack of square matrices."""
        self.require(name, array, the_matrices_are_square=(2, array.shape[1]))
        return int(array.shape[1])

    def make(self, shape: Shape, dtype: Any = None, columns: bool = False) -> Any:
        """Return a new result as an array of the engine, with contiguous columns if need be."""
        element = self.dtype if dtype is None else np.dtype(dtype)
        lengths = (shape[0], shape[2], shape[1]) if columns else shape
        made: Any
        if self._on_device:
            made = device_array(lengths, element, stream=self._home)
        else:
            made = np.empty(lengths, element)
        made = made.transpose(0, 2, 1) if columns else made
        native = self.engine.adopt(made, self.stream)
        self._results.append((native, made))
        return native

    def write_to(self, name: str) -> Any:
        """Return an argument that the result goes to as an array of the engine."""
        array = self.given[name]
        check_writable(self.name, name, array)
        native = self.engine.adopt(array, self.stream)
        self._results.append((native, array))
        return native

    def results(self) -> Any:
        """Return what was made or written to."""
        for native, target in self._results:
            self.engine.publish(native, target, self.stream)
        found = tuple([target for _, target in self._results])
        return found[0] if len(found) == 1 else found
