"""Calls: a device function's body is compiled in the place of the call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import NoReturn

from pygpulib.errors import (
    KernelTypeError,
    SourceUnavailableError,
    Span,
    UnsupportedFeatureError,
    UnsupportedSyntaxError,
)
from pygpulib.jit import types
from pygpulib.jit.frontend import (
    control,
    expressions,
    forms,
    inference,
    literals,
    statements,
)
from pygpulib.jit.frontend.context import CallKey, Context, Frame, Pending, Source
from pygpulib.jit.frontend.forms import Conflict
from pygpulib.jit.frontend.source import load, unwrap
from pygpulib.jit.frontend.values import Closure, NoneValue, Number, Object, Operand, Tuple
from pygpulib.jit.ir import ops as ir

_MAX_ATTEMPTS = 20
_MAX_DEPTH = 40
_MAX_ITEMS = 1000
_RESULT = "<result>"


def call(
    ctx: Context,
    function: Callable[..., object] | Closure,
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    node: ast.AST,
) -> Operand:
    """Compile the body of a function in place.

    Parameters
    ----------
    ctx : Context
        Where we are.
    function : callable or Closure
        A Python function, an object that holds one as ``py_func``, or a function defined in the
        kernel.
    args, kwargs : operands
        The arguments.
    node : ast.AST
        The call.

    Returns
    -------
    Operand
        What it returns; ``None`` if it returns nothing.
    """
    source, enclosing = _source_of(ctx, function, node)
    variables = _bind(ctx, source, _Defaults(ctx, function, node), (args, kwargs), node)
    if ctx.options.weak_literals and literals.is_own(source.outer.get("__name__")):
        variables = {name: literals.strong(operand) for name, operand in variables.items()}
    declared: Sequence[types.FunctionSignature] = getattr(function, "declared", ())
    if not declared:
        return _call_bound(ctx, function, source, enclosing, variables, node)
    from pygpulib.jit.frontend import declaration

    signature = declaration.choose(ctx, source.name, declared, list(variables.values()), node)
    variables = declaration.convert(ctx, signature, variables, node)
    result = _call_bound(ctx, function, source, enclosing, variables, node)
    return declaration.convert_result(ctx, source.name, signature, result, node)


def _call_bound(
    ctx: Context,
    function: Callable[..., object] | Closure,
    source: Source,
    enclosing: Frame | None,
    variables: Mapping[str, Operand],
    node: ast.AST,
) -> Operand:
    """Call a function whose parameters have their operands."""
    key = CallKey(
        source.node,
        tuple(forms.form_of(operand) for operand in variables.values()),
        tuple(_literal(operand) for operand in variables.values()),
        node if enclosing else unwrap(function),
    )
    _check_depth(ctx, source, variables.values(), node)
    span, strict = ctx.builder.span, ctx.builder.strict
    ctx.calls.append(ctx.span(node))
    # The library's functions rely on how each operation rounds; those of users that they call do
    # not have to.
    ctx.builder.strict = literals.is_own(source.outer.get("__name__"))
    try:
        if _is_recursive(ctx, key):
            from pygpulib.jit.frontend import recursion

            return recursion.call(ctx, source, key, variables, node)
        frame = Frame(source, key, enclosing=enclosing, place=_place(ctx, source))
        pending = ctx.pending
        ops = compile_frame(ctx, frame, variables)
    finally:
        ctx.calls.pop()
        ctx.builder.span, ctx.builder.strict = span, strict
    if frame.result_type is None and ctx.pending > pending:
        raise Pending
    return _append(ctx, frame, ops)


def _place(ctx: Context, source: Source) -> Span | None:
    """Return where the user's code called the function, if it is one of this package."""
    if not literals.is_of_package(source.outer.get("__name__")):
        return None
    caller = ctx.frame
    if literals.is_of_package(caller.source.outer.get("__name__")):
        return caller.place
    return ctx.calls[-1]


