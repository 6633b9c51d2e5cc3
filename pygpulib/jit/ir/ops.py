"""The closed union of operations.

Every operation is a record. What a field is follows from its annotation and name, so
that walking, cloning, printing and verifying need no code per operation:

- ``result`` / ``results`` are the values that the operation defines;
- other fields of type ``Value``, ``Value | None`` or ``tuple[Value, ...]`` are operands;
- fields of type ``Block`` are nested blocks, executed as the class says;
- everything else is an attribute.

Integers are two's complement and wrap. A *thread* below is one CUDA thread.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from pygpulib.errors import Span
    from pygpulib.jit.ir.intrinsic import Intrinsic


class AddressSpace(Enum):
    """The kinds of memory of a GPU."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONSTANT = "constant"


@record(eq=True)
class Pointer:
    """The type of an address; it does not say what lies there."""

    space: AddressSpace = AddressSpace.GLOBAL

    def __str__(self) -> str:
        return f"ptr.{self.space.value}"


Type = DType | Pointer


@record
class Value:
    """A value: defined once, compared by identity.

    Attributes
    ----------
    type : DType or Pointer
        Never complex.
    hint : str
        The user's name for it, if there is one; only for people.
    """

    type: Type
    hint: str = ""


class Effect(IntEnum):
    """What an operation does besides computing its results, from harmless to strong."""

    NONE = 0
    """May be removed, moved, repeated and run for inactive lanes."""
    READ = 1
    """Reads memory."""
    WRITE = 2
    """Writes memory, prints or faults."""
    CONVERGE = 3
    """Other threads take part."""


@record
class Block:
    """A sequence of operations, the last of which is a terminator."""

    params: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def terminator(self) -> Op:
        """The operation that ends the block."""
        return self.ops[-1]


@record(kw_only=True)
class _Op:
    """What all operations have."""

    span: Span | None = None

    effect: ClassVar[Effect] = Effect.NONE
    is_terminator: ClassVar[bool] = False


# ---------------------------------------------------------------------------------- arithmetic


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
class Const(_Op):
    """A number known now. ``value`` is a Python bool, int or float in the range of the type."""

    result: Value
    value: bool | int | float


@record
class Undefined(_Op):
    """Some value of the type; the program does not depend on which."""

    result: Value


@record
class Unary(_Op):
    """Apply a one-operand operation."""

    kind: UnaryKind
    operand: Value
    result: Value


@record
class Binary(_Op):
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
class Compare(_Op):
    """Compare two operands."""

    kind: CompareKind
    left: Value
    right: Value
    result: Value


@record
class Select(_Op):
    """``if_true`` where ``condition`` (bool) holds, else ``if_false``; both are evaluated."""

    condition: Value
    if_true: Value
    if_false: Value
    result: Value


@record
class Cast(_Op):
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
class Bitcast(_Op):
    """Read the bits of the operand as another type of the same size."""

    operand: Value
    result: Value


@record
class Call(_Op):
    """Apply an intrinsic; its record says what it means, costs and does.

    Operand types match the record's rule exactly (the front end inserted the casts).
    """

    intrinsic: Intrinsic
    operands: tuple[Value, ...]
    results: tuple[Value, ...]


@record
class CallFunction(_Op):
    """Call another function of the module (only recursion needs it; the rest is inlined)."""

    callee: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    effect: ClassVar[Effect] = Effect.CONVERGE


# -------------------------------------------------------------------------------------- threads


class Register(Enum):
    """Where a thread is, and how it was launched; all are int32."""

    TID_X = "tid.x"
    TID_Y = "tid.y"
    TID_Z = "tid.z"
    CTAID_X = "ctaid.x"
    CTAID_Y = "ctaid.y"
    CTAID_Z = "ctaid.z"
    NTID_X = "ntid.x"
    NTID_Y = "ntid.y"
    NTID_Z = "ntid.z"
    NCTAID_X = "nctaid.x"
    NCTAID_Y = "nctaid.y"
    NCTAID_Z = "nctaid.z"
    LANEID = "laneid"
    WARPSIZE = "warpsize"
    DYNAMIC_SHARED_BYTES = "dynamic_shared_bytes"


