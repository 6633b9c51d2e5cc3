"""Operations on memory and other threads: where a thread is, barriers, memory, atomics."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from pygpulib._record import record
from pygpulib.jit.ir.values import AddressSpace, Effect, Operation, Value

if TYPE_CHECKING:
    import numpy as np

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
class ReadRegister(Operation):
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
class Barrier(Operation):
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
class Fence(Operation):
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
class PointerAdd(Operation):
    """``pointer + index * scale`` bytes; index is int64, scale a positive constant."""

    pointer: Value
    index: Value
    scale: int
    result: Value


@record
class Load(Operation):
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
class Store(Operation):
    """Write ``value`` at ``pointer + index * scale`` bytes."""

    pointer: Value
    index: Value
    value: Value
    scale: int
    access: Access | None = None
    effect: ClassVar[Effect] = Effect.WRITE


@record
class ConstantData(Operation):
    """The address of a C-contiguous array frozen into the program."""

    data: np.ndarray[Any, Any]
    result: Value


@record
class Allocate(Operation):
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
class Atomic(Operation):
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
