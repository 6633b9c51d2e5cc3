"""Products of matrices, with a short way for small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygpulib.blas.engine import current_engine
from pygpulib.blas.functions import describe, run
from pygpulib.blas.routines import ROUTINES
from pygpulib.core.stream import stream_handle

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike

_GEMM = ROUTINES["gemm"]


def gemm(
    transa: str,
    transb: str,
    alpha: object,
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    beta: object = 0,
    C: Any = None,  # noqa: ANN401
    stream: StreamLike = None,
) -> Any:  # noqa: ANN401
    """Return what the table of routines says below."""
    if stream is not None:
        stream_handle(stream)
    product = current_engine().multiply_small((transa, transb), alpha, A, B, beta, C)
    if product is not None:
        return product
    given = {
        "transa": transa,
        "transb": transb,
        "alpha": alpha,
        "A": A,
        "B": B,
        "beta": beta,
        "C": C,
    }
    return run(_GEMM, given, stream)


gemm.__doc__ = describe(_GEMM)
