"""Expressions: from the syntax tree to operands."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.interop import is_cuda_array
from pygpulib.errors import DTypeError, KernelTypeError
from pygpulib.jit.frontend import (
    arithmetic,
    arrays,
    calls,
    captured,
    comparisons,
    control,
    datetimes,
    elementwise,
    enums,
    inference,
    inline,
    literals,
    methods,
    optionals,
    pointers,
    records,
    scope,
    structs,
    tuples,
    unsupported,
)
from pygpulib.jit.frontend.context import Context, Pending
from pygpulib.jit.frontend.values import (
    Address,
    Array,
    Complex,
    Elementwise,
    NoneValue,
    Number,
    Object,
    Operand,
    Record,
    Slice,
    Struct,
    Text,
    Tuple,
)
from pygpulib.jit.intrinsics.threads import SpecialRegister
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import is_pure


def evaluate(ctx: Context, node: ast.expr) -> Operand:
    """Compile an expression.

    Parameters
    ----------
    ctx : Context
        Where we are; operations go to its builder.
    node : ast.expr
        The expression.

    Returns
    -------
    Operand
        Its value; not an expression of whole arrays.
    """
    result = evaluate_elementwise(ctx, node)
    if isinstance(result, Elementwise):
        elementwise.refuse(ctx, node)
    return result


def evaluate_elementwise(ctx: Context, node: ast.expr) -> Operand:
    """Compile an expression that may be one of whole arrays, which the caller stores."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        unsupported.refuse(ctx, node)
    builder = ctx.builder
    outer = builder.span
    builder.span = ctx.span(node)
    result = handler(ctx, node)
    builder.span = outer
    return result


def evaluate_truth(ctx: Context, node: ast.expr) -> Number:
    """Compile an expression whose truth value is all that matters."""
    if isinstance(node, ast.BoolOp):
        result = _bool_op(ctx, node, evaluate_truth)
        assert isinstance(result, Number)
        return result
    try:
        return comparisons.truth(ctx, evaluate(ctx, node), node)
    except Pending:
        # Whatever it will be, its truth is a bool; this attempt is thrown away.
        ctx.pending += 1
        return Number(ctx.builder.undefined(dtypes.bool_))


def evaluate_index(ctx: Context, node: ast.expr) -> Operand:
    """Compile what stands in the brackets of a subscript; slices may occur."""
    if isinstance(node, ast.Tuple):
        return Tuple(tuple(evaluate_index(ctx, item) for item in node.elts))
    return evaluate(ctx, node)


def read_register(ctx: Context, register: ir.Register) -> Number:
    """Read a special register."""
    value = ctx.builder.register(register)
    ctx.nonnegative.add(value)
    return Number(value)


# -------------------------------------------------------------------------------- Python objects


def from_python(ctx: Context, value: object, name: str, node: ast.AST) -> Operand:
    """Return the operand of a Python object that the kernel refers to.

    Parameters
    ----------
    ctx : Context
        Where we are.
    value : object
        A global, captured variable, attribute or literal.
    name : str
        What the user calls it; for messages.
    node : ast.AST
        Where errors point.

    Returns
    -------
    Operand
        A constant for numbers, strings, tuples and NumPy arrays, which are copied; device arrays,
        also other libraries', where they are; the object itself for anything else.
    """
    match value:
        case Enum():
            return enums.from_python(ctx, value, name, node)
        case np.generic():
            return _numpy_scalar(ctx, value, name, node)
        case bool() | int() | float() | complex():
            return _python_number(ctx, value, node)
        case str():
            return Text(value)
        case None:
            return NoneValue()
        case tuple():
            items = tuple(from_python(ctx, item, name, node) for item in value)
            return Tuple(items, type(value) if tuples.is_namedtuple_class(type(value)) else None)
        case _ if is_cuda_array(value):
            return captured.device_array(ctx, value, name, node)
        case np.ndarray():
            return captured.host_array(ctx, value, name, node)
        case SpecialRegister(register=register):
            return read_register(ctx, register)
        case _:
            return structs.from_python(ctx, value, name, node) or Object(value)


def _python_number(ctx: Context, value: complex, node: ast.AST) -> Operand:
    return literals.from_source(ctx, _constant_number(ctx, value, node))


def _constant_number(ctx: Context, value: complex, node: ast.AST) -> Operand:
    if isinstance(value, bool):
        return inference.constant(ctx, value, dtypes.bool_)
    if isinstance(value, int):
        return _integer(ctx, int(value), node)
    if isinstance(value, float):
        return inference.constant(ctx, value, dtypes.float64)
    return _complex(ctx, value, dtypes.complex128)


def _integer(ctx: Context, value: int, node: ast.AST) -> Number:
    if not -(2**63) <= value < 2**64:
        ctx.fail(
            KernelTypeError,
            f"the integer {value} does not fit into 64 bits",
            node,
            help="use a float, or a smaller number",
        )
    return inference.constant(ctx, value, dtypes.uint64 if value >= 2**63 else dtypes.int64)


