"""Many small problems in one call: products, factorizations and solutions of stacked matrices.

A stack is an array with three axes, the first of which counts the matrices; of vectors, one with
two. Stacks may be of any layout, and an array with one axis less stands for the same matrix in
every problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.arguments import common_dtype, read_flag, read_number
from pygpulib.blas.call import keep_apart
from pygpulib.blas.lists import multiply_vectors
from pygpulib.blas.routines import ROUTINES
from pygpulib.blas.stacks import Problem
from pygpulib.core.array import ndarray
from pygpulib.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike

_GEMM = ROUTINES["gemm"]


def _op_shape(letter: str, shape: Shape) -> Shape:
    return shape if letter == "N" else (shape[0], shape[2], shape[1])


def gemm_strided_batched(
    transa: str,
    transb: str,
    alpha: object,
    A: Any,
    B: Any,
    beta: object = 0,
    C: Any = None,
    stream: StreamLike = None,
) -> Any:
    """Multiply stacks of matrices: C[i] = alpha op(A[i]) op(B[i]) + beta C[i].

    Parameters
    ----------
    transa, transb : str
        ``'N'`` for the matrices, ``'T'`` for their transposes, ``'C'`` for these conjugated.
    alpha : number
        The factor.
    A : array
        op(A[i]) has shape (m, k). With two axes: the same matrix for every i.
    B : array
        op(B[i]) has shape (k, n).
    beta : number, optional
        The factor of C's old values, which are not read if it is 0.
    C : array, optional
        Shape (count, m, n); written to, default: a new array.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    array
        C itself where it has the dtype of the result, else a new array.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.
    """
    name = "gemm_strided_batched"
    first, second = read_flag(name, "transa", transa), read_flag(name, "transb", transb)
    alpha, beta = read_number(name, "alpha", alpha), read_number(name, "beta", beta)
    given = {"A": A, "B": B} | ({} if C is None else {"C": C})
    problem = Problem(name, stream, **given)
    problem.dtype = common_dtype(_GEMM, problem.given.values(), {"alpha": alpha, "beta": beta})
    a, b = problem.read("A", 3), problem.read("B", 3)
    (_, m, k), (_, inner, n) = _op_shape(first, a.shape), _op_shape(second, b.shape)
    if inner != k:
        raise ShapeError(
            f"{name}: the argument B has shape {tuple(b.shape)}, which does not fit A",
            detail=f"A has shape {tuple(a.shape)}: expected {k} rows of op(B), got {inner}",
        )
    count = problem.count(A=a, B=b)
    c = _output_of_products(problem, "C", (count, m, n), beta)
    alpha, beta, a, b = (
        keep_apart(problem.engine, each, c, problem.stream) for each in (alpha, beta, a, b)
    )
    problem.engine.batched.gemm(first, second, alpha, a, b, beta, c, problem.stream)
    return problem.results()


def _output_of_products(problem: Problem, name: str, shape: Shape, beta: object) -> Any:
    array = problem.given.get(name)
    if array is None:
        if isinstance(beta, ndarray) or beta:
            raise ArgumentError(
                f"{problem.name}: the argument beta is given, and {name} is not",
                detail=f"beta multiplies {name}",
                help=f"give {name}, or leave beta out",
            )
        return problem.make(shape)
    if tuple(array.shape) != shape:
        raise ShapeError(
            f"{problem.name}: the argument {name} has shape {tuple(array.shape)}",
            detail=f"expected {shape} for these factors",
        )
    if array.dtype == problem.dtype:
        return problem.write_to(name)
    made = problem.make(shape)
    problem.engine.assign(
        made,
        problem.engine.copy(
            problem.engine.adopt(array, problem.stream), problem.dtype, "C", problem.stream
        ),
        problem.stream,
    )
    return made


def gemv_batched(
    trans: str,
    alpha: object,
    A: Any,
    x: Any,
    beta: object = 0,
    y: Any = None,
    stream: StreamLike = None,
) -> Any:
    """Multiply stacks of matrices and vectors: y[i] = alpha op(A[i]) x[i] + beta y[i].

    Parameters
    ----------
    trans : str
        ``'N'`` for the matrices, ``'T'`` for their transposes, ``'C'`` for these conjugated.
    alpha : number
        The factor.
    A : array or sequence of array
        Shape (count, m, n), or (m, n) for the same matrix for every i. A list or tuple holds
        matrices that lie anywhere; then `x` and `y` are sequences of vectors.
    x : array or sequence of array
        A stack of vectors, or one for every i.
    beta : number, optional
        The factor of y's old values, which are not read if it is 0.
    y : array or sequence of array, optional
        A stack of vectors; written to, default: a new array.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    array or list of array
        y itself where it has the dtype of the result, else a new array.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.
    """
    if isinstance(A, list | tuple):
        return multiply_vectors(trans, alpha, A, x, beta, y, stream)
    name = "gemv_batched"
    letter = read_flag(name, "trans", trans)
    alpha, beta = read_number(name, "alpha", alpha), read_number(name, "beta", beta)
    given = {"A": A, "x": x} | ({} if y is None else {"y": y})
    problem = Problem(name, stream, **given)
    problem.dtype = common_dtype(_GEMM, problem.given.values(), {"alpha": alpha, "beta": beta})
    a, vectors = problem.read("A", 3), problem.read("x", 2)
    _, rows, columns = _op_shape(letter, a.shape)
    problem.require("x", vectors, the_columns_of_the_matrices=(1, columns))
    count = problem.count(A=a, x=vectors)
    out = _output_of_products(problem, "y", (count, rows), beta)
    alpha, beta, a, vectors = (
        keep_apart(problem.engine, each, out, problem.stream) for each in (alpha, beta, a, vectors)
    )
    column = vectors.reshape(*vectors.shape, 1) if count else vectors[:, :, None]
    target = out.reshape(*out.shape, 1) if isinstance(out, ndarray) else out[:, :, None]
    problem.engine.batched.gemm(letter, "N", alpha, a, column, beta, target, problem.stream)
    return problem.results()


def getrf_batched(A: Any, stream: StreamLike = None) -> Any:
    """Factor stacked square matrices into triangles: P A[i] = L U.

    Parameters
    ----------
    A : array
        Shape (count, n, n).
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    factors : array
        L below the diagonal (its own consists of ones) and U, like A.
    pivots : array of int32
        The row that each row was exchanged with, from 1; shape (count, n).
    info : array of int32
        For each matrix 0, or the number of the first zero on the diagonal of U.

    Raises
    ------
    ShapeError, DTypeError
        If A is no stack of square matrices of numbers.
    """
    problem = Problem("getrf_batched", stream, A=A)
    a = problem.read("A", 3)
    n = problem.require_square("A", a)
    factors = problem.make(a.shape, columns=True)
    pivots = problem.make((a.shape[0], n), np.int32)
    info = problem.make((a.shape[0],), np.int32)
    if not factors.size:
        _write_zeros(problem, info)
        return problem.results()
    problem.engine.assign(factors, a, problem.stream)
    problem.engine.batched.getrf(factors, pivots, info, problem.stream)
    return problem.results()


def getrs_batched(
    trans: str,
    factors: Any,
    pivots: Any,
    B: Any,
    stream: StreamLike = None,
) -> Any:
    """Solve op(A[i]) X[i] = B[i] with what `getrf_batched` returned.

    Parameters
    ----------
    trans : str
        ``'N'`` for the matrices, ``'T'`` for their transposes, ``'C'`` for these conjugated.
    factors, pivots : array
        Its first two results.
    B : array
        Shape (count, n, columns).
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    array
        The solutions, like B.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.
    """
    problem = Problem("getrs_batched", stream, factors=factors, B=B)
    letter = read_flag(problem.name, "trans", trans)
    lu, right = problem.read("factors", 3), problem.read("B", 3)
    n = problem.require_square("factors", lu)
    problem.require("B", right, the_order_of_the_matrices=(1, n), one_for_each=(0, lu.shape[0]))
    order = _read_pivots(problem, pivots, lu.shape[:2])
    solution = problem.make(right.shape, columns=True)
    if solution.size:
        problem.engine.assign(solution, right, problem.stream)
        problem.engine.batched.getrs(letter, _columns(problem, lu), order, solution, problem.stream)
    return problem.results()


def getri_batched(
    factors: Any,
    pivots: Any,
    stream: StreamLike = None,
) -> Any:
    """Invert stacked matrices with what `getrf_batched` returned.

    Parameters
    ----------
    factors, pivots : array
        Its first two results.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    inverses : array
        Like A.
    info : array of int32
        For each matrix 0, or the number of the first zero on the diagonal of U.

    Raises
    ------
    ShapeError, DTypeError
        If arguments do not fit each other.
    """
    problem = Problem("getri_batched", stream, factors=factors)
    lu = problem.read("factors", 3)
    problem.require_square("factors", lu)
    order = _read_pivots(problem, pivots, lu.shape[:2])
    inverses = problem.make(lu.shape, columns=True)
    info = problem.make((lu.shape[0],), np.int32)
    if not inverses.size:
        _write_zeros(problem, info)
        return problem.results()
    problem.engine.batched.getri(_columns(problem, lu), order, inverses, info, problem.stream)
    return problem.results()


def geqrf_batched(A: Any, stream: StreamLike = None) -> Any:
    """Factor stacked matrices into orthogonal and triangular ones: A[i] = Q R.

    Parameters
    ----------
    A : array
        Shape (count, m, n).
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    factors : array
        R in and above the diagonal, the vectors of Householder's reflections below it, like A.
    tau : array
        The factors of the reflections; shape (count, min(m, n)).

    Raises
    ------
    ShapeError, DTypeError
        If A is no stack of matrices of numbers.
    """
    problem = Problem("geqrf_batched", stream, A=A)
    a = problem.read("A", 3)
    factors = problem.make(a.shape, columns=True)
    tau = problem.make((a.shape[0], min(a.shape[1:])))
    if factors.size:
        problem.engine.assign(factors, a, problem.stream)
        problem.engine.batched.geqrf(factors, tau, problem.stream)
    return problem.results()


def gels_batched(trans: str, A: Any, B: Any, stream: StreamLike = None) -> Any:
    """Solve stacked problems of least squares: make A[i] X[i] - B[i] short.

    Parameters
    ----------
    trans : str
        ``'N'``, the only letter that cuBLAS takes.
    A : array
        Shape (count, m, n), m >= n, of full rank.
    B : array
        Shape (count, m, columns).
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    solutions : array
        Shape (count, n, columns).
    info : array of int32
        For each problem 0, or the number of a zero on the diagonal of R.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.
    """
    problem = Problem("gels_batched", stream, A=A, B=B)
    if read_flag(problem.name, "trans", trans) != "N":
        raise ArgumentError(
            f"{problem.name}: the argument trans is {trans!r}", detail="expected 'N'"
        )
    a, right = problem.read("A", 3), problem.read("B", 3)
    count, m, n = a.shape
    if m < n:
        raise ShapeError(
            f"{problem.name}: the matrices of A have more columns than rows: {tuple(a.shape)}",
            detail="expected at least as many equations as unknowns",
        )
    problem.require("B", right, the_rows_of_A=(1, m), one_for_each=(0, count))
    solutions = problem.make((count, n, right.shape[2]), columns=True)
    info = problem.make((count,), np.int32)
    if not solutions.size:
        _write_zeros(problem, info)
        return problem.results()
    work, stack = _columns(problem, a, True), _columns(problem, right, True)
    problem.engine.batched.gels(work, stack, info, problem.stream)
    problem.engine.assign(solutions, stack[:, :n], problem.stream)
    return problem.results()


def _write_zeros(problem: Problem, info: Any) -> None:
    """Tell that nothing went wrong where there was nothing to do."""
    zeros = problem.engine.adopt(np.zeros(info.shape, info.dtype), problem.stream)
    problem.engine.assign(info, zeros, problem.stream)


def _columns(problem: Problem, array: Any, always: bool = False) -> Any:
    """Return a stack whose matrices have contiguous columns."""
    is_packed = array.transpose(0, 2, 1).flags["C_CONTIGUOUS"] and _is_aligned(problem, array)
    if is_packed and not always:
        return array
    count, rows, columns = array.shape
    packed = problem.engine.empty((count, columns, rows), array.dtype, "C", problem.stream)
    made = packed.transpose(0, 2, 1)
    problem.engine.assign(made, array, problem.stream)
    return made


def _read_pivots(problem: Problem, pivots: Any, shape: Shape) -> Any:
    array = pivots if isinstance(pivots, np.ndarray | ndarray) else np.asarray(pivots)
    if array.dtype != np.int32 or tuple(array.shape) != tuple(shape):
        raise ShapeError(
            f"{problem.name}: the argument pivots has shape {tuple(array.shape)} and dtype "
            f"{array.dtype}",
            detail=f"expected what getrf_batched returned: {tuple(shape)} and int32",
        )
    native = problem.engine.adopt(array, problem.stream)
    _check_pivots(problem.name, array if isinstance(array, np.ndarray) else native)
    if native.flags["C_CONTIGUOUS"] and _is_aligned(problem, native):
        return native
    return problem.engine.copy(native, native.dtype, "C", problem.stream)


def _is_aligned(problem: Problem, array: Any) -> bool:
    return not problem.engine.address(array) % array.dtype.alignment


def _check_pivots(name: str, pivots: Any) -> None:
    """Refuse rows that there are not, where that can be seen: other memory would be exchanged."""
    if not isinstance(pivots, np.ndarray):
        return
    wrong = pivots[(pivots < 1) | (pivots > pivots.shape[1])]
    if wrong.size:
        raise ArgumentError(
            f"{name}: the argument pivots names row {wrong[0]}",
            detail=f"expected what getrf_batched returned: numbers from 1 to {pivots.shape[1]}",
        )
