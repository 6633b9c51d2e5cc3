"""Errors that a kernel may raise while it runs."""

from __future__ import annotations

from pygpulib.jit.frontend.context import Context
from pygpulib.jit.ir import ops as ir

MAX_DETAILS = 7
"""How many numbers the report of an error has room for."""


def raise_if(
    ctx: Context,
    condition: ir.Value,
    exception: type[Exception],
    message: str,
    details: tuple[ir.Value, ...] = (),
) -> None:
    """Append a check that ends the thread with an error where a condition holds.

    Parameters
    ----------
    ctx : Context
        Where we are.
    condition : ir.Value
        A bool.
    exception : type
        What the host raises.
    message : str
        Its text; with ``details`` a ``str.format`` template for them.
    details : tuple of ir.Value
        Numbers that the message shows.
    """
    span = ctx.builder.span
    ctx.errors.append(ir.ErrorEntry(exception, message, span))
    fault = ir.Raise(len(ctx.errors) - 1, details, span=span)
    ctx.builder.append(
        ir.If(condition, ir.Block((), (fault,)), ir.Block((), (ir.Yield(()),)), (), span=span)
    )
