"""Operands -> functions that read and write them for a group of lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.syntax import (
    Address,
    Group,
    Immediate,
    LocalSymbol,
    Operand,
    ParamSymbol,
    Register,
    Sink,
    Special,
    Symbol,
)
from tests.fakecuda.ptx.types import PRED, U64, PtxType

Reader = Callable[[Lanes], np.ndarray]
Writer = Callable[[Lanes, np.ndarray], None]


def reader(operand: Operand, kind: PtxType) -> Reader:
    """Return a function that gives the operand's values as `kind`, one or one per lane."""
    match operand:
        case Register():
            return _register_reader(operand, kind)
        case Immediate():
            constant = as_type(_immediate_bits(operand, kind), kind)
            return lambda lanes: constant
        case Special(name):
            return lambda lanes: as_type(lanes.pick(lanes.machine.special(name)), kind)
        case Symbol(name):
            return lambda lanes: as_type(lanes.machine.address_of(name), kind)
        case LocalSymbol():
            base = local_reader(operand)
            return lambda lanes: as_type(base(lanes), kind)
        case ParamSymbol(key):
            return lambda lanes: as_type(lanes.machine.param_offset(key), kind)
        case Address(base, offset):
            moved = address_reader(base, offset)
            return lambda lanes: as_type(moved(lanes), kind)
        case Sink():
            return lambda lanes: np.zeros(1, kind.dtype)
        case Group(items):
            return _packing_reader(items, kind)


def as_type(raw: np.ndarray, kind: PtxType) -> np.ndarray:
    """Take the low bits of unsigned values as values of `kind`."""
    if raw.dtype == kind.raw:
        return unpacked(raw, kind)
    if kind is PRED:
        return raw != 0
    return unpacked(raw.astype(kind.raw), kind)


def unpacked(raw: np.ndarray, kind: PtxType) -> np.ndarray:
    """See registers as values; packed types get a second axis."""
    values = raw.view(kind.dtype)
    return values if kind.parts == 1 else values.reshape(-1, kind.parts)


def _register_reader(register: Register, kind: PtxType) -> Reader:
    slot, raw = register.slot, register.type.raw
    if register.negated:
        return lambda lanes: ~lanes.pick(lanes.registers[slot])
    if raw == kind.raw and kind.parts == 1:
        dtype = kind.dtype

        def read_same_size(lanes: Lanes) -> np.ndarray:
            values = lanes.registers[slot]
            if lanes.index is not None and len(values) != 1:
                values = values[lanes.index]
            return values.view(dtype)

        return read_same_size
    return lambda lanes: as_type(lanes.pick(lanes.registers[slot]), kind)


def _immediate_bits(operand: Immediate, kind: PtxType) -> np.ndarray:
    value = operand.value
    if operand.float_size and kind.is_float and operand.float_size != kind.size:
        source = np.array([value], f"u{operand.float_size}").view(f"f{operand.float_size}")
        return source.astype(kind.dtype).view(kind.raw)
    if kind is PRED:
        return np.array([value != 0])
    return np.array([value & ((1 << 8 * kind.size) - 1)], kind.raw)


def local_reader(operand: LocalSymbol) -> Reader:
    """Return a function that gives the variable's offsets in its threads' local memory."""
    offset = operand.offset

    def read(lanes: Lanes) -> np.ndarray:
        return (lanes.pick(lanes.frame.local_base) + offset).view(np.uint64)

    return read


def address_reader(base: Operand, offset: int) -> Reader:
    """Return a function that gives base + offset as 64 bits."""
    if isinstance(base, Register):
        read_base = _register_reader(base, PtxType("address", base.type.size, base.type.raw,
                                                   base.type.raw))  # fmt: skip
    else:
        read_base = reader(base, U64)
    moved = np.array([offset & (2**64 - 1)], np.uint64)

    def read(lanes: Lanes) -> np.ndarray:
        values = read_base(lanes)
        if values.dtype != moved.dtype:
            values = values.astype(np.uint64)
        return values + moved if offset else values

    return read


def _packing_reader(items: tuple[Operand, ...], kind: PtxType) -> Reader:
    """Return a function that joins the values of a vector to one, the first lowest."""
    size = kind.size // len(items)
    part = PtxType("part", size, np.dtype(f"u{size}"), np.dtype(f"u{size}"))
    readers = [reader(item, part) for item in items]

    def read(lanes: Lanes) -> np.ndarray:
        parts = np.broadcast_arrays(*[one(lanes) for one in readers])
        return unpacked(np.stack(parts, axis=-1).view(kind.raw).reshape(-1), kind)

    return read


def writer(operand: Operand, kind: PtxType) -> Writer:
    """Return a function that stores values of `kind`, one or one per lane."""
    match operand:
        case Register():
            return _register_writer(operand, kind)
        case Sink():
            return lambda lanes, values: None
        case Group(items):
            return _unpacking_writer(items, kind)
    raise UnsupportedPtx(f"{operand} as a destination")


def _register_writer(register: Register, kind: PtxType) -> Writer:
    slot, raw = register.slot, register.type.raw
    extend = np.dtype(f"{'i' if kind.is_signed else 'u'}{raw.itemsize}")

    def write(lanes: Lanes, values: np.ndarray) -> None:
        if values.ndim > 1:
            values = np.ascontiguousarray(values).view(kind.raw).reshape(-1)
        if values.dtype.itemsize != raw.itemsize:
            # Loads and conversions extend to the register's size, by the sign of the type.
            values = values.view(kind.raw if kind.is_float else values.dtype).astype(extend)
        if lanes.index is None:
            if values.base is not None:
                values = values.copy()  # a register's array belongs to nobody else
            lanes.registers[slot] = values.view(raw)
            return
        stored = lanes.registers[slot]
        if len(stored) != lanes.frame.lanes:
            stored = np.full(lanes.frame.lanes, stored[0], raw)
            lanes.registers[slot] = stored
        stored[lanes.index] = values.view(raw)

    return write


def _unpacking_writer(items: tuple[Operand, ...], kind: PtxType) -> Writer:
    size = kind.size // len(items)
    part = PtxType("part", size, np.dtype(f"u{size}"), np.dtype(f"u{size}"))
    writers = [writer(item, part) for item in items]

    def write(lanes: Lanes, values: np.ndarray) -> None:
        columns = np.ascontiguousarray(values).view(part.raw).reshape(-1, len(items))
        for position, one in enumerate(writers):
            one(lanes, np.ascontiguousarray(columns[:, position]))

    return write
