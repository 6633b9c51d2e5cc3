"""How integers flow from operation to operation.

An operation is *transparent* if the low bits of its result depend on nothing but the low bits of
its operands: addition, bit logic, selections, and everything that only passes a value on, through
branches, loops and scopes. All of it is found in one walk.
"""

from __future__ import annotations

from collections.abc import Iterable

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, operands_of
from pygpulib.jit.passes.find_ranges import Ranges

RING = frozenset(
    {
        ir.BinaryKind.ADD,
        ir.BinaryKind.SUBTRACT,
        ir.BinaryKind.MULTIPLY,
        ir.BinaryKind.AND,
        ir.BinaryKind.OR,
        ir.BinaryKind.XOR,
    }
)
"""The transparent operations on two operands."""

_AFFINE = frozenset(
    {
        ir.BinaryKind.ADD,
        ir.BinaryKind.SUBTRACT,
        ir.BinaryKind.MULTIPLY,
        ir.BinaryKind.SHIFT_LEFT,
    }
)

_ALL_BITS = 64


def is_integer(value: ir.Value) -> bool:
    """Whether a value is an integer (truth values are not)."""
    return isinstance(value.type, DType) and value.type.is_integer


def integer_type(value: ir.Value) -> DType:
    """Return the type of an integer."""
    assert isinstance(value.type, DType)
    return value.type


@record(frozen=False)
class IntegerFlow:
    """The flow of integers in a function.

    Attributes
    ----------
    definitions : dict
        The operation that defines a value; parameters have none.
    sources : dict
        By result of a transparent operation: its operands, and how many low bits of each count.
        For a parameter or result of a block: what is passed to it.
    twins : dict
        A carried value of a ``For`` and its result, each by the other: they have one type.
    used : set
        Values of which some operation needs all bits.
    indices : set
        Values that are an index of a memory access, or a bound of a loop.
    steady : set
        Values made of constants, parameters, special registers and induction variables by
        addition, multiplication and casts: they are numbers per thread, not data.
    """

    definitions: dict[ir.Value, ir.Op] = field(default_factory=dict)
    sources: dict[ir.Value, list[tuple[ir.Value, int]]] = field(default_factory=dict)
    twins: dict[ir.Value, ir.Value] = field(default_factory=dict)
    used: set[ir.Value] = field(default_factory=set)
    indices: set[ir.Value] = field(default_factory=set)
    steady: set[ir.Value] = field(default_factory=set)

    def demanded_bits(self) -> dict[ir.Value, int]:
        """Return how many low bits of each value matter; values without an entry do not."""
        demand: dict[ir.Value, int] = {}
        pending = [(value, _ALL_BITS) for value in self.used]
        while pending:
            value, bits = pending.pop()
            if demand.get(value, 0) >= bits:
                continue
            demand[value] = bits
            for source, cap in self.sources.get(value, ()):
                passed = min(bits, cap)
                if demand.get(source, 0) < passed:
                    pending.append((source, passed))
        return demand

    def find_addresses(self) -> set[ir.Value]:
        """Return the indices and all integers that one is computed from."""
        found: set[ir.Value] = set()
        pending = list(self.indices)
        while pending:
            value = pending.pop()
            if value in found:
                continue
            found.add(value)
            definition = self.definitions.get(value)
            if isinstance(definition, ir.Binary | ir.Unary):
                pending.extend(operands_of(definition))
            else:
                pending.extend(source for source, _ in self.sources.get(value, ()))
        return found


def find_integer_flow(function: ir.Function, ranges: Ranges) -> IntegerFlow:
    """Find how integers flow in a function.

    Parameters
    ----------
    function : ir.Function
        What to analyse.
    ranges : Ranges
        Its intervals; they tell the constants.

    Returns
    -------
    IntegerFlow
        The flow.
    """
    walker = _Walker(ranges)
    walker.flow.steady.update(filter(is_integer, function.params))
    walker.walk(function.body, Targets())
    return walker.flow


@record(eq=True)
class Targets:
    """What the terminators at a point of the program pass their values to.

    Attributes
    ----------
    yielded : tuple of Value
        Results of the nearest ``If``.
    carried, broken : tuple of Value
        Carried parameters and results of the nearest loop.
    returned : tuple of Value or None
        Results of the nearest scope; None for the function.
    """

    yielded: tuple[ir.Value, ...] = ()
    carried: tuple[ir.Value, ...] = ()
    broken: tuple[ir.Value, ...] = ()
    returned: tuple[ir.Value, ...] | None = None

    def inside(self, op: ir.If | ir.For | ir.Loop | ir.Scope) -> Targets:
        """Return the targets in the blocks of an operation."""
        match op:
            case ir.If():
                return Targets(op.results, self.carried, self.broken, self.returned)
            case ir.For():
                return Targets((), op.body.params[1:], op.results, self.returned)
            case ir.Loop():
                return Targets((), op.body.params, op.results, self.returned)
            case ir.Scope():
                return Targets(returned=op.results)

    def of(self, op: ir.Yield | ir.Continue | ir.Break | ir.Return) -> tuple[ir.Value, ...] | None:
        """Return what a terminator passes its values to; None for the function's caller."""
        match op:
            case ir.Yield():
                return self.yielded
            case ir.Continue():
                return self.carried
            case ir.Break():
                return self.broken
            case ir.Return():
                return self.returned


