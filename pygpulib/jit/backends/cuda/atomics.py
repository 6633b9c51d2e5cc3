"""Atomic operations of one thread.

The hardware adds, exchanges and compares integers of 32 and 64 bits and adds floats by itself; LLVM
knows how to do the other integer operations with these. What is left goes through compare and
exchange. All are relaxed and of the scope of the device, as CUDA's functions are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cuda.memory import address_of
from pygpulib.jit.backends.cuda.thread import Join
from pygpulib.jit.backends.llvm.atomics import MAXIMA, MINIMA, combined, pattern_of
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import AtomicKind

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

RELAXED = 'syncscope("device") monotonic'

_ON_INTEGERS = {
    AtomicKind.ADD: "add",
    AtomicKind.AND: "and",
    AtomicKind.OR: "or",
    AtomicKind.XOR: "xor",
    AtomicKind.EXCHANGE: "xchg",
    AtomicKind.INCREMENT: "uinc_wrap",
    AtomicKind.DECREMENT: "udec_wrap",
    AtomicKind.SUBTRACT: "sub",
}


def emit_atomic(thread: Thread, op: ir.Atomic) -> None:
    """Write an atomic operation."""
    thread.define(op.result, _change(thread, op, address_of(thread, op)))


def _change(thread: Thread, op: ir.Atomic, address: str) -> str:
    """Write the change of the element, and return its old value."""
    dtype, code = thread.dtype(op.value), thread.code
    value = thread.text(op.value)
    assert isinstance(op.pointer.type, ir.Pointer)
    if op.pointer.type.space is ir.AddressSpace.LOCAL:
        # Nobody else can change it, and the hardware has no such instructions there.
        old = code.emit(f"load {dtype.llvm}, {address}")
        code.do(f"store {dtype.llvm} {_combined(thread, op, old)}, {address}")
        return old
    if op.kind is AtomicKind.COMPARE_EXCHANGE and dtype.is_integer:
        assert op.expected is not None
        return _exchange(thread, address, dtype, thread.text(op.expected), value)[0]
    name = _instruction(op.kind, dtype)
    if name is not None:
        return code.emit(f"atomicrmw {name} {address}, {dtype.llvm} {value} {RELAXED}")
    return _exchange_loop(thread, op, address)


def _instruction(kind: AtomicKind, dtype: DType) -> str | None:
    """Return LLVM's instruction for an operation, if there is one that means the same."""
    if not dtype.is_integer:
        return "fadd" if kind is AtomicKind.ADD and not dtype.is_small else None
    if kind in MINIMA or kind in MAXIMA:
        return f"{'' if dtype.is_signed else 'u'}{'min' if kind in MINIMA else 'max'}"
    return _ON_INTEGERS.get(kind)


def _combined(thread: Thread, op: ir.Atomic, old: str) -> str:
    value, dtype = thread.text(op.value), thread.dtype(op.value)
    expected = None if op.expected is None else thread.text(op.expected)
    return combined(thread.arithmetic, op.kind, dtype, old, value, expected)


def _exchange(
    thread: Thread, address: str, dtype: DType, expected: str, value: str
) -> tuple[str, str]:
    """Write a compare and exchange of an integer; return the old value and whether it was done."""
    code, type_ = thread.code, dtype.llvm
    pair = code.emit(f"cmpxchg {address}, {type_} {expected}, {type_} {value} {RELAXED} monotonic")
    old, is_done = (code.emit(f"extractvalue {{ {type_}, i1 }} {pair}, {n}") for n in range(2))
    return old, is_done


def _exchange_loop(thread: Thread, op: ir.Atomic, address: str) -> str:
    """Write a loop around compare and exchange."""
    dtype, code, write = thread.dtype(op.value), thread.code, thread.arithmetic
    bits = pattern_of(dtype)
    retry, done = Join(code, "retry", [bits.llvm]), Join(code, "changed", [bits.llvm])
    size = bits.size_bytes
    retry.come([code.emit(f"load atomic {bits.llvm}, {address} {RELAXED}, align {size}")])
    (old_bits,) = retry.begin()
    new = _combined(thread, op, write.bitcast(bits, dtype, 0, old_bits))
    new_bits = write.bitcast(dtype, bits, 0, new)
    if op.kind in (*MINIMA, *MAXIMA, AtomicKind.COMPARE_EXCHANGE):
        # Most often there is nothing to change.
        changes = code.emit(f"icmp ne {bits.llvm} {old_bits}, {new_bits}")
        exchange = code.new_label("exchange")
        done.arrive([old_bits])
        code.branch_if(changes, exchange, done.label)
        code.label(exchange)
    seen, is_done = _exchange(thread, address, bits, old_bits, new_bits)
    retry.arrive([seen])
    done.arrive([old_bits])
    code.branch_if(is_done, done.label, retry.label)
    retry.seal()
    (old_bits,) = done.begin()
    done.seal()
    return write.bitcast(bits, dtype, 0, old_bits)
