"""From a Python function and the types of its arguments to the IR of one function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType

from pygpulib._record import record
from pygpulib.errors import KernelTypeError, Span, UnsupportedSyntaxError
from pygpulib.jit import types
from pygpulib.jit.frontend import forms, inline
from pygpulib.jit.frontend.context import CallKey, Context, Frame, Source
from pygpulib.jit.frontend.inference import describe
from pygpulib.jit.frontend.memory import check_memory
from pygpulib.jit.frontend.source import load, unwrap
from pygpulib.jit.frontend.values import Operand, type_of, unflatten
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import operands_of, walk
from pygpulib.jit.options import CompileOptions


def compile_function(
    py_func: Callable[..., object],
    argument_types: tuple[types.Type, ...],
    options: CompileOptions,
    name: str | None = None,
    is_kernel: bool = True,
) -> ir.Function:
    """Compile a Python function to IR for certain argument types.

    Parameters
    ----------
    py_func : function
        A kernel, or with ``is_kernel=False`` a function of numbers.
    argument_types : tuple of types.Type
        One per parameter; parameters left out at the end take their default values.
    options : CompileOptions
        What the user asked for.
    name : str, optional
        Name of the result; default: the function's own.
    is_kernel : bool
        Whether the function must return nothing. Otherwise the flat values of what it returns
        are the results.

    Returns
    -------
    ir.Function
        Its parameters are the flat values of the arguments, in order.

    Raises
    ------
    CompileError
        If the function is not in the kernel language or does not fit the types.
    """
    ctx = Context(options)
    try:
        frame, params, ops = _compile(ctx, py_func, argument_types, is_kernel)
    except RecursionError as cause:
        raise _nested_too_deeply(py_func) from cause
    function = ir.Function(
        name=name or frame.source.name,
        params=params,
        body=ir.Block((), ops),
        result_types=(frame.result_type or types.none).flat(),
        numeric=_numeric(options),
        errors=tuple(ctx.errors),
        callees=_callees(ctx, ops),
        param_ranges=_extent_ranges(argument_types, iter(params)),
        arrays=_arrays(argument_types, iter(params)),
        captured=tuple(ctx.captured),
        span=ctx.builder.span,
    )
    check_memory(function)
    return function


def _nested_too_deeply(py_func: Callable[..., object]) -> UnsupportedSyntaxError:
    inner = unwrap(py_func)
    assert isinstance(inner, FunctionType)
    code = inner.__code__
    span = Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1)
    return UnsupportedSyntaxError(
        f"{span}: {code.co_name}, or a function that it calls, is nested too deeply",
        span=span,
        help="split long expressions into statements, or write a loop",
    )


def _callees(ctx: Context, ops: Sequence[ir.Op]) -> tuple[ir.Function, ...]:
    """Return the recursive functions; their errors are numbered as the caller's."""
    if not ctx.recursions:
        return ()
    from pygpulib.jit.frontend import recursion

    return tuple(
        ir.Function(
            name=each.name,
            params=each.params,
            body=ir.Block((), each.ops),
            result_types=(each.result or types.none).flat(),
            numeric=_numeric(ctx.options),
            param_ranges=_extent_ranges(each.forms, iter(each.params)),
        )
        for each in recursion.find_callees(ctx, ops)
    )


def _numeric(options: CompileOptions) -> ir.NumericOptions:
    return ir.NumericOptions(contract=options.fma, fastmath=options.fastmath)


# No array has more elements: they would not fit the address space.
_MAX_EXTENT = 1 << 62


def _extent_ranges(
    argument_types: Iterable[types.Type], params: Iterator[ir.Value]
) -> dict[ir.Value, tuple[int, int]]:
    """Return the ranges of the array extents among flat parameters."""
    ranges: dict[ir.Value, tuple[int, int]] = {}
    for type_ in argument_types:
        if isinstance(type_, types.TupleType):
            ranges.update(_extent_ranges(type_.items, params))
            continue
        flat = [next(params) for _ in type_.flat()]
        if isinstance(type_, types.ArrayType):
            ranges.update(dict.fromkeys(flat[1 : 1 + type_.ndim], (0, _MAX_EXTENT)))
    return ranges


def _arrays(
    argument_types: Iterable[types.Type], params: Iterator[ir.Value]
) -> dict[ir.Value, tuple[int, int]]:
    """Return dimensions and bytes of an element of the arrays, by their pointer."""
    arrays: dict[ir.Value, tuple[int, int]] = {}
    for type_ in argument_types:
        if isinstance(type_, types.TupleType):
            arrays.update(_arrays(type_.items, params))
            continue
        flat = [next(params) for _ in type_.flat()]
        if isinstance(type_, types.ArrayType):
            arrays[flat[0]] = (type_.ndim, type_.element.size_bytes)
    return arrays


def resolve_result_type(
    py_func: Callable[..., object],
    argument_types: tuple[types.Type, ...],
    options: CompileOptions,
) -> types.Type:
    """Return the type of what a device function returns for certain argument types."""
    frame, _, _ = _compile(Context(options), py_func, argument_types, False)
    return frame.result_type or types.none


