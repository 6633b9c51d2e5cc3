"""Barriers and fences."""

from __future__ import annotations

import ast

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import comparisons, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Handler, Keywords, bind, register
from pygpulib.jit.frontend.values import NoneValue, Number, Operand
from pygpulib.jit.intrinsics import sync
from pygpulib.jit.ir import ops as ir


@register(sync.syncthreads)
def _syncthreads(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "cuda.syncthreads", (), 0, args, kwargs, node)
    ctx.builder.append(ir.Barrier(ir.BarrierKind.BLOCK, span=ctx.builder.span))
    return NoneValue()


def _vote(name: str, kind: ir.BarrierKind) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        (predicate,) = bind(ctx, name, ("predicate",), 1, args, kwargs, node)
        number = _integer(ctx, name, predicate, node, "write a comparison, as in x != 0")
        holds = inference.cast(ctx, comparisons.truth(ctx, number, node), dtypes.int32)
        result = ir.Value(dtypes.int32)
        ctx.builder.append(ir.Barrier(kind, holds.value, (result,), span=ctx.builder.span))
        ctx.nonnegative.add(result)
        return Number(result)

    return apply


register(sync.syncthreads_count)(_vote("cuda.syncthreads_count", ir.BarrierKind.BLOCK_COUNT))
register(sync.syncthreads_and)(_vote("cuda.syncthreads_and", ir.BarrierKind.BLOCK_AND))
register(sync.syncthreads_or)(_vote("cuda.syncthreads_or", ir.BarrierKind.BLOCK_OR))


@register(sync.syncwarp)
def _syncwarp(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (mask,) = bind(ctx, "cuda.syncwarp", ("mask",), 0, args, kwargs, node)
    if mask is None:
        mask = inference.constant(ctx, sync.FULL_MASK, dtypes.uint32)
    number = _integer(ctx, "cuda.syncwarp", mask, node, "pass the lanes as the bits of an integer")
    lanes = inference.cast(ctx, number, dtypes.uint32)
    ctx.builder.append(ir.Barrier(ir.BarrierKind.WARP, lanes.value, span=ctx.builder.span))
    return NoneValue()


def _fence(name: str, scope: ir.FenceScope) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        bind(ctx, name, (), 0, args, kwargs, node)
        ctx.builder.append(ir.Fence(scope, span=ctx.builder.span))
        return NoneValue()

    return apply


register(sync.threadfence_block)(_fence("cuda.threadfence_block", ir.FenceScope.BLOCK))
register(sync.threadfence)(_fence("cuda.threadfence", ir.FenceScope.DEVICE))
register(sync.threadfence_system)(_fence("cuda.threadfence_system", ir.FenceScope.SYSTEM))


@register(sync.nanosleep)
def _nanosleep(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    """Compile nothing: a thread may sleep for no time, and other threads need no help to run."""
    (time,) = bind(ctx, "cuda.nanosleep", ("nanoseconds",), 1, args, kwargs, node)
    _integer(ctx, "cuda.nanosleep", time, node, "convert the time with int(...)")
    return NoneValue()


def _integer(
    ctx: Context, name: str, operand: Operand | None, node: ast.AST, advice: str
) -> Number:
    if isinstance(operand, Number) and (operand.dtype.is_integer or operand.dtype.is_bool):
        return operand
    assert operand is not None
    ctx.fail(
        KernelTypeError,
        f"{name} does not take {inference.describe(operand)}",
        node,
        detail="expected an integer or a truth value",
        help=advice,
    )
