"""Functions that call themselves, on vectors.

What cannot be inlined becomes a function over vectors and a mask; it is called while any lane is
active, so a recursion ends when its last lane does. A recursion that would overflow the native
stack is stopped and reported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pygpulib._record import replace
from pygpulib.core.dtypes import bool_
from pygpulib.jit.backends.cpu.control import emit_block
from pygpulib.jit.backends.cpu.faults import claim_record
from pygpulib.jit.backends.cpu.gang import Flow, Gang, Target
from pygpulib.jit.backends.cpu.walk import RECORD_WORD, Walk
from pygpulib.jit.backends.llvm.text import Code, register_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import operands_of, walk
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS, VARYING, find_lane_shapes
from pygpulib.jit.passes.find_ranges import find_ranges

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuVariant

# Threads have 8 MB of stack on Linux and may have as little as 512 KB elsewhere.
STACK_LIMIT_BYTES = (4 << 20) if sys.platform == "linux" else (256 << 10)


def _passed_type(type_: ir.Type, width: int) -> str:
    """Return how a vector is passed; vectors of bits, which LLVM may fail to pass, as integers."""
    return f"i{width}" if type_ == bool_ else register_type(type_, width)


def _passed(gang: Gang, type_: ir.Type, text: str) -> str:
    """Return a vector as it is passed."""
    if type_ != bool_:
        return text
    return gang.code.emit(f"bitcast {gang.mask_type} {text} to i{gang.width}")


def _received(gang: Gang, type_: ir.Type, text: str) -> str:
    """Return a vector from how it was passed."""
    if type_ != bool_:
        return text
    return gang.code.emit(f"bitcast i{gang.width} {text} to {gang.mask_type}")


def frame_address(code: Code) -> str:
    """Write the address of this call's stack frame."""
    code.declare("llvm.frameaddress.p0", "ptr", ["i32"])
    return code.emit("call ptr @llvm.frameaddress.p0(i32 0)")


