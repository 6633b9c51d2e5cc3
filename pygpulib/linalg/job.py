"""A call of a function on a GPU: its arrays, and what it lets the libraries and kernels do."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.layout import Layout
from pygpulib.core.stream import stream_handle
from pygpulib.errors import CopyNeededError
from pygpulib.linalg import kernels
from pygpulib.linalg.solver import is_offered, real_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pygpulib.core.driver import Driver
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.kernels import Kernels
    from pygpulib.linalg.solver import Solver

Result = Any
"""What a function returns: arrays, numbers, tuples of them, or `NotImplemented`."""

HostNumbers = np.ndarray[Any, Any]


class Job:
    """One call: its stream, new arrays that belong to it, and what computes with them.

    Parameters
    ----------
    solver : Solver
        The library.
    shared : Kernels
        The kernels.
    driver : Driver
        The back end.
    stream : Stream or 0
        Where the work is queued.

    Attributes
    ----------
    stream : Stream or 0
        The same.
    """

    def __init__(self, solver: Solver, shared: Kernels, driver: Driver, stream: StreamLike) -> None:
        self._solver = solver
        self._kernels = shared
        self._driver = driver
        self.stream = stream
        self._handle = stream_handle(stream)

    # ------------------------------------------------------------------------------- new arrays

    def empty(self, shape: Shape, dtype: Any) -> ndarray:
        """Return a new stack of matrices whose columns are contiguous."""
        made = device_array((*shape[:-2], shape[-1], shape[-2]), dtype, stream=self.stream)
        return transpose(made)

    def vectors(self, shape: Shape, dtype: Any) -> ndarray:
        """Return a new stack of vectors."""
        return device_array(shape, dtype, stream=self.stream)

    def copy(self, array: ndarray) -> ndarray:
        """Return a copy of a stack of matrices whose columns are contiguous."""
        made = self.empty(array.shape, array.dtype)
        made.copy_to_device(array, self.stream)
        return made

    def pack(self, array: ndarray) -> ndarray:
        """Return an array whose elements lie one after the other, itself if they do."""
        if array.is_c_contiguous():
            return array
        made = self.vectors(array.shape, array.dtype)
        made.copy_to_device(array, self.stream)
        return made

    def reshape(self, array: ndarray, *shape: int) -> ndarray:
        """Return a view of another shape, or one of a copy."""
        try:
            return array.reshape(*shape)
        except CopyNeededError:
            return self.pack(array).reshape(*shape)

    def identity(self, shape: Shape, dtype: Any) -> ndarray:
        """Return a new stack of unit matrices."""
        made = self.empty(shape, dtype)
        self.put_band(made, made, 1, 0, is_unit=True)
        return made

    def upload(self, array: Any) -> Any:
        """Return what the host computed: a number as it is, an array on the device."""
        if not isinstance(array, np.ndarray):
            return array
        return to_device(array, self.stream) if array.ndim else array[()]

    def put(self, target: ndarray, source: ndarray) -> None:
        """Copy to an array of the same shape."""
        target.copy_to_device(source, self.stream)

    # ---------------------------------------------------------------------------------- reading

    def read(self, array: ndarray) -> HostNumbers:
        """Wait, and return an array's elements."""
        copy = array.copy_to_host(stream=self.stream)
        self._driver.synchronize_stream(self._handle)
        return copy

    def settle(self, array: ndarray) -> Any:
        """Return an array, and one without axes as the number that it holds."""
        return array if array.ndim else self.read(array)[()]

    def require(self, info: ndarray, message: str) -> None:
        """Wait, and raise NumPy's error if a routine has left something but zero."""
        if self.read(info).any():
            raise np.linalg.LinAlgError(message)

    def is_finite(self, array: ndarray) -> bool:
        """Wait, and return whether all elements are finite numbers, whose sum is one, too.

        Of dtypes that no routine computes with nothing is known.
        """
        if not is_offered(array):
            return True
        packed = array.T if array.is_f_contiguous() else self.pack(array)
        return bool(np.isfinite(blas.asum(packed.reshape(-1), stream=self.stream)))

    # -------------------------------------------------------------------------------- computing

    def has(self, name: str) -> bool:
        """Return whether cuSOLVER has a routine that older ones lack."""
        return self._solver.has(name)

    def run(self, name: str, **values: object) -> None:
        """Queue a routine of cuSOLVER."""
        self._solver.run(name, self._handle, **values)

    def visit(self, function: Callable[..., None], stack: ndarray, *given: object) -> None:
        """Launch a kernel that visits each element of a stack."""
        self.launch(function, stack.size, *given)

    def launch(self, function: Callable[..., None], count: int, *given: object) -> None:
        """Launch a kernel with so many threads."""
        self._kernels.launch(function, count, self.stream, *given)

    def put_band(
        self, source: ndarray, target: ndarray, low: int, high: int, is_unit: bool = False
    ) -> None:
        """Copy the diagonals from `low` to `high`, see the kernel."""
        stacks = flatten(source), flatten(target)
        self.visit(kernels.put_band, stacks[1], *stacks, low, high, is_unit)

    def put_triangle(self, uplo: str, source: ndarray, target: ndarray) -> None:
        """Copy a triangle, with zeros in the other one."""
        furthest = max(target.shape)
        low, high = (0, furthest) if uplo == "U" else (-furthest, 0)
        self.put_band(source, target, low, high)

    def scale_columns(self, stack: ndarray, factors: ndarray) -> None:
        """Multiply the columns of matrices with factors of their own."""
        flat = flatten(stack)
        factors = factors.reshape(flat.shape[0], factors.shape[-1])
        self.visit(kernels.scale_columns, flat, flat, factors)

    def conjugate(self, stack: ndarray) -> ndarray:
        """Conjugate a stack in place, and return it."""
        if stack.dtype.kind == "c":
            flat = flatten(stack)
            self.visit(kernels.conjugate, flat, flat)
        return stack

    def determinants(
        self, factors: ndarray, pivots: ndarray, as_one: bool
    ) -> tuple[ndarray, ndarray]:
        """Return the signs and logarithms of determinants from their factors, or the product."""
        stack, n = factors.shape[:-2], factors.shape[-1]
        signs = self.vectors(stack, factors.dtype)
        logarithms = self.vectors(stack, real_dtype(factors.dtype))
        flat = signs.reshape(-1), logarithms.reshape(-1)
        self._kernels.determinants(flatten(factors), pivots.reshape(-1, n), flat, as_one)
        return signs, logarithms

    def power(self, vector: ndarray, exponent: float) -> ndarray:
        """Raise elements to a power in place, and return them."""
        self.visit(kernels.raise_to, vector, vector, exponent)
        return vector

    def reduce(self, kind: str, rows: ndarray, number: float = 0) -> ndarray:
        """Combine the elements of each row of a matrix, see `Kernels.reduce`."""
        return self._kernels.reduce(kind, rows, number, self.stream)

    def multiply(
        self,
        a: ndarray,
        b: ndarray,
        letters: str = "NN",
        alpha: complex = 1,
        beta: complex = 0,
        c: ndarray | None = None,
    ) -> ndarray:
        """Return alpha op(a) op(b) + beta c of matrices; for stacks, alpha op(a) op(b)."""
        if a.ndim == b.ndim == 2:
            product: ndarray = blas.gemm(
                letters[0], letters[1], alpha, a, b, beta, c, stream=self.stream
            )
            return product
        stack = a.shape[:-2]
        left, right = (self.reshape(each, -1, *each.shape[-2:]) for each in (a, b))
        made: ndarray = blas.gemm_strided_batched(
            letters[0], letters[1], alpha, left, right, stream=self.stream
        )
        return made.reshape(*stack, *made.shape[1:])


