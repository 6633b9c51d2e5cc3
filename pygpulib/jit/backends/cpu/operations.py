"""The straight-line operations of a gang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import InternalError, UnsupportedFeatureError
from pygpulib.jit.backends.cpu.atomics import emit_atomic
from pygpulib.jit.backends.cpu.memory import emit_load, emit_store
from pygpulib.jit.backends.cpu.prints import emit_print
from pygpulib.jit.backends.cpu.warps import emit_warp_call
from pygpulib.jit.backends.llvm.text import register_type, scalar_type, suffix
from pygpulib.jit.ir import intrinsic as lowerings
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import CompareKind

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

_MIRRORED = {
    CompareKind.LT: CompareKind.GT,
    CompareKind.LE: CompareKind.GE,
    CompareKind.GT: CompareKind.LT,
    CompareKind.GE: CompareKind.LE,
}


def emit_simple(gang: Gang, op: ir.Op) -> None:  # noqa: C901 - one case per operation
    """Write an operation without nested blocks."""
    match op:
        case ir.Const(result, value):
            gang.constants[result] = value
            assert isinstance(result.type, DType)
            gang.define(result, gang.arithmetic.number(value, result.type, 0))
        case ir.Undefined(result):
            gang.define(result, gang.zero(result.type, gang.register_width(result)))
        case ir.Load():
            emit_load(gang, op)
        case ir.Store():
            emit_store(gang, op)
        case ir.ReadRegister(register, result):
            _emit_register(gang, register, result)
        case ir.Compare():
            gang.define(op.result, _compare(gang, op))
        case ir.PointerAdd():
            _emit_pointer_add(gang, op)
        case ir.Call():
            _emit_call(gang, op)
        case ir.ConstantData(data, result):
            gang.define(result, gang.code.data(data))
        case ir.Allocate():
            gang.define(op.result, _allocate(gang, op))
        case ir.Atomic():
            emit_atomic(gang, op)
        case ir.Print():
            emit_print(gang, op)
        case ir.CallFunction() if gang.call is not None:
            gang.call(gang, op)
        case ir.Fence():
            gang.code.do("fence seq_cst")
        case ir.Unary() | ir.Binary() | ir.Select() | ir.Cast() | ir.Bitcast():
            gang.define(op.result, _arithmetic(gang, op))
        case _:
            raise InternalError(f"the operation {type(op).__name__} has no code here")


def _allocate(gang: Gang, op: ir.Allocate) -> str:
    """Write the address of memory of a block, or of the first lane's own memory."""
    offset = gang.shared_places.offset_of(op)
    if offset is not None:
        return gang.code.emit(f"getelementptr i8, ptr {gang.shared}, i64 {offset}")
    size = op.stride_bytes * gang.width
    if gang.frame is not None:
        return gang.frame.place(size)
    return gang.code.slot(f"[{size} x i8]", max(op.alignment, 16))


def _arithmetic(gang: Gang, op: ir.Unary | ir.Binary | ir.Select | ir.Cast | ir.Bitcast) -> str:
    """Write arithmetic on scalars where the result is uniform or affine, else on vectors."""
    width = gang.register_width(op.result)
    held = gang.vector if width else gang.scalar
    write = gang.arithmetic
    type_ = op.result.type
    match op:
        case ir.Unary(kind, operand):
            assert isinstance(type_, DType)
            return write.unary(kind, type_, width, held(operand))
        case ir.Binary(kind, left, right):
            assert isinstance(type_, DType)
            return write.binary(kind, type_, width, held(left), held(right), strict=op.strict)
        case ir.Select(condition, if_true, if_false):
            if if_true is if_false:
                return held(if_true)
            if width and gang.shape(condition).is_uniform:
                register = register_type(type_, width)
                texts = f"{register} {held(if_true)}, {register} {held(if_false)}"
                return gang.code.emit(f"select i1 {gang.scalar(condition)}, {texts}")
            return write.select(type_, width, held(condition), held(if_true), held(if_false))
        case ir.Cast(operand):
            assert isinstance(type_, DType)
            assert isinstance(operand.type, DType)
            return write.cast(operand.type, type_, width, held(operand))
        case ir.Bitcast(operand):
            return write.bitcast(operand.type, type_, width, held(operand))


def _compare(gang: Gang, op: ir.Compare) -> str:
    if gang.shape(op.result).is_uniform:
        left, right = gang.scalar(op.left), gang.scalar(op.right)
        return gang.arithmetic.compare(op.kind, op.left.type, 0, left, right)
    return compare_lanes(gang, op.kind, op.left, op.right)


