"""Products with something done to each element afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.arguments import as_array
from pygpulib.blas.engine import Finish, Product, current_engine
from pygpulib.blas.mixed import (
    Plan,
    Wanted,
    check_whole,
    make_result,
    read_factor,
)
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import is_number
from pygpulib.core.interop import is_cuda_array
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, DTypeError, ShapeError, counted

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.engine import Engine
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike

ACTIVATIONS = ("relu", "gelu")


def matmul(  # noqa: PLR0913  (as the library has it)
    A: Any,
    B: Any,
    *,
    alpha: object = 1,
    beta: object = 0,
    C: Any = None,
    bias: Any = None,
    activation: str | None = None,
    dtype: DTypeLike | None = None,
    compute: str | None = None,
    stream: StreamLike = None,
) -> Any:
    """Multiply matrices and finish each element: f(alpha A B + beta C + bias).

    Parameters
    ----------
    A, B : array
        The factors, of one dtype: float16, bfloat16, float32, float64 or int8. With three axes:
        stacks of matrices, the first axis counting them. A matrix serves for a whole stack.
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

    Notes
    -----
    On a GPU all of this is one call of cublasLt where `C` and `bias` have the result's dtype, or
    the result is float32 or float64. What the library does not offer for a dtype is a product and
    a kernel instead. The library says of ``"relu"`` that it is ``max(x, 0)``, and not what becomes
    of what is not a number; elsewhere that stays.

    Examples
    --------
    >>> matmul(np.eye(2), np.array([[1.0, -2], [3, -4]]), bias=np.ones(2), activation="relu")
    array([[2., 0.],
           [4., 0.]])
    """
    wanted = Wanted("matmul", alpha, beta, C, dtype, compute, stream)
    return _read_job(wanted, A, B, bias, activation).run(stream)


def _read_job(
    wanted: Wanted,
    A: object,
    B: object,
    bias: object,
    activation: str | None,
) -> _Job:
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(
            f"matmul: the argument activation is {activation!r}",
            detail=f"expected {' or '.join(map(repr, ACTIVATIONS))}",
        )
    factors = _Factors(_read_stack("A", A), _read_stack("B", B))
    alpha = read_factor("matmul", "alpha", wanted.alpha)
    beta = read_factor("matmul", "beta", wanted.beta)
    plan = Plan("matmul", factors.a.dtype.name, wanted.compute, wanted.dtype)
    check_whole("matmul", plan.compute, alpha=alpha, beta=beta)
    addend = _read_addend(wanted.C, beta, factors.shape)
    row = _read_bias(bias, factors.shape[-1])
    is_finished = row is not None or activation is not None
    # Elements are finished before they are rounded.
    precise = _precise(plan.result) if is_finished else plan.result
    arithmetic = plan.compute if precise == plan.result else _wide_arithmetic(factors.a, plan)
    product = Product("N", "N", alpha, beta if addend is not None else 0, arithmetic)
    return _Job(factors, product, addend, row, activation, plan.result, precise)


@record
class _Job:
    """A product with finished elements, whose arguments fit each other."""

    factors: _Factors
    product: Product
    addend: GivenArray | None
    bias: GivenArray | None
    activation: str | None
    result: np.dtype[Any]
    precise: np.dtype[Any]

    def run(self, stream: StreamLike) -> GivenArray:
        """Do it."""
        engine, handle = current_engine(), stream_handle(stream)
        given = self.factors
        a, b = (engine.adopt(each, handle) for each in (given.a, given.b))
        target = make_result(given.shape, self.result, given.a, given.b, stream)
        out = engine.adopt(target, handle)
        addend = None if self.addend is None else engine.adopt(self.addend, handle)
        bias = None if self.bias is None else engine.adopt(self.bias, handle)
        if addend is None and bias is None and self.activation is None:
            engine.multiply_mixed(self.product, a, b, out, handle)
        elif not self._is_done_at_once(engine, (a, b, addend, bias, out), handle):
            self._run_in_steps(engine, (a, b, addend, bias, out), handle)
        engine.publish(out, target, handle)
        return target

    def _is_done_at_once(self, engine: Engine, arrays: tuple[Any, ...], stream: int) -> bool:
        """Do it in one call, if what is added is of the result's dtype or can be made so."""
        a, b, *added, out = arrays
        for i, array in enumerate(added):
            if array is not None and array.dtype != self.result:
                if self.precise != self.result:
                    return False
                added[i] = engine.copy(array, self.result, "C", stream)
        wanted = Finish(self.product, a, b, added[0], added[1], self.activation, out)
        return engine.multiply_and_finish(wanted, stream)

    def _run_in_steps(self, engine: Engine, arrays: tuple[Any, ...], stream: int) -> None:
        a, b, addend, bias, out = arrays
        is_finished = bias is not None or self.activation is not None
        work = engine.empty(out.shape, self.precise, "C", stream) if is_finished else out
        if addend is not None:
            if addend.dtype != self.precise:
                addend = engine.copy(addend, self.precise, "C", stream)
            engine.assign(work, addend, stream)
        engine.multiply_mixed(self.product, a, b, work, stream)
        if is_finished:
            row = None if bias is None else engine.copy(bias, self.precise, "C", stream)
            engine.finish(work, row, self.activation, out, stream)


