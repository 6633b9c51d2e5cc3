"""Kernels for what no routine of the vendor's libraries does, on stacks of matrices.

Stacks have three axes here. Those that visit every element count rows fastest, because columns are
contiguous.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pygpulib.core import dtypes
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.jit import types
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.memory import shared
from pygpulib.jit.intrinsics.sync import syncthreads
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, grid, gridDim, threadIdx
from pygpulib.jit.options import CompileOptions
from pygpulib.linalg.solver import real_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from pygpulib.core.stream import StreamLike

_OPTIONS = CompileOptions()
_BLOCK = 128
# Rows that are shorter than this go to one block each.
_CHUNK = 16 * _BLOCK
_MOST_CHUNKS = 64


def _device(function: Any) -> Any:
    return DeviceFunction(function, _OPTIONS)


@_device
def _locate(place: Any, shape: Any) -> Any:
    """Return where the element is that a thread visits, from the shape of its stack."""
    rows, columns = shape[1], shape[2]
    return place // (rows * columns), place % rows, place // rows % columns


# ---------------------------------------------------------------------------- for each element


def put_band(source: Any, target: Any, low: int, high: int, is_unit: bool) -> None:
    """Copy the diagonals from `low` to `high`, with zeros elsewhere, or ones on the main one."""
    if grid(1) < target.size:
        s, i, j = _locate(grid(1), target.shape)
        if low <= j - i <= high:
            target[s, i, j] = source[s, i, j]
        else:
            target[s, i, j] = 0
        if is_unit and i == j:
            target[s, i, j] = 1


def mirror(source: Any, target: Any, is_lower: bool, is_hermitian: bool) -> None:
    """Copy a triangle to both triangles, to the other one conjugated if it is Hermitian."""
    if grid(1) < target.size:
        s, i, j = _locate(grid(1), target.shape)
        if (i >= j) == is_lower or i == j:
            value = source[s, i, j]
            if is_hermitian and i == j:
                value = (value + value.conjugate()) / 2
            target[s, i, j] = value
        elif is_hermitian:
            target[s, i, j] = source[s, j, i].conjugate()
        else:
            target[s, i, j] = source[s, j, i]


def scale_columns(stack: Any, factors: Any) -> None:
    """Multiply columns with the factors of their matrix."""
    if grid(1) < stack.size:
        s, i, j = _locate(grid(1), stack.shape)
        stack[s, i, j] *= factors[s, j]


def conjugate(stack: Any) -> None:
    """Conjugate all elements."""
    if grid(1) < stack.size:
        s, i, j = _locate(grid(1), stack.shape)
        stack[s, i, j] = stack[s, i, j].conjugate()


def pair_vectors(packed: Any, values: Any, vectors: Any) -> None:
    """Make complex eigenvectors of real ones: two columns for each pair of eigenvalues."""
    if grid(1) < vectors.size:
        s, i, j = _locate(grid(1), vectors.shape)
        imaginary = values[s, j].imag
        if imaginary > 0:
            vectors[s, i, j] = packed[s, i, j] + 1j * packed[s, i, j + 1]
        elif imaginary < 0:
            vectors[s, i, j] = packed[s, i, j - 1] - 1j * packed[s, i, j]
        else:
            vectors[s, i, j] = packed[s, i, j]


def put_ones(target: Any, columns: Any) -> None:
    """Write zeros, and a one to each row."""
    if grid(1) < target.size:
        s, i, j = _locate(grid(1), target.shape)
        target[s, i, j] = 1 if columns[s, i] == j else 0


def raise_to(vector: Any, exponent: Any) -> None:
    """Raise elements to a power."""
    if grid(1) < vector.size:
        if exponent == 0.5:
            vector[grid(1)] = math.sqrt(vector[grid(1)])
        else:
            vector[grid(1)] = vector[grid(1)] ** exponent


def put_signs(vector: Any) -> None:
    """Divide elements by their absolute values, and let zeros be ones."""
    if grid(1) < vector.size:
        length = abs(vector[grid(1)])
        if length > 0:
            vector[grid(1)] /= length
        else:
            vector[grid(1)] = 1


# ----------------------------------------------------------------------------- for each vector


def multiply_reflections(factors: Any, tau: Any, q: Any) -> None:
    """Write columns of Q, the product of Householder's reflections: a thread for each column."""
    place, columns = grid(1), q.shape[2]
    if place < q.shape[0] * columns:
        s, j = place // columns, place % columns
        for i in range(q.shape[1]):
            q[s, i, j] = 1 if i == j else 0
        for step in range(tau.shape[1]):
            first = tau.shape[1] - 1 - step
            total = q[s, first, j]
            for i in range(first + 1, q.shape[1]):
                total += factors[s, i, first].conjugate() * q[s, i, j]
            total *= tau[s, first]
            q[s, first, j] -= total
            for i in range(first + 1, q.shape[1]):
                q[s, i, j] -= factors[s, i, first] * total


