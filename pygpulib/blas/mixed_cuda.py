"""Products in mixed precision on a GPU: cuBLAS's, and cublasLt's, which finishes elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings.cublas import (
    COMPUTE_TYPES,
    DATA_TYPES,
    DEFAULT_ALGORITHM,
    OPERATIONS,
)
from pygpulib._bindings.cublaslt import EPILOGUES, REDUCE_IN_COMPUTE_TYPE, REDUCE_IN_PLACE
from pygpulib._record import record
from pygpulib.blas.cuda_functions import call_sized
from pygpulib.blas.cuda_lt import Kind, Matrix, alignment_of
from pygpulib.blas.cuda_numbers import convert, is_zero, place_numbers, read_number
from pygpulib.blas.layout import find_columns
from pygpulib.blas.precision import current_math_mode
from pygpulib.core.creation import device_array

if TYPE_CHECKING:
    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.blas.engine import DType, Finish, Product
    from pygpulib.core.array import ndarray

# The units that multiply eight-bit numbers take four of them at a time.
_INT8_ALIGNMENT = 4
_SCALES = {"float16": "float16", "float64": "float64", "int32": "int32"}


@record
class Factor:
    """A matrix, or a stack of them, as the library takes it.

    Attributes
    ----------
    array : ndarray
        The array, with two axes or three.
    operation : int
        The library's number of what is done to it first.
    leading, distance : int
        Elements from one column to the next, and from one matrix to the next.
    """

    array: ndarray
    operation: int
    leading: int
    distance: int


def multiply_mixed(
    engine: CudaEngine,
    product: Product,
    factors: tuple[ndarray, ndarray],
    c: ndarray,
    stream: int,
) -> None:
    """Write alpha op(a) op(b) + beta c to c; matrices, or stacks of them."""
    a, b = factors
    is_turned = product.transa != "N", product.transb != "N"
    if not c.size:
        return
    output = c
    found = _find(c)
    if found is None:
        output = engine.copy(c, c.dtype, "C", stream)
        found = _find(output)
        assert found is not None
    leading, is_flipped = found
    m, n = c.shape[-2:]
    k = a.shape[-2] if is_turned[0] else a.shape[-1]
    first = _factor(a, is_turned[0] != is_flipped, stream)
    second = _factor(b, is_turned[1] != is_flipped, stream)
    if is_flipped:
        m, n, first, second = n, m, second, first
    scale = _scale_type(product.compute)
    alpha, beta = (read_number(each, scale) for each in (product.alpha, product.beta))
    if is_zero(alpha):
        # Then factors are not read, whatever they hold.
        k = 0
    target = Factor(output, 0, leading, _distance(output))
    _multiply(engine, product.compute, (m, n, k), (alpha, beta), (first, second, target), stream)
    if output is not c:
        engine.assign(c, output, stream)


def _multiply(
    engine: CudaEngine,
    compute: str,
    sizes: tuple[int, int, int],
    scalars: tuple[Any, Any],
    matrices: tuple[Factor, Factor, Factor],
    stream: int,
) -> None:
    numbers = place_numbers(scalars, stream)
    is_stack = matrices[2].array.ndim > 2
    places: list[tuple[int, ...]] = []
    for each in matrices:
        array = each.array
        place = (array.address, DATA_TYPES[array.dtype.name], each.leading)
        places.append((*place, each.distance) if is_stack else place)
    name = "cublasGemmStridedBatchedEx" if is_stack else "cublasGemmEx"
    with engine.handle(stream) as handle:
        handle.use_numbers(numbers.mode)
        call_sized(
            handle.library,
            name,
            handle.pointer,
            matrices[0].operation,
            matrices[1].operation,
            *sizes,
            numbers.addresses[0],
            *places[0],
            *places[1],
            numbers.addresses[1],
            *places[2],
            *([matrices[2].array.shape[0]] if is_stack else []),
            COMPUTE_TYPES[_arithmetic(compute)],
            DEFAULT_ALGORITHM,
        )


def multiply_and_finish(engine: CudaEngine, wanted: Finish, stream: int) -> bool:
    """Do a product and finish its elements in one call of the library.

    Returns
    -------
    bool
        Whether it was done; the library does not do everything.
    """
    out, product = wanted.out, wanted.product
    scale = _scale_type(product.compute)
    alpha, beta = (read_number(each, scale) for each in (product.alpha, product.beta))
    if not out.size or not wanted.a.size or is_zero(alpha):
        return False
    with engine.handle(stream) as handle:
        light = handle.light
        if light is None:
            return False
        # The rows of the result are the library's columns: it multiplies the transposes.
        first = _factor(wanted.b, True, stream)
        second = _factor(wanted.a, True, stream)
        target = Factor(out, 0, max(out.shape[-1], 1), _distance(out))
        addend = target if wanted.addend is None else _addend(wanted.addend, stream)
        numbers = place_numbers((alpha, beta), stream)
        bias = _bias(wanted.bias, stream)
        matrices = (first, second, addend, target)
        kind = _kind(product, matrices, wanted, numbers.mode, bias)
        workspace = handle.workspace(stream)
        place = 0 if bias is None else bias.address
        plan = light.find_plan(kind, place, workspace.size)
        if plan is None:
            return False
        light.multiply(
            plan,
            place,
            (numbers.addresses[0], numbers.addresses[1]),
            _four([each.array.address for each in matrices]),
            (workspace.address, workspace.size),
            stream,
        )
    return True


def _kind(
    product: Product,
    matrices: tuple[Factor, Factor, Factor, Factor],
    wanted: Finish,
    pointer_mode: int,
    bias: ndarray | None,
) -> Kind:
    words = [wanted.activation] if wanted.activation else []
    words += [] if bias is None else ["bias"]
    out = wanted.out
    rows, columns, inner = out.shape[-1], out.shape[-2], wanted.a.shape[-1]
    shapes = ((rows, inner), (inner, columns), (rows, columns), (rows, columns))
    layouts = []
    for matrix, shape in zip(matrices, shapes, strict=True):
        height, width = shape if matrix.operation == OPERATIONS["N"] else shape[::-1]
        array = matrix.array
        layouts.append(
            Matrix(
                DATA_TYPES[array.dtype.name],
                height,
                width,
                matrix.leading,
                matrix.distance,
                _alignment(matrix),
            )
        )
    scale = _scale_type(product.compute)
    # What is stored in between is not to be rounded more than sums are.
    schemes = REDUCE_IN_COMPUTE_TYPE
    schemes |= REDUCE_IN_PLACE if out.itemsize >= scale.itemsize else 0
    return Kind(
        COMPUTE_TYPES[_arithmetic(product.compute)],
        DATA_TYPES[scale.name],
        (matrices[0].operation, matrices[1].operation),
        pointer_mode,
        EPILOGUES[" ".join(words)],
        0 if bias is None else alignment_of(bias.address),
        out.shape[0] if out.ndim > 2 else 1,
        _four(layouts),
        schemes,
    )


def _four(items: list[Any]) -> tuple[Any, Any, Any, Any]:
    a, b, c, d = items
    return a, b, c, d


def _alignment(matrix: Factor) -> int:
    """Return what the addresses of all matrices of a stack are multiples of."""
    array = matrix.array
    step = matrix.distance * array.itemsize
    return (
        min(alignment_of(array.address), alignment_of(step))
        if step
        else alignment_of(array.address)
    )


def _arithmetic(compute: str) -> str:
    """Return what `math_mode` makes of an arithmetic."""
    mode = current_math_mode()
    if mode == "tf32" and compute == "float32":
        return "tf32"
    return f"{compute} pedantic" if mode == "pedantic" and compute in _PEDANTIC else compute


_PEDANTIC = ("float16", "float32", "float64")


def _scale_type(compute: str) -> DType:
    """Return the dtype of alpha and beta for an arithmetic."""
    return np.dtype(_SCALES.get(compute, "float32"))


def _addend(array: ndarray, stream: int) -> Factor:
    """Return what is added, with contiguous rows."""
    columns = find_columns(array.shape[-2:], array.strides[-2:], array.itemsize, True)
    if columns is None or not _is_stackable(array):
        array = _packed(array, stream)
        return Factor(array, 0, max(array.shape[-1], 1), _distance(array))
    return Factor(array, 0, columns.leading, _distance(array))


def _bias(array: ndarray | None, stream: int) -> ndarray | None:
    if array is None or array.flags["C_CONTIGUOUS"]:
        return array
    return _packed(array, stream)


def _packed(array: ndarray, stream: int) -> ndarray:
    made = device_array(array.shape, array.dtype, stream=stream)
    convert(array, made, stream)
    return made


def _is_stackable(array: ndarray) -> bool:
    """Return whether the library can go from one matrix of a stack to the next."""
    return array.ndim < 3 or (array.strides[0] >= 0 and not array.strides[0] % array.itemsize)


def _distance(array: ndarray) -> int:
    """Return the elements from one matrix of a stack to the next."""
    if array.ndim < 3 or array.shape[0] < 2:
        return 0
    return array.strides[0] // array.itemsize


def _find(array: ndarray) -> tuple[int, bool] | None:
    """Return the leading dimension of the matrices of a stack, and whether rows are contiguous."""
    columns = find_columns(array.shape[-2:], array.strides[-2:], array.itemsize)
    if columns is None or not _is_stackable(array):
        return None
    return columns.leading, columns.is_flipped


def _factor(array: ndarray, transposed: bool, stream: int) -> Factor:
    """Return a factor, a copy if the library cannot take it as it lies."""
    found = _find(array)
    if found is not None and array.dtype == np.int8 and not _is_aligned(array, found[0]):
        found = None
    if found is None:
        rows = array.shape[-1]
        padded = -(-max(rows, 1) // _INT8_ALIGNMENT) * _INT8_ALIGNMENT
        made = device_array((*array.shape[:-1], padded), array.dtype, stream=stream)
        copy: Any = made[..., :rows]
        convert(array, copy, stream)
        return Factor(copy, OPERATIONS["N" if transposed else "T"], padded, _distance(copy))
    leading, is_flipped = found
    operation = OPERATIONS["T" if transposed != is_flipped else "N"]
    return Factor(array, operation, leading, _distance(array))


def _is_aligned(array: ndarray, leading: int) -> bool:
    places = array.address, leading, _distance(array)
    return not any(place % _INT8_ALIGNMENT for place in places)
