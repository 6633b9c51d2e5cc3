"""Which values are the same in all lanes of a gang, which are affine in the lane, which vary.

A *lane shape* says how a value depends on the lane when neighbouring threads along one axis of
the block run as the lanes of a vector. ``stride`` 0 means uniform, another number affine: lane
``k`` has ``base + k * stride`` (modulo the width of the integer), ``None`` means varying. The
lattice goes downwards only, uniform or affine to varying, so repeating the walk ends.

The same walk finds *divergent* regions: loops and scopes whose lanes may leave at different
times. What leaves such a region varies even if every single exit passes a uniform value.
"""

from __future__ import annotations

from typing import TypeVar

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import WarpResult
from pygpulib.jit.ir.rewrite import operands_of, results_of

ExitT = TypeVar("ExitT", ir.Break, ir.Continue, ir.Return)

Region = ir.For | ir.Loop | ir.Scope


@record(eq=True)
class LaneShape:
    """How a value depends on the lane; see the module's text."""

    stride: int | None

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes hold the same value."""
        return self.stride == 0

    @property
    def is_varying(self) -> bool:
        """Whether nothing is known about the lanes."""
        return self.stride is None

    def join(self, other: LaneShape) -> LaneShape:
        """Return the shape of a value that is one or the other, for all lanes together."""
        return self if self == other else VARYING


UNIFORM = LaneShape(0)
VARYING = LaneShape(None)


LINEAR_AXIS = 3
"""Lanes are threads in the order of their numbers, over the ends of rows: as in a warp."""


@record(frozen=False)
class LaneShapes:
    """The result of the analysis.

    Attributes
    ----------
    shapes : dict
        Lane shape by value.
    divergent : set
        Loops and scopes (by identity) whose lanes may leave at different times.
    ragged : set
        Loops in which some lanes may start the next iteration before others reach the end of
        the body.
    """

    shapes: dict[ir.Value, LaneShape] = field(default_factory=dict)
    divergent: set[int] = field(default_factory=set)
    ragged: set[int] = field(default_factory=set)

    def __getitem__(self, value: ir.Value) -> LaneShape:
        return self.shapes[value]

    def is_divergent(self, region: Region) -> bool:
        """Whether lanes may leave the region at different times."""
        return id(region) in self.divergent

    def is_ragged(self, region: Region) -> bool:
        """Whether the loop has an early ``Continue`` that only some lanes take."""
        return id(region) in self.ragged


def find_lane_shapes(
    function: ir.Function, axis: int, param_shape: LaneShape = UNIFORM
) -> LaneShapes:
    """Find the lane shape of every value of a kernel.

    Parameters
    ----------
    function : ir.Function
        A kernel.
    axis : int
        Axis of the block (0 is x) along which neighbouring threads are neighbouring lanes, or
        ``LINEAR_AXIS``.
    param_shape : LaneShape
        Shape of the parameters: those of a kernel are uniform.

    Returns
    -------
    LaneShapes
        Shapes and divergent regions.
    """
    finder = _Finder(function, axis, param_shape)
    while finder.walk_function():
        pass
    return finder.found


class _Finder:
    """One analysis; ``walk_function`` is repeated until nothing changes."""

    def __init__(self, function: ir.Function, axis: int, param_shape: LaneShape) -> None:
        self.function = function
        self.param_shape = param_shape
        self.tid = ir.TID[axis] if axis != LINEAR_AXIS else None
        self.found = LaneShapes()
        self.constants: dict[ir.Value, int] = {}
        self.registers: set[ir.Value] = set()
        self.exits: dict[int, list[ir.Op]] = {}
        self.path: list[ir.Op] = []
        self.changed = False

    def walk_function(self) -> bool:
        """Walk the whole function once; return whether anything was lowered."""
        self.changed = False
        self.exits.clear()
        for param in self.function.params:
            self._lower(param, self.param_shape)
        self._walk(self.function.body)
        return self.changed

    def _lower(self, value: ir.Value, shape: LaneShape) -> None:
        """Take note of a shape; what was found before can only go down."""
        old = self.found.shapes.get(value)
        new = shape if old is None else old.join(shape)
        if new != old:
            self.found.shapes[value] = new
            self.changed = True

    def _shape(self, value: ir.Value) -> LaneShape:
        return self.found.shapes[value]

    def _walk(self, block: ir.Block) -> None:
        for op in block.ops:
            match op:
                case ir.If():
                    self._walk_if(op)
                case ir.For():
                    self._walk_for(op)
                case ir.Loop():
                    self._walk_loop(op)
                case ir.Scope():
                    self._walk_scope(op)
                case ir.Break() | ir.Continue() | ir.Return() | ir.Raise():
                    self._walk_exit(op)
                case ir.Yield() | ir.Unreachable():
                    pass
                case _:
                    self._walk_simple(op)

    # ------------------------------------------------------------------------ straight-line

    def _walk_simple(self, op: ir.Op) -> None:
        shape = self._simple_shape(op)
        for result in results_of(op):
            self._lower(result, shape)

    def _simple_shape(self, op: ir.Op) -> LaneShape:  # noqa: C901 - one case per operation
        match op:
            case ir.Const(result, value):
                if isinstance(value, int):
                    self.constants[result] = int(value)
                return UNIFORM
            case ir.ReadRegister(register, result):
                self.registers.add(result)
                if register is ir.Register.LANEID or (self.tid is None and register in ir.TID):
                    return VARYING
                return LaneShape(1) if register is self.tid else UNIFORM
            case ir.Binary():
                return self._binary_shape(op)
            case ir.Unary(kind, operand):
                return self._unary_shape(kind, operand)
            case ir.Cast(operand, result):
                return self._cast_shape(operand, result)
            case ir.PointerAdd(pointer, index, scale):
                return _add(self._shape(pointer), _scale(self._shape(index), scale))
            case ir.Load(pointer, index, scale):
                address = _add(self._shape(pointer), _scale(self._shape(index), scale))
                return UNIFORM if address.is_uniform else VARYING
            case ir.Select(condition, if_true, if_false):
                if if_true is if_false:
                    return self._shape(if_true)
                joined = self._shape(if_true).join(self._shape(if_false))
                return joined if self._shape(condition).is_uniform else VARYING
            case ir.Allocate(space):
                # The lanes' local arrays lie one after the other.
                return LaneShape(op.stride_bytes) if space is ir.AddressSpace.LOCAL else UNIFORM
            case ir.Atomic() | ir.CallFunction():
                return VARYING
            case ir.Barrier(kind):
                return VARYING if kind is ir.BarrierKind.WARP else UNIFORM
            case ir.Call(intrinsic) if intrinsic.effect is not ir.Effect.NONE:
                return self._warp_shape(op)
            case _:
                uniform = all(self._shape(value).is_uniform for value in operands_of(op))
                return UNIFORM if uniform else VARYING

    def _warp_shape(self, op: ir.Call) -> LaneShape:
        match op.intrinsic.warp_result:
            case WarpResult.UNIFORM:
                return UNIFORM
            case WarpResult.AS_LAST_OPERAND if self._shape(op.operands[-1]).is_uniform:
                return UNIFORM
            case _:
                return VARYING

    def _unary_shape(self, kind: ir.UnaryKind, operand: ir.Value) -> LaneShape:
        shape = self._shape(operand)
        if shape.is_uniform or shape.stride is None or kind is ir.UnaryKind.ABSOLUTE:
            return shape if shape.is_uniform else VARYING
        # Both -x and ~x = -x - 1 turn the direction around.
        return LaneShape(-shape.stride)

    def _cast_shape(self, operand: ir.Value, result: ir.Value) -> LaneShape:
        shape = self._shape(operand)
        source, target = operand.type, result.type
        if shape.is_uniform or shape.is_varying:
            return shape
        assert isinstance(source, DType)
        assert isinstance(target, DType)
        if not source.is_integer or not target.is_integer:
            return VARYING
        # Truncation is exact modulo the width; extension only where no lane wraps around.
        is_exact = target.bits <= source.bits or operand in self.registers
        return shape if is_exact and target.bits >= 32 else VARYING

    def _binary_shape(self, op: ir.Binary) -> LaneShape:
        left, right = self._shape(op.left), self._shape(op.right)
        if left.is_uniform and right.is_uniform:
            return UNIFORM
        is_integer = isinstance(op.left.type, DType) and op.left.type.is_integer
        if not is_integer or left.is_varying or right.is_varying:
            return VARYING
        match op.kind:
            case ir.BinaryKind.ADD:
                return _add(left, right)
            case ir.BinaryKind.SUBTRACT:
                return _add(left, _scale(right, -1))
            case ir.BinaryKind.MULTIPLY if op.right in self.constants:
                return _scale(left, self.constants[op.right])
            case ir.BinaryKind.MULTIPLY if op.left in self.constants:
                return _scale(right, self.constants[op.left])
            case ir.BinaryKind.SHIFT_LEFT if 0 <= self.constants.get(op.right, -1) < 32:
                return _scale(left, 1 << self.constants[op.right])
            case _:
                return VARYING

    # ------------------------------------------------------------------------------ control

    def _inside(self, op: ir.Op, *blocks: ir.Block) -> None:
        self.path.append(op)
        for block in blocks:
            self._walk(block)
        self.path.pop()

    def _walk_if(self, op: ir.If) -> None:
        self._inside(op, op.then_block, op.else_block)
        ends = [
            end.values
            for end in (op.then_block.terminator, op.else_block.terminator)
            if isinstance(end, ir.Yield)
        ]
        is_uniform = self._shape(op.condition).is_uniform or len(ends) == 1
        self._merge(op.results, ends, all_together=is_uniform)

    def _walk_for(self, op: ir.For) -> None:
        induction, *carried = op.body.params
        bounds = [self._shape(value) for value in (op.start, op.stop, op.step)]
        self._lower(induction, bounds[0] if bounds[2].is_uniform else VARYING)
        if not all(bound.is_uniform for bound in bounds):
            self._mark(self.found.divergent, op)
        self._walk_carried(op, op.inits, tuple(carried))
        exits = [exit_.values for exit_ in self._exits(op, ir.Break)]
        self._leave(op, op.results, [tuple(carried), *exits])

    def _walk_loop(self, op: ir.Loop) -> None:
        self._walk_carried(op, op.inits, op.body.params)
        self._leave(op, op.results, [exit_.values for exit_ in self._exits(op, ir.Break)])

    def _walk_carried(
        self, op: ir.For | ir.Loop, inits: tuple[ir.Value, ...], params: tuple[ir.Value, ...]
    ) -> None:
        for param, init in zip(params, inits, strict=True):
            self._lower(param, self._shape(init))
        self.exits[id(op)] = []
        self._inside(op, op.body)
        nexts = [exit_.values for exit_ in self._exits(op, ir.Continue)]
        self._merge(params, nexts, all_together=not self.found.is_ragged(op))

    def _walk_scope(self, op: ir.Scope) -> None:
        self.exits[id(op)] = []
        self._inside(op, op.body)
        self._leave(op, op.results, [exit_.values for exit_ in self._exits(op, ir.Return)])

    def _exits(self, op: Region, kind: type[ExitT]) -> list[ExitT]:
        return [exit_ for exit_ in self.exits[id(op)] if isinstance(exit_, kind)]

    def _leave(
        self, op: Region, results: tuple[ir.Value, ...], exits: list[tuple[ir.Value, ...]]
    ) -> None:
        if self.found.is_divergent(op):
            # Even one exit may be taken at several times, with several values.
            for result in results:
                self._lower(result, VARYING)
        else:
            self._merge(results, exits, all_together=True)

    def _merge(
        self,
        results: tuple[ir.Value, ...],
        alternatives: list[tuple[ir.Value, ...]],
        *,
        all_together: bool,
    ) -> None:
        """Lower each result to the join of what the alternatives pass."""
        for position, result in enumerate(results):
            values = [alternative[position] for alternative in alternatives]
            is_one = all(value is values[0] for value in values)
            for value in values:
                self._lower(result, self._shape(value) if all_together or is_one else VARYING)
            if not values:
                self._lower(result, UNIFORM)

    def _walk_exit(self, op: ir.Break | ir.Continue | ir.Return | ir.Raise) -> None:
        """File an exit with its target, and mark what only some lanes leave through it."""
        kinds = ir.Scope if isinstance(op, ir.Return) else ir.For | ir.Loop
        position = -1 if isinstance(op, ir.Raise) else len(self.path) - 1
        while position >= 0 and not isinstance(self.path[position], kinds):
            position -= 1
        between = self.path[position + 1 :]
        if position >= 0:
            self.exits[id(self.path[position])].append(op)
        if not any(self._splits(outer) for outer in between):
            return
        for outer in self.path[max(position, 0) :]:
            if isinstance(outer, ir.For | ir.Loop | ir.Scope):
                self._mark(self.found.divergent, outer)
        if isinstance(op, ir.Continue):
            self._mark(self.found.ragged, self.path[position])

    def _splits(self, op: ir.Op) -> bool:
        """Return whether only some of the lanes that enter an operation may be in it now."""
        match op:
            case ir.If():
                return not self._shape(op.condition).is_uniform
            case ir.For() | ir.Loop() | ir.Scope():
                return self.found.is_divergent(op)
            case _:
                raise AssertionError(op)

    def _mark(self, marks: set[int], op: ir.Op) -> None:
        if id(op) not in marks:
            marks.add(id(op))
            self.changed = True


def _add(left: LaneShape, right: LaneShape) -> LaneShape:
    if left.stride is None or right.stride is None:
        return VARYING
    return LaneShape(_wrap(left.stride + right.stride))


def _scale(shape: LaneShape, factor: int) -> LaneShape:
    return VARYING if shape.stride is None else LaneShape(_wrap(shape.stride * factor))


def _wrap(stride: int) -> int:
    """Reduce to a signed 64-bit number, as the additions of lanes wrap."""
    return (stride + (1 << 63)) % (1 << 64) - (1 << 63)
