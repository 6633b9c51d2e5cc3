"""Products in mixed precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.arguments import as_array, read_flag, read_number, read_real
from pygpulib.blas.call import check_writable, keep_apart
from pygpulib.blas.engine import Product, current_engine
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, DTypeError, ShapeError, counted

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.core.layout import Shape
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


def read_matrix(name: str, argument: str, value: object) -> GivenArray:
    """Return a matrix.

    Raises
    ------
    ArgumentTypeError, ShapeError
        If it is none.
    """
    array = as_array(name, argument, value)
    if array.ndim != 2:
        raise ShapeError(
            f"{name}: the argument {argument} has {counted(array.ndim, 'axis', 'axes')}",
            detail=f"expected two axes, its shape is {tuple(array.shape)}",
        )
    return array


def read_factor(name: str, argument: str, value: object) -> object:
    """Return alpha or beta.

    Raises
    ------
    ArgumentError
        If it is no real number.
    """
    number = read_number(name, argument, value)
    return read_real(name, argument, number, "there are no complex products in mixed precision")


def check_whole(name: str, compute: str, **factors: Any) -> None:
    """Refuse factors of products in int32 that are no integers.

    Raises
    ------
    ArgumentError
        If there is one. What device memory holds is not looked at, only its dtype.
    """
    if compute != "int32":
        return
    for argument, factor in factors.items():
        if isinstance(factor, ndarray):
            is_whole, shown = factor.dtype.kind in "iu", f"an array of {factor.dtype}"
        else:
            is_whole = float(factor).is_integer() and -(2**31) <= factor < 2**31
            shown = repr(factor)
        if not is_whole:
            raise ArgumentError(
                f"{name}: the argument {argument} is {shown}",
                detail="expected an integer of 32 bits: the product is computed in int32",
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
    A: Any,
    B: Any,
    beta: object = 0,
    C: Any = None,
    *,
    dtype: DTypeLike | None = None,
    compute: str | None = None,
    stream: StreamLike = None,
) -> Any:
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


def _multiply(wanted: Wanted, letters: tuple[str, str], A: Any, B: Any) -> Any:
    """Do what `gemm_ex` says."""
    name, alpha, beta = wanted.name, wanted.alpha, wanted.beta
    first, second = (
        read_flag(name, "transa", letters[0]),
        read_flag(name, "transb", letters[1]),
    )
    alpha, beta = read_factor(name, "alpha", alpha), read_factor(name, "beta", beta)
    a, b = read_matrix(name, "A", A), read_matrix(name, "B", B)
    shape = _shape_of_product(name, first, second, a, b)
    target = None if wanted.C is None else read_matrix(name, "C", wanted.C)
    plan = Plan(
        name, a.dtype.name, wanted.compute, wanted.dtype if target is None else target.dtype
    )
    check_whole(name, plan.compute, alpha=alpha, beta=beta)
    engine, handle = current_engine(), stream_handle(wanted.stream)
    if target is None:
        if isinstance(beta, ndarray) or beta:
            raise ArgumentError(
                f"{name}: the argument beta is given, and C is not", detail="beta multiplies C"
            )
        target = make_result(shape, plan.result, a, b, wanted.stream)
    else:
        check_writable(name, "C", target)
        if tuple(target.shape) != shape:
            raise ShapeError(
                f"{name}: the argument C has shape {tuple(target.shape)}",
                detail=f"expected {shape} for these factors",
            )
    *factors, out = [engine.adopt(each, handle) for each in (a, b, target)]
    alpha, beta, a, b = (keep_apart(engine, each, out, handle) for each in (alpha, beta, *factors))
    engine.multiply_mixed(Product(first, second, alpha, beta, plan.compute), a, b, out, handle)
    engine.publish(out, target, handle)
    return target


def make_result(
    shape: Shape, dtype: np.dtype[Any], a: GivenArray, b: GivenArray, stream: StreamLike
) -> GivenArray:
    """Return a new array for a result, of the kind of the factors."""
    if isinstance(a, ndarray) or isinstance(b, ndarray):
        # It keeps the stream, and not only its number, which may not be dropped before.
        return device_array(shape, dtype, stream=0 if stream is None else stream)
    return np.empty(shape, dtype)
