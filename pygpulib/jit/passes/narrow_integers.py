"""Compute with 64-bit integers only where 64 bits are needed.

Integer arithmetic of the language has at least 64 bits; on the CPU that doubles the registers of
every vector of integers, or worse. Two facts allow a narrower type:

- *Low bits.* A value of which users want only the low 8, 16 or 32 bits (it is stored in a narrow
  array, say) is computed in such a type as far back as only low bits flow: through arithmetic
  modulo a power of two, selections, branches, loops and scopes.
- *Range.* A value that is known to fit in 32 bits can be computed in 32 bits if its operands are at
  hand in 32 bits, and so can a comparison of two such values.

What stays 64 bits wide, on purpose, is *steady*: values made of parameters, special registers and
induction variables by addition and multiplication. The CPU keeps them in scalar registers, as a
base and a stride per lane, where width costs nothing, and the analysis of addresses relies on
their form. For the same reason ranges narrow nothing that becomes part of an address.
"""

from __future__ import annotations

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.find_ranges import Ranges, find_ranges
from pygpulib.jit.passes.fold_ranges import fold_ranges
from pygpulib.jit.passes.integer_flow import (
    IntegerFlow,
    find_integer_flow,
    integer_type,
    is_integer,
)
from pygpulib.jit.passes.intervals import range_of_type
from pygpulib.jit.passes.retype_integers import retype_integers

_SIGNED = {8: dtypes.int8, 16: dtypes.int16, 32: dtypes.int32}
_UNSIGNED = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32}

_EXACT = frozenset(
    {
        ir.BinaryKind.FLOOR_DIVIDE,
        ir.BinaryKind.MODULO,
        ir.BinaryKind.REMAINDER,
        ir.BinaryKind.MINIMUM,
        ir.BinaryKind.MAXIMUM,
        ir.BinaryKind.SHIFT_LEFT,
        ir.BinaryKind.SHIFT_RIGHT,
    }
)


def narrow_integers(function: ir.Function) -> ir.Function:
    """Simplify and narrow integers by their ranges and by the bits that matter.

    Parameters
    ----------
    function : ir.Function
        Any function.

    Returns
    -------
    ir.Function
        Computes the same. Operations that lost their last use stay, and casts are not shared.
    """
    ranges = find_ranges(function)
    folded = fold_ranges(function, ranges)
    flow = find_integer_flow(folded, ranges)
    return retype_integers(folded, _Choice(flow, ranges).choose(), flow, ranges)


def narrow_type(dtype: DType, bits: int) -> DType:
    """Return the narrowest integer type of the same sign with at least so many bits."""
    family = _SIGNED if dtype.is_signed else _UNSIGNED
    for width in (8, 16, 32):
        if bits <= width < dtype.bits:
            return family[width]
    return dtype


class _Choice:
    """Chooses a narrower type for values.

    Attributes
    ----------
    types : dict
        The choice so far.
    allowed : dict
        How many operands of a chosen operation may cost a cast: 64-bit values that are not steady
        and cannot be had in a narrow type. If only low bits matter, one cast before an operation
        is as good as one behind it; where such values merge, narrow ones save moves under a mask,
        so that any number of casts pays. A value chosen for its range may have wide uses that
        need a cast as well.
    """

    def __init__(self, flow: IntegerFlow, ranges: Ranges) -> None:
        self.flow = flow
        self.ranges = ranges
        self.types: dict[ir.Value, DType] = {}
        self.allowed: dict[ir.Value, int] = {}

    def choose(self) -> dict[ir.Value, DType]:
        """Return the type of each value that is to be computed in a narrower one."""
        self._choose_by_demand()
        self._choose_by_range()
        self._withdraw()
        return self.types

    def _choose_by_demand(self) -> None:
        flow = self.flow
        for value, bits in flow.demanded_bits().items():
            if value not in flow.sources or value in flow.steady:
                continue
            dtype = integer_type(value)
            narrow = narrow_type(dtype, bits)
            definition = flow.definitions.get(value)
            if narrow is not dtype and not isinstance(definition, ir.Cast):
                self.types[value] = narrow
                is_merge = not isinstance(definition, ir.Binary | ir.Unary)
                self.allowed[value] = len(flow.sources[value]) if is_merge else 1

    def _choose_by_range(self) -> None:
        flow = self.flow
        excluded = flow.find_addresses() | flow.steady
        for value, op in flow.definitions.items():
            if isinstance(op, ir.Binary) and op.kind in _EXACT:
                self._choose_exact(value, (op.left, op.right), excluded)
            elif isinstance(op, ir.Unary) and op.kind is ir.UnaryKind.ABSOLUTE:
                self._choose_exact(value, (op.operand,), excluded)
        for value in flow.sources:
            is_cast = isinstance(flow.definitions.get(value), ir.Cast)
            if not is_cast and self._is_candidate(value, excluded):
                self.types[value] = narrow_type(integer_type(value), 32)
                self.allowed[value] = 0

    def _choose_exact(
        self, value: ir.Value, operands: tuple[ir.Value, ...], excluded: set[ir.Value]
    ) -> None:
        """Choose for an operation whose operands have to fit as well as the result."""
        if self._is_candidate(value, excluded) and all(map(self._fits, operands)):
            self.types[value] = narrow_type(integer_type(value), 32)
            self.allowed[value] = 0

    def _is_candidate(self, value: ir.Value, excluded: set[ir.Value]) -> bool:
        return value not in excluded and value not in self.types and self._fits(value)

    def _fits(self, value: ir.Value) -> bool:
        """Whether a value is a 64-bit integer that always fits in 32 bits."""
        if not is_integer(value) or integer_type(value).bits != 64:
            return False
        whole = range_of_type(narrow_type(integer_type(value), 32))
        return whole is not None and self.ranges[value].is_inside(whole)

    def _withdraw(self) -> None:
        """Take back what costs more casts than it is worth, until that has no consequences."""
        changed = True
        while changed:
            changed = False
            for value in list(self.types):
                twin = self.flow.twins.get(value, value)
                costs = sum(map(self._costs_cast, set(self._operands(value))))
                if costs > self.allowed[value] or twin not in self.types:
                    del self.types[value]
                    changed = True

    def _operands(self, value: ir.Value) -> tuple[ir.Value, ...]:
        match self.flow.definitions.get(value):
            case ir.Binary(_, left, right):
                return (left, right)
            case ir.Unary(_, operand):
                return (operand,)
            case _:
                return tuple(source for source, _ in self.flow.sources[value])

    def _costs_cast(self, value: ir.Value) -> bool:
        """Whether it takes work at run time to have the low bits of a value in a narrow type."""
        while True:
            if value in self.types or value in self.flow.steady or not is_integer(value):
                return False
            if integer_type(value).bits <= 32 or self.ranges[value].single is not None:
                return False
            definition = self.flow.definitions.get(value)
            if not isinstance(definition, ir.Cast):
                return True
            if not is_integer(definition.operand):
                return not range_of_type(definition.operand.type)
            value = definition.operand
