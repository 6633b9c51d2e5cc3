"""Recursion: a function that calls itself becomes a function of its own in the IR.

All other functions are inlined. What a recursive function returns is inferred in attempts: at
first its own calls have no result, and the paths that need one are left out; the types that the
other paths return are what the next attempt starts from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from pygpulib._record import field, record
from pygpulib.errors import KernelTypeError, UnsupportedFeatureError
from pygpulib.jit import types
from pygpulib.jit.frontend import forms, inline
from pygpulib.jit.frontend.context import CallKey, Context, Frame, Pending, Source
from pygpulib.jit.frontend.forms import ClosureForm
from pygpulib.jit.frontend.values import Operand
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

_MAX_ATTEMPTS = 10


@record(frozen=False)
class Recursion:
    """A recursive function for certain types of arguments.

    Attributes
    ----------
    name : str
        Its name in the IR.
    forms : tuple of types.Type
        The forms of its arguments.
    result : types.Type or None
        What it returns, as far as attempts have found out.
    is_open : bool
        Whether it is being compiled.
    params, ops
        What it was last compiled to.
    assumed : dict
        What it was compiled with: the results of functions that were being compiled around it.
    """

    name: str
    forms: tuple[types.Type, ...]
    result: types.Type | None = None
    is_open: bool = False
    params: tuple[ir.Value, ...] = ()
    ops: tuple[ir.Op, ...] = ()
    assumed: dict[Recursion, types.Type | None] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """Whether it is compiled, and with what is known now."""
        return bool(self.ops) and all(
            other.result == result for other, result in self.assumed.items()
        )


def call(
    ctx: Context, source: Source, key: CallKey, arguments: Mapping[str, Operand], node: ast.AST
) -> Operand:
    """Call a function that calls itself.

    Parameters
    ----------
    ctx : Context
        Where we are.
    source : Source
        The function.
    key : CallKey
        The forms of the arguments.
    arguments : mapping
        The arguments by the names of the parameters.
    node : ast.AST
        The call.

    Returns
    -------
    Operand
        What it returns.

    Raises
    ------
    Pending
        If its type is not known yet.
    """
    if isinstance(key.site, ast.AST) or any(map(_holds_closure, key.forms)):
        _refuse_closure(ctx, source, node)
    identity = key.identity
    found = ctx.recursions.get(identity)
    if found is None:
        found = Recursion(f"{source.name}.{len(ctx.recursions)}", key.forms)
        ctx.recursions[identity] = found
    if not found.is_open and not found.is_valid:
        _compile(ctx, found, source, key, list(arguments), node)
    _note_use(ctx, found)
    result = found.result
    if result is None:
        raise Pending
    results = tuple(ir.Value(part) for part in result.flat())
    operands = tuple(value for each in arguments.values() for value in forms.flatten(each))
    ctx.builder.append(ir.CallFunction(found.name, operands, results, span=ctx.span(node)))
    return forms.unflatten(result, iter(results))


def _note_use(ctx: Context, used: Recursion) -> None:
    """Note what the functions being compiled take the result of another one for."""
    around = [each for each in ctx.recursions.values() if each.is_open]
    for one in (used, *used.assumed):
        if one in around:
            for inner in around[around.index(one) + 1 :]:
                inner.assumed[one] = one.result


def _compile(
    ctx: Context,
    recursion: Recursion,
    source: Source,
    key: CallKey,
    names: Sequence[str],
    node: ast.AST,
) -> None:
    """Compile a recursive function until what it returns is what its own calls were taken for."""
    # The functions being compiled are in the order in which they were begun.
    identity = key.identity
    ctx.recursions[identity] = ctx.recursions.pop(identity)
    recursion.is_open = True
    try:
        for _ in range(_MAX_ATTEMPTS):
            known, found = recursion.result, _attempt(ctx, recursion, source, key, names, node)
            recursion.result = found if known is None else forms.join(known, found, "the result")
            if recursion.result == known:
                return
            if _holds_closure(recursion.result):
                _refuse_closure(ctx, source, node)
        ctx.fail(
            KernelTypeError,
            f"the return type of the recursive function {source.name} does not converge",
            node,
            detail="Return type of recursive function does not converge: from attempt to attempt "
            f"it grew to {recursion.result}",
            help="return values of one type at every depth, numbers or arrays for example",
        )
    finally:
        recursion.is_open = False


def _attempt(
    ctx: Context,
    recursion: Recursion,
    source: Source,
    key: CallKey,
    names: Sequence[str],
    node: ast.AST,
) -> types.Type:
    """Compile the body once and return what it returns."""
    recursion.assumed = {}
    params: list[ir.Value] = []
    arguments: dict[str, Operand] = {}
    for name, form in zip(names, key.forms, strict=True):
        values = [ir.Value(part, name) for part in form.flat()]
        arguments[name] = forms.unflatten(form, iter(values), name)
        params += values
    # Nothing is known of the arguments' values here.
    frame = Frame(source, CallKey(key.node, key.forms, (recursion.name,), key.site))
    pending = ctx.pending
    recursion.ops = inline.compile_frame(ctx, frame, arguments)
    recursion.params = tuple(params)
    if frame.result_type is not None:
        return frame.result_type
    if ctx.pending == pending:
        return types.none  # it always raises
    if None in recursion.assumed.values():
        raise Pending
    ctx.fail(
        KernelTypeError,
        f"the type of what {source.name} returns cannot be inferred: every way through it calls "
        f"{source.name} again",
        node,
        detail="cannot type infer runaway recursion",
        help="return a value of the wanted type where the recursion ends",
    )


def _holds_closure(form: types.Type) -> bool:
    if isinstance(form, types.TupleType):
        return any(map(_holds_closure, form.items))
    return isinstance(form, ClosureForm)


def _refuse_closure(ctx: Context, source: Source, node: ast.AST) -> NoReturn:
    ctx.fail(
        UnsupportedFeatureError,
        f"{source.name} calls itself and depends on a function defined in a kernel",
        node,
        help="define it outside the kernel, with @cuda.jit(device=True)",
    )


def find_callees(ctx: Context, ops: Sequence[ir.Op]) -> tuple[Recursion, ...]:
    """Return the recursive functions that some code calls, and those that they call."""
    by_name = {each.name: each for each in ctx.recursions.values()}
    found: dict[str, Recursion] = {}
    waiting = list(_called(ops)) if by_name else []
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = by_name[name]
            waiting += _called(by_name[name].ops)
    return tuple(found.values())


def _called(ops: Sequence[ir.Op]) -> Iterator[str]:
    for op in walk(ir.Block((), tuple(ops))):
        if isinstance(op, ir.CallFunction):
            yield op.callee
