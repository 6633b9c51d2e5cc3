"""``for`` and ``while``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import control, expressions, inference, iteration, scope, statements
from pygpulib.jit.frontend.context import Context, LoopState
from pygpulib.jit.frontend.control import Body, Loop
from pygpulib.jit.frontend.iteration import Sequence
from pygpulib.jit.frontend.liveness import find_liveness
from pygpulib.jit.frontend.values import Number, Operand, Range
from pygpulib.jit.ir import ops as ir

_AnyLoop = ast.For | ast.While


def compile_for(ctx: Context, node: ast.For) -> None:
    """Compile a ``for`` statement: a counted loop, or the body once per item of a tuple."""
    iterable = iteration.open_iterable(ctx, node.iter)
    if isinstance(iterable, Range):
        _compile_counted(ctx, node, iterable, lambda position: position)
    elif iterable.is_unrolled:
        _compile_unrolled(ctx, node, iterable)
    elif iterable.is_uniform:
        zero, one = iteration.position_of(ctx, 0), iteration.position_of(ctx, 1)
        _compile_counted(ctx, node, Range(zero, iterable.length, one), iterable.item)
    else:
        ctx.fail(
            KernelTypeError,
            "cannot iterate over a tuple whose items are of different types together with "
            "something whose length is not known",
            node.iter,
            help="iterate over the tuple alone, or make its items values of one type",
        )


def compile_while(ctx: Context, node: ast.While) -> None:
    """Compile a ``while`` statement."""
    loop = _describe(ctx, node)
    _raise_flag(ctx, loop)

    def body(state: LoopState) -> None:
        condition = expressions.evaluate_truth(ctx, node.test)
        if condition.literal is None:
            _leave_unless(ctx, condition, state, node)
        elif not condition.literal:
            control.follow_edge(ctx, state, ir.Break, node)
            return
        statements.compile_block(ctx, node.body)
        if not ctx.builder.is_terminated:
            control.follow_edge(ctx, state, ir.Continue, node)

    _append_loop(ctx, control.compile_body(ctx, loop, body))
    _compile_else(ctx, node, loop.flag)


def leave_loop(ctx: Context, node: ast.Break) -> None:
    """Compile ``break``."""
    state = ctx.frame.loops[-1]
    if state.flag:
        ctx.frame.variables[state.flag] = inference.constant(ctx, False, dtypes.bool_)
    control.follow_edge(ctx, state, ir.Break, node)


def continue_loop(ctx: Context, node: ast.Continue) -> None:
    """Compile ``continue``."""
    state = ctx.frame.loops[-1]
    control.follow_edge(ctx, state, ir.Break if state.runs_once else ir.Continue, node)


# --------------------------------------------------------------------------------- kinds of loops


def _compile_counted(
    ctx: Context, node: ast.For, numbers: Range, item: Callable[[Number], Operand]
) -> None:
    loop = _describe(ctx, node)
    _raise_flag(ctx, loop)
    start, stop, step = numbers.start, numbers.stop, numbers.step
    hint = node.target.id if isinstance(node.target, ast.Name) else ""
    induction = ir.Value(start.dtype, hint)
    if inference.is_nonnegative(ctx, start) and inference.is_nonnegative(ctx, step):
        ctx.nonnegative.add(induction)

    def body(state: LoopState) -> None:
        statements.assign_target(ctx, node.target, item(Number(induction)))
        statements.compile_block(ctx, node.body)
        if not ctx.builder.is_terminated:
            control.follow_edge(ctx, state, ir.Continue, node)

    compiled = control.compile_body(ctx, loop, body)
    block = ir.Block((induction, *compiled.params), compiled.ops)
    control.finish_loop(
        ctx,
        compiled,
        lambda results: ir.For(
            start.value,
            stop.value,
            step.value,
            compiled.inits,
            block,
            results,
            span=ctx.span(node),
        ),
    )
    _compile_else(ctx, node, loop.flag)


def _compile_unrolled(ctx: Context, node: ast.For, items: Sequence) -> None:
    """Compile the body once per item; ``break`` and ``continue`` need loops that run once."""
    jumps = {type(jump) for jump in _own_jumps(node.body)}
    flag = _flag(node) if ast.Break in jumps else ""
    count = items.length.literal
    assert count is not None

    def step(position: int) -> None:
        def run() -> None:
            item = items.item(iteration.position_of(ctx, position))
            statements.assign_target(ctx, node.target, item)
            statements.compile_block(ctx, node.body)

        if jumps:
            _compile_once(ctx, node, position, run)
        else:
            run()

    if flag:
        ctx.frame.variables[flag] = inference.constant(ctx, True, dtypes.bool_)
    for position in range(int(count)):
        if ctx.builder.is_terminated:
            return
        if not flag:
            step(position)
            continue
        goes_on = ctx.frame.variables[flag]
        assert isinstance(goes_on, Number)
        live = find_liveness(statements.function_node(ctx)).around[node]
        control.choose(ctx, goes_on, partial(step, position), _nothing, node, live)
    _compile_else(ctx, node, flag)


def _compile_once(ctx: Context, node: ast.For, step: int, action: Callable[[], None]) -> None:
    """Compile one step of an unrolled loop, which jumps can leave."""
    loop = _describe(ctx, node, step)

    def body(state: LoopState) -> None:
        action()
        if not ctx.builder.is_terminated:
            control.follow_edge(ctx, state, ir.Break, node)

    _append_loop(ctx, control.compile_body(ctx, loop, body))


def _nothing() -> None:
    """Compile nothing."""


# ------------------------------------------------------------------------------------------ parts


def _describe(ctx: Context, node: _AnyLoop, step: int | None = None) -> Loop:
    """Find out what a loop assigns and which of it has to be carried."""
    parts: list[ast.AST] = [*node.body, node.target if isinstance(node, ast.For) else node.test]
    assigned = frozenset[str]().union(*map(scope.assigned_names, parts))
    live = find_liveness(statements.function_node(ctx)).around[node]
    has_break = any(isinstance(jump, ast.Break) for jump in _own_jumps(node.body))
    flag = _flag(node) if has_break and (node.orelse or step is not None) else ""
    carried = sorted(assigned & live)
    if flag:
        assigned |= {flag}
        carried.append(flag)
    return Loop(node, assigned, tuple(carried), flag, step)


def _flag(node: _AnyLoop) -> str:
    return f"<completed {node.lineno}:{node.col_offset}>"


def _own_jumps(body: Iterable[ast.stmt]) -> Iterator[ast.Break | ast.Continue]:
    """Yield the jumps that belong to the loop with this body."""
    for node in body:
        if isinstance(node, ast.Break | ast.Continue):
            yield node
        elif isinstance(node, ast.For | ast.While):
            yield from _own_jumps(node.orelse)
        elif isinstance(node, ast.If):
            yield from _own_jumps(node.body)
            yield from _own_jumps(node.orelse)


def _raise_flag(ctx: Context, loop: Loop) -> None:
    if loop.flag:
        ctx.frame.variables[loop.flag] = inference.constant(ctx, True, dtypes.bool_)


def _leave_unless(ctx: Context, condition: Number, state: LoopState, node: ast.While) -> None:
    span = ctx.span(node.test)
    with ctx.builder.collect() as leave:
        control.follow_edge(ctx, state, ir.Break, node)
    stay = ir.Block((), (ir.Yield((), span=span),))
    ctx.builder.append(ir.If(condition.value, stay, ir.Block((), tuple(leave)), (), span=span))


def _append_loop(ctx: Context, body: Body) -> None:
    """Append a loop that only edges leave; if there is none, control never comes behind it."""
    span = ctx.span(body.loop.node)
    block = ir.Block(body.params, body.ops)
    control.finish_loop(ctx, body, lambda results: ir.Loop(body.inits, block, results, span=span))
    if not body.has_exit:
        ctx.builder.append(ir.Unreachable(span=span))


def _compile_else(ctx: Context, node: _AnyLoop, flag: str) -> None:
    """Compile ``else``, which runs if no ``break`` has left the loop."""
    completed = ctx.frame.variables.pop(flag, None)
    if not node.orelse or ctx.builder.is_terminated:
        return
    if completed is None:
        statements.compile_block(ctx, node.orelse)
        return
    assert isinstance(completed, Number)
    live = find_liveness(statements.function_node(ctx)).after[node]
    control.choose(
        ctx,
        completed,
        lambda: statements.compile_block(ctx, node.orelse),
        _nothing,
        node,
        live,
    )
