"""What operations consist of: values and their types, effects, blocks."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, ClassVar

from pygpulib._record import record
from pygpulib.core.dtypes import DType

if TYPE_CHECKING:
    from pygpulib.errors import Span
    from pygpulib.jit.ir.ops import Op


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
class Operation:
    """What all operations have."""

    span: Span | None = None

    effect: ClassVar[Effect] = Effect.NONE
    is_terminator: ClassVar[bool] = False