class _Factors:
    """Two factors that fit each other: matrices, or stacks of them.

    Parameters
    ----------
    a, b : array
        The factors.

    Attributes
    ----------
    shape : tuple of int
        Shape of the product.
    """

    def __init__(self, a: GivenArray, b: GivenArray) -> None:
        if a.dtype != b.dtype:
            raise DTypeError(
                f"matmul: the factors are of different dtypes: {a.dtype} and {b.dtype}",
                help="convert one of them first, with .astype(...)",
            )
        if b.shape[-2] != a.shape[-1]:
            raise ShapeError(
                f"matmul: the argument B has shape {tuple(b.shape)}, which does not fit A",
                detail=f"A has shape {tuple(a.shape)}: expected {a.shape[-1]} rows of op(B), "
                f"got {b.shape[-2]}",
            )
        counts = {each.shape[0] for each in (a, b) if each.ndim > 2}
        many = counts - {1} if len(counts) > 1 else counts
        if len(many) > 1:
            raise ShapeError(
                "matmul: the stacks are of different lengths: "
                f"A has {a.shape[0]}, B has {b.shape[0]}",
                detail="expected the same number of problems in each, or one for all",
            )
        self.a, self.b = (_without_count(each, many) for each in (a, b))
        self.shape: Shape = (*many, a.shape[-2], b.shape[-1])


def _without_count(array: GivenArray, many: set[int]) -> GivenArray:
    """Return a stack of one, where others have more, as the matrix that it consists of."""
    if array.ndim < 3 or array.shape[0] in many:
        return array
    matrix: Any = array[0]
    return matrix  # type: ignore[no-any-return]


def _read_stack(argument: str, value: object) -> GivenArray:
    array = as_array("matmul", argument, value)
    if array.ndim not in (2, 3):
        raise ShapeError(
            f"matmul: the argument {argument} has {counted(array.ndim, 'axis', 'axes')}",
            detail=f"expected two axes, or three of a stack; its shape is {tuple(array.shape)}",
        )
    return array


def _read_addend(C: object, beta: object, shape: Shape) -> GivenArray | None:
    if C is None:
        if isinstance(beta, ndarray) or beta:
            raise ArgumentError(
                "matmul: the argument beta is given, and C is not", detail="beta multiplies C"
            )
        return None
    array = _check_is_real("C", as_array("matmul", "C", C))
    if tuple(array.shape) != shape:
        raise ShapeError(
            f"matmul: the argument C has shape {tuple(array.shape)}",
            detail=f"expected {shape} for these factors",
        )
    return array


def _read_bias(bias: object, columns: int) -> GivenArray | None:
    if bias is None:
        return None
    is_array = isinstance(bias, np.ndarray | ndarray) or is_cuda_array(bias)
    array = as_array("matmul", "bias", bias) if is_array else np.asarray(bias)
    _check_is_real("bias", array)
    if tuple(array.shape) != (columns,):
        raise ShapeError(
            f"matmul: the argument bias has shape {tuple(array.shape)}",
            detail=f"expected ({columns},), one element for each column",
        )
    return array


def _check_is_real(argument: str, array: GivenArray) -> GivenArray:
    if not is_number(array.dtype) or array.dtype.kind == "c":
        raise DTypeError(
            f"matmul: the argument {argument} has the unsupported dtype {array.dtype}",
            detail="expected real numbers",
        )
    return array


def _precise(result: np.dtype[Any]) -> np.dtype[Any]:
    if result.name == "int32":
        raise DTypeError(
            "matmul: an int32 result has no bias or activation",
            help="ask for compute='float32'",
        )
    return result if result.itemsize >= 4 else np.dtype(np.float32)


def _wide_arithmetic(factors: GivenArray, plan: Plan) -> str:
    return "float32" if factors.dtype.name in ("float16", "bfloat16") else plan.compute