def transpose(array: ndarray) -> ndarray:
    """Return a stack of matrices with rows and columns exchanged."""
    axes = list(range(array.ndim))
    axes[-2:] = axes[:-3:-1]
    return array.transpose(*axes)


def diagonal_of(array: ndarray) -> ndarray:
    """Return the main diagonals of matrices, as a view."""
    *stack, rows, columns = array.shape
    *steps, down, right = array.strides
    return array.with_layout(Layout((*stack, min(rows, columns)), (*steps, down + right)))


def flatten(array: ndarray) -> ndarray:
    """Return a matrix or a stack as a stack with one axis; of several axes, a packed one."""
    if array.ndim == 3:
        return array
    rows, columns = array.shape[-2:]
    step = array.strides[-3] if array.ndim > 2 else rows * columns * array.itemsize
    layout = Layout((array.size // (rows * columns), rows, columns), (step, *array.strides[-2:]))
    return array.with_layout(layout)


def unflatten(array: ndarray, stack: Shape) -> ndarray:
    """Return a packed stack with one axis as a matrix or a stack with other ones."""
    steps = [array.strides[0]]
    for length in reversed(stack[1:]):
        steps.append(steps[-1] * length)
    strides = (*steps[::-1][-len(stack) :], *array.strides[1:]) if stack else array.strides[1:]
    return array.with_layout(Layout((*stack, *array.shape[1:]), strides))


def expand(array: ndarray, stack: Shape) -> ndarray:
    """Return a stack of matrices broadcast to more of them, as a view with repeated elements."""
    lengths = array.shape[:-2]
    steps = [
        0 if length == 1 else step for length, step in zip(lengths, array.strides[:-2], strict=True)
    ]
    steps = [0] * (len(stack) - len(steps)) + steps
    return array.with_layout(Layout((*stack, *array.shape[-2:]), (*steps, *array.strides[-2:])))


def each(stack: Shape, *arrays: ndarray) -> Iterator[tuple[Any, ...]]:
    """Yield what belongs to each index of a stack: views of arrays that begin with its axes."""
    for index in np.ndindex(*stack):
        # Slices, so that an element stays an array.
        slices = tuple([slice(i, i + 1) for i in index])
        yield tuple(
            [array[(*index, ...)] if array.ndim > len(stack) else array[slices] for array in arrays]
        )


def common_stack(*arrays: ndarray) -> Shape | None:
    """Return what the axes before the matrices broadcast to, None if they do not."""
    try:
        return np.broadcast_shapes(*[array.shape[:-2] for array in arrays])
    except ValueError:
        return None


def is_matrix(array: object) -> bool:
    """Return whether something is a matrix or a stack that the library computes with."""
    return isinstance(array, ndarray) and is_offered(array) and array.ndim >= 2


def is_square(array: object) -> bool:
    """Return whether something is a square matrix or a stack that the library computes with."""
    return isinstance(array, ndarray) and is_matrix(array) and array.shape[-1] == array.shape[-2]


def named(name: str, *items: object) -> Result:
    """Return arrays in the named tuple that a function of NumPy returns."""
    return _result_type(name)(*items)


@cache
def _result_type(name: str) -> Any:
    return type(getattr(np.linalg, name)(np.eye(1)))


def with_name(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions by their names."""
    return {function.__name__: function for function in functions}
