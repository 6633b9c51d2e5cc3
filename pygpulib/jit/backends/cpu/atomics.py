"""Atomic operations of a gang.

A block runs on one native thread, so shared memory needs no locked instructions. In global memory
the lanes take their turns with the processor's atomic instructions; where all lanes change one
element and nobody reads the old value, the vector is reduced first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.memory import address_of, addresses, lane_zero
from pygpulib.jit.backends.llvm.atomics import MAXIMA, MINIMA, combined, pattern_of
from pygpulib.jit.backends.llvm.text import register_type, scalar_type, suffix
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import AtomicKind

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

_INSTRUCTIONS = {
    AtomicKind.ADD: "add",
    AtomicKind.SUBTRACT: "sub",
    AtomicKind.AND: "and",
    AtomicKind.OR: "or",
    AtomicKind.XOR: "xor",
    AtomicKind.EXCHANGE: "xchg",
}
_REDUCTIONS = {AtomicKind.ADD: 0, AtomicKind.OR: 0, AtomicKind.XOR: 0, AtomicKind.AND: -1}


def emit_atomic(gang: Gang, op: ir.Atomic) -> None:
    """Write an atomic operation."""
    assert gang.is_nonempty
    address = address_of(gang, op)
    is_used = op.result in gang.used
    if address.stride == 0 and not is_used and _can_reduce(op):
        _change(gang, op, lane_zero(gang, address), _reduced(gang, op), None)
        return
    code, element = gang.code, scalar_type(op.value.type)
    pointers = code.slot(f"<{gang.width} x ptr>", 64)
    code.store(pointers, f"<{gang.width} x ptr>", addresses(gang, address))
    operands = [op.value] if op.expected is None else [op.value, op.expected]
    slots = [_spill(gang, value) for value in operands]
    results = code.slot(gang.vector_type(op.value.type), 64)
    code.store(results, gang.vector_type(op.value.type), "zeroinitializer")

    def body(lane: str) -> None:
        pointer = code.load(code.emit(f"getelementptr ptr, ptr {pointers}, i64 {lane}"), "ptr")
        texts = []
        for slot in slots:
            place = code.emit(f"getelementptr {element}, ptr {slot}, i64 {lane}")
            texts.append(code.load(place, element))
        old = _change(gang, op, pointer, texts[0], texts[1] if len(texts) > 1 else None)
        place = code.emit(f"getelementptr {element}, ptr {results}, i64 {lane}")
        code.store(place, element, old)

    gang.for_each_lane(body)
    if is_used:
        gang.define(op.result, code.load(results, gang.vector_type(op.value.type)))


def _spill(gang: Gang, value: ir.Value) -> str:
    slot = gang.code.slot(gang.vector_type(value.type), 64)
    gang.code.store(slot, gang.vector_type(value.type), gang.vector(value))
    return slot


def _dtype(op: ir.Atomic) -> DType:
    assert isinstance(op.value.type, DType)
    return op.value.type


def _can_reduce(op: ir.Atomic) -> bool:
    dtype = _dtype(op)
    if dtype.is_small:
        return False  # no instruction adds them
    return op.kind in _REDUCTIONS and (dtype.is_integer or op.kind is AtomicKind.ADD)


def _reduced(gang: Gang, op: ir.Atomic) -> str:
    """Write the combination of the active lanes' operands."""
    dtype, width = _dtype(op), gang.width
    identity = gang.arithmetic.number(_REDUCTIONS[op.kind], dtype, width)
    register = register_type(dtype, width)
    lanes = gang.select_lanes(gang.mask, dtype, gang.vector(op.value), identity)
    name = f"{'f' if dtype.is_float else ''}{op.kind.value}"
    arguments = [(register, lanes)]
    if dtype.is_float:
        arguments.insert(0, (dtype.llvm, gang.arithmetic.number(0.0, dtype, 0)))
    symbol = f"llvm.vector.reduce.{name}.{suffix(dtype.llvm, width)}"
    return gang.code.call(symbol, dtype.llvm, arguments, "reassoc " if dtype.is_float else "")


def _change(gang: Gang, op: ir.Atomic, pointer: str, value: str, expected: str | None) -> str:
    """Write the change of one element; return its old value."""
    dtype, code = _dtype(op), gang.code
    space = op.pointer.type.space if isinstance(op.pointer.type, ir.Pointer) else None
    if space in (ir.AddressSpace.SHARED, ir.AddressSpace.LOCAL):
        old = code.load(pointer, dtype.llvm)
        code.store(
            pointer, dtype.llvm, combined(gang.arithmetic, op.kind, dtype, old, value, expected)
        )
        return old
    name = _instruction(op.kind, dtype)
    if name is not None:
        return code.emit(f"atomicrmw {name} ptr {pointer}, {dtype.llvm} {value} seq_cst")
    return _exchange_loop(gang, op, pointer, value, expected)


def _instruction(kind: AtomicKind, dtype: DType) -> str | None:
    """Return LLVM's instruction for an operation, where it has one that the hardware knows."""
    if kind in _INSTRUCTIONS and dtype.is_integer:
        return _INSTRUCTIONS[kind]
    if kind in (*MINIMA, *MAXIMA) and dtype.is_integer:
        return f"{'' if dtype.is_signed else 'u'}{'min' if kind in MINIMA else 'max'}"
    return None


def _exchange_loop(
    gang: Gang, op: ir.Atomic, pointer: str, value: str, expected: str | None
) -> str:
    """Write a loop around compare-and-exchange, for everything without an instruction."""
    dtype, code = _dtype(op), gang.code
    bits = pattern_of(dtype)
    seen = code.slot(bits.llvm)
    code.store(seen, bits.llvm, code.load(pointer, bits.llvm))
    again, done = code.new_label("retry"), code.new_label("changed")
    code.branch(again)
    code.label(again)
    old_bits = code.load(seen, bits.llvm)
    old = gang.arithmetic.bitcast(bits, dtype, 0, old_bits)
    new = combined(gang.arithmetic, op.kind, dtype, old, value, expected)
    new_bits = gang.arithmetic.bitcast(dtype, bits, 0, new)
    exchange = code.emit(
        f"cmpxchg ptr {pointer}, {bits.llvm} {old_bits}, {bits.llvm} {new_bits} seq_cst seq_cst"
    )
    pair = f"{{ {bits.llvm}, i1 }}"
    code.store(seen, bits.llvm, code.emit(f"extractvalue {pair} {exchange}, 0"))
    code.branch_if(code.emit(f"extractvalue {pair} {exchange}, 1"), done, again)
    code.label(done)
    return old