class Callees:
    """Writes the callees of one kernel.

    Parameters
    ----------
    function : ir.Function
        The kernel.
    variant : CpuVariant
        How threads lie on vectors.
    prefix : str
        What the symbols start with.
    print_numbers : dict
        Number of each print (by identity).
    overflow_error : int
        Number of the error that a too deep recursion is.
    """

    def __init__(
        self,
        function: ir.Function,
        variant: CpuVariant,
        prefix: str,
        print_numbers: dict[int, int],
        overflow_error: int,
    ) -> None:
        self.callees = {callee.name: callee for callee in function.callees}
        self.symbols = {
            name: f"{prefix}.callee{position}" for position, name in enumerate(self.callees)
        }
        self.variant = variant
        self.print_numbers = print_numbers
        self.overflow_error = overflow_error

    def write(self) -> list[tuple[Code, str]]:
        """Return the code of each callee and the line that starts its definition."""
        return [self._write_callee(callee) for callee in self.callees.values()]

    # ------------------------------------------------------------------------------- interface

    def _context_types(self) -> list[str]:
        """Return the types of what every callee is told besides its arguments."""
        width = self.variant.width
        tid = f"<{width} x i32>" if self.variant.axis == LINEAR_AXIS else "i32"
        return [f"i{width}", f"<{width} x i32>", "ptr", "ptr", "ptr", *["i32"] * 3, *[tid] * 3]

    def _result_type(self, callee: ir.Function) -> str:
        types = [_passed_type(type_, self.variant.width) for type_ in callee.result_types]
        return f"{{ {', '.join(types)} }}" if types else "void"

    def write_call(self, gang: Gang, op: ir.CallFunction) -> None:
        """Write a call, with at least one lane active."""
        assert gang.is_nonempty
        callee, code = self.callees[op.callee], gang.code
        lane_id = gang.lane_id or "zeroinitializer"
        context = [
            _passed(gang, bool_, gang.mask_text(gang.mask)),
            lane_id,
            "%words",
            gang.shared or "null",
            gang.stack_base,
            *(gang.registers[register] for register in (*ir.CTAID, *ir.TID)),
        ]
        arguments = [
            *(
                f"{_passed_type(value.type, gang.width)} "
                f"{_passed(gang, value.type, gang.vector(value))}"
                for value in op.operands
            ),
            *(
                f"{type_} {text}"
                for type_, text in zip(self._context_types(), context, strict=True)
            ),
        ]
        result_type = self._result_type(callee)
        call = f"call {result_type} @{self.symbols[op.callee]}({', '.join(arguments)})"
        if not op.results:
            code.do(call)
            return
        answer = code.emit(call)
        for position, result in enumerate(op.results):
            part = code.emit(f"extractvalue {result_type} {answer}, {position}")
            gang.define(result, _received(gang, result.type, part))

    # ------------------------------------------------------------------------------ definition

    def _write_callee(self, callee: ir.Function) -> tuple[Code, str]:
        code, width = Code(), self.variant.width
        results = tuple(ir.Value(type_) for type_ in callee.result_types)
        scope = ir.Scope(callee.body, results, callee.name)
        # As a scope, the body collects its results as any inlined function does.
        wrapper = replace(callee, body=ir.Block((), (scope, ir.Return(results))))
        gang = self._make_gang(code, wrapper)
        names = [f"%p{position}" for position in range(len(callee.params))]
        for param, name in zip(callee.params, names, strict=True):
            gang.define(param, _received(gang, param.type, name))
        self._guard_stack(gang, callee)
        target = Target(region=None, exit_label=code.new_label("ended"))
        result_type = self._result_type(callee)

        def finish(terminator: ir.Op) -> None:
            assert isinstance(terminator, ir.Return)
            answer = "poison"
            for position, value in enumerate(terminator.values):
                text = _passed(gang, value.type, gang.vector(value))
                part = f"{_passed_type(value.type, width)} {text}"
                answer = code.emit(f"insertvalue {result_type} {answer}, {part}, {position}")
            code.do(f"ret {result_type} {answer}" if terminator.values else "ret void")
            gang.flow = Flow.JUMPED

        gang.write_block(target, wrapper.body, finish)
        if gang.flow is not Flow.JUMPED:
            code.branch(target.exit_label)
        if target.is_exit_used or gang.flow is not Flow.JUMPED:
            code.label(target.exit_label)
            self._return_nothing(code, callee)
        types = [_passed_type(param.type, width) for param in callee.params]
        context = ["%mask", "%lane", "%words", "%shared", "%base"]
        context += [f"%ctaid{axis}" for axis in range(3)] + [f"%tid{axis}" for axis in range(3)]
        parameters = zip((*types, *self._context_types()), (*names, *context), strict=True)
        text = ", ".join(f"{type_} {name}" for type_, name in parameters)
        symbol = self.symbols[callee.name]
        return code, f"define internal {result_type} @{symbol}({text})"

    def _make_gang(self, code: Code, function: ir.Function) -> Gang:
        gang = Gang(
            code=code,
            shapes=find_lane_shapes(function, self.variant.axis, param_shape=VARYING),
            width=self.variant.width,
            used={value for op in walk(function.body) for value in operands_of(op)},
            ranges=find_ranges(function),
            numeric=function.numeric,
            block_writer=emit_block,
            axis=self.variant.axis,
            print_numbers=self.print_numbers,
            call=self.write_call,
            lane_id="%lane",
            shared="%shared",
            stack_base="%base",
        )
        gang.mask = gang.row_mask = _received(gang, bool_, "%mask")
        launch = Walk(code, self.variant)
        gang.registers.update(launch.registers())
        for axis in range(3):
            gang.registers[ir.CTAID[axis]] = f"%ctaid{axis}"
            gang.registers[ir.TID[axis]] = f"%tid{axis}"
        gang.fault_record = launch.word(RECORD_WORD, "ptr")
        return gang

    def _guard_stack(self, gang: Gang, callee: ir.Function) -> None:
        """Write the return from a recursion that is too deep, with a report."""
        code = gang.code
        here = code.emit(f"ptrtoint ptr {frame_address(code)} to i64")
        used = code.emit(f"sub i64 {code.emit('ptrtoint ptr %base to i64')}, {here}")
        # The address is that of the frame's upper end: its arrays lie below.
        limit = STACK_LIMIT_BYTES - gang.width * sum(
            op.stride_bytes for op in walk(callee.body) if isinstance(op, ir.Allocate)
        )
        is_deep = code.emit(f"icmp sgt i64 {used}, {limit}")
        deep, fine = code.new_label("deep"), code.new_label("fits")
        code.branch_if(is_deep, deep, fine)
        code.label(deep)
        block = [code.emit(f"sext i32 %ctaid{axis} to i64") for axis in range(3)]
        claim_record(
            code,
            gang.fault_record,
            lambda: [str(self.overflow_error), *block, "0", "0", "0", "0"],
        )
        self._return_nothing(code, callee)
        code.label(fine)

    def _return_nothing(self, code: Code, callee: ir.Function) -> None:
        result_type = self._result_type(callee)
        code.do("ret void" if result_type == "void" else f"ret {result_type} zeroinitializer")