def cross(first: Any, second: Any, products: Any) -> None:
    """Write the cross products of vectors of three elements."""
    s = grid(1)
    if s < products.shape[0]:
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            products[s, i] = first[s, j] * second[s, k] - first[s, k] * second[s, j]


# ---------------------------------------------------------------------------------- reductions


def _sum(one: Any, other: Any) -> Any:
    return one + other


def _product(one: Any, other: Any) -> Any:
    return one * other


def _larger(one: Any, other: Any) -> Any:
    # What is not a number wins, as with NumPy.
    return one if one > other or one != one else other


def _smaller(one: Any, other: Any) -> Any:
    return one if one < other or one != one else other


# What is read of an element, given a number, and how two of them become one.
_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (lambda value, _: value, _sum),
    "absolute sum": (lambda value, _: abs(value), _sum),
    "square sum": (lambda value, _: (value * value.conjugate()).real, _sum),
    "power sum": (lambda value, power: abs(value) ** power, _sum),
    "count": (lambda value, _: 1 if value != 0 else 0, _sum),
    "largest": (lambda value, _: abs(value), _larger),
    "smallest": (lambda value, _: abs(value), _smaller),
}


def _make_fold(combine: Any) -> Any:
    """Return what leaves the combination of a block's shared elements in the first one."""

    @_device
    def fold(elements: Any) -> None:
        thread, active = threadIdx.x, blockDim.x
        while active > 1:
            syncthreads()
            half = (active + 1) // 2
            if thread + half < active:
                elements[thread] = combine(elements[thread], elements[thread + half])
            active = half

    return fold


def _make_reduction(kind: str, is_last: bool, element: types.ScalarType) -> Callable[..., None]:
    read, combine = (
        _device(_REDUCTIONS["sum" if is_last else kind][0]),
        _device(_REDUCTIONS[kind][1]),
    )
    fold = _make_fold(combine)

    def reduce(values: Any, results: Any, number: Any) -> None:
        """Combine what lies in a chunk of a row: a block for each."""
        partial = shared.array(_BLOCK, element)
        row, chunk, thread = blockIdx.x, blockIdx.y, threadIdx.x
        step = blockDim.x * gridDim.y
        first = chunk * blockDim.x + thread
        total = element(read(values[row, first], number))
        for place in range(first + step, values.shape[1], step):
            total = element(combine(total, element(read(values[row, place], number))))
        partial[thread] = total
        fold(partial)
        if thread == 0:
            results[row, chunk] = partial[0]

    return reduce


# The signs of numbers other than zero, given their absolute values, as NumPy has them.
_SIGNS: dict[str, Any] = {
    "f": lambda value, _: -1 if value < 0 else 1,
    "c": lambda value, length: value / length,
}


