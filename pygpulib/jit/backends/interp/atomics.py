"""Atomic operations, one lane after the other."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.backends.interp.state import Array
from pygpulib.jit.ir.arithmetic import apply_binary
from pygpulib.jit.ir.ops import AtomicKind, BinaryKind

_BINARY = {
    AtomicKind.ADD: BinaryKind.ADD,
    AtomicKind.SUBTRACT: BinaryKind.SUBTRACT,
    AtomicKind.AND: BinaryKind.AND,
    AtomicKind.OR: BinaryKind.OR,
    AtomicKind.XOR: BinaryKind.XOR,
}


def combine(kind: AtomicKind, old: Array, value: Array, expected: Array | None) -> Array:
    """Return what an atomic operation leaves in memory.

    Parameters
    ----------
    kind : AtomicKind
        The operation.
    old : ndarray
        What was there.
    value : ndarray
        The operand.
    expected : ndarray or None
        What a compare-and-exchange compares with.
    """
    if kind in _BINARY:
        return apply_binary(_BINARY[kind], old, value)
    match kind:
        case AtomicKind.EXCHANGE:
            return value
        case AtomicKind.COMPARE_EXCHANGE:
            return np.where(old == expected, value, old)
        case AtomicKind.INCREMENT:
            return np.where(old >= value, 0, old + old.dtype.type(1)).astype(old.dtype)
        case AtomicKind.DECREMENT:
            is_wrapped = (old == 0) | (old > value)
            return np.where(is_wrapped, value, old - old.dtype.type(1)).astype(old.dtype)
        case _:
            return _extremum(kind, old, value)


def _extremum(kind: AtomicKind, old: Array, value: Array) -> Array:
    """Exchange if the operand is beyond; ``nan`` in memory stays unless the kind treats it."""
    if kind in (AtomicKind.MINIMUM, AtomicKind.NAN_MINIMUM):
        is_beyond = value < old
    elif kind in (AtomicKind.MAXIMUM, AtomicKind.NAN_MAXIMUM):
        is_beyond = value > old
    else:
        raise AssertionError(kind)
    if kind in (AtomicKind.NAN_MINIMUM, AtomicKind.NAN_MAXIMUM):
        # A nan in memory counts as missing, so any number replaces it.
        is_beyond |= (old != old) & (value == value)
    return np.where(is_beyond, value, old)