class _Walker:
    """The walk that fills a flow."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.flow = IntegerFlow()

    def walk(self, block: ir.Block, targets: Targets) -> None:
        """Add the operations of a block."""
        for op in block.ops:
            match op:
                case ir.Binary() | ir.Unary() | ir.Cast() | ir.Select() | ir.Compare():
                    self._compute(op)
                case ir.Const(result):
                    self.flow.definitions[result] = op
                    self.flow.steady.add(result)
                case ir.ReadRegister(_, result):
                    self.flow.steady.add(result)
                case ir.Load() | ir.Store() | ir.Atomic() | ir.PointerAdd():
                    self.flow.indices.add(op.index)
                    self.flow.used.update(operands_of(op))
                case ir.Yield() | ir.Continue() | ir.Break() | ir.Return():
                    self._leave(op, targets)
                case ir.If() | ir.For() | ir.Loop() | ir.Scope():
                    self._enter(op, targets)
                case _:
                    self.flow.used.update(operands_of(op))

    def _enter(self, op: ir.If | ir.For | ir.Loop | ir.Scope, targets: Targets) -> None:
        for result in op.results:
            self.flow.definitions[result] = op
        inner = targets.inside(op)
        match op:
            case ir.If():
                self.flow.used.add(op.condition)
            case ir.Loop():
                self._pass(op.inits, inner.carried)
            case ir.For():
                bounds = (op.start, op.stop, op.step)
                self.flow.indices.update(bounds)
                self.flow.used.update(bounds)
                self.flow.steady.add(op.body.params[0])
                self._pass(op.inits, inner.carried)
                self.flow.twins.update(zip(inner.carried, op.results, strict=True))
                self.flow.twins.update(zip(op.results, inner.carried, strict=True))
                self._pass(inner.carried, op.results)
                self._pass(op.results, inner.carried)
            case ir.Scope():
                pass
        for block in blocks_of(op):
            self.walk(block, inner)

    def _leave(self, op: ir.Yield | ir.Continue | ir.Break | ir.Return, targets: Targets) -> None:
        reached = targets.of(op)
        if reached is None:
            self.flow.used.update(op.values)
        else:
            self._pass(op.values, reached)

    def _pass(self, values: Iterable[ir.Value], targets: Iterable[ir.Value]) -> None:
        sources = self.flow.sources
        for value, target in zip(values, targets, strict=True):
            if is_integer(target):
                sources.setdefault(target, []).append((value, _ALL_BITS))

    def _compute(self, op: ir.Binary | ir.Unary | ir.Cast | ir.Select | ir.Compare) -> None:
        result = op.result
        self.flow.definitions[result] = op
        if not is_integer(result):
            self.flow.used.update(operands_of(op))
            return
        sources = self._sources(op)
        if sources is None:
            self.flow.used.update(operands_of(op))
            return
        self.flow.sources[result] = sources
        is_affine = isinstance(op, ir.Cast | ir.Unary) or (
            isinstance(op, ir.Binary) and op.kind in _AFFINE
        )
        if is_affine and all(value in self.flow.steady for value in operands_of(op)):
            self.flow.steady.add(result)

    def _sources(
        self, op: ir.Binary | ir.Unary | ir.Cast | ir.Select | ir.Compare
    ) -> list[tuple[ir.Value, int]] | None:
        """Return the operands whose low bits decide the result's; None if it takes more."""
        match op:
            case ir.Binary(kind, left, right) if kind in RING:
                return [(left, self._mask(kind, right)), (right, self._mask(kind, left))]
            case ir.Binary(ir.BinaryKind.SHIFT_LEFT, left, right) if self._is_count(right):
                return [(left, _ALL_BITS)]
            case ir.Unary(ir.UnaryKind.NEGATE | ir.UnaryKind.NOT, operand):
                return [(operand, _ALL_BITS)]
            case ir.Cast(operand, result) if is_integer(operand):
                return [(operand, integer_type(result).bits)]
            case ir.Select(condition, if_true, if_false):
                self.flow.used.add(condition)
                return [(if_true, _ALL_BITS), (if_false, _ALL_BITS)]
            case _:
                return None

    def _mask(self, kind: ir.BinaryKind, other: ir.Value) -> int:
        """Return how many low bits of one operand can reach the result, given the other."""
        if kind is not ir.BinaryKind.AND:
            return _ALL_BITS
        mask = self.ranges[other].single
        return _ALL_BITS if mask is None or mask < 0 else mask.bit_length()

    def _is_count(self, value: ir.Value) -> bool:
        count = self.ranges[value].single
        return count is not None and 0 <= count < _ALL_BITS