def _make_determinants(
    kind: str, element: types.ScalarType, real: types.ScalarType
) -> Callable[..., None]:
    sign_of_number = _device(_SIGNS[kind])
    multiply, add = _make_fold(_device(_product)), _make_fold(_device(_sum))

    def determinants(factors: Any, pivots: Any, signs: Any, logarithms: Any, as_one: bool) -> None:
        """Write signs and logarithms, or their product: a block for each matrix."""
        sign_of, sum_of = shared.array(_BLOCK, element), shared.array(_BLOCK, real)
        s, thread = blockIdx.x, threadIdx.x
        sign, total = element(1), real(0)
        for i in range(thread, factors.shape[1], blockDim.x):
            value = factors[s, i, i]
            length = abs(value)
            total += real(math.log(length)) if length != 0 else -math.inf
            sign *= element(sign_of_number(value, length)) if length != 0 else value
            if pivots[s, i] != i + 1:
                sign = -sign
        sign_of[thread], sum_of[thread] = sign, total
        multiply(sign_of)
        add(sum_of)
        if thread == 0:
            logarithms[s] = sum_of[0]
            signs[s] = sign_of[0] * real(math.exp(sum_of[0])) if as_one else sign_of[0]

    return determinants


class Kernels:
    """The kernels, each made when it is first launched; they are loaded for one driver."""

    def __init__(self) -> None:
        self._made: dict[object, Kernel] = {}

    def _get(self, key: object, make: Callable[[], Callable[..., None]]) -> Kernel:
        kernel = self._made.get(key)
        if kernel is None:
            kernel = self._made[key] = Kernel(make(), _OPTIONS)  # type: ignore[arg-type]
        return kernel

    def launch(
        self, function: Callable[..., None], count: int, stream: StreamLike, *given: object
    ) -> None:
        """Launch one of this module's functions with so many threads."""
        self._get(function, lambda: function).forall(count, stream=stream)(*given)

    def determinants(
        self, factors: ndarray, pivots: ndarray, results: tuple[ndarray, ndarray], as_one: bool
    ) -> None:
        """Write signs and logarithms of determinants, from factors with one axis of stacks."""
        signs, logarithms = results
        element, real = _scalar(signs.dtype), _scalar(logarithms.dtype)
        key = "determinants", signs.dtype
        kernel = self._get(key, lambda: _make_determinants(signs.dtype.kind, element, real))
        block = min(_BLOCK, factors.shape[1])
        kernel[factors.shape[0], block, signs.stream](factors, pivots, signs, logarithms, as_one)

    def reduce(self, kind: str, values: ndarray, number: float, stream: StreamLike) -> ndarray:
        """Combine the elements of each row of a matrix.

        Parameters
        ----------
        kind : str
            ``"sum"``, of the elements; or of their absolute values ``"absolute sum"``, ``"square
            sum"``, ``"power sum"``, ``"largest"`` and ``"smallest"``; or ``"count"``, of those
            that are not zero.
        values : ndarray
            The matrix, with one column at least.
        number : float
            The power.
        stream : Stream or 0
            Where the work is queued.

        Returns
        -------
        ndarray
            A number for each row.
        """
        rows, length = values.shape
        chunks = min(-(-length // _CHUNK), _MOST_CHUNKS) if rows < _BLOCK else 1
        dtype = values.dtype if kind == "sum" else real_dtype(values.dtype)
        results = device_array((rows, chunks), dtype, stream=stream)
        first = self._reduction(kind, False, dtype)
        # Every thread has at least one element, so that none needs a neutral one.
        first[(rows, chunks), min(_BLOCK, length), stream](values, results, float(number))
        if chunks > 1:
            values, results = results, device_array((rows, 1), dtype, stream=stream)
            self._reduction(kind, True, dtype)[rows, chunks, stream](values, results, float(number))
        return results.reshape(rows)

    def _reduction(self, kind: str, is_last: bool, dtype: np.dtype[Any]) -> Kernel:
        key = kind, is_last, dtype
        return self._get(key, lambda: _make_reduction(kind, is_last, _scalar(dtype)))


def _scalar(dtype: np.dtype[Any]) -> types.ScalarType:
    return types.scalar_type(dtypes.from_numpy(dtype))
