"""What back ends tell about the kernels that they compiled."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.errors import counted

if TYPE_CHECKING:
    from pygpulib.errors import Span


@record(eq=True)
class Resources:
    """What a kernel takes.

    Attributes
    ----------
    registers_per_thread : int
        0 where registers do not belong to threads.
    constant_bytes, shared_bytes, local_bytes : int
        Bytes of constant arrays, of a block's shared arrays without the launch's own, and of a
        thread's local arrays.
    max_threads_per_block : int
        Largest block.
    """

    registers_per_thread: int
    constant_bytes: int
    shared_bytes: int
    local_bytes: int
    max_threads_per_block: int


class AccessKind(Enum):
    """Which elements the threads that run together access."""

    UNIFORM = "the same element in all lanes"
    CONTIGUOUS = "contiguous"
    REVERSED = "contiguous, backwards"
    STRIDED = "strided"
    SCATTERED = "scattered"


@record(eq=True)
class MemoryAccess:
    """A place in a kernel that accesses memory.

    Attributes
    ----------
    action : str
        ``"load"``, ``"store"`` or ``"atomic"``.
    array : str
        The user's name for the array; may be empty.
    dtype : str
        Type of the element.
    kind : AccessKind
        Which elements neighbouring threads access.
    stride_bytes : int or None
        Distance between the elements of neighbouring threads, where it is known and constant.
    span : Span or None
        Where in the source.
    """

    action: str
    array: str
    dtype: str
    kind: AccessKind
    stride_bytes: int | None
    span: Span | None

    def __str__(self) -> str:
        name = f"{self.action} {self.array}".rstrip()
        stride = f", {self.stride_bytes} bytes apart" if self.kind is AccessKind.STRIDED else ""
        return f"{name}: {self.dtype}, {self.kind.value}{stride}"


@record(eq=True)
class LoopFinding:
    """A loop; a divergent one runs until the last of its lanes is done."""

    is_divergent: bool
    span: Span | None

    def __str__(self) -> str:
        if self.is_divergent:
            return "loop: divergent, lanes leave it at different times"
        return "loop: all lanes take the same iterations"


@record(eq=True)
class LaneCall:
    """A function that is called for one thread after the other."""

    name: str
    symbol: str
    span: Span | None

    def __str__(self) -> str:
        return f"{self.name}: calls {self.symbol} once per thread"


@record(eq=True)
class JoinedAccesses:
    """How neighbours in memory are accessed where arguments decide whether this can be at once.

    Attributes
    ----------
    loads, stores : int
        How many instructions access several elements.
    alignment : int
        What launches that run this code have arguments aligned to, in bytes; 1 for all others.
    are_apart : bool
        Whether they have arrays that do not overlap.
    span : None
        It holds for the whole kernel.
    """

    loads: int
    stores: int
    alignment: int
    are_apart: bool
    span: Span | None = None

    def __str__(self) -> str:
        counts = {"load": self.loads, "store": self.stores}
        parts = [counted(number, what) for what, number in counts.items() if number]
        how = f"{' and '.join(parts)} of several elements" if parts else "accessed one by one"
        rest = " and arrays that do not overlap" if self.are_apart else ""
        whose = (
            f"aligned to {self.alignment} bytes" if self.alignment > 1 else "that are not aligned"
        )
        return f"neighbours: {how}, with arguments {whose}{rest}"


Finding = MemoryAccess | LoopFinding | LaneCall | JoinedAccesses


@record(eq=True)
class Layout:
    """How blocks of one shape run.

    Attributes
    ----------
    block : tuple of int
        The shape.
    lanes : int
        How many threads run as one vector.
    axis : str
        Along which axis of the block, or ``"warp"`` for the order of the threads' numbers.
    is_full : bool
        Whether the block is a whole number of such vectors.
    was_cached : bool or None
        Whether the machine code was found on disk; None if it was not looked for, or has not been
        needed yet.
    findings : tuple of MemoryAccess, LoopFinding, LaneCall or JoinedAccesses
        What deserves attention, in the order of the program.
    """

    block: tuple[int, int, int]
    lanes: int
    axis: str
    is_full: bool
    was_cached: bool | None
    findings: tuple[Finding, ...]

    @property
    def accesses(self) -> list[MemoryAccess]:
        """The accesses to memory."""
        return [each for each in self.findings if isinstance(each, MemoryAccess)]

    @property
    def loops(self) -> list[LoopFinding]:
        """The loops."""
        return [each for each in self.findings if isinstance(each, LoopFinding)]

    @property
    def lane_calls(self) -> list[LaneCall]:
        """The functions that are called for each thread."""
        return [each for each in self.findings if isinstance(each, LaneCall)]