def compare_lanes(gang: Gang, kind: CompareKind, left: ir.Value, right: ir.Value) -> str:
    """Write a comparison whose result varies.

    Lane numbers against a uniform bound need no wide integers: both sides are taken relative to
    lane 0, and what is left fits a byte.
    """
    if gang.shape(left).is_uniform and kind in _MIRRORED:
        left, right, kind = right, left, _MIRRORED[kind]
    is_counting = gang.shape(left).stride == 1 and gang.shape(right).is_uniform
    if is_counting and kind in _MIRRORED and left.type == dtypes.int64:
        return _compare_counting(gang, kind, left, right)
    return gang.arithmetic.compare(
        kind, left.type, gang.width, gang.vector(left), gang.vector(right)
    )


def _compare_counting(gang: Gang, kind: CompareKind, left: ir.Value, right: ir.Value) -> str:
    code, width = gang.code, gang.width
    bounds = [("i64", gang.scalar(right)), ("i64", gang.scalar(left))]
    distance = code.call("llvm.ssub.sat.i64", "i64", bounds)
    distance = code.call("llvm.smax.i64", "i64", [("i64", distance), ("i64", "-1")])
    distance = code.call("llvm.smin.i64", "i64", [("i64", distance), ("i64", str(width))])
    narrow = code.emit(f"trunc i64 {distance} to i8")
    limit = code.splat(narrow, "i8", width)
    return code.emit(f"icmp s{kind.value} {gang.steps('i8', 1)}, {limit}")


def _emit_register(gang: Gang, register: ir.Register, result: ir.Value) -> None:
    match register:
        case ir.Register.WARPSIZE:
            gang.constants[result] = 32
            gang.define(result, "32")
        case ir.Register.LANEID:
            gang.define(result, gang.lane_id)
        case _:
            gang.define(result, gang.registers[register])


def _emit_pointer_add(gang: Gang, op: ir.PointerAdd) -> None:
    code, scale = gang.code, op.scale
    if gang.register_width(op.result):
        width = gang.width
        factor = gang.arithmetic.number(scale, dtypes.int64, width)
        index = gang.vector(op.index)
        if scale != 1:
            index = code.emit(f"mul <{width} x i64> {index}, {factor}")
        base = f"<{width} x ptr> {gang.vector(op.pointer)}"
        text = code.emit(f"getelementptr i8, {base}, <{width} x i64> {index}")
    else:
        index = gang.scalar(op.index)
        if scale != 1:
            index = code.emit(f"mul i64 {index}, {scale}")
        text = code.emit(f"getelementptr i8, ptr {gang.scalar(op.pointer)}, i64 {index}")
    gang.define(op.result, text)


def _emit_call(gang: Gang, op: ir.Call) -> None:
    match op.intrinsic.cpu:
        case lowerings.LLVM(name, flags):
            _call_llvm(gang, op, name, flags)
        case lowerings.Extern(symbols):
            operand_type = op.operands[0].type
            assert isinstance(operand_type, DType)
            _call_symbol(gang, op, symbols[operand_type])
        case lowerings.Emit("bitcast"):
            width = gang.register_width(op.results[0])
            held = gang.vector if width else gang.scalar
            (operand,) = op.operands
            text = gang.arithmetic.bitcast(operand.type, op.results[0].type, width, held(operand))
            gang.define(op.results[0], text)
        case lowerings.Emit(name) if op.intrinsic.effect is ir.Effect.CONVERGE:
            emit_warp_call(gang, op, name)
        case lowerings.Unsupported(reason):
            raise UnsupportedFeatureError(
                f"{op.span or 'the kernel'}: {op.intrinsic.name} is not supported by the CPU back "
                f"end: {reason}",
                span=op.span,
            )
        case lowering:
            raise InternalError(f"the intrinsic {op.intrinsic.name} has no code here: {lowering}")


def _call_llvm(gang: Gang, op: ir.Call, name: str, flags: tuple[str, ...]) -> None:
    (result,) = op.results
    width = gang.register_width(result)
    held = gang.vector if width else gang.scalar
    arguments = [(register_type(value.type, width), held(value)) for value in op.operands]
    for flag in flags:
        type_, _, value = flag.partition(" ")
        arguments.append((type_, value))
    symbol = f"llvm.{name}.{suffix(scalar_type(op.operands[0].type), width)}"
    operand_type = op.operands[0].type
    answer_type = register_type(operand_type, width)
    text = gang.code.call(symbol, answer_type, arguments)
    if isinstance(operand_type, DType) and isinstance(result.type, DType):
        # Counting intrinsics of LLVM answer in their operand's type.
        text = gang.arithmetic.cast(operand_type, result.type, width, text)
    gang.define(result, text)


def _call_symbol(gang: Gang, op: ir.Call, symbol: str) -> None:
    (result,) = op.results
    if gang.register_width(result):
        operands = [(value.type, gang.vector(value)) for value in op.operands]
        gang.define(result, gang.call_per_lane(symbol, result.type, operands))
        return
    arguments = [(scalar_type(value.type), gang.scalar(value)) for value in op.operands]
    gang.define(result, gang.code.call(symbol, scalar_type(result.type), arguments))
