"""Joining paths of control: branches, and the edges of loops.

Variables are operands, so at every join the front end decides which of them become results of the
``If`` or parameters of the loop. Where the types of a variable differ, the paths convert to the
joined type first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping

from pygpulib._record import record, replace
from pygpulib.errors import InternalError, KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import forms, inference
from pygpulib.jit.frontend.context import Context, LoopState, Pending
from pygpulib.jit.frontend.liveness import index_names
from pygpulib.jit.frontend.values import Number, Operand, Unbound
from pygpulib.jit.ir import ops as ir

_RESULT = "<result>"  # the hidden variable that carries the value of a conditional expression
_MAX_ATTEMPTS = 40


@record(frozen=False)
class Path:
    """What one path of control compiled to."""

    ops: list[ir.Op]
    variables: dict[str, Operand]
    is_open: bool


def bound(variables: Mapping[str, Operand], name: str) -> Operand | None:
    """Return a variable, or None if it has no value."""
    operand = variables.get(name)
    return None if isinstance(operand, Unbound) and not operand.problem else operand


def trace(ctx: Context, action: Callable[[], object]) -> Path:
    """Compile something into a block of its own, leaving the variables outside as they are."""
    frame = ctx.frame
    before = frame.variables
    frame.variables = dict(before)
    try:
        with ctx.builder.collect() as ops:
            try:
                action()
            except Pending:
                leave_out(ctx)
            return Path(ops, frame.variables, not ctx.builder.is_terminated)
    finally:
        frame.variables = before


def leave_out(ctx: Context) -> None:
    """End a path of an attempt that needs what is not known yet; the code is thrown away."""
    ctx.pending += 1
    if not ctx.builder.is_terminated:
        ctx.builder.append(ir.Unreachable(span=ctx.builder.span))


# -------------------------------------------------------------------------------------- branches


def branch(
    ctx: Context,
    condition: Number,
    then: Callable[[], Operand],
    otherwise: Callable[[], Operand],
    node: ast.AST,
) -> Operand:
    """Compile an expression that evaluates one of two operands.

    Parameters
    ----------
    ctx : Context
        Where we are.
    condition : Number
        A truth value; if it is known now, only one side is compiled.
    then, otherwise : callable
        Compile the sides.
    node : ast.AST
        The place for messages.

    Returns
    -------
    Operand
        The value of the side taken, of the joined type.
    """
    if condition.literal is not None:
        return then() if condition.literal else otherwise()
    variables = ctx.frame.variables

    def side(action: Callable[[], Operand]) -> Callable[[], None]:
        def run() -> None:
            ctx.frame.variables[_RESULT] = action()

        return run

    choose(ctx, condition, side(then), side(otherwise), node)
    result = variables.pop(_RESULT, None)
    if result is None:
        raise Pending  # both sides were left out
    if isinstance(result, Unbound):
        ctx.fail(
            KernelTypeError,
            result.problem.replace(_RESULT, "the value of this expression"),
            node,
            help="make both sides values of one type",
        )
    return result


def choose(
    ctx: Context,
    condition: Number,
    then: Callable[[], object],
    otherwise: Callable[[], object],
    node: ast.AST,
    live: Collection[str] | None = None,
) -> None:
    """Compile a condition and what happens in its two cases; variables are joined.

    Parameters
    ----------
    ctx : Context
        Where we are.
    condition : Number
        A truth value; if it is known now, only one case is compiled.
    then, otherwise : callable
        Compile the cases.
    node : ast.AST
        The place for messages.
    live : collection of str, optional
        The variables that may be read afterwards; the others have no value after this.
    """
    if condition.literal is not None:
        (then if condition.literal else otherwise)()
        return
    paths = (trace(ctx, then), trace(ctx, otherwise))
    merging = [path for path in paths if path.is_open]
    names = _changed(ctx, merging)
    variables = ctx.frame.variables
    for name in names:
        variables.pop(name, None)
    joined: dict[str, types.Type] = {}
    for name in names:
        if live is None or name in live or name.startswith("<"):
            shared = _shared(merging, name)
            if shared is not None:
                variables[name] = shared
            elif (form := _join(merging, name)) is not None:
                joined[name] = form
    rows = [_leave(ctx, path, joined, node) for path in merging]
    results = new_values(joined)
    blocks = [ir.Block((), tuple(path.ops)) for path in paths]
    ctx.builder.append(
        ir.If(condition.value, blocks[0], blocks[1], tuple(results), span=ctx.span(node))
    )
    keep_facts(ctx, rows, results)
    for name, operand in rebuild(joined, results).items():
        variables[name] = _with_literal(operand, merging, name)
    if not merging:
        ctx.builder.append(ir.Unreachable(span=ctx.span(node)))


def _changed(ctx: Context, paths: Iterable[Path]) -> list[str]:
    """Return the variables that are something else, or nothing, at the end of one of the paths."""
    before = ctx.frame.variables
    names: dict[str, None] = {}
    for path in paths:
        for name in (*before, *path.variables):
            if before.get(name) is not path.variables.get(name):
                names[name] = None
    return list(names)


def _shared(paths: list[Path], name: str) -> Operand | None:
    """Return the operand that two paths agree on; it must come from before them."""
    operands = [bound(path.variables, name) for path in paths]
    return operands[0] if len(operands) == 2 and operands[0] is operands[1] else None


def _join(paths: list[Path], name: str) -> types.Type | None:
    """Return the form that a variable has after the paths; None if it has no value on any."""
    joined: types.Type | None = None
    for path in paths:
        operand = bound(path.variables, name)
        if operand is not None:
            form = forms.form_of(operand)
            joined = form if joined is None else forms.join(joined, form, quote(name))
    return joined


def _leave(
    ctx: Context, path: Path, joined: dict[str, types.Type], node: ast.AST
) -> list[ir.Value]:
    """End a path by giving the variables' values to the results."""
    with ctx.builder.collect() as ops:
        values = pack(ctx, path.variables, joined, node)
        ctx.builder.append(ir.Yield(tuple(values), span=ctx.span(node)))
    path.ops += ops
    return values


