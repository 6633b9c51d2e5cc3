"""How a gang reports an error of one of its threads.

The fault record is described in :mod:`pygpulib.jit.backends.cpu.executable`. The first thread to
fail in the launch takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType, float64, int64
from pygpulib.jit.backends.llvm.text import register_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang
    from pygpulib.jit.backends.llvm.text import Code

MAX_DETAILS = 7


def emit_raise(gang: Gang, op: ir.Raise) -> None:
    """Write the record of an error, if some lane is active and the record is free."""
    code = gang.code
    if gang.raised is not None:
        old = code.load(gang.raised, gang.mask_type)
        code.store(gang.raised, gang.mask_type, gang.mask_or(old, gang.mask_text(gang.mask)))
    if op.code is None:
        return
    test, done = code.new_label("test"), code.new_label("on")
    code.branch_if(gang.any_lane(gang.mask), test, done)
    code.label(test)
    with gang.dominated():
        claim_record(code, gang.fault_record, lambda: _record_words(gang, op))
    code.branch(done)
    code.label(done)


def claim_record(code: Code, record: str, words: Callable[[], list[str]]) -> None:
    """Write the words of a fault record from 1 on, if there is one and it is free."""
    claim, write, done = (code.new_label(name) for name in ("claim", "fault", "reported"))
    code.branch_if(code.emit(f"icmp ne ptr {record}, null"), claim, done)
    code.label(claim)
    exchange = code.emit(f"cmpxchg ptr {record}, i64 0, i64 1 acquire monotonic")
    code.branch_if(code.emit(f"extractvalue {{ i64, i1 }} {exchange}, 1"), write, done)
    code.label(write)
    for position, word in enumerate(words(), start=1):
        address = code.emit(f"getelementptr i64, ptr {record}, i64 {position}")
        code.store(address, "i64", word)
    code.branch(done)
    code.label(done)


def _record_words(gang: Gang, op: ir.Raise) -> list[str]:
    code = gang.code
    lane = _first_active(gang)
    words = [str(op.code)]
    words += [_widen(gang, gang.registers[register]) for register in ir.CTAID]
    for axis, register in enumerate(ir.TID):
        text = gang.registers[register]
        if gang.axis == LINEAR_AXIS:
            text = code.emit(f"extractelement <{gang.width} x i32> {text}, i64 {lane}")
        base = _widen(gang, text)
        words.append(code.emit(f"add i64 {base}, {lane}") if axis == gang.axis else base)
    details = op.details[:MAX_DETAILS]
    words += [str(len(details)), *(lane_word(gang, value, lane) for value in details)]
    return words


def _widen(gang: Gang, register: str) -> str:
    return gang.code.emit(f"sext i32 {register} to i64")


def _first_active(gang: Gang) -> str:
    if gang.mask is None:
        return "0"
    lanes = ("i64", gang.mask_word(gang.mask))
    return gang.code.call("llvm.cttz.i64", "i64", [lanes, ("i1", "true")])


def lane_word(gang: Gang, value: ir.Value, lane: str) -> str:
    """Return one lane's value as the 64 bits of an int64 or, for floats, of a float64."""
    code, type_ = gang.code, value.type
    if gang.shape(value).is_uniform:
        text = gang.scalar(value)
    else:
        vector = register_type(type_, gang.width)
        text = code.emit(f"extractelement {vector} {gang.vector(value)}, i64 {lane}")
    if not isinstance(type_, DType):
        return code.emit(f"ptrtoint ptr {text} to i64")
    if not type_.is_float:
        return gang.arithmetic.cast(type_, int64, 0, text)
    text = gang.arithmetic.cast(type_, float64, 0, text)
    return code.emit(f"bitcast double {text} to i64")
