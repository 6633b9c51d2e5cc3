"""What the interpreter keeps while it runs some blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelFault
from pygpulib.jit.backends.interp.memory import GARBAGE, Addresses, Mask, Memory
from pygpulib.jit.intrinsics.warp import WARP_SIZE
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.printer import format_op

Array = NDArray[Any]
"""One value per lane."""

Size = tuple[int, int, int]


@record(eq=True)
class Fault:
    """The first exception that a kernel raised.

    Attributes
    ----------
    code : int
        Number of the entry in the kernel's error table.
    block, thread : tuple of int
        Who raised it.
    details : tuple
        The operands of the operation.
    """

    code: int
    block: Size
    thread: Size
    details: tuple[bool | int | float, ...]


@record(frozen=False)
class Outcome:
    """What a launch leaves besides the memory that it wrote.

    Attributes
    ----------
    printed : list of str
        The texts, line ends included, in the order in which they were written.
    fault : Fault or None
        The first exception.
    """

    printed: list[str] = field(default_factory=list)
    fault: Fault | None = None


@dataclass(frozen=True)
class Lanes:
    """The threads of consecutive blocks, in their linear order: x runs fastest, blocks slowest.

    Attributes
    ----------
    grid, block : tuple of int
        The launch's sizes.
    first_block, blocks : int
        Which blocks are here.
    """

    grid: Size
    block: Size
    first_block: int
    blocks: int

    @cached_property
    def threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @cached_property
    def count(self) -> int:
        """How many lanes there are."""
        return self.blocks * self.threads

    @cached_property
    def block_slots(self) -> NDArray[np.int64]:
        """Per lane, the position of its block among those here."""
        return np.repeat(np.arange(self.blocks), self.threads)

    @cached_property
    def thread_numbers(self) -> NDArray[np.int64]:
        """Per lane, its linear number in its block."""
        return np.tile(np.arange(self.threads), self.blocks)

    @cached_property
    def warps(self) -> list[slice]:
        """The lanes of each warp."""
        return [
            slice(start + first, start + min(first + WARP_SIZE, self.threads))
            for start in range(0, self.count, self.threads)
            for first in range(0, self.threads, WARP_SIZE)
        ]

    def read(self, register: ir.Register) -> NDArray[np.int32]:
        """Return a register that says where a thread is, per lane."""
        if register is ir.Register.LANEID:
            return (self.thread_numbers % WARP_SIZE).astype(np.int32)
        if register is ir.Register.WARPSIZE:
            return np.full(self.count, WARP_SIZE, np.int32)
        name, axis_name = register.value.split(".")
        axis = "xyz".index(axis_name)
        match name:
            case "tid":
                values = _coordinate(self.thread_numbers, self.block, axis)
            case "ctaid":
                values = _coordinate(self.first_block + self.block_slots, self.grid, axis)
            case _:
                extent = (self.block if name == "ntid" else self.grid)[axis]
                values = np.full(self.count, extent, np.int64)
        return values.astype(np.int32)

    def place(self, lane: int) -> tuple[Size, Size]:
        """Return the block index and the thread index of a lane."""
        block, thread = divmod(lane, self.threads)
        return (_index(self.first_block + block, self.grid), _index(thread, self.block))


def _coordinate(numbers: NDArray[np.int64], size: Size, axis: int) -> NDArray[np.int64]:
    below = (1, size[0], size[0] * size[1])[axis]
    return numbers // below % size[axis]


def _index(number: int, size: Size) -> Size:
    return (
        number % size[0],
        number // size[0] % size[1],
        number // (size[0] * size[1]),
    )


@record(frozen=False)
class State:
    """What all functions of a kernel share.

    Attributes
    ----------
    lanes : Lanes
        The threads.
    memory : Memory
        All that they can reach.
    alive : ndarray of bool
        The lanes that have neither returned from the kernel nor raised.
    dynamic_shared_bytes : int
        Size of the launch's dynamic shared memory.
    max_iterations : int
        Iterations after which a loop is taken to be endless.
    outcome : Outcome
        Where lines and faults go.
    shared : dict
        Addresses of shared memory and of constant data, by the operation's identity.
    """

    lanes: Lanes
    memory: Memory
    alive: Mask
    dynamic_shared_bytes: int
    max_iterations: int
    outcome: Outcome
    shared: dict[object, Addresses] = field(default_factory=dict)

    def read(self, register: ir.Register) -> NDArray[np.int32]:
        """Return a special register, per lane."""
        if register is ir.Register.DYNAMIC_SHARED_BYTES:
            return np.full(self.lanes.count, self.dynamic_shared_bytes, np.int32)
        return self.lanes.read(register)

    def fault(self, op: ir.Op, lane: int, problem: str) -> KernelFault:
        """Return a fault that names the source line, the thread and the operation."""
        block, thread = self.lanes.place(lane)
        where = f"{op.span}: " if op.span else ""
        return KernelFault(
            f"{where}{problem}",
            detail=f"in thread {thread} of block {block}, at the operation: {format_op(op)}",
        )


@record(frozen=False)
class Frame:
    """One activation of a function.

    Attributes
    ----------
    values : dict
        What each IR value is in every lane (an address for a pointer).
    local : dict
        The addresses of local memory, by allocation.
    """

    values: dict[ir.Value, Array]
    local: dict[ir.Allocate, Addresses] = field(default_factory=dict)

    def read(self, values: tuple[ir.Value, ...]) -> list[Array]:
        """Return what some values are."""
        return [self.values[value] for value in values]


def numpy_type(type_: ir.Type) -> np.dtype[Any]:
    """Return what a lane holds of a type: addresses are int64."""
    return type_.numpy if isinstance(type_, DType) else np.dtype(np.int64)


def garbage(type_: ir.Type, count: int) -> Array:
    """Return values that nobody may depend on, chosen to be noticed."""
    dtype = numpy_type(type_)
    if dtype.kind == "b":
        return np.asarray(np.arange(count) % 2 == 0)
    return np.full(count * dtype.itemsize, GARBAGE, np.uint8).view(dtype)
