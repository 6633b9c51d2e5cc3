"""Products in mixed precision, and products with something done to each element afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.arguments import read_flag, read_number, read_real
from pygpulib.blas.call import check_writable
from pygpulib.blas.engine import Product, current_engine
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, counted

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.engine import Engine
    from pygpulib.core.stream import StreamLike

# By the dtype of the factors and the arithmetic: the dtypes that the result may have.
COMBINATIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("float16", "float32"): ("float16", "float32"),
    ("float16", "float16"): ("float16",),
    ("bfloat16", "float32"): ("bfloat16", "float32"),
    ("float32", "float32"): ("float32",),
    ("float32", "tf32"): ("float32",),
    ("float32", "fast float16"): ("float32",),
    ("float32", "fast bfloat16"): ("float32",),
    ("float64", "float64"): ("float64",),
    ("int8", "int32"): ("int32",),
    ("int8", "float32"): ("float32",),
}
"""What there is, the first arithmetic and result being the default."""

ACTIVATIONS = ("relu", "gelu")


@record
class Wanted:
    """What the functions have in common: their name, and how the factors are multiplied."""

    name: str
    alpha: object
    beta: object
    C: Any
    dtype: DTypeLike | None
    compute: str | None
    stream: StreamLike


class Plan:
    """The dtypes of a product.

    Parameters
    ----------
    name : str
        The function, for messages.
    factors : str
        Dtype of the factors.
    compute : str or None
        The arithmetic.
    result : dtype-like or None
        Dtype of the result.

    Attributes
    ----------
    compute : str
        The arithmetic.
    result : numpy.dtype
        Dtype of the result.

    Raises
    ------
    DTypeError
        If there is no such product.
    """

    def __init__(
        self, name: str, factors: str, compute: str | None, result: DTypeLike | None
    ) -> None:
        offered = [arithmetic for kind, arithmetic in COMBINATIONS if kind == factors]
        if not offered:
            kinds = sorted({kind for kind, _ in COMBINATIONS})
            raise DTypeError(
                f"{name}: there is no product of {factors} in mixed precision",
                detail=f"expected {', '.join(kinds)}",
                help="complex arrays are multiplied by gemm" if "complex" in factors else "",
            )
        self.compute = offered[0] if compute is None else compute
        if self.compute not in offered:
            raise ArgumentError(
                f"{name}: {factors} arrays are not multiplied in {compute!r}",
                detail=f"expected {' or '.join(map(repr, offered))}",
            )
        results = COMBINATIONS[factors, self.compute]
        self.result = storage_dtype(results[0]) if result is None else storage_dtype(result)
        if self.result.name not in results:
            raise DTypeError(
                f"{name}: a product of {factors} arrays in {self.compute} is not {self.result}",
                detail=f"expected {' or '.join(results)}",
            )


def _read_matrix(name: str, argument: str, value: object) -> GivenArray:
    if not isinstance(value, np.ndarray | ndarray):
        if not is_cuda_array(value):
            raise ArgumentTypeError(
                f"{name}: the argument {argument} is a {type(value).__name__}",
                detail="expected an array",
            )
        value = as_cuda_array(value)
    if value.ndim != 2:
        raise ShapeError(
            f"{name}: the argument {argument} has {counted(value.ndim, 'axis', 'axes')}",
            detail=f"expected two axes, its shape is {tuple(value.shape)}",
        )
    return value


def _read_factor(name: str, argument: str, value: object) -> object:
    number = read_number(name, argument, value)
    return read_real(name, argument, number, "there are no complex products in mixed precision")


def _check_whole(name: str, compute: str, **factors: Any) -> None:  # noqa: ANN401
    """Refuse factors of products in int32 that are no integers."""
    if compute != "int32":
        return
    for argument, factor in factors.items():
        number: Any = factor.item() if isinstance(factor, ndarray) else factor
        if not float(number).is_integer():
            raise ArgumentError(
                f"{name}: the argument {argument} is {number!r}",
                detail="expected an integer: the product is computed in int32",
                help="ask for compute='float32'",
            )


def _shape_of_product(
    name: str, transa: str, transb: str, a: GivenArray, b: GivenArray
) -> tuple[int, int]:
    if a.dtype != b.dtype:
        raise DTypeError(
            f"{name}: the factors are of different dtypes: {a.dtype} and {b.dtype}",
            help="convert one of them first, with .astype(...)",
        )
    m, k = a.shape if transa == "N" else a.shape[::-1]
    inner, n = b.shape if transb == "N" else b.shape[::-1]
    if inner != k:
        raise ShapeError(
            f"{name}: the argument B has shape {tuple(b.shape)}, which does not fit A",
            detail=f"A has shape {tuple(a.shape)}: expected {k} rows of op(B), got {inner}",
        )
    return m, n


def gemm_ex(  # noqa: PLR0913  (as the library has it)
    transa: str,
    transb: str,
    alpha: object,
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    beta: object = 0,
    C: Any = None,  # noqa: ANN401
    *,
    dtype: DTypeLike | None = None,
    compute: str | None = None,
    stream: StreamLike = None,
) -> Any:  # noqa: ANN401
    """Multiply matrices of small numbers: C = alpha op(A) op(B) + beta C.

    Parameters
    ----------
    transa, transb : str
        ``'N'`` for the matrices, ``'T'`` or ``'C'`` for their transposes.
    alpha : number
        The factor.
    A, B : array
        The factors, of one dtype: float16, bfloat16, float32, float64 or int8.
    beta : number, optional
        The factor of C's old values, which are not read if it is 0.
    C : array, optional
        Written to, default: a new array.
    dtype : dtype-like, optional
        Dtype of a new result: float16 and bfloat16 factors also give float32, and int8 ones give
        int32 or float32.
    compute : str, optional
        The arithmetic. Default: float32, for float64 factors float64, for int8 ones int32. There
        are also ``"float16"`` for float16, ``"tf32"``, ``"fast float16"`` and ``"fast bfloat16"``
        for float32, which round the factors first, and ``"float32"`` for int8.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    array
        C, or a new array.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.

    Notes
    -----
    The CPU back end multiplies float16 and bfloat16 in float32, and for ``"float16"`` rounds only
    the result.
    """
    wanted = Wanted("gemm_ex", alpha, beta, C, dtype, compute, stream)
    return _multiply(wanted, (transa, transb), A, B)


def matmul(  # noqa: PLR0913  (as the library has it)
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    *,
    alpha: object = 1,
    beta: object = 0,
    C: Any = None,  # noqa: ANN401
    bias: Any = None,  # noqa: ANN401
    activation: str | None = None,
    dtype: DTypeLike | None = None,
    compute: str | None = None,
    stream: StreamLike = None,
) -> Any:  # noqa: ANN401
    """Multiply matrices and finish each element: f(alpha A B + beta C + bias).

    Parameters
    ----------
    A, B : array
        The factors, of one dtype: float16, bfloat16, float32, float64 or int8.
    alpha, beta : number
        The factors of the product and of C.
    C : array, optional
        What is added, of the result's shape; it is not changed.
    bias : array, optional
        What is added to every row, of the result's number of columns.
    activation : str, optional
        ``"relu"``, or ``"gelu"`` in its approximation by a hyperbolic tangent.
    dtype, compute : optional
        As in `gemm_ex`.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    array
        A new array.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.

    Examples
    --------
    >>> matmul(np.eye(2), np.array([[1.0, -2], [3, -4]]), bias=np.ones(2), activation="relu")
    array([[2., 0.],
           [4., 0.]])
    """
    wanted = Wanted("matmul", alpha, beta, C, dtype, compute, stream)
    return _multiply_and_finish(wanted, A, B, bias, activation)


def _multiply(wanted: Wanted, letters: tuple[str, str], A: Any, B: Any) -> Any:  # noqa: ANN401
    """Do what `gemm_ex` says."""
    name, alpha, beta = wanted.name, wanted.alpha, wanted.beta
    first, second = (
        read_flag(name, "transa", letters[0]),
        read_flag(name, "transb", letters[1]),
    )
    alpha, beta = _read_factor(name, "alpha", alpha), _read_factor(name, "beta", beta)
    a, b = _read_matrix(name, "A", A), _read_matrix(name, "B", B)
    shape = _shape_of_product(name, first, second, a, b)
    target = None if wanted.C is None else _read_matrix(name, "C", wanted.C)
    plan = Plan(
        name, a.dtype.name, wanted.compute, wanted.dtype if target is None else target.dtype
    )
    _check_whole(name, plan.compute, alpha=alpha, beta=beta)
    engine, handle = current_engine(), stream_handle(wanted.stream)
    if target is None:
        if isinstance(beta, ndarray) or beta:
            raise ArgumentError(
                f"{name}: the argument beta is given, and C is not", detail="beta multiplies C"
            )
        target = _make(shape, plan.result, a, b, handle)
    else:
        check_writable(name, "C", target)
        if tuple(target.shape) != shape:
            raise ShapeError(
                f"{name}: the argument C has shape {tuple(target.shape)}",
                detail=f"expected {shape} for these factors",
            )
    natives = [engine.adopt(each, handle) for each in (a, b, target)]
    product = Product(first, second, alpha, beta, plan.compute)
    engine.multiply_mixed(product, natives[0], natives[1], natives[2], handle)
    engine.publish(natives[2], target, handle)
    return target


def _multiply_and_finish(
    wanted: Wanted,
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    bias: Any,  # noqa: ANN401
    activation: str | None,
) -> Any:  # noqa: ANN401
    """Do what `matmul` says."""
    name, alpha, beta = wanted.name, wanted.alpha, wanted.beta
    alpha, beta = _read_factor(name, "alpha", alpha), _read_factor(name, "beta", beta)
    a, b = _read_matrix(name, "A", A), _read_matrix(name, "B", B)
    shape = _shape_of_product(name, "N", "N", a, b)
    plan = Plan(name, a.dtype.name, wanted.compute, wanted.dtype)
    _check_whole(name, plan.compute, alpha=alpha, beta=beta)
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(
            f"{name}: the argument activation is {activation!r}",
            detail=f"expected {' or '.join(map(repr, ACTIVATIONS))}",
        )
    engine, handle = current_engine(), stream_handle(wanted.stream)
    is_finished = bias is not None or activation is not None
    # Elements are finished before they are rounded.
    precise = _precise(plan.result) if is_finished else plan.result
    factors = [engine.adopt(each, handle) for each in (a, b)]
    work = engine.empty(shape, precise, "C", handle)
    beta = _take_addend(engine, wanted.C, beta, work, handle)
    arithmetic = plan.compute if precise == plan.result else _wide_arithmetic(a.dtype.name, plan)
    product = Product("N", "N", alpha, beta, arithmetic)
    engine.multiply_mixed(product, factors[0], factors[1], work, handle)
    target = _make(shape, plan.result, a, b, handle)
    native = engine.adopt(target, handle)
    if is_finished:
        row = _read_bias(engine, bias, shape[1], precise, handle)
        engine.finish(work, row, activation, native, handle)
    else:
        engine.assign(native, work, handle)
    engine.publish(native, target, handle)
    return target


def _precise(result: np.dtype[Any]) -> np.dtype[Any]:
    if result.name == "int32":
        raise DTypeError(
            "matmul: an int32 result has no bias or activation",
            help="ask for compute='float32'",
        )
    return result if result.itemsize >= 4 else np.dtype(np.float32)


def _wide_arithmetic(factors: str, plan: Plan) -> str:
    return "float32" if factors in ("float16", "bfloat16") else plan.compute


def _take_addend(
    engine: Engine,
    C: Any,  # noqa: ANN401
    beta: object,
    work: Any,  # noqa: ANN401
    stream: int,
) -> object:
    """Write C to where the product goes; return what beta is then."""
    if C is None:
        if isinstance(beta, ndarray) or beta:
            raise ArgumentError(
                "matmul: the argument beta is given, and C is not", detail="beta multiplies C"
            )
        return 0
    array = _read_matrix("matmul", "C", C)
    if tuple(array.shape) != tuple(work.shape):
        raise ShapeError(
            f"matmul: the argument C has shape {tuple(array.shape)}",
            detail=f"expected {tuple(work.shape)} for these factors",
        )
    native = engine.adopt(array, stream)
    engine.assign(work, engine.copy(native, work.dtype, "C", stream), stream)
    return beta


def _read_bias(
    engine: Engine,
    bias: Any,  # noqa: ANN401
    columns: int,
    dtype: np.dtype[Any],
    stream: int,
) -> Any:  # noqa: ANN401
    if bias is None:
        return engine.adopt(np.zeros(columns, dtype), stream)
    array = bias if isinstance(bias, np.ndarray | ndarray) else np.asarray(bias)
    if tuple(array.shape) != (columns,):
        raise ShapeError(
            f"matmul: the argument bias has shape {tuple(array.shape)}",
            detail=f"expected ({columns},), one element for each column",
        )
    return engine.copy(engine.adopt(array, stream), dtype, "C", stream)


def _make(
    shape: tuple[int, int], dtype: np.dtype[Any], a: GivenArray, b: GivenArray, stream: int
) -> GivenArray:
    if isinstance(a, ndarray) or isinstance(b, ndarray):
        return device_array(shape, dtype, stream=stream)
    return np.empty(shape, dtype)