def _complex(ctx: Context, value: complex, dtype: dtypes.DType) -> Complex:
    real = inference.constant(ctx, value.real, dtype.component)
    imag = inference.constant(ctx, value.imag, dtype.component)
    return Complex(real.value, imag.value, dtype)


def _numpy_scalar(ctx: Context, value: np.generic, name: str, node: ast.AST) -> Operand:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return datetimes.constant(ctx, value)
    if isinstance(value, np.void) and value.dtype.names:
        frozen = captured.host_array(ctx, np.asarray(value), name, node)
        return subscript(ctx, frozen, Tuple(()), node)
    try:
        dtype = dtypes.from_numpy(value.dtype)
    except DTypeError:
        return Object(value)
    number: Any = value.item()
    if dtype.is_complex:
        return _complex(ctx, number, dtype)
    return inference.constant(ctx, number, dtype)


# ---------------------------------------------------------------------------- kinds of expression


def _constant(ctx: Context, node: ast.Constant) -> Operand:
    return from_python(ctx, node.value, "", node)


def _name(ctx: Context, node: ast.Name) -> Operand:
    return scope.lookup(ctx, node.id, node)


def _attribute(ctx: Context, node: ast.Attribute) -> Operand:
    return methods.attribute(ctx, evaluate(ctx, node.value), node.attr, node)


def _subscript(ctx: Context, node: ast.Subscript) -> Operand:
    operand = evaluate(ctx, node.value)
    index = evaluate_index(ctx, node.slice)
    return subscript(ctx, operand, index, node)


def subscript(ctx: Context, operand: Operand, index: Operand, node: ast.AST) -> Operand:
    """Return ``operand[index]``."""
    operand = optionals.plain(ctx, operand)
    match operand:
        case Array():
            return arrays.subscript(ctx, operand, index, node)
        case Address():
            return pointers.load(ctx, operand, index, node)
        case Record():
            return records.subscript(ctx, operand, index, node)
        case Tuple():
            return tuples.subscript(ctx, operand, index, node)
        case Struct():
            return structs.subscript(ctx, operand, index, node)
        case Object(value) if isinstance(value, type) and issubclass(value, Enum):
            if isinstance(index, Text) and index.text in value.__members__:
                return from_python(ctx, value[index.text], index.text, node)
    hint = "index arrays and tuples"
    if isinstance(operand, Object) and isinstance(operand.value, list):
        hint = "make the list a tuple, or pass it as an array"
    ctx.fail(
        KernelTypeError,
        f"{inference.describe(operand)} cannot be indexed in a kernel",
        node,
        help=hint,
    )


def _slice(ctx: Context, node: ast.Slice) -> Operand:
    parts = (node.lower, node.upper, node.step)
    return make_slice(ctx, [None if one is None else evaluate(ctx, one) for one in parts], node)


def make_slice(ctx: Context, parts: list[Operand | None], node: ast.AST) -> Slice:
    """Return a slice of start, stop and step; None stands for what is left out."""
    bounds: list[Number | None] = []
    for part in parts:
        if part is None or isinstance(part, NoneValue):
            bounds.append(None)
        elif isinstance(part, Number):
            bounds.append(part)
        else:
            ctx.fail(
                KernelTypeError,
                f"a bound of a slice is {inference.describe(part)}",
                node,
                detail="expected an integer",
                help="use integers or None",
            )
    return Slice(*bounds)


def _tuple(ctx: Context, node: ast.Tuple) -> Operand:
    items: list[Operand] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = evaluate(ctx, item.value)
            if not isinstance(inner, Tuple):
                ctx.fail(
                    KernelTypeError,
                    f"{inference.describe(inner)} cannot be unpacked into a tuple",
                    item,
                    help="unpack a tuple",
                )
            items += inner.items
        else:
            items.append(evaluate(ctx, item))
    return Tuple(tuple(items))


def _bin_op(ctx: Context, node: ast.BinOp) -> Operand:
    operator = type(node.op)
    if operator is ast.MatMult:
        unsupported.refuse_operator(ctx, operator, node)
    value = _python_value(node)
    if value is not None:
        return _python_number(ctx, value, node)
    left = evaluate_elementwise(ctx, node.left)
    right = evaluate_elementwise(ctx, node.right)
    return arithmetic.binary(ctx, operator, left, right, node)


