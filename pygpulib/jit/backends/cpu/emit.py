"""From a kernel's IR to the LLVM IR of a function that runs blocks of it.

The function's frame: a loop over the blocks it was given, loops over the rows of a block, and a
loop that walks each row in gangs. What depends only on the arguments is computed once, in the
entry block. The parameters are described in ``docs/design.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.jit.backends.cpu.control import emit_block
from pygpulib.jit.backends.cpu.costs import raises
from pygpulib.jit.backends.cpu.gang import NO_LANES, Flow, Gang, Target
from pygpulib.jit.backends.cpu.operations import emit_simple
from pygpulib.jit.backends.llvm.text import Code, scalar_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import Register
from pygpulib.jit.ir.rewrite import is_pure, operands_of, results_of, walk
from pygpulib.jit.passes.find_lane_shapes import find_lane_shapes

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuTarget, CpuVariant

PARAMETER_WORD = 8
_FAULT_WORD = 6

_TID = (Register.TID_X, Register.TID_Y, Register.TID_Z)
_CTAID = (Register.CTAID_X, Register.CTAID_Y, Register.CTAID_Z)
_NTID = (Register.NTID_X, Register.NTID_Y, Register.NTID_Z)
_NCTAID = (Register.NCTAID_X, Register.NCTAID_Y, Register.NCTAID_Z)


def emit_kernel(function: ir.Function, variant: CpuVariant, target: CpuTarget, name: str) -> str:
    """Write a kernel as an LLVM module.

    Parameters
    ----------
    function : ir.Function
        The kernel; its composed intrinsics have been expanded.
    variant : CpuVariant
        How the threads of a block lie on vectors.
    target : CpuTarget
        The processor.
    name : str
        Symbol of the function to define.

    Returns
    -------
    str
        LLVM IR with ``void @name(ptr words, i64 first_block, i64 end_block, i64 worker)``.

    Raises
    ------
    UnsupportedFeatureError
        If the kernel needs something that this back end does not have.
    """
    del target  # so far the same text is right for every processor
    code = Code()
    used = {value for op in walk(function.body) for value in operands_of(op)}
    gang = Gang(
        code=code,
        shapes=find_lane_shapes(function, variant.axis),
        width=variant.width,
        used=used,
        numeric=function.numeric,
        block_writer=emit_block,
        lane_axis=_TID[variant.axis],
    )
    frame = _Frame(gang, function, variant)
    frame.write()
    return _module(code, name)


def _module(code: Code, name: str) -> str:
    parts = [
        *code.globals,
        *code.declarations.values(),
        f"define void @{name}(ptr noalias readonly %words, i64 %first, i64 %end, i64 %worker) {{",
        "entry:",
        *code.entry,
        *code.lines,
        "}",
        "",
    ]
    return "\n".join(parts)


class _Frame:
    """The loops around a gang's program."""

    def __init__(self, gang: Gang, function: ir.Function, variant: CpuVariant) -> None:
        self.gang = gang
        self.code = gang.code
        self.function = function
        self.variant = variant
        self.extents: list[str] = []

    def write(self) -> None:
        """Write the whole function body."""
        self._write_launch_registers()
        self._write_parameters()
        invariant = self._write_invariants()
        code = self.code
        block_slot = code.slot("i64")
        code.store(block_slot, "i64", "%first")
        coordinates = self._write_first_block()
        head, body, done = (code.new_label(text) for text in ("blocks", "block", "finished"))
        code.branch(head)
        code.label(head)
        block = code.load(block_slot, "i64")
        code.branch_if(code.emit(f"icmp slt i64 {block}, %end"), body, done)
        code.label(body)
        for register, slot in zip(_CTAID, coordinates, strict=True):
            wide = code.load(slot, "i64")
            self.gang.registers[register] = code.emit(f"trunc i64 {wide} to i32")
        self._write_rows(invariant)
        code.store(block_slot, "i64", code.emit(f"add i64 {block}, 1"))
        self._write_next_block(coordinates)
        code.branch(head)
        code.label(done)
        code.do("ret void")

    # ------------------------------------------------------------------------- launch, arguments

    def _word(self, position: int, type_: str) -> str:
        address = self.code.emit(f"getelementptr i64, ptr %words, i64 {position}")
        return self.code.load(address, type_)

    def _write_launch_registers(self) -> None:
        words = [self._word(position, "i64") for position in range(6)]
        self.grid, self.extents = words[:3], words[3:]
        for register, word in zip((*_NCTAID, *_NTID), words, strict=True):
            self.gang.registers[register] = self.code.emit(f"trunc i64 {word} to i32")
        self.gang.fault_record = self._word(_FAULT_WORD, "ptr")

    def _write_parameters(self) -> None:
        for position, param in enumerate(self.function.params, start=PARAMETER_WORD):
            if param not in self.gang.used:
                continue
            if param.type == dtypes.bool_:
                byte = self._word(position, "i8")
                self.gang.define(param, self.code.emit(f"icmp ne i8 {byte}, 0"))
            else:
                self.gang.define(param, self._word(position, scalar_type(param.type)))

    def _write_invariants(self) -> frozenset[ir.Op]:
        """Write what depends only on the launch, once; return the operations that did."""
        known = set(self.function.params)
        done = set()
        launch = {*_NTID, *_NCTAID, Register.WARPSIZE}
        for op in self.function.body.ops[:-1]:
            is_known = all(value in known for value in operands_of(op))
            is_launch = isinstance(op, ir.ReadRegister) and op.register in launch
            if is_launch or (is_known and is_pure(op) and not isinstance(op, ir.ReadRegister)):
                emit_simple(self.gang, op)
                known.update(results_of(op))
                done.add(op)
        return frozenset(done)

    # ------------------------------------------------------------------------------------ blocks

    def _write_first_block(self) -> list[str]:
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

    def _write_next_block(self, slots: list[str]) -> None:
        """Write the step to the next block, with carries instead of divisions."""
        code = self.code
        carry = "1"
        for slot, extent in zip(slots, self.grid, strict=True):
            raised = code.emit(f"add i64 {code.load(slot, 'i64')}, {carry}")
            wraps = code.emit(f"icmp eq i64 {raised}, {extent}")
            code.store(slot, "i64", code.emit(f"select i1 {wraps}, i64 0, i64 {raised}"))
            carry = code.emit(f"zext i1 {wraps} to i64")

    def _write_rows(self, invariant: frozenset[ir.Op]) -> None:
        """Write the loops over the threads of a block, a gang at a time."""
        axes = [axis for axis in (2, 1, 0) if axis != self.variant.axis] + [self.variant.axis]
        self._write_axes(axes, invariant)

    def _write_axes(self, axes: list[int], invariant: frozenset[ir.Op]) -> None:
        if not axes:
            self._write_gang(invariant)
            return
        code, axis = self.code, axes[0]
        step = self.variant.width if axis == self.variant.axis else 1
        slot = code.slot("i64")
        code.store(slot, "i64", "0")
        head, body, done = (code.new_label(text) for text in ("threads", "row", "rows"))
        code.branch(head)
        code.label(head)
        here = code.load(slot, "i64")
        code.branch_if(code.emit(f"icmp slt i64 {here}, {self.extents[axis]}"), body, done)
        code.label(body)
        self.gang.registers[_TID[axis]] = code.emit(f"trunc i64 {here} to i32")
        if axis == self.variant.axis and not self.variant.full:
            self.gang.mask = self._row_mask(here, self.extents[axis])
        self._write_axes(axes[1:], invariant)
        code.store(slot, "i64", code.emit(f"add i64 {here}, {step}"))
        code.branch(head)
        code.label(done)

    def _row_mask(self, here: str, extent: str) -> str:
        """Write the mask of the lanes that are still in the row."""
        code, width = self.code, self.gang.width
        left = code.emit(f"sub i64 {extent}, {here}")
        left = code.call("llvm.smin.i64", "i64", [("i64", left), ("i64", str(width))])
        limit = code.splat(code.emit(f"trunc i64 {left} to i8"), "i8", width)
        return code.emit(f"icmp slt {self.gang.steps('i8', 1)}, {limit}")

    def _write_gang(self, invariant: frozenset[ir.Op]) -> None:
        gang, code = self.gang, self.code
        gang.flow, gang.is_nonempty = Flow.ON, True
        if raises(self.function.body):
            gang.raised = gang.new_mask_slot(NO_LANES)
        if any(
            isinstance(op, ir.ReadRegister) and op.register is Register.LANEID
            for op in walk(self.function.body)
        ):
            gang.lane_id = self._lane_ids()
        target = Target(region=None, exit_label=code.new_label("retired"))
        body = self.function.body
        rest = ir.Block(body.params, tuple(op for op in body.ops if op not in invariant))
        gang.write_block(target, rest, _retire)
        if gang.flow is not Flow.JUMPED:
            code.branch(target.exit_label)
        code.label(target.exit_label)

    def _lane_ids(self) -> str:
        """Write each thread's number in its warp: threads are numbered x first, then y, then z."""
        code, width = self.code, self.gang.width
        x, y, z = (
            code.emit(f"sext i32 {self.gang.registers[register]} to i64") for register in _TID
        )
        row = code.emit(f"mul i64 {z}, {self.extents[1]}")
        row = code.emit(f"add i64 {row}, {y}")
        number = code.emit(f"mul i64 {row}, {self.extents[0]}")
        number = code.emit(f"add i64 {number}, {x}")
        strides = ("1", self.extents[0], code.emit(f"mul i64 {self.extents[0]}, {self.extents[1]}"))
        base = code.splat(code.emit(f"trunc i64 {number} to i32"), "i32", width)
        stride = code.emit(f"trunc i64 {strides[self.variant.axis]} to i32")
        steps = code.splat(stride, "i32", width)
        steps = code.emit(f"mul {self.gang.steps('i32', 1)}, {steps}")
        number = code.emit(f"add <{width} x i32> {base}, {steps}")
        return code.emit(f"and <{width} x i32> {number}, splat (i32 31)")


def _retire(terminator: ir.Op) -> None:
    """End a gang's program; a kernel has no results to take along."""
    assert isinstance(terminator, ir.Return)