# By axis: x, y, z.
TID = (Register.TID_X, Register.TID_Y, Register.TID_Z)
CTAID = (Register.CTAID_X, Register.CTAID_Y, Register.CTAID_Z)
NTID = (Register.NTID_X, Register.NTID_Y, Register.NTID_Z)
NCTAID = (Register.NCTAID_X, Register.NCTAID_Y, Register.NCTAID_Z)


@record
class ReadRegister(_Op):
    """Read a special register (int32, never negative)."""

    register: Register
    result: Value


class BarrierKind(Enum):
    """Barriers of a block, a warp and a grid; the counting ones combine an int32 predicate."""

    BLOCK = "block"
    BLOCK_COUNT = "block.count"
    BLOCK_AND = "block.and"
    BLOCK_OR = "block.or"
    WARP = "warp"
    """The predicate is the mask of the lanes that take part."""
    GRID = "grid"


@record
class Barrier(_Op):
    """Wait for the other threads; memory written before is seen by them after."""

    kind: BarrierKind
    predicate: Value | None = None
    results: tuple[Value, ...] = ()
    effect: ClassVar[Effect] = Effect.CONVERGE


class FenceScope(Enum):
    """Who must see a fence's effect."""

    BLOCK = "block"
    DEVICE = "device"
    SYSTEM = "system"


@record
class Fence(_Op):
    """Order this thread's memory accesses before and after."""

    scope: FenceScope
    effect: ClassVar[Effect] = Effect.WRITE


# --------------------------------------------------------------------------------------- memory


@record(eq=True)
class Access:
    """What the user calls an accessed array; for messages and reports only."""

    array: str
    dims: int


@record
class PointerAdd(_Op):
    """``pointer + index * scale`` bytes; index is int64, scale a positive constant."""

    pointer: Value
    index: Value
    scale: int
    result: Value


@record
class Load(_Op):
    """Read the element at ``pointer + index * scale`` bytes; its type is the result's type.

    The address is a multiple of the element's size. ``invariant`` promises that nobody writes
    the element while the kernel runs.
    """

    pointer: Value
    index: Value
    scale: int
    result: Value
    access: Access | None = None
    invariant: bool = False
    effect: ClassVar[Effect] = Effect.READ


@record
class Store(_Op):
    """Write ``value`` at ``pointer + index * scale`` bytes."""

    pointer: Value
    index: Value
    value: Value
    scale: int
    access: Access | None = None
    effect: ClassVar[Effect] = Effect.WRITE


@record
class ConstantData(_Op):
    """The address of a C-contiguous array frozen into the program."""

    data: np.ndarray[Any, Any]
    result: Value


@record
class Allocate(_Op):
    """Memory of a block (SHARED: one per execution site and block) or of a thread (LOCAL).

    ``size_bytes`` of 0 is the dynamic shared memory of the launch. Alive until the kernel ends.
    """

    space: AddressSpace
    size_bytes: int
    alignment: int
    result: Value
    effect: ClassVar[Effect] = Effect.WRITE

    @property
    def stride_bytes(self) -> int:
        """Distance between two such arrays that lie side by side, both aligned."""
        return -(-max(self.size_bytes, 1) // self.alignment) * self.alignment


class AtomicKind(Enum):
    """Read-modify-write operations; see CUDA's atomic functions for their meaning."""

    ADD = "add"
    SUBTRACT = "sub"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MINIMUM = "min"
    MAXIMUM = "max"
    NAN_MINIMUM = "nanmin"
    NAN_MAXIMUM = "nanmax"
    EXCHANGE = "exch"
    COMPARE_EXCHANGE = "cas"
    INCREMENT = "inc"
    DECREMENT = "dec"


@record
class Atomic(_Op):
    """Change one element indivisibly; the result is its old value."""

    kind: AtomicKind
    pointer: Value
    index: Value
    value: Value
    expected: Value | None
    scale: int
    result: Value
    access: Access | None = None
    effect: ClassVar[Effect] = Effect.WRITE


# -------------------------------------------------------------------------------------- control


@record
class If(_Op):
    """Run one of two blocks; a block that ends in ``Yield`` gives the results."""

    condition: Value
    then_block: Block
    else_block: Block
    results: tuple[Value, ...]


@record
class For(_Op):
    """Run ``body`` for an induction variable from ``start`` towards ``stop`` by ``step``.

    ``start``, ``stop``, ``step`` and the induction variable have one integer type, evaluated
    once; a step of 0 runs the body never. ``body.params`` are the induction variable, then the
    carried values, which start as ``inits``. ``Continue(values)`` goes to the next iteration,
    ``Break(values)`` leaves the loop with these results; at the regular end the results are the
    carried values.
    """

    start: Value
    stop: Value
    step: Value
    inits: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]


