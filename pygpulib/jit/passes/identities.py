"""What an operation on known or equal operands is the same as, exactly.

Floating point is rewritten only where every IEEE 754 result stays the same bit for bit; which nan
an operation gives is not part of the language.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pygpulib.core.dtypes import DType, keeps_values
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.arithmetic import (
    Lanes,
    apply_binary,
    apply_bitcast,
    apply_cast,
    apply_compare,
    apply_unary,
    constant,
)

Number = bool | int | float
Definitions = Mapping[ir.Value, ir.Op]
"""The operations that defined values so far."""

Foldable = ir.Unary | ir.Binary | ir.Compare | ir.Select | ir.Cast | ir.Bitcast | ir.PointerAdd


def find_equal(op: Foldable, definitions: Definitions) -> ir.Value | Number | ir.Op | None:
    """Return what may stand in an operation's place.

    Parameters
    ----------
    op : Op
        A pure operation with one result.
    definitions : mapping
        What is known of the operands.

    Returns
    -------
    Value, number, Op or None
        A value that the result equals, a constant that it is, a simpler operation with the same
        result, or None.
    """
    known = _evaluate(op, definitions)
    if known is not None:
        return known
    match op:
        case ir.Unary(kind, operand):
            inner = definitions.get(operand)
            is_inverse = kind is not ir.UnaryKind.ABSOLUTE
            if is_inverse and isinstance(inner, ir.Unary) and inner.kind is kind:
                return inner.operand
            return None
        case ir.Binary():
            return _equal_of_binary(op, definitions)
        case ir.Compare():
            return _equal_of_compare(op, definitions)
        case ir.Select():
            return _equal_of_select(op, definitions)
        case ir.Cast():
            return _equal_of_cast(op, definitions)
        case ir.Bitcast(operand, result):
            return operand if operand.type == result.type else None
        case ir.PointerAdd(pointer, index):
            return pointer if number_of(index, definitions) == 0 else None


def number_of(value: ir.Value, definitions: Definitions) -> Number | None:
    """Return the number that a value is known to be, if any.

    Parameters
    ----------
    value : Value
        Any value.
    definitions : mapping
        The operations seen so far.
    """
    op = definitions.get(value)
    return op.value if isinstance(op, ir.Const) else None


# ---------------------------------------------------------------------------- known operands


def _evaluate(op: Foldable, definitions: Definitions) -> Number | None:
    match op:
        case ir.Unary(kind, operand):
            x = _lanes(operand, definitions)
            return None if x is None else _number(apply_unary(kind, x))
        case ir.Binary(kind, left, right):
            x, y = _lanes(left, definitions), _lanes(right, definitions)
            return None if x is None or y is None else _number(apply_binary(kind, x, y))
        case ir.Compare(kind, left, right):
            x, y = _lanes(left, definitions), _lanes(right, definitions)
            return None if x is None or y is None else _number(apply_compare(kind, x, y))
        case ir.Cast(operand, ir.Value(DType() as dtype)):
            x = _lanes(operand, definitions)
            return None if x is None else _number(apply_cast(x, dtype))
        case ir.Bitcast(operand, ir.Value(DType() as dtype)):
            x = _lanes(operand, definitions)
            return None if x is None else _number(apply_bitcast(x, dtype.numpy))
        case _:
            return None


def _lanes(value: ir.Value, definitions: Definitions) -> Lanes | None:
    number = number_of(value, definitions)
    if number is None:
        return None
    assert isinstance(value.type, DType)
    return constant(number, value.type)


def _number(lanes: Lanes) -> Number | None:
    """Return the one element; not a nan, because a constant does not say which nan it is."""
    number: Number = lanes.item()
    return None if isinstance(number, float) and math.isnan(number) else number


# ------------------------------------------------------------------------------- identities

_B = ir.BinaryKind

_NEUTRAL_RIGHT: dict[ir.BinaryKind, int] = {
    _B.ADD: 0, _B.SUBTRACT: 0, _B.MULTIPLY: 1, _B.FLOOR_DIVIDE: 1, _B.OR: 0, _B.XOR: 0,
    _B.AND: -1, _B.SHIFT_LEFT: 0, _B.SHIFT_RIGHT: 0,
}  # fmt: skip
"""``x kind n`` is ``x`` for integers and bools; -1 means all bits."""

_COMMUTATIVE = (_B.ADD, _B.MULTIPLY, _B.AND, _B.OR, _B.XOR)
_ABSORBING: dict[ir.BinaryKind, int] = {_B.MULTIPLY: 0, _B.AND: 0, _B.OR: -1}
"""``x kind n`` and ``n kind x`` are ``n``."""

_SAME_GIVES_OPERAND = (_B.AND, _B.OR, _B.MINIMUM, _B.MAXIMUM)
_SAME_GIVES_ZERO = (_B.SUBTRACT, _B.XOR)


def _equal_of_binary(op: ir.Binary, definitions: Definitions) -> ir.Value | Number | None:
    if op.left is op.right and op.kind in _SAME_GIVES_OPERAND:
        return op.left
    dtype = op.left.type
    assert isinstance(dtype, DType)
    if dtype.is_float:
        return _equal_of_float_binary(op, definitions)
    if op.left is op.right and op.kind in _SAME_GIVES_ZERO:
        return False if dtype.is_bool else 0
    left, right = number_of(op.left, definitions), number_of(op.right, definitions)
    for operand, number in ((op.left, right), (op.right, left)):
        if number is None or (operand is op.right and op.kind not in _COMMUTATIVE):
            continue
        if number == _spell(_NEUTRAL_RIGHT.get(op.kind), dtype):
            return operand
        if number == _spell(_ABSORBING.get(op.kind), dtype):
            return number
    is_zero = right == 1 and op.kind in (_B.MODULO, _B.REMAINDER)
    return 0 if is_zero else None


def _spell(number: int | None, dtype: DType) -> int | None:
    """Return how a dtype writes 0, 1 or (for -1) the number of which all bits are set."""
    if number != -1 or dtype.is_signed:
        return number
    return 1 if dtype.is_bool else (1 << dtype.bits) - 1


def _equal_of_float_binary(op: ir.Binary, definitions: Definitions) -> ir.Value | None:
    left, right = number_of(op.left, definitions), number_of(op.right, definitions)
    match op.kind:
        case _B.MULTIPLY | _B.DIVIDE if right == 1.0:
            return op.left
        case _B.MULTIPLY if left == 1.0:
            return op.right
        # Adding +0 would turn -0 into +0; adding -0 and subtracting +0 change nothing.
        case _B.ADD if _is_zero(right, -1.0):
            return op.left
        case _B.ADD if _is_zero(left, -1.0):
            return op.right
        case _B.SUBTRACT if _is_zero(right, 1.0):
            return op.left
        case _:
            return None


def _is_zero(number: Number | None, sign: float) -> bool:
    return number is not None and number == 0 and math.copysign(1.0, number) == sign


_REFLEXIVE = (ir.CompareKind.EQ, ir.CompareKind.LE, ir.CompareKind.GE)
_STRICT = (ir.CompareKind.LT, ir.CompareKind.GT)


def _equal_of_compare(op: ir.Compare, definitions: Definitions) -> ir.Value | bool | None:
    dtype = op.left.type
    is_float = isinstance(dtype, DType) and dtype.is_float
    if op.left is op.right:
        if op.kind in _STRICT:
            return False
        # A nan differs from itself.
        return None if is_float else op.kind in _REFLEXIVE
    if op.kind is ir.CompareKind.NE and number_of(op.right, definitions) == 0:
        inner = definitions.get(op.left)
        if isinstance(inner, ir.Cast) and inner.operand.type == op.result.type:
            return inner.operand
        return op.left if op.left.type == op.result.type else None
    return None


def _equal_of_select(op: ir.Select, definitions: Definitions) -> ir.Value | None:
    condition = number_of(op.condition, definitions)
    if condition is not None:
        return op.if_true if condition else op.if_false
    if op.if_true is op.if_false:
        return op.if_true
    numbers = (number_of(op.if_true, definitions), number_of(op.if_false, definitions))
    is_condition = op.condition.type == op.result.type and numbers == (True, False)
    return op.condition if is_condition else None


def _equal_of_cast(op: ir.Cast, definitions: Definitions) -> ir.Value | ir.Op | None:
    if op.operand.type == op.result.type:
        return op.operand
    inner = definitions.get(op.operand)
    if not isinstance(inner, ir.Cast):
        return None
    first, second, third = inner.operand.type, op.operand.type, op.result.type
    assert isinstance(first, DType)
    assert isinstance(second, DType)
    assert isinstance(third, DType)
    cuts_twice = all(t.is_integer for t in (first, second, third)) and third.bits <= second.bits
    if not (keeps_values(first, second) or cuts_twice):
        return None
    return inner.operand if first == third else ir.Cast(inner.operand, op.result, span=op.span)
