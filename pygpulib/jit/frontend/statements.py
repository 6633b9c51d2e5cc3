"""Compiling statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from pygpulib.errors import KernelTypeError, UndefinedNameError, UnsupportedSyntaxError, counted
from pygpulib.jit.elements import RecordLayout
from pygpulib.jit.frontend import (
    arithmetic,
    arrays,
    control,
    elementwise,
    expressions,
    inline,
    loops,
    methods,
    optionals,
    records,
    scope,
    tuples,
    unsupported,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.liveness import find_liveness
from pygpulib.jit.frontend.values import (
    Address,
    Array,
    Elementwise,
    NoneValue,
    Object,
    Operand,
    Record,
    Text,
    Tuple,
)


def compile_block(ctx: Context, block: Sequence[ast.stmt]) -> None:
    """Compile statements up to the first one that control does not come behind."""
    for node in block:
        if ctx.builder.is_terminated:
            return
        try:
            compile_statement(ctx, node)
        except UndefinedNameError as error:
            # In the first attempts at a loop a variable may have no value yet that a later
            # statement of the body gives it. Go on to find its type; the attempt is thrown away.
            waiting = [loop for loop in ctx.frame.loops if None in loop.forms.values()]
            if not waiting:
                raise
            for loop in waiting:
                loop.failure = loop.failure or error
            for name in scope.assigned_names(node):
                ctx.frame.variables.pop(name, None)


def compile_statement(ctx: Context, node: ast.stmt) -> None:
    """Compile one statement."""
    ctx.builder.span = ctx.span(node)
    handler = handlers().get(type(node))
    if handler is None:
        unsupported.refuse(ctx, node)
    handler(ctx, node)


def function_node(ctx: Context) -> ast.FunctionDef:
    """Return the definition that the statements being compiled belong to."""
    node = ctx.frame.source.node
    assert isinstance(node, ast.FunctionDef)
    return node


# ------------------------------------------------------------------------------------ assignments


def assign_target(ctx: Context, target: ast.expr, operand: Operand) -> None:
    """Assign an operand to a name, an element of an array, or the parts of a tuple."""
    match target:
        case ast.Name(name):
            scope.assign(ctx, name, operand)
        case ast.Tuple(targets) | ast.List(targets):
            _unpack(ctx, targets, operand, target)
        case ast.Subscript(container, index):
            array = expressions.evaluate(ctx, container)
            arrays.store(ctx, array, expressions.evaluate_index(ctx, index), operand, target)
        case ast.Attribute(owner, name):
            _store_attribute(ctx, expressions.evaluate(ctx, owner), name, operand, target)
        case _:
            unsupported.refuse(ctx, target)


def _store_attribute(
    ctx: Context, owner: Operand, name: str, value: Operand, node: ast.Attribute
) -> None:
    """Write to a field of a record, or of every record of an array."""
    owner = optionals.plain(ctx, owner)
    if isinstance(owner, Record):
        records.store_attribute(ctx, owner, name, value, node)
    elif _has_fields(owner):
        arrays.store(ctx, owner, Text(name), value, node)
    else:
        ctx.fail(
            UnsupportedSyntaxError,
            f"assigning to the attribute {name!r} is not supported in kernels",
            node,
            help="assign to a variable, to an element of an array, or to a field of a record",
        )


def _has_fields(operand: Operand) -> bool:
    return isinstance(operand, Array) and isinstance(operand.type.element, RecordLayout)


def _unpack(ctx: Context, targets: Sequence[ast.expr], operand: Operand, node: ast.expr) -> None:
    stars = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if stars and isinstance(operand, Tuple):
        operand = _gather(ctx, operand, stars[0], len(targets), node)
    parts = tuples.unpack(ctx, operand, len(targets), node)
    for target, part in zip(targets, parts, strict=True):
        assign_target(ctx, target.value if isinstance(target, ast.Starred) else target, part)


def _gather(ctx: Context, operand: Tuple, star: int, count: int, node: ast.expr) -> Tuple:
    """Put the items that a starred target takes into a tuple of their own."""
    items = operand.items
    end = len(items) - (count - star - 1)
    if end < star:
        ctx.fail(
            KernelTypeError,
            f"a tuple of {counted(len(items), 'item')} is unpacked into at least "
            f"{counted(count - 1, 'variable')}",
            node,
            help="use as many variables as the tuple has items",
        )
    return Tuple((*items[:star], Tuple(items[star:end]), *items[end:]))


def _compile_assign(ctx: Context, node: ast.Assign) -> None:
    operand = expressions.evaluate_elementwise(ctx, node.value)
    if not all(isinstance(target, ast.Subscript) for target in node.targets):
        _refuse_elementwise(ctx, operand, node.value)
    for target in node.targets:
        assign_target(ctx, target, operand)


def _compile_annotated(ctx: Context, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign_target(ctx, node.target, expressions.evaluate(ctx, node.value))


def _compile_augmented(ctx: Context, node: ast.AugAssign) -> None:
    """Compile ``a[i] += v``: the array and the index are evaluated once."""
    match node.target:
        case ast.Name(name):
            old = scope.lookup(ctx, name, node.target)
            new = _combine(ctx, old, node)
            if isinstance(old, Array):
                arrays.check_writable(ctx, old, node.target)
                elementwise.fill(ctx, old, new, node.target)
            else:
                _refuse_elementwise(ctx, new, node)
                scope.assign(ctx, name, new)
        case ast.Subscript(container, index):
            array = optionals.plain(ctx, expressions.evaluate(ctx, container))
            place = expressions.evaluate_index(ctx, index)
            if isinstance(array, Array | Record | Address):
                old = expressions.subscript(ctx, array, place, node.target)
                new = _combine(ctx, old, node)
                if isinstance(old, Array):
                    arrays.check_writable(ctx, old, node.target)
                    elementwise.fill(ctx, old, new, node.target)
                else:
                    arrays.store(ctx, array, place, new, node.target)
            else:
                arrays.store(ctx, array, place, array, node.target)  # fails
        case ast.Attribute(owner, name) as target:
            record = expressions.evaluate(ctx, owner)
            value: Operand = NoneValue()
            if isinstance(record, Record) or _has_fields(record):
                value = _combine(ctx, methods.attribute(ctx, record, name, target), node)
            _store_attribute(ctx, record, name, value, target)


def _combine(ctx: Context, old: Operand, node: ast.AugAssign) -> Operand:
    if isinstance(node.op, ast.MatMult):
        unsupported.refuse_operator(ctx, type(node.op), node)
    value = expressions.evaluate_elementwise(ctx, node.value)
    return arithmetic.binary(ctx, type(node.op), old, value, node)


def _refuse_elementwise(ctx: Context, operand: Operand, node: ast.AST) -> None:
    if isinstance(operand, Elementwise):
        elementwise.refuse(ctx, node)


def _compile_delete(ctx: Context, node: ast.Delete) -> None:
    for target in node.targets:
        if not isinstance(target, ast.Name):
            ctx.fail(
                UnsupportedSyntaxError,
                "'del' of anything but a variable is not supported in kernels",
                target,
                help="assign another value instead",
            )
        scope.lookup(ctx, target.id, target)
        del ctx.frame.variables[target.id]


def _compile_def(ctx: Context, node: ast.FunctionDef) -> None:
    for decorator in node.decorator_list:
        if not _makes_device_functions(ctx, decorator):
            ctx.fail(
                UnsupportedSyntaxError,
                "decorators on functions inside a kernel are not supported",
                decorator,
                help="leave the decorator out, or write @cuda.jit(device=True): functions inside "
                "a kernel are compiled with it",
            )
    scope.assign(ctx, node.name, inline.make_closure(ctx, node))


def _makes_device_functions(ctx: Context, node: ast.expr) -> bool:
    """Return whether a decorator is ``cuda.jit(device=True)``, which changes nothing here."""
    if not isinstance(node, ast.Call) or node.args:
        return False
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    match expressions.evaluate(ctx, node.func), options.get("device"):
        case Object(FunctionType() as function), ast.Constant(True):
            return function.__module__.startswith("pygpulib.") and function.__name__ == "jit"
        case _:
            return False


# --------------------------------------------------------------------------------------- control


def _compile_if(ctx: Context, node: ast.If) -> None:
    condition = expressions.evaluate_truth(ctx, node.test)
    control.choose(
        ctx,
        condition,
        lambda: compile_block(ctx, node.body),
        lambda: compile_block(ctx, node.orelse),
        node,
        find_liveness(function_node(ctx)).after[node],
    )


def _compile_return(ctx: Context, node: ast.Return) -> None:
    operand = NoneValue() if node.value is None else expressions.evaluate(ctx, node.value)
    inline.leave_function(ctx, operand, node)


def _compile_expression(ctx: Context, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring
        expressions.evaluate(ctx, node.value)


def _compile_pass(ctx: Context, node: ast.Pass) -> None:
    """Compile nothing."""


def _compile_raise(ctx: Context, node: ast.Raise) -> None:
    from pygpulib.jit.frontend import exceptions

    exceptions.compile_raise(ctx, node)


def _compile_assert(ctx: Context, node: ast.Assert) -> None:
    from pygpulib.jit.frontend import exceptions

    exceptions.compile_assert(ctx, node)


@cache  # built at the first use, because this module and loops import each other
def handlers() -> Mapping[type[ast.stmt], Callable[[Context, Any], None]]:
    """Return what compiles each class of statements."""
    return {
        ast.Assert: _compile_assert,
        ast.Assign: _compile_assign,
        ast.AnnAssign: _compile_annotated,
        ast.AugAssign: _compile_augmented,
        ast.Break: loops.leave_loop,
        ast.Continue: loops.continue_loop,
        ast.Delete: _compile_delete,
        ast.Expr: _compile_expression,
        ast.For: loops.compile_for,
        ast.FunctionDef: _compile_def,
        ast.If: _compile_if,
        ast.Pass: _compile_pass,
        ast.Raise: _compile_raise,
        ast.Return: _compile_return,
        ast.While: loops.compile_while,
    }
