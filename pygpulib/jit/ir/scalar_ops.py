"""Operations that compute values from values: constants, arithmetic, conversions and calls."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from pygpulib._record import record
from pygpulib.jit.ir.values import Effect, Operation, Value

if TYPE_CHECKING:
    from pygpulib.jit.ir.intrinsic import Intrinsic


class UnaryKind(Enum):
    """Operations on one operand; the result has the operand's type."""

    NEGATE = "neg"
    NOT = "not"
    """Logical on bool, bitwise on integers."""
    ABSOLUTE = "abs"
    """The most negative integer stays itself."""


class BinaryKind(Enum):
    """Operations on two operands of one type; the result has that type.

    Those on bfloat16 and smaller floats are done on float32, and their result is rounded.
    """

    ADD = "add"
    SUBTRACT = "sub"
    MULTIPLY = "mul"
    DIVIDE = "div"
    """Floating point only; IEEE 754."""
    FLOOR_DIVIDE = "floordiv"
    """As Python. Integer division by zero gives 0, and the most negative integer by -1 itself.
    On floats Python's algorithm (through the remainder), except that division by zero gives
    what the IEEE division gives (an infinity or nan), floored."""
    MODULO = "mod"
    """As Python: the sign of the divisor. Integer modulo zero gives 0, float modulo zero nan."""
    REMAINDER = "rem"
    """As C: the sign of the dividend. Integer remainder by zero gives 0; floats as C's fmod."""
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHIFT_LEFT = "shl"
    """A count that is negative or not below the width gives 0."""
    SHIFT_RIGHT = "shr"
    """Arithmetic on signed integers; such a count gives 0, or -1 for negative numbers."""
    MINIMUM = "min"
    """On floats the operand that is not nan if only one is (IEEE minimumNumber); -0 < +0 is
    not promised."""
    MAXIMUM = "max"


class CompareKind(Enum):
    """Comparisons of two operands of one type; the result is bool. Only NE holds for nan."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


@record
class Const(Operation):
    """A number known now. ``value`` is a Python bool, int or float in the range of the type."""

    result: Value
    value: bool | int | float


@record
class Undefined(Operation):
    """Some value of the type; the program does not depend on which."""

    result: Value


@record
class Unary(Operation):
    """Apply a one-operand operation."""

    kind: UnaryKind
    operand: Value
    result: Value


@record
class Binary(Operation):
    """Apply a two-operand operation.

    ``strict`` forbids contraction into multiply-add and every fast-math rewrite of this very
    operation; library functions that depend on the exact rounding set it.
    """

    kind: BinaryKind
    left: Value
    right: Value
    result: Value
    strict: bool = False


@record
class Compare(Operation):
    """Compare two operands."""

    kind: CompareKind
    left: Value
    right: Value
    result: Value


@record
class Select(Operation):
    """``if_true`` where ``condition`` (bool) holds, else ``if_false``; both are evaluated."""

    condition: Value
    if_true: Value
    if_false: Value
    result: Value


@record
class Cast(Operation):
    """Convert a number to the type of the result.

    Integers wrap; to bool is ``!= 0``; floats round to nearest even. Float to integer truncates
    toward zero: through int64, which saturates (nan gives 0), then wraps to the width; to uint64
    values of 2**63 and more go directly, and saturate.

    To bfloat16 and smaller floats, numbers of every type round once. What is too large for an 8-bit
    float becomes the largest one; ``float8_e8m0fnu``, which has no sign, rounds up.
    """

    operand: Value
    result: Value


@record
class Bitcast(Operation):
    """Read the bits of the operand as another type of the same size."""

    operand: Value
    result: Value


@record
class Call(Operation):
    """Apply an intrinsic; its record says what it means, costs and does.

    Operand types match the record's rule exactly (the front end inserted the casts).
    """

    intrinsic: Intrinsic
    operands: tuple[Value, ...]
    results: tuple[Value, ...]


@record
class CallFunction(Operation):
    """Call another function of the module (only recursion needs it; the rest is inlined)."""

    callee: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    effect: ClassVar[Effect] = Effect.CONVERGE
