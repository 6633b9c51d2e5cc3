"""Products in mixed precision on a GPU: cuBLAS's, and cublasLt's, which finishes elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings.cublas import (
    COMPUTE_TYPES,
    DATA_TYPES,
    DEFAULT_ALGORITHM,
)
from pygpulib._bindings.cublaslt import EPILOGUES, REDUCE_IN_COMPUTE_TYPE, REDUCE_IN_PLACE
from pygpulib.blas.cuda_functions import call_sized
from pygpulib.blas.cuda_lt import Kind, Matrix, alignment_of
from pygpulib.blas.cuda_matrices import (
    LibraryMatrix,
    apply_letter,
    find_matrix,
    is_aligned,
    pack,
)
from pygpulib.blas.cuda_numbers import convert, is_zero, place_numbers, read_number
from pygpulib.blas.precision import current_math_mode
from pygpulib.core.creation import device_array

if TYPE_CHECKING:
    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.blas.engine import DType, Finish, Product
    from pygpulib.core.array import ndarray

# The units that multiply eight-bit numbers take four of them at a time.
_INT8_ALIGNMENT = 4
_SCALES = {"float16": "float16", "float64": "float64", "int32": "int32"}


def multiply_mixed(
    engine: CudaEngine,
    product: Product,
    factors: tuple[ndarray, ndarray],
    c: ndarray,
    stream: int,
) -> None:
    """Write alpha op(a) op(b) + beta c to c; matrices, or stacks of them."""
    if not c.size:
        return
    a, b = factors
    output = find_matrix(c) or pack(engine, c, stream)
    first = _factor(engine, a, product.transa, output.is_flipped, stream)
    second = _factor(engine, b, product.transb, output.is_flipped, stream)
    m, n = c.shape[-2:]
    k = a.shape[-1] if product.transa == "N" else a.shape[-2]
    if output.is_flipped:
        m, n, first, second = n, m, second, first
    scale = _scale_type(product.compute)
    scalars = [read_number(each, scale) for each in (product.alpha, product.beta)]
    if is_zero(scalars[0]):
        # Then factors are not read, whatever they hold.
        k = 0
    numbers = place_numbers(scalars, stream)
    is_stack = c.ndim > 2
    places: list[tuple[int, ...]] = []
    for each in (first[0], second[0], output):
        place = (each.array.address, DATA_TYPES[each.array.dtype.name], each.leading)
        places.append((*place, each.distance) if is_stack else place)
    name = "cublasGemmStridedBatchedEx" if is_stack else "cublasGemmEx"
    with engine.handle(stream) as handle:
        handle.use_numbers(numbers.mode)
        call_sized(
            handle.library,
            name,
            handle.pointer,
            first[1],
            second[1],
            m,
            n,
            k,
            numbers.addresses[0],
            *places[0],
            *places[1],
            numbers.addresses[1],
            *places[2],
            *([c.shape[0]] if is_stack else []),
            COMPUTE_TYPES[_arithmetic(product.compute)],
            DEFAULT_ALGORITHM,
        )
    if output.array is not c:
        engine.assign(c, output.array, stream)


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
        first, operation = _factor(engine, wanted.b, "N", True, stream)
        second, other = _factor(engine, wanted.a, "N", True, stream)
        target = find_matrix(out, True)
        assert target is not None
        addend = target
        if wanted.addend is not None:
            addend = find_matrix(wanted.addend, True) or pack(engine, wanted.addend, stream)
        numbers = place_numbers((alpha, beta), stream)
        bias = _bias(engine, wanted.bias, stream)
        matrices = (first, second, addend, target)
        kind = _kind(wanted, matrices, (operation, other), numbers.mode, bias)
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
    wanted: Finish,
    matrices: tuple[LibraryMatrix, LibraryMatrix, LibraryMatrix, LibraryMatrix],
    operations: tuple[int, int],
    pointer_mode: int,
    bias: ndarray | None,
) -> Kind:
    words = [wanted.activation] if wanted.activation else []
    words += [] if bias is None else ["bias"]
    out, compute = wanted.out, wanted.product.compute
    scale = _scale_type(compute)
    # What is stored in between is not to be rounded more than sums are.
    schemes = REDUCE_IN_COMPUTE_TYPE
    schemes |= REDUCE_IN_PLACE if out.itemsize >= scale.itemsize else 0
    return Kind(
        COMPUTE_TYPES[_arithmetic(compute)],
        DATA_TYPES[scale.name],
        operations,
        pointer_mode,
        EPILOGUES[" ".join(words)],
        0 if bias is None else alignment_of(bias.address),
        out.shape[0] if out.ndim > 2 else 1,
        _four([_describe(each) for each in matrices]),
        schemes,
    )


def _describe(matrix: LibraryMatrix) -> Matrix:
    array = matrix.array
    rows, columns = array.shape[-2:]
    if matrix.is_flipped:
        rows, columns = columns, rows
    # All addresses of a stack are multiples of this.
    alignment = alignment_of(array.address)
    if matrix.distance:
        alignment = min(alignment, alignment_of(matrix.distance * array.itemsize))
    return Matrix(
        DATA_TYPES[array.dtype.name], rows, columns, matrix.leading, matrix.distance, alignment
    )


def _four(items: list[Any]) -> tuple[Any, Any, Any, Any]:
    a, b, c, d = items
    return a, b, c, d


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


def _bias(engine: CudaEngine, array: ndarray | None, stream: int) -> ndarray | None:
    if array is None or (array.flags["C_CONTIGUOUS"] and is_aligned(array)):
        return array
    return engine.copy(array, array.dtype, "C", stream)


def _factor(
    engine: CudaEngine, array: ndarray, letter: str, transposed: bool, stream: int
) -> tuple[LibraryMatrix, int]:
    """Return op(A), or its transpose, as the library takes it, and what it does to it."""
    found = find_matrix(array)
    if array.dtype == np.int8 and (found is None or not _suits_integers(found)):
        found = _with_padded_rows(array, stream)
    matrix = found or pack(engine, array, stream)
    return apply_letter(engine, matrix, letter, transposed, stream)


def _suits_integers(matrix: LibraryMatrix) -> bool:
    places = matrix.array.address, matrix.leading, matrix.distance
    return not any(place % _INT8_ALIGNMENT for place in places)


def _with_padded_rows(array: ndarray, stream: int) -> LibraryMatrix:
    length = array.shape[-1]
    padded = -(-max(length, 1) // _INT8_ALIGNMENT) * _INT8_ALIGNMENT
    made = device_array((*array.shape[:-1], padded), array.dtype, stream=stream)
    copy: Any = made[..., :length]
    convert(array, copy, stream)
    distance = array.shape[-2] * padded if array.ndim > 2 and array.shape[0] > 1 else 0
    return LibraryMatrix(copy, padded, distance, True)
