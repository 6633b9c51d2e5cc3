"""The loops around a gang's program: over blocks, over the rows of a block, along a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuVariant
    from pygpulib.jit.backends.llvm.text import Code

# Words of the argument block, besides the grid (0-2) and the block (3-5).
RECORD_WORD, DYNAMIC_WORD = 6, 7

Coordinates = tuple[str, str, str]
"""Registers (i64) of a position along x, y and z."""


def number_of(code: Code, position: Coordinates, extents: Coordinates) -> str:
    """Write the number of a position in a box: x counts first, then y, then z."""
    row = code.emit(f"mul i64 {position[2]}, {extents[1]}")
    row = code.emit(f"add i64 {row}, {position[1]}")
    before = code.emit(f"mul i64 {row}, {extents[0]}")
    return code.emit(f"add i64 {before}, {position[0]}")


class Walk:
    """The order in which a function runs the threads of a launch.

    Attributes
    ----------
    grid, block : tuple of str
        Registers of the launch's sizes.
    """

    def __init__(self, code: Code, variant: CpuVariant) -> None:
        self.code = code
        self.variant = variant
        words = [self.word(position, "i64") for position in range(6)]
        self.grid: Coordinates = (words[0], words[1], words[2])
        self.block: Coordinates = (words[3], words[4], words[5])

    def word(self, position: int, type_: str) -> str:
        """Read a word of the launch."""
        address = self.code.emit(f"getelementptr i64, ptr %words, i64 {position}")
        return self.code.load(address, type_)

    def registers(self) -> dict[ir.Register, str]:
        """Write the special registers that are the same in the whole launch."""
        sizes = zip((*ir.NCTAID, *ir.NTID), (*self.grid, *self.block), strict=True)
        found = {register: self.code.emit(f"trunc i64 {size} to i32") for register, size in sizes}
        found[ir.Register.DYNAMIC_SHARED_BYTES] = self.word(DYNAMIC_WORD, "i32")
        return found

    def count_gangs(self) -> str:
        """Write the number of gangs of a block."""
        code, axis, width = self.code, self.variant.axis, self.variant.width
        if axis == LINEAR_AXIS:
            raised = code.emit(f"add i64 {self.count_threads()}, {width - 1}")
            return code.emit(f"udiv i64 {raised}, {width}")
        raised = code.emit(f"add i64 {self.block[axis]}, {width - 1}")
        count = code.emit(f"udiv i64 {raised}, {width}")
        for other in range(3):
            if other != axis:
                count = code.emit(f"mul i64 {count}, {self.block[other]}")
        return count

    def count_threads(self) -> str:
        """Write the number of threads of a block."""
        x, y, z = self.block
        return self.code.emit(f"mul i64 {self.code.emit(f'mul i64 {x}, {y}')}, {z}")

    def each_block(self, body: Callable[[Coordinates], None]) -> None:
        """Write the loop over the blocks from ``%first`` to ``%end``, or until it is to stop."""
        code = self.code
        number = code.slot("i64")
        code.store(number, "i64", "%first")
        slots = self._first_block()
        labels = ("blocks", "block", "following", "finished")
        head, work, following, done = map(code.new_label, labels)
        code.branch(head)
        code.label(head)
        here = code.load(number, "i64")
        code.branch_if(code.emit(f"icmp slt i64 {here}, %end"), work, done)
        code.label(work)
        x, y, z = (code.load(slot, "i64") for slot in slots)
        body((x, y, z))
        stopped = code.emit("load atomic i64, ptr %stop monotonic, align 8")
        code.branch_if(code.emit(f"icmp eq i64 {stopped}, 0"), following, done)
        code.label(following)
        code.store(number, "i64", code.emit(f"add i64 {here}, 1"))
        self._next_block(slots)
        code.branch(head)
        code.label(done)

    def _first_block(self) -> list[str]:
        """Write the coordinates of the first block; return their stack slots."""
        code, (grid_x, grid_y, _) = self.code, self.grid
        row = code.emit(f"udiv i64 %first, {grid_x}")
        values = (
            code.emit(f"urem i64 %first, {grid_x}"),
            code.emit(f"urem i64 {row}, {grid_y}"),
            code.emit(f"udiv i64 {row}, {grid_y}"),
        )
        slots = [code.slot("i64") for _ in values]
        for slot, value in zip(slots, values, strict=True):
            code.store(slot, "i64", value)
        return slots

    def _next_block(self, slots: list[str]) -> None:
        """Write the step to the next block, with carries instead of divisions."""
        code = self.code
        carry = "1"
        for slot, extent in zip(slots, self.grid, strict=True):
            raised = code.emit(f"add i64 {code.load(slot, 'i64')}, {carry}")
            wraps = code.emit(f"icmp eq i64 {raised}, {extent}")
            code.store(slot, "i64", code.emit(f"select i1 {wraps}, i64 0, i64 {raised}"))
            carry = code.emit(f"zext i1 {wraps} to i64")

    def each_gang(self, body: Callable[[Coordinates], None]) -> None:
        """Write the loops over the gangs of a block; ``body`` gets the first thread of each."""
        if self.variant.axis == LINEAR_AXIS:
            # The first thread is given by its number.
            total = self.count_threads()
            self._count(total, self.variant.width, lambda number: body((number, "0", "0")))
            return
        axes = [axis for axis in (2, 1, 0) if axis != self.variant.axis] + [self.variant.axis]
        self._along(axes, {}, body)

    def _along(
        self, axes: list[int], here: dict[int, str], body: Callable[[Coordinates], None]
    ) -> None:
        if not axes:
            body((here[0], here[1], here[2]))
            return
        axis = axes[0]
        step = self.variant.width if axis == self.variant.axis else 1
        self._count(
            self.block[axis],
            step,
            lambda position: self._along(axes[1:], {**here, axis: position}, body),
        )

    def _count(self, end: str, step: int, body: Callable[[str], None]) -> None:
        """Write a loop from 0 to ``end``."""
        code = self.code
        slot = code.slot("i64")
        code.store(slot, "i64", "0")
        head, work, done = (code.new_label(text) for text in ("threads", "row", "rows"))
        code.branch(head)
        code.label(head)
        position = code.load(slot, "i64")
        code.branch_if(code.emit(f"icmp slt i64 {position}, {end}"), work, done)
        code.label(work)
        body(position)
        code.store(slot, "i64", code.emit(f"add i64 {position}, {step}"))
        code.branch(head)
        code.label(done)
