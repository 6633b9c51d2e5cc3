"""Which operations and values the effects of a program depend on."""

from __future__ import annotations

from collections import defaultdict

from pygpulib._record import field, record
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, operands_of, results_of

Region = ir.If | ir.For | ir.Loop | ir.Scope
Exit = ir.Yield | ir.Continue | ir.Break | ir.Return


@record(eq=True)
class Liveness:
    """What has to stay.

    Attributes
    ----------
    ops : set of Op
        Live operations; terminators are not listed, they stay with their blocks.
    values : set of Value
        Live values.
    """

    ops: set[ir.Op] = field(default_factory=set)
    values: set[ir.Value] = field(default_factory=set)

    def is_kept(self, value: ir.Value) -> bool:
        """Return whether a value is live."""
        return value in self.values


def find_live(body: ir.Block) -> Liveness:
    """Find what the effects of a function and its results depend on.

    Parameters
    ----------
    body : Block
        The body of the function; control passes the end of every construct in it.

    Returns
    -------
    Liveness
        Loops that may be endless count as effects.
    """
    marker = _Marker()
    marker.index(body, None, _Targets())
    marker.mark()
    return marker.live


@record(eq=True)
class _Targets:
    """The construct that each terminator belongs to; None is the function."""

    yield_: ir.If | None = None
    loop: ir.For | ir.Loop | None = None
    scope: ir.Scope | None = None


class _Marker:
    def __init__(self) -> None:
        self.live = Liveness()
        self._owners: dict[ir.Op, Region | None] = {}
        self._definitions: dict[ir.Value, tuple[ir.Op, int]] = {}
        self._params: dict[ir.Value, tuple[ir.For | ir.Loop, int]] = {}
        self._exits: dict[Region, list[Exit]] = defaultdict(list)
        self._roots: list[ir.Op] = []
        self._waiting: list[ir.Value] = []

    # ------------------------------------------------------------------------------------ index

    def index(self, block: ir.Block, owner: Region | None, targets: _Targets) -> None:
        """Note where everything in a block stands and where it is defined."""
        for op in block.ops:
            self._owners[op] = owner
            for position, value in enumerate(results_of(op)):
                self._definitions[value] = (op, position)
            match op:
                case ir.Yield():
                    self._add_exit(op, targets.yield_)
                case ir.Continue() | ir.Break():
                    self._add_exit(op, targets.loop)
                case ir.Return():
                    self._add_exit(op, targets.scope)
                case ir.If() | ir.For() | ir.Loop() | ir.Scope():
                    self._index_region(op, targets)
                case _:
                    pass
            if _is_effect(op):
                self._roots.append(op)

    def _index_region(self, op: Region, targets: _Targets) -> None:
        match op:
            case ir.If():
                inner = _Targets(op, targets.loop, targets.scope)
                self.index(op.then_block, op, inner)
                self.index(op.else_block, op, inner)
            case ir.For() | ir.Loop():
                for position, value in enumerate(op.body.params):
                    self._params[value] = (op, position)
                self.index(op.body, op, _Targets(None, op, targets.scope))
            case ir.Scope():
                self.index(op.body, op, _Targets(None, None, op))

    def _add_exit(self, op: Exit, target: Region | None) -> None:
        if target is None:
            self._roots.append(op)
        else:
            self._exits[target].append(op)

    # ------------------------------------------------------------------------------------- mark

    def mark(self) -> None:
        """Spread liveness until nothing is left to do."""
        for op in self._roots:
            self._mark_op(op)
            self._waiting.extend(operands_of(op) if op.is_terminator else ())
        while self._waiting:
            value = self._waiting.pop()
            if value not in self.live.values:
                self.live.values.add(value)
                self._mark_source(value)

    def _mark_op(self, op: ir.Op) -> None:
        """Mark an operation and what it stands in; the values that it reads come later."""
        waiting = [op]
        while waiting:
            op = waiting.pop()
            if op in self.live.ops:
                continue
            self.live.ops.add(op)
            owner = self._owners[op]
            if owner is not None:
                waiting.append(owner)
            match op:
                case ir.If():
                    self._waiting.append(op.condition)
                case ir.For():
                    self._waiting += (op.start, op.stop, op.step)
                case _ if not op.is_terminator and not blocks_of(op):
                    self._waiting.extend(operands_of(op))
                case _:
                    pass
            if isinstance(op, Region):
                # The ways out of it decide how it runs.
                waiting.extend(self._exits[op])

    def _mark_source(self, value: ir.Value) -> None:
        """Mark what gives a live value."""
        if value in self._params:
            loop, position = self._params[value]
            self._mark_op(loop)
            carried = position - isinstance(loop, ir.For)
            if carried >= 0:
                self._mark_carried(loop, carried)
            return
        if value not in self._definitions:
            return  # A parameter of the function.
        op, position = self._definitions[value]
        self._mark_op(op)
        match op:
            case ir.For():
                self._mark_carried(op, position)
            case ir.If() | ir.Scope():
                self._waiting.extend(end.values[position] for end in self._exits[op])
            case ir.Loop():
                breaks = (end for end in self._exits[op] if isinstance(end, ir.Break))
                self._waiting.extend(end.values[position] for end in breaks)
            case _:
                pass

    def _mark_carried(self, loop: ir.For | ir.Loop, position: int) -> None:
        """Mark what a carried value can be; a ``For`` gives it as its result, too."""
        self._waiting.append(loop.inits[position])
        for end in self._exits[loop]:
            if isinstance(end, ir.Continue) or isinstance(loop, ir.For):
                self._waiting.append(end.values[position])


def _is_effect(op: ir.Op) -> bool:
    if isinstance(op, ir.Allocate):
        return False
    if isinstance(op, ir.Loop):
        return True
    effect = op.intrinsic.effect if isinstance(op, ir.Call) else op.effect
    return effect >= ir.Effect.WRITE