def _python_value(node: ast.expr) -> int | float | complex | None:
    """Return the value of an expression of number literals, as CPython folds it; else None.

    The parts of ``2**64 - 1`` do not fit into 64 bits, though the result does.
    """
    match node:
        case ast.Constant(int() | float() | complex() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(ast.USub(), operand):
            inner = _python_value(operand)
            return None if inner is None else -inner
        case ast.BinOp(left, operator, right):
            a = _python_value(left)
            b = None if a is None else _python_value(right)
            return None if a is None or b is None else arithmetic.fold_python(type(operator), a, b)
        case _:
            return None


def _unary_op(ctx: Context, node: ast.UnaryOp) -> Operand:
    if isinstance(node.op, ast.Not):
        return comparisons.negate(ctx, evaluate_truth(ctx, node.operand))
    value = _python_value(node)
    if value is not None:
        return _python_number(ctx, value, node)
    operand = evaluate_elementwise(ctx, node.operand)
    return arithmetic.unary(ctx, type(node.op), operand, node)


def _if_exp(ctx: Context, node: ast.IfExp) -> Operand:
    condition = evaluate_truth(ctx, node.test)
    return control.branch(
        ctx,
        condition,
        lambda: evaluate(ctx, node.body),
        lambda: evaluate(ctx, node.orelse),
        node,
    )


def _named_expr(ctx: Context, node: ast.NamedExpr) -> Operand:
    value = evaluate(ctx, node.value)
    scope.assign(ctx, node.target.id, value)
    return value


def _call(ctx: Context, node: ast.Call) -> Operand:
    return calls.evaluate_call(ctx, node)


def _joined_str(ctx: Context, node: ast.JoinedStr) -> Operand:
    from pygpulib.jit.frontend import printing

    return printing.evaluate_f_string(ctx, node)


def _lambda(ctx: Context, node: ast.Lambda) -> Operand:
    return inline.make_closure(ctx, node)


# ---------------------------------------------------------------- and, or, chains of comparisons


def _bool_op(
    ctx: Context, node: ast.BoolOp, evaluator: Callable[[Context, ast.expr], Operand]
) -> Operand:
    is_and = isinstance(node.op, ast.And)
    result = evaluator(ctx, node.values[0])
    for value in node.values[1:]:
        result = _short_circuit(ctx, result, value, evaluator, is_and=is_and)
    return result


def _value_bool_op(ctx: Context, node: ast.BoolOp) -> Operand:
    return _bool_op(ctx, node, evaluate)


def _short_circuit(
    ctx: Context,
    left: Operand,
    node: ast.expr,
    evaluator: Callable[[Context, ast.expr], Operand],
    *,
    is_and: bool,
) -> Operand:
    """Combine a value with an expression that is evaluated only if the value does not decide."""
    condition = comparisons.truth(ctx, left, node)
    if condition.literal is not None:
        return evaluator(ctx, node) if bool(condition.literal) == is_and else left
    builder = ctx.builder
    if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
        with builder.collect() as ops:
            try:
                right = evaluator(ctx, node)
            except Pending:
                ctx.pending += 1
                right = left
        if _is_boolean(left) and _is_boolean(right) and all(is_pure(op) for op in ops):
            # Evaluating both sides is cheaper than a branch and cannot be told from it.
            _replay(ctx, ops)
            combine = comparisons.both if is_and else comparisons.either
            assert isinstance(right, Number)
            return combine(ctx, condition, right)

        def rest() -> Operand:
            _replay(ctx, ops)
            return right
    else:

        def rest() -> Operand:
            return evaluator(ctx, node)

    def decided() -> Operand:
        return left

    branches = (rest, decided) if is_and else (decided, rest)
    return control.branch(ctx, condition, *branches, node)


def _is_boolean(operand: Operand) -> bool:
    return isinstance(operand, Number) and operand.dtype.is_bool


def _replay(ctx: Context, ops: list[ir.Op]) -> None:
    for op in ops:
        ctx.builder.append(op)


def _compare(ctx: Context, node: ast.Compare) -> Operand:
    if len(node.ops) > 1:
        return _chain(ctx, node, 0, evaluate(ctx, node.left))
    operator = type(node.ops[0])
    left = evaluate_elementwise(ctx, node.left)
    right = evaluate_elementwise(ctx, node.comparators[0])
    if operator in comparisons.OF_ELEMENTS and elementwise.are_of_arrays((left, right)):
        return elementwise.combine(
            ctx,
            (left, right),
            lambda items: comparisons.compare(ctx, operator, items[0], items[1], node),
        )
    if isinstance(left, Elementwise) or isinstance(right, Elementwise):
        elementwise.refuse(ctx, node)
    return comparisons.compare(ctx, operator, left, right, node)


def _chain(ctx: Context, node: ast.Compare, position: int, left: Operand) -> Number:
    """Compare along a chain from a position on; an operand is evaluated if all held before it."""
    right = evaluate(ctx, node.comparators[position])
    holds = comparisons.compare(ctx, type(node.ops[position]), left, right, node)
    if position + 1 == len(node.ops) or holds.literal is False:
        return holds
    with ctx.builder.collect() as ops:
        rest = _chain(ctx, node, position + 1, right)

    def replay() -> Operand:
        _replay(ctx, ops)
        return rest

    if all(is_pure(op) for op in ops):
        replay()
        return comparisons.both(ctx, holds, rest)
    result = control.branch(ctx, holds, replay, lambda: comparisons.boolean(ctx, False), node)
    assert isinstance(result, Number)
    return result


# One function per class of syntax node; what is missing here is not in the language.
HANDLERS: dict[type[ast.expr], Callable[[Context, Any], Operand]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _bin_op,
    ast.BoolOp: _value_bool_op,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.IfExp: _if_exp,
    ast.JoinedStr: _joined_str,
    ast.Lambda: _lambda,
    ast.Name: _name,
    ast.NamedExpr: _named_expr,
    ast.Slice: _slice,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary_op,
}
