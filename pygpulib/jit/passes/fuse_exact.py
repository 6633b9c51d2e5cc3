"""Double and add in one rounding.

``(t + t) + c`` is ``fma(t, 2, c)``: doubling is exact, so both round once and give the same bits,
except where the doubling overflows. Code generators that may contract a product and a sum do not
see it, because there is no product.
"""

from __future__ import annotations

from collections.abc import Sequence

from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import REGISTRY, Intrinsic
from pygpulib.jit.ir.rewrite import rebuild_function

_TYPES = (dtypes.float32, dtypes.float64)


def fuse_exact(function: ir.Function, *, even_if_overflow: bool = False) -> ir.Function:
    """Replace a doubling and an addition by one multiply-add.

    Worth its while only on processors that have the instruction: elsewhere it is a slow call.

    Parameters
    ----------
    function : ir.Function
        Without permission to contract (``numeric.contract``) nothing is done.
    even_if_overflow : bool
        Fuse without that permission too, at the price of another result where the doubling
        overflows but the sum does not.

    Returns
    -------
    ir.Function
        The same object if there was nothing to fuse. The doublings stay, maybe without use.
    """
    fma = REGISTRY.get("fma")
    if fma is None or not (function.numeric.contract or even_if_overflow):
        return function
    doubled: dict[ir.Value, ir.Value] = {}

    def fuse(op: ir.Op) -> Sequence[ir.Op] | None:
        if not isinstance(op, ir.Binary) or op.strict or op.result.type not in _TYPES:
            return None
        if op.kind is ir.BinaryKind.ADD and op.left is op.right:
            doubled[op.result] = op.left
            return None
        return _fuse(op, doubled, fma)

    return rebuild_function(function, fuse)


def _fuse(
    op: ir.Binary, doubled: dict[ir.Value, ir.Value], fma: Intrinsic
) -> Sequence[ir.Op] | None:
    """Return a multiply-add for a sum or difference of which one operand is a doubling."""
    if op.kind is ir.BinaryKind.ADD:
        twice, other, factor = op.left, op.right, 2.0
        if twice not in doubled:
            twice, other = other, twice
    elif op.kind is ir.BinaryKind.SUBTRACT:
        twice, other, factor = op.right, op.left, -2.0
    else:
        return None
    if twice not in doubled:
        return None
    constant = ir.Value(op.result.type)
    operands = (doubled[twice], constant, other)
    return (
        ir.Const(constant, factor, span=op.span),
        ir.Call(fma, operands, (op.result,), span=op.span),
    )