def make_closure(ctx: Context, node: ast.FunctionDef | ast.Lambda) -> Closure:
    """Return the function that a ``def`` or ``lambda`` inside a kernel makes."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True)]
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            pairs.append((parameter, default))
    defaults = tuple(
        (parameter.arg, expressions.evaluate(ctx, default)) for parameter, default in pairs
    )
    return Closure(node, ctx.frame, defaults)


def leave_function(ctx: Context, operand: Operand, node: ast.AST) -> None:
    """Compile ``return``, or the end of the body."""
    frame = ctx.frame
    if frame.is_kernel and not isinstance(operand, NoneValue):
        ctx.fail(
            KernelTypeError,
            f"kernel {frame.source.name} returns {inference.describe(operand)}, but kernels "
            "return nothing",
            node,
            help="write the result into an element of an array argument, and use a plain 'return'",
        )
    form = forms.form_of(operand)
    known = frame.result_type
    joined = form if known is None else forms.join(known, form, "the result")
    if isinstance(joined, Conflict):
        assert known is not None
        ctx.fail(
            KernelTypeError,
            f"{frame.source.name} returns {_nothing_or(known)} on one path and "
            f"{_nothing_or(form)} on another",
            node,
            help="return values of one type on every path",
        )
    frame.result_type = joined
    converted = forms.convert(ctx, operand, joined, node)
    frame.returned.append(converted)
    ctx.builder.append(ir.Return(forms.flatten(converted), span=ctx.span(node)))


def compile_frame(
    ctx: Context, frame: Frame, variables: Mapping[str, Operand]
) -> tuple[ir.Op, ...]:
    """Compile the body of a function until the type of its result is stable.

    Parameters
    ----------
    ctx : Context
        Where we are.
    frame : Frame
        The function; afterwards its ``returned`` and ``result_type`` say what it gives.
    variables : mapping
        Its parameters.

    Returns
    -------
    tuple of ir.Op
        The operations, ending in a terminator.
    """
    key = (frame.key, _RESULT)
    for _ in range(_MAX_ATTEMPTS):
        expected = ctx.learned.get(key, {}).get(_RESULT)
        frame.variables = dict(variables)
        frame.returned = []
        frame.result_type = expected
        ctx.frames.append(frame)
        try:
            with ctx.builder.collect() as ops:
                try:
                    _compile_body(ctx, frame.source.node)
                except Pending:
                    control.leave_out(ctx)
        finally:
            ctx.frames.pop()
        if frame.result_type is None:
            return tuple(ops)
        first = expected or forms.form_of(frame.returned[0])
        if first == frame.result_type:
            return tuple(ops)
        ctx.learned[key] = {_RESULT: frame.result_type}
    ctx.frames.append(frame)
    ctx.fail(
        KernelTypeError,
        f"the return type of {frame.source.name} does not converge",
        frame.source.node,
        detail=f"from attempt to attempt it grew to {frame.result_type}",
        help="return values of one type on every path",
    )


def _compile_body(ctx: Context, node: ast.FunctionDef | ast.Lambda) -> None:
    if isinstance(node, ast.Lambda):
        leave_function(ctx, expressions.evaluate(ctx, node.body), node.body)
        return
    statements.compile_block(ctx, node.body)
    if not ctx.builder.is_terminated:
        leave_function(ctx, NoneValue(), node.body[-1])


def _append(ctx: Context, frame: Frame, ops: tuple[ir.Op, ...]) -> Operand:
    """Append the compiled body; a scope is needed only if control may leave it early."""
    if len(frame.returned) == 1 and isinstance(ops[-1], ir.Return):
        for op in ops[:-1]:
            ctx.builder.append(op)
        return frame.returned[0]
    form = frame.result_type or types.none
    results = control.new_values({"": form})
    ctx.builder.append(
        ir.Scope(ir.Block((), ops), tuple(results), frame.source.name, span=ctx.builder.span)
    )
    control.keep_facts(ctx, [list(forms.flatten(each)) for each in frame.returned], results)
    return forms.unflatten(form, iter(results))


def _nothing_or(form: types.Type) -> str:
    if isinstance(form, types.NoneType):
        return "nothing"
    return str(form)


def _literal(operand: Operand) -> object:
    """Return what is known of an operand's value, as part of a key."""
    match operand:
        case Number(literal=literal):
            return repr(literal)
        case Tuple(items):
            return tuple(_literal(item) for item in items)
        case _:
            return None


# ---------------------------------------------------------------------------------- the function


def _source_of(
    ctx: Context, function: Callable[..., object] | Closure, node: ast.AST
) -> tuple[Source, Frame | None]:
    """Return the source of a function and, if it was defined in the kernel, the frame around it."""
    if isinstance(function, Closure):
        outer = function.scope.source
        inner = function.node
        name = inner.name if isinstance(inner, ast.FunctionDef) else "<lambda>"
        full_name = f"{outer.name}.<locals>.{name}"
        return Source(inner, outer.filename, outer.lines, full_name, outer.outer), function.scope
    if not isinstance(unwrap(function), FunctionType):
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(Object(function))} cannot be called in a kernel",
            node,
            help="call a Python function, or a function of math or cuda",
        )
    try:
        return load(function), None
    except SourceUnavailableError as error:
        ctx.fail(SourceUnavailableError, error.problem, node, detail=error.detail, help=error.help)


def _is_recursive(ctx: Context, key: CallKey) -> bool:
    """Return whether a function is being compiled for such arguments, or known to be recursive."""
    if ctx.recursions and key.identity in ctx.recursions:
        return True
    return any(
        frame.key.node is key.node
        and frame.key.forms == key.forms
        and (frame.key.site is key.site or isinstance(key.site, ast.AST))
        for frame in ctx.frames
    )


