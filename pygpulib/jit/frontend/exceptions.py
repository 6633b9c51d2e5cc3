"""``raise`` and ``assert``.

Without ``debug`` a ``raise`` just ends its thread, as with numba, and ``assert`` is not compiled.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, UnsupportedSyntaxError
from pygpulib.jit.frontend import control, expressions, faults, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.printing import Message
from pygpulib.jit.frontend.values import Object
from pygpulib.jit.ir import ops as ir

# So few digits give no more than these types hold.
_SHORT = {dtypes.bfloat16: ".4g", dtypes.float16: ".4g", dtypes.float32: ".8g"}


def compile_raise(ctx: Context, node: ast.Raise) -> None:
    """Compile ``raise``."""
    if node.exc is None:
        ctx.fail(
            UnsupportedSyntaxError,
            "'raise' without an exception is not supported in kernels",
            node,
            help="name the exception: raise ValueError('...')",
        )
    if node.cause is not None:
        ctx.fail(
            UnsupportedSyntaxError,
            "'raise ... from ...' is not supported in kernels",
            node.cause,
            help="leave out the 'from' part",
        )
    called = node.exc if isinstance(node.exc, ast.Call) else None
    exception = expressions.evaluate(ctx, called.func if called else node.exc)
    message = Message(ctx)
    match exception:
        case Object(type() as cls) if issubclass(cls, Exception):
            for position, argument in enumerate(_arguments(called)):
                message.add_text(", " if position else "")
                message.add_expression(argument)
            _append_raise(ctx, cls, message, node)
        case Object(Exception() as instance) if called is None:
            message.add_text(str(instance))
            _append_raise(ctx, type(instance), message, node)
        case _:
            ctx.fail(
                KernelTypeError,
                f"only exceptions can be raised, not {inference.describe(exception)}",
                node.exc,
                help="write raise ValueError('...')",
            )


def _arguments(called: ast.Call | None) -> list[ast.expr]:
    if called is None:
        return []
    return [*called.args, *(keyword.value for keyword in called.keywords)]


def compile_assert(ctx: Context, node: ast.Assert) -> None:
    """Compile ``assert``, which checks only where exceptions are reported."""
    if not ctx.options.debug:
        return

    def fail() -> None:
        message = Message(ctx)
        if node.msg is not None:
            message.add_expression(node.msg)
        _append_raise(ctx, AssertionError, message, node)

    condition = expressions.evaluate_truth(ctx, node.test)
    control.choose(ctx, condition, lambda: None, fail, node)


def _append_raise(
    ctx: Context, cls: type[Exception], message: Message, node: ast.Raise | ast.Assert
) -> None:
    """End the thread; without ``debug`` nobody is told."""
    span = ctx.span(node)
    details = tuple(message.operands)
    if len(details) > faults.MAX_DETAILS:
        _fail_length(ctx, len(details), node)
    number = _number(ctx, cls, message, node)
    ctx.builder.append(ir.Raise(number, () if number is None else details, span=span))


def _number(ctx: Context, cls: type[Exception], message: Message, node: ast.AST) -> int | None:
    """Return the number of an exception in the table of errors."""
    if not ctx.options.debug:
        return None
    span = ctx.span(node)
    if message.text is None:
        # An equal entry may have details of other types.
        ctx.errors.append(ir.ErrorEntry(cls, _template(ctx, message, node), span))
        return len(ctx.errors) - 1
    entry = ir.ErrorEntry(cls, message.text, span)
    if entry not in ctx.errors:
        ctx.errors.append(entry)
    return ctx.errors.index(entry)


def _fail_length(ctx: Context, count: int, node: ast.AST) -> NoReturn:
    ctx.fail(
        KernelTypeError,
        f"the message of an exception shows {count} numbers",
        node,
        detail=f"expected at most {faults.MAX_DETAILS}",
        help="show fewer numbers",
    )


def _template(ctx: Context, message: Message, node: ast.AST) -> str:
    """Return a template for ``str.format`` that gives the text of a message from its operands."""
    text = ""
    operands = iter(message.operands)
    for part in message.parts:
        if isinstance(part, str):
            text += part.replace("{", "{{").replace("}", "}}")
            continue
        if isinstance(part, ir.Shown | ir.Optional):
            ctx.fail(
                KernelTypeError,
                "the message of an exception can only show numbers, strings and tuples of these",
                node,
                help="show the numbers inside one by one",
            )
        type_ = next(operands).type
        assert isinstance(type_, dtypes.DType)
        spec = _SHORT.get(type_, "") if part is None or not part.spec else part.spec
        if part is None or not part.is_complex:
            text += f"{{:{spec}}}"
            continue
        next(operands)
        number = f"{{:{spec}}}{{:+{spec}}}j"
        text += number if part.spec else f"({number})"
    return text
