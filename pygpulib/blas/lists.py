"""Products of matrices that lie anywhere, given as lists: at once where the engine can do that."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import replace
from pygpulib.blas.arguments import common_dtype, read_flag, read_number
from pygpulib.blas.call import check_writable
from pygpulib.blas.engine import current_engine
from pygpulib.blas.functions import check_arguments, make_function
from pygpulib.blas.layout import repeats_memory
from pygpulib.blas.plans import key_of
from pygpulib.blas.routines import LETTERS, ROUTINES, SIZES
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, device_array_like
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.layout import byte_span
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentTypeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pygpulib.blas.engine import Engine
    from pygpulib.blas.routines import Routine
    from pygpulib.core.stream import StreamLike

    Triple = tuple[ndarray, ndarray, ndarray]

_GEMM = ROUTINES["gemm"]
# One product of many: complaints name the function that was called.
_ONE_GEMM = replace(_GEMM, name="gemm_batched")
_ONE_GEMV = replace(ROUTINES["gemv"], name="gemv_batched")
_OUTPUTS = ("C", "y")
_gemm: Callable[..., Any] = make_function("gemm")
_gemv: Callable[..., Any] = make_function("gemv")


def gemm_batched(
    transa: str,
    transb: str,
    alpha: object,
    A: Sequence[Any],
    B: Sequence[Any],
    beta: object = 0,
    C: Sequence[Any] | None = None,
    stream: StreamLike = None,
) -> list[Any]:
    """Multiply matrices that lie anywhere: C[i] = alpha op(A[i]) op(B[i]) + beta C[i].

    Parameters
    ----------
    transa, transb : str
        ``'N'`` for the matrices, ``'T'`` for their transposes, ``'C'`` for these conjugated.
    alpha : number
        The factor.
    A, B : sequence of array
        The factors.
    beta : number, optional
        The factor of C's old values, which are not read if it is 0.
    C : sequence of array, optional
        Written to, default: new arrays.
    stream : Stream, optional
        Where the work is queued.

    Returns
    -------
    list of array
        The products.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If arguments do not fit each other, or are none.

    Notes
    -----
    Matrices in a GPU's memory that agree in dtype, shape and layout are one call of cuBLAS. Where
    outputs overlap each other or other products' factors, one product is done after the other.
    """
    name = "gemm_batched"
    _check_lengths(name, "matrices", A=A, B=B, C=C)
    outputs = list(C) if C is not None else [None] * len(A)
    letters = read_flag(name, "transa", transa), read_flag(name, "transb", transb)
    alpha, beta = (
        _read_number(name, each, value, stream)
        for each, value in (("alpha", alpha), ("beta", beta))
    )
    found = _multiply_at_once(letters, (alpha, beta), A, B, outputs, stream)
    if found is not None:
        return found
    calls = [(*letters, alpha, *each, beta, c) for *each, c in zip(A, B, outputs, strict=True)]
    _check_each(_ONE_GEMM, calls)
    return [_gemm(*call, stream) for call in calls]


def multiply_vectors(
    trans: str,
    alpha: object,
    A: Sequence[Any],
    x: Sequence[Any],
    beta: object = 0,
    y: Sequence[Any] | None = None,
    stream: StreamLike = None,
) -> list[Any]:
    """Return alpha op(A[i]) x[i] + beta y[i]; see `gemv_batched`."""
    name = "gemv_batched"
    _check_lengths(name, "arrays", A=A, x=x, y=y)
    outputs = list(y) if y is not None else [None] * len(A)
    letter = read_flag(name, "trans", trans)
    alpha, beta = (
        _read_number(name, each, value, stream)
        for each, value in (("alpha", alpha), ("beta", beta))
    )
    columns = [[_as_column(each) for each in vectors] for vectors in (x, outputs)]
    found = _multiply_at_once((letter, "N"), (alpha, beta), A, columns[0], columns[1], stream)
    if found is not None:
        return outputs if y is not None else [column.reshape(-1) for column in found]
    calls = [(letter, alpha, *each, beta, out) for *each, out in zip(A, x, outputs, strict=True)]
    _check_each(_ONE_GEMV, calls)
    return [_gemv(*call, stream) for call in calls]


def _check_each(routine: Routine, calls: list[tuple[Any, ...]]) -> None:
    """Complain about any call before the first one writes; those that look alike are alike."""
    names = [name for name in routine.arguments if name not in SIZES]
    dtypes: dict[Any, Any] = {}
    for call in calls:
        given = dict(zip(names, call, strict=True))
        key, output = key_of(routine, given), call[-1]
        if key is None or key not in dtypes:
            dtypes[key] = check_arguments(routine, given)
        elif output is not None and output.dtype == dtypes[key]:
            check_writable(routine.name, names[-1], output)


def _as_column(vector: Any) -> Any:
    """Return a vector in device memory as a matrix of one column; anything else as it is."""
    if isinstance(vector, ndarray) and vector.ndim == 1:
        return vector.reshape(-1, 1)
    return vector


def _check_lengths(name: str, items: str, **given: Any) -> None:
    lists = {
        each: value for each, value in given.items() if value is not None or each not in _OUTPUTS
    }
    for each, value in lists.items():
        if not hasattr(value, "__len__"):
            raise ArgumentTypeError(
                f"{name}: the argument {each} is a {type(value).__name__}",
                detail=f"expected a sequence of {items}",
            )
    if len({len(value) for value in lists.values()}) > 1:
        (first, one), *others = lists.items()
        told = "".join([f", {each} {len(value)}" for each, value in others])
        raise ShapeError(
            f"{name}: the sequences are of different lengths",
            detail=f"{first} has {len(one)} {items}{told}",
        )


def _read_number(name: str, argument: str, value: object, stream: StreamLike) -> object:
    """Return a number; one in device memory as a copy that no output writes over."""
    number = read_number(name, argument, value)
    if not isinstance(number, ndarray):
        return number
    made = device_array_like(number, stream_handle(stream))
    made.copy_to_device(number, stream_handle(stream))
    return made


def _multiply_at_once(
    letters: tuple[str, str],
    numbers: tuple[object, object],
    A: Sequence[Any],
    B: Sequence[Any],
    outputs: Sequence[Any],
    stream: StreamLike,
) -> list[Any] | None:
    """Return the products, or None if they have to be done one after the other."""
    engine = current_engine()
    if not engine.batched.takes_lists or not len(A):
        return None
    factors = [(_as_matrix(a), _as_matrix(b)) for a, b in zip(A, B, strict=True)]
    handle = stream_handle(stream)
    triples = _find_triples(engine, letters, numbers, factors, outputs, stream)
    if triples is None or _is_intertwined(triples):
        return None
    engine.batched.gemm_lists(letters, numbers, triples, handle)
    return [c for _, _, c in triples]


def _find_triples(
    engine: Engine,
    letters: tuple[str, str],
    numbers: tuple[object, object],
    factors: list[tuple[ndarray | None, ndarray | None]],
    outputs: Sequence[Any],
    stream: StreamLike,
) -> list[Triple] | None:
    """Return factors and outputs, all in device memory and of one dtype; None if they are not."""
    if factors[0][0] is None:
        return None
    dtype, beta = factors[0][0].dtype, numbers[1]
    handle, home = stream_handle(stream), 0 if stream is None else stream
    triples = []
    for (a, b), given in zip(factors, outputs, strict=True):
        if a is None or b is None:
            return None
        m, k = a.shape if letters[0] == "N" else a.shape[::-1]
        inner, n = b.shape if letters[1] == "N" else b.shape[::-1]
        if k != inner or not k or a.dtype != dtype or b.dtype != dtype:
            return None
        if given is None and not isinstance(beta, ndarray) and not beta:
            c = device_array((m, n), dtype, stream=home)
        elif _fits(given, (m, n), dtype):
            c = given
        else:
            return None
        triples.append(tuple([engine.adopt(each, handle) for each in (a, b, c)]))
    is_promoted = common_dtype(_GEMM, [factors[0][0]], {"alpha": numbers[0], "beta": beta}) != dtype
    return None if is_promoted else triples


def _as_matrix(value: Any) -> ndarray | None:
    """Return a matrix in device memory, or None where it needs another look or a complaint."""
    if not isinstance(value, np.ndarray | ndarray) and is_cuda_array(value):
        value = as_cuda_array(value)
    is_usual = isinstance(value, ndarray) and value.ndim == 2 and value.dtype.name in LETTERS
    return value if is_usual else None


def _fits(output: Any, shape: tuple[int, int], dtype: Any) -> bool:
    """Return whether an output needs neither a copy nor a complaint."""
    return (
        isinstance(output, ndarray)
        and tuple(output.shape) == shape
        and output.dtype == dtype
        and not output.buffer.is_readonly
        and not repeats_memory(output.shape, output.strides, output.itemsize)
    )


def _is_intertwined(triples: list[Triple]) -> bool:
    """Return whether outputs touch memory of each other, or of factors."""
    known: dict[Any, tuple[int, int]] = {}

    def span(array: ndarray) -> tuple[int, int]:
        key = array.shape, array.strides
        if key not in known:
            known[key] = byte_span(array.shape, array.strides, array.itemsize)
        low, high = known[key]
        return array.address + low, array.address + high

    written = sorted([span(c) for _, _, c in triples if c.size])
    if any(first[1] > second[0] for first, second in pairwise(written)):
        return True
    starts = [low for low, _ in written]
    for triple in triples:
        for factor in triple[:2]:
            low, high = span(factor)
            # The last output that begins before the factor ends is the only one to look at.
            place = bisect_right(starts, high - 1) - 1
            if place >= 0 and written[place][1] > low:
                return True
    return False