@record(eq=True)
class Assignment:
    """An assignment to a variable.

    Attributes
    ----------
    span : Span
        Where.
    name : str
        The variable.
    type : str
        Type of the value; of what exists only at compile time, a description.
    """

    span: Span
    name: str
    type: str


@record(eq=True)
class FunctionTypes:
    """The types in one function.

    Attributes
    ----------
    filename : str
        File that it is in.
    first_line : int
        Number of its first line.
    lines : tuple of str
        Its source.
    assignments : tuple of Assignment
        The assignments to its variables.
    """

    filename: str
    first_line: int
    lines: tuple[str, ...]
    assignments: tuple[Assignment, ...]


def find_types(
    py_func: Callable[..., object],
    argument_types: tuple[types.Type, ...],
    options: CompileOptions,
) -> list[FunctionTypes]:
    """Return the types of the variables of a kernel, and then of the functions that it calls."""
    ctx = Context(options)
    kernel, _, _ = _compile(ctx, py_func, argument_types, True)
    by_node: dict[object, tuple[Source, dict[object, Assignment]]] = {
        kernel.source.node: (kernel.source, {})
    }
    for frame, span, name, operand in ctx.assigned:
        assigned = by_node.setdefault(frame.source.node, (frame.source, {}))[1]
        if span is not None and _assigns(frame.source.node, span, name):
            # The last attempt at a loop is the one that counts.
            text = str(type_of(operand) or describe(operand))
            assigned[frame.key, span, name] = Assignment(span, name, text)
    return [
        FunctionTypes(
            source.filename,
            source.node.lineno,
            source.lines[source.node.lineno - 1 : source.node.end_lineno],
            tuple(dict.fromkeys(assigned.values())),
        )
        for source, assigned in by_node.values()
    ]


def _assigns(function: ast.AST, span: Span, name: str) -> bool:
    """Whether a place is an assignment in the source, and not one that the compiler makes."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and span.line <= node.lineno <= span.end_line
        for node in ast.walk(function)
    )


def _compile(
    ctx: Context,
    py_func: Callable[..., object],
    argument_types: tuple[types.Type, ...],
    is_kernel: bool,
) -> tuple[Frame, tuple[ir.Value, ...], tuple[ir.Op, ...]]:
    source = load(py_func)
    key = CallKey(source.node, argument_types, (), unwrap(py_func))
    frame = Frame(source, key, is_kernel=is_kernel)
    ctx.frames.append(frame)  # where messages about the parameters point
    arguments = source.node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        names += [arguments.vararg.arg] * (len(argument_types) - len(names))
    else:
        names += [each.arg for each in arguments.kwonlyargs]
    params: list[ir.Value] = []
    operands: list[Operand] = []
    for position, type_ in enumerate(argument_types):
        name = names[position] if position < len(names) else ""
        values = [
            ir.Value(part, hint)
            for part, hint in zip(type_.flat(), _hints(type_, name), strict=True)
        ]
        params += values
        operands.append(unflatten(type_, iter(values), name))
    with ctx.builder.collect() as defaults:
        variables = inline.bind(ctx, py_func, source, operands)
    ctx.frames.pop()
    ops = inline.compile_frame(ctx, frame, variables)
    ctx.frames.append(frame)
    ctx.builder.span = ctx.span(source.node)
    result = frame.result_type
    if result is not None and not forms.is_runtime(result):
        ctx.fail(
            KernelTypeError,
            f"{source.name} returns {result}, which exists only while a kernel is compiled",
            source.node,
            help="return numbers, tuples or arrays",
        )
    return frame, tuple(params), (*defaults, *_used_allocations(ctx, ops), *ops)


def _used_allocations(ctx: Context, ops: Sequence[ir.Op]) -> list[ir.Op]:
    """Return the allocations of shared memory that attempts thrown away did not leave behind."""
    if not ctx.shared:
        return []
    used = {value for op in walk(ir.Block((), tuple(ops))) for value in operands_of(op)}
    return [op for pointer, op in ctx.shared.values() if pointer in used]


def _hints(type_: types.Type, name: str) -> list[str]:
    """Return what people may call the flat values of a parameter."""
    match type_:
        case types.ScalarType(dtype) if dtype.is_complex:
            return [f"{name}.real", f"{name}.imag"]
        case types.ArrayType(_, ndim):
            shape = [f"{name}.shape{axis}" for axis in range(ndim)]
            return [name, *shape, *(f"{name}.stride{axis}" for axis in range(ndim))]
        case types.TupleType(items):
            return [
                hint
                for position, item in enumerate(items)
                for hint in _hints(item, f"{name}.{position}")
            ]
        case types.RecordType() | types.OptionalType():
            return [name, *[""] * (len(type_.flat()) - 1)]
        case types.ScalarType():
            return [name]
        case _:
            return [""] * len(type_.flat())