def keep_facts(ctx: Context, rows: list[list[ir.Value]], results: list[ir.Value]) -> None:
    """Know of a result what is known of the values of every path."""
    for facts in (ctx.nonnegative, ctx.integral):
        for result, *values in zip(results, *rows, strict=True):
            if values and all(value in facts for value in values):
                facts.add(result)


def _with_literal(operand: Operand, paths: list[Path], name: str) -> Operand:
    """Keep a literal that the paths agree on, to the sign of zero."""
    if not isinstance(operand, Number):
        return operand
    sources = [source for path in paths if (source := bound(path.variables, name)) is not None]
    literals = [source.literal if isinstance(source, Number) else None for source in sources]
    if len({repr(literal) for literal in literals}) == 1:
        return replace(operand, literal=literals[0])
    return operand


# --------------------------------------------------------------------- variables as flat IR values


def quote(name: str) -> str:
    """Return how messages call a variable."""
    return name if name.startswith("<") else repr(name)


def new_values(joined: Mapping[str, types.Type]) -> list[ir.Value]:
    """Return fresh values for variables of the given forms."""
    return [
        ir.Value(part, "" if name.startswith("<") else name)
        for name, form in joined.items()
        for part in form.flat()
    ]


def rebuild(joined: Mapping[str, types.Type], values: Iterable[ir.Value]) -> dict[str, Operand]:
    """Put variables of the given forms together from their flat values."""
    parts = iter(values)
    return {name: forms.unflatten(form, parts, name) for name, form in joined.items()}


def pack(
    ctx: Context,
    variables: Mapping[str, Operand],
    joined: Mapping[str, types.Type],
    node: ast.AST,
) -> list[ir.Value]:
    """Return the flat values of variables, converted to the given forms."""
    values: list[ir.Value] = []
    for name, form in joined.items():
        operand = bound(variables, name)
        if operand is None:
            values += [ctx.builder.undefined(part) for part in form.flat()]
            continue
        operand = forms.convert(ctx, operand, form, node)
        if isinstance(operand, Number) and inference.is_nonnegative(ctx, operand):
            ctx.nonnegative.add(operand.value)
        values += forms.flatten(operand)
    return values


# ------------------------------------------------------------------------------------------ loops


@record(eq=True)
class Loop:
    """What a loop statement is to its compilation.

    Attributes
    ----------
    node : ast.stmt
        The statement.
    assigned : frozenset of str
        The variables that its body assigns.
    carried : tuple of str
        Those of them whose values may be read in a later iteration or after the loop.
    flag : str
        The hidden variable that says whether the loop ran to its end; empty if nobody asks.
    step : int or None
        Which step of an unrolled loop this is: it runs once and is left by ``Break``.
    """

    node: ast.stmt
    assigned: frozenset[str]
    carried: tuple[str, ...]
    flag: str = ""
    step: int | None = None


@record(eq=True)
class Body:
    """The body of a loop with stable types of the carried variables."""

    loop: Loop
    params: tuple[ir.Value, ...]
    inits: tuple[ir.Value, ...]
    ops: tuple[ir.Op, ...]
    forms: dict[str, types.Type]
    has_exit: bool
    nonnegative: frozenset[str]


