"""The program of one gang: its arguments, its registers, and the kernel's body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.jit.backends.cpu.callees import Callees, frame_address
from pygpulib.jit.backends.cpu.control import emit_block
from pygpulib.jit.backends.cpu.costs import raises
from pygpulib.jit.backends.cpu.gang import NO_LANES, Flow, Gang, Target
from pygpulib.jit.backends.cpu.interleaving import find_runs
from pygpulib.jit.backends.cpu.operations import emit_simple
from pygpulib.jit.backends.cpu.walk import RECORD_WORD, number_of
from pygpulib.jit.backends.llvm.text import Code, scalar_type
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import Register
from pygpulib.jit.ir.rewrite import is_pure, operands_of, results_of, walk
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS, find_lane_shapes
from pygpulib.jit.passes.find_ranges import find_ranges

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.shared import SharedPlaces
    from pygpulib.jit.backends.cpu.target import CpuVariant
    from pygpulib.jit.backends.cpu.walk import Coordinates, Walk

_LAUNCH = frozenset({*ir.NTID, *ir.NCTAID, Register.WARPSIZE, Register.DYNAMIC_SHARED_BYTES})


class Program:
    """Writes the program of a gang into a function.

    Parameters
    ----------
    code : Code
        The function.
    function : ir.Function
        The kernel.
    variant : CpuVariant
        How threads lie on vectors.
    walk : Walk
        The launch's sizes.
    callees : Callees
        The functions that the kernel calls.
    places : SharedPlaces
        Where the kernel's arrays lie.
    """

    def __init__(
        self,
        code: Code,
        function: ir.Function,
        variant: CpuVariant,
        walk: Walk,
        callees: Callees,
        places: SharedPlaces,
    ) -> None:
        self.code = code
        self.function = function
        self.variant = variant
        self.walk = walk
        self.invariant: frozenset[ir.Op] = frozenset()
        self.gang = Gang(
            code=code,
            shapes=find_lane_shapes(function, variant.axis),
            width=variant.width,
            used=_used(function),
            ranges=find_ranges(function),
            numeric=function.numeric,
            block_writer=emit_block,
            axis=variant.axis,
            shared_places=places,
            print_numbers=callees.print_numbers,
            call=callees.write_call,
            runs=find_runs(function),
        )
        if function.callees:
            self.gang.stack_base = frame_address(code)

    def write_launch(self) -> None:
        """Write what is the same for the whole launch: sizes, arguments, what follows from them."""
        self.gang.registers.update(self.walk.registers())
        self.gang.fault_record = self.walk.word(RECORD_WORD, "ptr")
        self._write_parameters()
        self._write_invariants()

    def _write_parameters(self) -> None:
        for position, param in enumerate(self.function.params, start=HEADER_WORDS):
            if param not in self.gang.used:
                continue
            if param.type == dtypes.bool_:
                byte = self.walk.word(position, "i8")
                self.gang.define(param, self.code.emit(f"icmp ne i8 {byte}, 0"))
            else:
                self.gang.define(param, self.walk.word(position, scalar_type(param.type)))

    def _write_invariants(self) -> None:
        """Write what depends only on the launch, once."""
        known = set(self.function.params)
        done = set()
        for op in self.function.body.ops[:-1]:
            is_known = all(value in known for value in operands_of(op))
            is_launch = isinstance(op, ir.ReadRegister) and op.register in _LAUNCH
            is_shared = isinstance(op, ir.Allocate) and op.space is ir.AddressSpace.SHARED
            is_computed = is_known and is_pure(op) and not isinstance(op, ir.ReadRegister)
            if is_launch or is_shared or is_computed:
                emit_simple(self.gang, op)
                known.update(results_of(op))
                done.add(op)
        self.invariant = frozenset(done)

    def set_block(self, block: Coordinates) -> None:
        """Take note of the block's coordinates."""
        for register, position in zip(ir.CTAID, block, strict=True):
            self.gang.registers[register] = self.code.emit(f"trunc i64 {position} to i32")

    def set_threads(self, threads: Coordinates) -> None:
        """Write who the lanes are, for the gang whose first thread is given."""
        gang, code, axis = self.gang, self.code, self.variant.axis
        if axis == LINEAR_AXIS:
            self._set_numbered(threads[0])
            return
        for register, position in zip(ir.TID, threads, strict=True):
            gang.registers[register] = code.emit(f"trunc i64 {position} to i32")
        if not self.variant.full:
            gang.row_mask = self._row_mask(threads[axis], self.walk.block[axis])
        if _reads_lane(self.function):
            gang.lane_id = self._lane_ids()

    def _set_numbered(self, first: str) -> None:
        """Write the coordinates of threads given by their numbers in the block, as vectors."""
        gang, code, width = self.gang, self.code, self.gang.width
        gang.row_mask = self._row_mask(first, self.walk.count_threads())
        base = code.splat(code.emit(f"trunc i64 {first} to i32"), "i32", width)
        number = code.emit(f"add {gang.steps('i32', 1)}, {base}")
        gang.lane_id = code.emit(f"and <{width} x i32> {number}, splat (i32 31)")
        extents = [
            code.splat(code.emit(f"trunc i64 {extent} to i32"), "i32", width)
            for extent in self.walk.block[:2]
        ]
        rest = number
        for register, extent in zip(ir.TID, extents, strict=False):
            quotient = gang.arithmetic.divide_safely(dtypes.int32, width, rest, extent)
            product = code.emit(f"mul <{width} x i32> {quotient}, {extent}")
            gang.registers[register] = code.emit(f"sub <{width} x i32> {rest}, {product}")
            rest = quotient
        gang.registers[ir.TID[2]] = rest

    def write_body(self) -> None:
        """Write the kernel's body."""
        gang, code = self.gang, self.code
        gang.mask, gang.flow, gang.is_nonempty = gang.row_mask, Flow.ON, True
        if raises(self.function.body):
            gang.raised = gang.new_mask_slot(NO_LANES)
        if gang.frame is not None:
            gang.retired = gang.new_mask_slot(NO_LANES)
        target = Target(region=None, exit_label=code.new_label("retired"))
        body = self.function.body
        rest = ir.Block(body.params, tuple(op for op in body.ops if op not in self.invariant))
        gang.write_block(target, rest, _retire)
        if gang.flow is not Flow.JUMPED:
            code.branch(target.exit_label)
        code.label(target.exit_label)

    def _row_mask(self, here: str, extent: str) -> str:
        """Write the mask of the lanes that are still in the row."""
        code, width = self.code, self.gang.width
        left = code.emit(f"sub i64 {extent}, {here}")
        left = code.call("llvm.smin.i64", "i64", [("i64", left), ("i64", str(width))])
        limit = code.splat(code.emit(f"trunc i64 {left} to i8"), "i8", width)
        return code.emit(f"icmp slt {self.gang.steps('i8', 1)}, {limit}")

    def _lane_ids(self) -> str:
        """Write each thread's number in its warp: threads are numbered x first, then y, then z."""
        code, width = self.code, self.gang.width
        x, y, z = (code.emit(f"sext i32 {self.gang.registers[tid]} to i64") for tid in ir.TID)
        extent_x, extent_y, _ = self.walk.block
        number = number_of(code, (x, y, z), self.walk.block)
        strides = ("1", extent_x, code.emit(f"mul i64 {extent_x}, {extent_y}"))
        base = code.splat(code.emit(f"trunc i64 {number} to i32"), "i32", width)
        stride = code.emit(f"trunc i64 {strides[self.variant.axis]} to i32")
        steps = code.splat(stride, "i32", width)
        steps = code.emit(f"mul {self.gang.steps('i32', 1)}, {steps}")
        number = code.emit(f"add <{width} x i32> {base}, {steps}")
        return code.emit(f"and <{width} x i32> {number}, splat (i32 31)")


def _used(function: ir.Function) -> set[ir.Value]:
    return {value for op in walk(function.body) for value in operands_of(op)}


def _reads_lane(function: ir.Function) -> bool:
    return any(
        isinstance(op, ir.ReadRegister) and op.register is Register.LANEID
        for op in walk(function.body)
    )


def _retire(terminator: ir.Op) -> None:
    """End a gang's program; a kernel has no results to take along."""
    assert isinstance(terminator, ir.Return)