def _check_depth(ctx: Context, source: Source, args: Iterable[Operand], node: ast.AST) -> None:
    """Refuse to inline without end: a function may call itself with other types of arguments."""
    is_growing = any(frame.key.node is source.node for frame in ctx.frames) and _is_large(args)
    if len(ctx.frames) < _MAX_DEPTH and not is_growing:
        return
    chain = [frame.source.name for frame in ctx.frames[-3:]]
    ctx.fail(
        UnsupportedFeatureError,
        f"the calls do not end: {' -> '.join([*chain, source.name])}",
        node,
        help="recursive calls need arguments of the same types each time",
    )


def _is_large(args: Iterable[Operand]) -> bool:
    """Return whether arguments have more items than anybody writes down."""
    waiting = list(args)
    count = 0
    while waiting and count <= _MAX_ITEMS:
        count += 1
        operand = waiting.pop()
        if isinstance(operand, Tuple):
            waiting += operand.items
    return count > _MAX_ITEMS


# ------------------------------------------------------------------------------------ parameters


class _Defaults:
    """The default values of a function's parameters."""

    def __init__(
        self, ctx: Context, function: Callable[..., object] | Closure, node: ast.AST
    ) -> None:
        self._ctx = ctx
        self._node = node
        self._operands: dict[str, Operand] = {}
        self._objects: dict[str, object] = {}
        if isinstance(function, Closure):
            self._operands = dict(function.defaults)
            return
        inner = unwrap(function)
        assert isinstance(inner, FunctionType)
        code = inner.__code__
        values = inner.__defaults__ or ()
        positional = code.co_varnames[: code.co_argcount]
        self._objects = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
        self._objects.update(inner.__kwdefaults__ or {})

    def __contains__(self, name: str) -> bool:
        return name in self._operands or name in self._objects

    def __getitem__(self, name: str) -> Operand:
        if name in self._operands:
            return self._operands[name]
        return expressions.from_python(self._ctx, self._objects[name], name, self._node)


_Arguments = tuple[Sequence[Operand], Mapping[str, Operand]]


def bind(
    ctx: Context, function: Callable[..., object], source: Source, args: Sequence[Operand]
) -> dict[str, Operand]:
    """Return the parameters of a function, in order, for one argument each.

    Those that can only be named come after the others; arguments left out take the defaults.
    """
    defaults = _Defaults(ctx, function, source.node)
    parameters = source.node.args
    keywords: dict[str, Operand] = {}
    if parameters.vararg is None:
        count = len(parameters.posonlyargs) + len(parameters.args)
        names = [each.arg for each in parameters.kwonlyargs]
        keywords = dict(zip(names, args[count:], strict=False))
        args = (*args[:count], *args[count + len(keywords) :])
    return _bind(ctx, source, defaults, (args, keywords), source.node)


def _bind(
    ctx: Context, source: Source, defaults: _Defaults, given: _Arguments, node: ast.AST
) -> dict[str, Operand]:
    """Return the parameters of a function, in order, or fail at the call."""
    args, kwargs = given
    parameters = source.node.args
    if parameters.kwarg is not None:
        ctx.fail(
            UnsupportedSyntaxError,
            f"the parameter '**{parameters.kwarg.arg}' of {source.name} is not supported in "
            "kernels",
            node,
            help="list the keyword parameters one by one",
        )
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if len(args) > len(positional) and parameters.vararg is None:
        _fail_call(
            ctx, source, f"takes {_count(len(positional))}, but {len(args)} were given", node
        )
    bound = dict(zip(positional, args, strict=False))
    keywords = dict(kwargs)
    keyword_only = [each.arg for each in parameters.kwonlyargs]
    by_position_only = {each.arg for each in parameters.posonlyargs}
    for name in [*positional, *keyword_only]:
        if name in keywords and name not in by_position_only:
            if name in bound:
                _fail_call(ctx, source, f"got two values for the argument {name!r}", node)
            bound[name] = keywords.pop(name)
        elif name not in bound:
            if name not in defaults:
                _fail_call(ctx, source, f"is missing the argument {name!r}", node)
            bound[name] = defaults[name]
    for name in keywords:
        _fail_call(ctx, source, f"has no keyword parameter {name!r}", node)
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = Tuple(tuple(args[len(positional) :]))
    return bound


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


def _fail_call(ctx: Context, source: Source, problem: str, node: ast.AST) -> NoReturn:
    parameters = ast.unparse(source.node.args)
    ctx.fail(
        KernelTypeError,
        f"{source.name}() {problem}",
        node,
        detail=f"expected {source.name}({parameters})",
        help="give every parameter without a default one value",
    )