def compile_body(ctx: Context, loop: Loop, body: Callable[[LoopState], None]) -> Body:
    """Compile the body of a loop until the types of its carried variables are stable.

    Parameters
    ----------
    ctx : Context
        Where we are; the variables are those before the loop.
    loop : Loop
        The loop.
    body : callable
        Compiles the body up to its last edge.

    Returns
    -------
    Body
        The compiled body, of which no operation has been appended yet.
    """
    key = (ctx.frame.key, loop.node, loop.step)
    known = _known_forms(ctx, loop, ctx.learned.get(key, {}))
    doubted = ctx.doubted.setdefault(key, set())
    hopeful = _nonnegative_indices(ctx, loop)
    for _ in range(_MAX_ATTEMPTS):
        state = LoopState(known, runs_once=loop.step is not None, flag=loop.flag)
        state.nonnegative = hopeful - doubted
        compiled = _attempt(ctx, loop, state, body)
        if not state.grown and not state.doubted:
            if state.failure is not None:
                raise state.failure
            return compiled
        doubted |= state.doubted
        known = {**known, **state.grown}
        ctx.learned[key] = {name: form for name, form in known.items() if form is not None}
    raise InternalError(f"{ctx.span(loop.node)}: the types of the loop's variables do not settle")


def _nonnegative_indices(ctx: Context, loop: Loop) -> set[str]:
    """Return the carried variables that may serve as indices and are not negative on entry.

    The body is compiled as if they never became negative, and again if one may: an index that
    needs no wrapping is worth the attempt.
    """
    if loop.step is not None:
        return set()
    entry = {name: ctx.frame.variables.get(name) for name in loop.carried}
    return {
        name
        for name, operand in entry.items()
        if isinstance(operand, Number)
        and operand.dtype.is_integer
        and inference.is_nonnegative(ctx, operand)
        and name in index_names(loop.node)
    }


def _known_forms(
    ctx: Context, loop: Loop, learned: Mapping[str, types.Type]
) -> dict[str, types.Type | None]:
    """Return the forms to begin with: those on entry, joined with what was learned before."""
    known: dict[str, types.Type | None] = {}
    for name in loop.carried:
        operand = None if loop.step is not None else bound(ctx.frame.variables, name)
        entry = None if operand is None else forms.form_of(operand)
        before = learned.get(name)
        if entry is not None and before is not None:
            known[name] = forms.join(entry, before, quote(name))
        else:
            known[name] = entry or before
    return known


def _attempt(ctx: Context, loop: Loop, state: LoopState, body: Callable[[LoopState], None]) -> Body:
    """Compile the body once with the types of a state."""
    typed = {name: form for name, form in state.forms.items() if form is not None}
    params = [] if state.runs_once else new_values(typed)
    inits = [] if state.runs_once else pack(ctx, ctx.frame.variables, typed, loop.node)

    def run() -> None:
        if not state.runs_once:
            for name in loop.assigned:
                ctx.frame.variables.pop(name, None)
            carried = rebuild(typed, params)
            _assume_nonnegative(ctx, carried, state.nonnegative)
            ctx.frame.variables.update(carried)
        ctx.frame.loops.append(state)
        try:
            body(state)
        finally:
            ctx.frame.loops.pop()

    path = trace(ctx, run)
    return Body(
        loop,
        tuple(params),
        tuple(inits),
        tuple(path.ops),
        typed,
        state.has_exit,
        frozenset(state.nonnegative),
    )


def _assume_nonnegative(
    ctx: Context, variables: Mapping[str, Operand], names: Collection[str]
) -> None:
    for name in names:
        operand = variables.get(name)
        if isinstance(operand, Number):
            ctx.nonnegative.add(operand.value)


def follow_edge(
    ctx: Context, state: LoopState, edge: type[ir.Continue | ir.Break], node: ast.AST
) -> None:
    """End the block by going to the next iteration, or out of the loop."""
    variables = ctx.frame.variables
    for name, form in state.forms.items():
        operand = bound(variables, name)
        if operand is not None:
            actual = forms.form_of(operand)
            wanted = state.grown.get(name, form)
            joined = actual if wanted is None else forms.join(wanted, actual, quote(name))
            if joined != wanted:
                state.grown[name] = joined
            if name in state.nonnegative and not _is_nonnegative(ctx, operand):
                state.doubted.add(name)
    if edge is ir.Break:
        state.has_exit = True
    values: list[ir.Value] = []
    if not state.grown:  # else the attempt is thrown away
        typed = {name: form for name, form in state.forms.items() if form is not None}
        values = pack(ctx, variables, typed, node)
    ctx.builder.append(edge(tuple(values), span=ctx.span(node)))


def _is_nonnegative(ctx: Context, operand: Operand) -> bool:
    return isinstance(operand, Number) and inference.is_nonnegative(ctx, operand)


def finish_loop(ctx: Context, body: Body, make: Callable[[tuple[ir.Value, ...]], ir.Op]) -> None:
    """Append the operation of a loop and give the variables their values after it."""
    results = new_values(body.forms)
    ctx.builder.append(make(tuple(results)))
    for name in body.loop.assigned:
        ctx.frame.variables.pop(name, None)
    variables = rebuild(body.forms, results)
    _assume_nonnegative(ctx, variables, body.nonnegative)
    ctx.frame.variables.update(variables)
