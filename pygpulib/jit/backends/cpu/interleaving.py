"""Stores that together fill memory without gaps: pairs, parts of complex numbers, four in a row.

Each of them alone writes every second or fourth element, one lane after the other. Put in order
first, all lanes' elements are one run of memory.
"""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

_COUNTS = (4, 2)
"""How many stores may make a run, longest first; powers of two, which shuffle well."""


@record(eq=True)
class _Place:
    """An address as something unknown, and a known distance from it in bytes."""

    pointer: ir.Value
    index: ir.Value | None
    scale: int
    distance: int

    def precedes(self, other: _Place, size: int) -> bool:
        """Whether another place lies right behind an element of a size here."""
        known = (self.pointer, self.index, self.scale, self.distance + size)
        return known == (other.pointer, other.index, other.scale, other.distance)


Runs = dict[int, tuple[ir.Store, ...]]
"""The stores of a run, in the order of their addresses, by the identity of each of them."""


def find_runs(function: ir.Function) -> Runs:
    """Find stores that follow each other, in the program and in memory.

    Nothing but arithmetic lies between the stores of a run, so that all of them may as well
    happen at the last one.

    Parameters
    ----------
    function : ir.Function
        What to look through.
    """
    finder = _Finder()
    finder.look_through(function.body)
    for op in walk(function.body):
        finder.look_into(op)
    return finder.runs


class _Finder:
    """One search; definitions are collected as the program is walked over."""

    def __init__(self) -> None:
        self.runs: Runs = {}
        self.definitions: dict[ir.Value, ir.Op] = {}

    def look_into(self, op: ir.Op) -> None:
        """Look through the blocks of an operation."""
        match op:
            case ir.If():
                self.look_through(op.then_block)
                self.look_through(op.else_block)
            case ir.For() | ir.Loop() | ir.Scope():
                self.look_through(op.body)
            case _:
                pass

    def look_through(self, block: ir.Block) -> None:
        """Find the runs of one block."""
        row: list[ir.Store] = []
        for op in block.ops:
            match op:
                case ir.Store():
                    row.append(op)
                case ir.Binary(result=result) | ir.Cast(result=result) | ir.Const(result=result):
                    self.definitions[result] = op
                case ir.PointerAdd(result=result):
                    self.definitions[result] = op
                case ir.Compare() | ir.Select() | ir.Unary() | ir.Bitcast():
                    pass
                case _:
                    self._split(row)
                    row = []
        self._split(row)

    def _split(self, row: list[ir.Store]) -> None:
        """Cut stores that follow each other in the program into runs."""
        while len(row) > 1:
            count = next((count for count in _COUNTS if self._is_run(row[:count], count)), 1)
            if count > 1:
                run = tuple(row[:count])
                self.runs.update((id(op), run) for op in run)
            row = row[count:]

    def _is_run(self, row: list[ir.Store], count: int) -> bool:
        element = row[0].value.type
        if len(row) < count or not isinstance(element, DType) or element.is_bool:
            return False
        if any(op.value.type != element for op in row):
            return False
        places = [self._place(op) for op in row]
        size = element.size_bytes
        return all(map(_Place.precedes, places, places[1:], [size] * (count - 1)))

    def _place(self, op: ir.Store) -> _Place:
        pointer, distance = self._base(op.pointer)
        index, factor, offset = self._index(op.index)
        return _Place(pointer, index, factor * op.scale, distance + offset * op.scale)

    def _base(self, pointer: ir.Value) -> tuple[ir.Value, int]:
        distance = 0
        while isinstance(op := self.definitions.get(pointer), ir.PointerAdd):
            step = self._constant(op.index)
            if step is None:
                break
            pointer, distance = op.pointer, distance + step * op.scale
        return pointer, distance

    def _index(self, index: ir.Value) -> tuple[ir.Value | None, int, int]:
        """Return an index as a multiple of something unknown, if anything, and a known number."""
        factor, offset = 1, 0
        while _is_wide(index):
            match self.definitions.get(index):
                case ir.Binary() as op:
                    operand, known = self._operands(op)
                    if known is None:
                        break
                    if op.kind is ir.BinaryKind.ADD:
                        offset += factor * known
                    else:
                        factor *= known
                    index = operand
                case ir.Cast(operand) if _is_wide(operand):
                    index = operand
                case ir.Const(value=int() as value):
                    return None, 0, offset + factor * value
                case _:
                    break
        return index, factor, offset

    def _operands(self, op: ir.Binary) -> tuple[ir.Value, int | None]:
        """Return what a sum or product has of unknown and known, if that can be told apart."""
        left, right = self._constant(op.left), self._constant(op.right)
        match op.kind:
            case ir.BinaryKind.ADD | ir.BinaryKind.MULTIPLY:
                return (op.left, right) if left is None else (op.right, left)
            case ir.BinaryKind.SHIFT_LEFT if right is not None and 0 <= right < 64:
                return op.left, 1 << right
            case _:
                return op.left, None

    def _constant(self, value: ir.Value) -> int | None:
        op = self.definitions.get(value)
        if isinstance(op, ir.Const) and isinstance(op.value, int):
            return int(op.value)
        return None


def _is_wide(value: ir.Value) -> bool:
    """Return whether sums of a type wrap around as addresses do."""
    return isinstance(value.type, DType) and value.type.is_integer and value.type.bits == 64
