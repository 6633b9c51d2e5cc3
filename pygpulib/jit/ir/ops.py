"""The definition of the IR: a closed union of operations, and functions.

Every operation is a record. What a field is follows from its annotation and name, so
that walking, cloning, printing and verifying need no code per operation:

- ``result`` / ``results`` are the values that the operation defines;
- other fields of type ``Value``, ``Value | None`` or ``tuple[Value, ...]`` are operands;
- fields of type ``Block`` are nested blocks, executed as the class says;
- everything else is an attribute.

Integers are two's complement and wrap. A *thread* below is one CUDA thread.

What operations consist of (``values``), those on scalars (``scalar_ops``) and those on memory and
other threads (``memory_ops``) have modules of their own; this one adds control flow, and hands all
of them on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pygpulib._record import field, record
from pygpulib.jit.ir.memory_ops import (
    CTAID,
    NCTAID,
    NTID,
    TID,
    Access,
    Allocate,
    Atomic,
    AtomicKind,
    Barrier,
    BarrierKind,
    ConstantData,
    Fence,
    FenceScope,
    Load,
    PointerAdd,
    ReadRegister,
    Register,
    Store,
)
from pygpulib.jit.ir.scalar_ops import (
    Binary,
    BinaryKind,
    Bitcast,
    Call,
    CallFunction,
    Cast,
    Compare,
    CompareKind,
    Const,
    Select,
    Unary,
    UnaryKind,
    Undefined,
)
from pygpulib.jit.ir.values import (
    AddressSpace,
    Block,
    Effect,
    Operation,
    Pointer,
    Type,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pygpulib.errors import Span

__all__ = [
    "CTAID",
    "NCTAID",
    "NTID",
    "TID",
    "Access",
    "AddressSpace",
    "Allocate",
    "Atomic",
    "AtomicKind",
    "Barrier",
    "BarrierKind",
    "Binary",
    "BinaryKind",
    "Bitcast",
    "Block",
    "Break",
    "Call",
    "CallFunction",
    "Cast",
    "Compare",
    "CompareKind",
    "Const",
    "ConstantData",
    "Continue",
    "Effect",
    "ErrorEntry",
    "Fence",
    "FenceScope",
    "For",
    "Format",
    "Function",
    "If",
    "Load",
    "Loop",
    "NumericOptions",
    "Op",
    "Optional",
    "Part",
    "Pointer",
    "PointerAdd",
    "Print",
    "Raise",
    "ReadRegister",
    "Register",
    "Return",
    "Scope",
    "Select",
    "Shown",
    "Store",
    "Type",
    "Unary",
    "UnaryKind",
    "Undefined",
    "Unreachable",
    "Value",
    "Yield",
]


# -------------------------------------------------------------------------------------- control


@record
class If(Operation):
    """Run one of two blocks; a block that ends in ``Yield`` gives the results."""

    condition: Value
    then_block: Block
    else_block: Block
    results: tuple[Value, ...]


@record
class For(Operation):
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
class Loop(Operation):
    """Run ``body`` until ``Break``; ``body.params`` are the carried values."""

    inits: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]


@record
class Scope(Operation):
    """Run ``body`` once; a ``Return`` inside leaves this scope with these results.

    This is what an inlined device function becomes. ``Break`` and ``Continue`` do not cross it.
    """

    body: Block
    results: tuple[Value, ...]
    name: str = ""


@record
class Yield(Operation):
    """End a block of an ``If`` with its results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Continue(Operation):
    """Go to the next iteration of the nearest loop with these carried values."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Break(Operation):
    """Leave the nearest loop with these results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Return(Operation):
    """Leave the nearest scope, or else the function, with these results."""

    values: tuple[Value, ...]
    is_terminator: ClassVar[bool] = True


@record
class Unreachable(Operation):
    """Control never comes here (both branches of an ``If`` before it left the block)."""

    is_terminator: ClassVar[bool] = True


@record
class Raise(Operation):
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
class Print(Operation):
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
    extent of an array, say) lies between two numbers, both included. ``arrays`` gives, by the
    pointer, the number of dimensions and the bytes of an element of each array parameter; what it
    has to do with memory lies in these bounds. ``captured`` are the objects whose memory the body
    refers to by address.
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
    arrays: Mapping[Value, tuple[int, int]] = field(default_factory=dict)
    captured: tuple[object, ...] = ()
