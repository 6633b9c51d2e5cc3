"""Groups of threads, see :mod:`pygpulib.jit.intrinsics.cooperative`."""

from __future__ import annotations

import ast

from pygpulib.core import dtypes
from pygpulib.jit.frontend import expressions, inference, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Handler, Keywords, bind, register
from pygpulib.jit.frontend.values import NoneValue, Number, Object, Operand
from pygpulib.jit.intrinsics import cooperative
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import Register


def _group(name: str, group: object) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        bind(ctx, name, (), 0, args, kwargs, node)
        return Object(group)

    return apply


register(cooperative.this_grid)(_group("cg.this_grid", cooperative.GRID))
register(cooperative.this_thread_block)(_group("cg.this_thread_block", cooperative.BLOCK))


@register(cooperative.sync_grid)
def _sync_grid(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "sync", (), 0, args, kwargs, node)
    ctx.builder.append(ir.Barrier(ir.BarrierKind.GRID, span=ctx.builder.span))
    return NoneValue()


@register(cooperative.block_thread_rank)
def _block_rank(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "thread_rank", (), 0, args, kwargs, node)
    return _rank(ctx, ir.TID, ir.NTID)


@register(cooperative.block_size)
def _block_size(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "size", (), 0, args, kwargs, node)
    return _product(ctx, ir.NTID)


@register(cooperative.grid_thread_rank)
def _grid_rank(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "thread_rank", (), 0, args, kwargs, node)
    before = integers.multiply(ctx, _rank(ctx, ir.CTAID, ir.NCTAID), _product(ctx, ir.NTID))
    return integers.add(ctx, before, _rank(ctx, ir.TID, ir.NTID))


@register(cooperative.grid_size)
def _grid_size(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    bind(ctx, "size", (), 0, args, kwargs, node)
    return integers.multiply(ctx, _product(ctx, ir.NCTAID), _product(ctx, ir.NTID))


def _rank(ctx: Context, position: tuple[Register, ...], size: tuple[Register, ...]) -> Number:
    """Return a position as one number, x first."""
    rank = _read(ctx, position[2])
    for axis in (1, 0):
        rank = integers.multiply(ctx, rank, _read(ctx, size[axis]))
        rank = integers.add(ctx, rank, _read(ctx, position[axis]))
    return rank


def _product(ctx: Context, size: tuple[Register, ...]) -> Number:
    x, y, z = (_read(ctx, axis) for axis in size)
    return integers.multiply(ctx, integers.multiply(ctx, x, y), z)


def _read(ctx: Context, register_: Register) -> Number:
    return inference.cast(ctx, expressions.read_register(ctx, register_), dtypes.int64)