@record
class Loop(_Op):
    """Run ``body`` until ``Break``; ``body.params`` are the carried values."""

    inits: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]


@record
class Scope(_Op):
    """Run ``body`` once; a ``Return`` inside leaves this scope with these results.

    This is what an inlined device function becomes. ``Break`` and ``Continue`` do not cross it.
    """

    body: Block
    results: tuple[Value, ...]
    name: str = ""


@record
class Yield(_Op):
    """End a block of an ``If`` with its results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Continue(_Op):
    """Go to the next iteration of the nearest loop with these carried values."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Break(_Op):
    """Leave the nearest loop with these results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Return(_Op):
    """Leave the nearest scope, or else the function, with these results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Unreachable(_Op):
    """Control never comes here (both branches of an ``If`` before it left the block)."""

    is_terminator: ClassVar[bool] = True


@record
class Raise(_Op):
    """End this thread with an error, which the host raises after the launch.

    ``code`` numbers an entry of the kernel's error table; without one, the thread just ends.
    """

    code: int | None
    details: tuple[Value, ...] = ()
    effect: ClassVar[Effect] = Effect.WRITE
    is_terminator: ClassVar[bool] = True


@record(eq=True)
class Format:
    """How a print shows a number: as ``format(number, spec)`` does.

    A complex number takes the next two operands.
    """

    spec: str = ""
    is_complex: bool = False


@record
class Shown:
    """The text that a function makes of the next ``count`` operands."""

    count: int
    show: Callable[[Sequence[bool | int | float]], str]


@record
class Optional:
    """What some parts give if the next operand holds, else "None"; they take their operands."""

    parts: tuple[Part, ...]


Part = str | Format | Shown | Optional | None
"""A part of a printed text: constant, or made of the next operand; None: as Python writes it."""


@record
class Print(_Op):
    """Write some text at once, which usually ends a line."""

    parts: tuple[Part, ...]
    operands: tuple[Value, ...]
    effect: ClassVar[Effect] = Effect.WRITE


Op = (
    Const
    | Undefined
    | Unary
    | Binary
    | Compare
    | Select
    | Cast
    | Bitcast
    | Call
    | CallFunction
    | ReadRegister
    | Barrier
    | Fence
    | PointerAdd
    | Load
    | Store
    | ConstantData
    | Allocate
    | Atomic
    | If
    | For
    | Loop
    | Scope
    | Yield
    | Continue
    | Break
    | Return
    | Unreachable
    | Raise
    | Print
)


# ------------------------------------------------------------------------------------- function


@record(eq=True)
class ErrorEntry:
    """An exception that a kernel can raise.

    Where a ``Raise`` carries details, ``message`` is a ``str.format`` template for them.
    """

    exception: type[Exception]
    message: str
    span: Span | None


@record(eq=True)
class NumericOptions:
    """How floating-point operations may be rewritten.

    Attributes
    ----------
    contract : bool
        Multiply-add may be fused (numba's ``fma``).
    fastmath : bool
        No nans or infinities, any association, approximate functions, denormals may be lost.
    """

    contract: bool = True
    fastmath: bool = False


@record
class Function:
    """A kernel, or a device function that could not be inlined.

    ``params`` are scalars and pointers; ``body`` has no parameters of its own and ends in
    ``Return``; a kernel returns nothing. ``param_ranges`` promises that an integer parameter (the
    extent of an array, say) lies between two numbers, both included. ``captured`` are the objects
    whose memory the body refers to by address.
    """

    name: str
    params: tuple[Value, ...]
    body: Block
    result_types: tuple[Type, ...] = ()
    numeric: NumericOptions = field(default_factory=NumericOptions)
    errors: tuple[ErrorEntry, ...] = ()
    callees: tuple[Function, ...] = ()
    span: Span | None = None
    param_ranges: Mapping[Value, tuple[int, int]] = field(default_factory=dict)
    captured: tuple[object, ...] = ()
