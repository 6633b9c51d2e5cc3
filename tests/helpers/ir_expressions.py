"""Arithmetic and memory accesses of random programs, see :mod:`tests.helpers.ir_programs`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder

B, C, U = ir.BinaryKind, ir.CompareKind, ir.UnaryKind

INTEGERS = tuple(row for row in dtypes.ALL_DTYPES if row.is_integer)
FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)
NUMBERS = (*INTEGERS, *FLOATS)
SCALARS = (dtypes.bool_, *NUMBERS)

SLOTS = 4
"""Elements of each written array that belong to one thread."""

_INPUT_LENGTH = 13


@dataclass(frozen=True)
class _Array:
    """An array parameter: the pointer and its number of elements."""

    dtype: DType
    pointer: ir.Value
    length: ir.Value


class Expressions:
    """Writes straight code; ``values`` are those visible at the current point, by type."""

    def __init__(self, source: random.Random, *, atomics: bool) -> None:
        self.random = source
        self.atomics = atomics
        self.b = Builder()
        self.values: dict[ir.Type, list[ir.Value]] = {}
        self.params: list[ir.Value] = []
        self.arguments: list[Any] = []
        self.inputs: list[_Array] = []
        self.outputs: list[_Array] = []
        self.counters: list[_Array] = []
        self.locals: list[tuple[DType, int, ir.Value]] = []

    def _declare(self, threads: int) -> None:
        values = np.random.default_rng(self.random.randint(0, 2**31))
        for _ in range(self.random.randint(1, 3)):
            dtype = self.random.choice(SCALARS)
            self.inputs.append(self._array(_random_array(values, dtype, _INPUT_LENGTH), dtype))
        for _ in range(self.random.randint(1, 3)):
            dtype = self.random.choice(SCALARS)
            data = _random_array(values, dtype, threads * SLOTS)
            self.outputs.append(self._array(data, dtype))
        if self.atomics:
            dtype = self.random.choice((dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64))
            self.counters.append(
                self._array(_random_array(values, dtype, len(_ATOMIC_KINDS)), dtype)
            )
        for _ in range(self.random.randint(0, 3)):
            dtype = self.random.choice(SCALARS)
            param = ir.Value(dtype, "scalar")
            self.params.append(param)
            self.arguments.append(_random_array(values, dtype, 1)[0])
            self._add(param)

    def _array(self, data: np.ndarray, dtype: DType) -> _Array:
        pointer, length = ir.Value(ir.Pointer(), "array"), ir.Value(dtypes.int64, "length")
        self.params += [pointer, length, ir.Value(dtypes.int64, "stride")]
        self.arguments.append(data)
        self._add(length)
        return _Array(dtype, pointer, length)

    def _positions(self) -> None:
        """Compute the thread's number in its block and in the grid."""
        read = {register: self.b.register(register) for register in _POSITION_REGISTERS}
        r = ir.Register

        def linear(x: ir.Value, y: ir.Value, width: ir.Value) -> ir.Value:
            return self.b.binary(B.ADD, x, self.b.binary(B.MULTIPLY, y, width))

        thread = linear(read[r.TID_X], read[r.TID_Y], read[r.NTID_X])
        block = linear(read[r.CTAID_X], read[r.CTAID_Y], read[r.NCTAID_X])
        threads = self.b.binary(B.MULTIPLY, read[r.NTID_X], read[r.NTID_Y])
        self.thread = self.b.cast(thread, dtypes.int64)
        self.threads = self.b.cast(threads, dtypes.int64)
        self.gid = self.b.cast(linear(thread, block, threads), dtypes.int64)
        for value in (*read.values(), thread, self.thread, self.gid):
            self._add(value)

    def _store_all(self) -> None:
        """Store some visible value of the type of each written array, so that much is seen."""
        for array in self.outputs:
            for slot in range(SLOTS):
                if self._chance(0.5):
                    self._store(array, slot, self._value(array.dtype))

    # ------------------------------------------------------------------------------- values

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _add(self, value: ir.Value) -> ir.Value:
        self.values.setdefault(value.type, []).append(value)
        return value

    @contextmanager
    def _block(self) -> Iterator[list[ir.Op]]:
        """Open a block; what becomes visible inside is forgotten afterwards."""
        outer, outer_locals = self.values, self.locals
        self.values = {type_: list(values) for type_, values in outer.items()}
        self.locals = list(outer_locals)
        with self.b.collect() as ops:
            yield ops
        self.values, self.locals = outer, outer_locals

    def _value(self, dtype: DType) -> ir.Value:
        """Return a value of a dtype: a visible one, a converted one or a constant."""
        known = self.values.get(dtype)
        choice = self.random.random()
        if known and choice < 0.75:
            return self._pick(known)
        others = [value for key, found in self.values.items() if key != dtype for value in found]
        if others and choice < 0.9:
            return self._add(self.b.cast(self._pick(others), dtype))
        return self._constant(dtype)

    def _pick(self, values: Sequence[ir.Value]) -> ir.Value:
        """Prefer what was computed last, so that programs are deep."""
        recent = values[-6:] if self._chance(0.7) else values
        return self.random.choice(recent)

    def _constant(self, dtype: DType) -> ir.Value:
        if dtype.is_bool:
            return self.b.constant(self._chance(0.5), dtype)
        if dtype.is_float:
            number = self.random.choice((0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 1e4, np.inf, np.nan))
            return self.b.constant(float(dtype.numpy.type(number)), dtype)
        top = 1 << (dtype.bits - 1)
        number = self.random.choice((0, 1, -1, 2, 3, 5, 7, dtype.bits, top - 1, top, top >> 1))
        return self.b.constant(number, dtype)

    def _small(self, count: int, dtype: DType = dtypes.int64) -> ir.Value:
        """Return a value in ``range(count)`` that may differ between threads."""
        if self._chance(0.3):
            return self.b.constant(self.random.randrange(count), dtype)
        value = self._value(self.random.choice(INTEGERS))
        wide = self.b.cast(value, dtypes.int64)
        bounded = self.b.binary(B.MODULO, wide, self.b.constant(count, dtypes.int64))
        return self.b.cast(bounded, dtype)

    def _value_list(self, types: Sequence[DType]) -> tuple[ir.Value, ...]:
        return tuple(self._value(type_) for type_ in types)

    # -------------------------------------------------------------------------- expressions

    def _compute(self) -> None:
        for _ in range(self.random.randint(1, 5)):
            self._expression()

    def _expression(self) -> None:
        makers = (
            self._binary, self._binary, self._binary, self._unary, self._compare, self._select,
            self._cast, self._load_input, self._load_output, self._load_local, self._bitcast,
        )  # fmt: skip
        self._add(self.random.choice(makers)())

    def _binary(self) -> ir.Value:
        dtype = self.random.choice((*NUMBERS, dtypes.int32, dtypes.int64, dtypes.float32))
        kind = self.random.choice(_FLOAT_KINDS if dtype.is_float else _INTEGER_KINDS)
        if self._chance(0.1):
            dtype, kind = dtypes.bool_, self.random.choice((B.AND, B.OR, B.XOR))
        left = self._constant(dtype) if self._chance(0.05) else self._value(dtype)
        right = self._constant(dtype) if self._chance(0.15) else self._value(dtype)
        right = left if self._chance(0.1) else right
        if kind in (B.SHIFT_LEFT, B.SHIFT_RIGHT) and self._chance(0.5):
            right = self._small(dtype.bits, dtype)
        result = self.b.binary(kind, left, right)
        if kind in (B.MINIMUM, B.MAXIMUM) and dtype.is_float:
            # The sign of a zero is not promised: adding +0 makes it certain.
            result = self.b.binary(B.ADD, result, self.b.constant(0.0, dtype))
        return result

    def _unary(self) -> ir.Value:
        dtype = self.random.choice(SCALARS)
        if dtype.is_bool:
            kinds: tuple[ir.UnaryKind, ...] = (U.NOT,)
        elif dtype.is_float:
            kinds = (U.NEGATE, U.ABSOLUTE)
        else:
            kinds = (U.NEGATE, U.NOT, U.ABSOLUTE)
        return self.b.unary(self.random.choice(kinds), self._value(dtype))

    def _compare(self) -> ir.Value:
        dtype = self.random.choice(SCALARS)
        return self.b.compare(self.random.choice(tuple(C)), self._value(dtype), self._value(dtype))

    def _select(self) -> ir.Value:
        dtype = self.random.choice(SCALARS)
        return self.b.select(self._value(dtypes.bool_), self._value(dtype), self._value(dtype))

    def _cast(self) -> ir.Value:
        source, target = self.random.choice(SCALARS), self.random.choice(SCALARS)
        return self.b.cast(self._value(source), target)

    def _bitcast(self) -> ir.Value:
        """Reinterpret an integer. Floats are not: the bits of a nan are nobody's business."""
        source = self.random.choice(INTEGERS)
        fitting = [row for row in NUMBERS if row.bits == source.bits and row != source]
        result = ir.Value(self.random.choice(fitting))
        self.b.append(ir.Bitcast(self._value(source), result))
        return result

    # ------------------------------------------------------------------------------- memory

    def _load_input(self) -> ir.Value:
        array = self.random.choice(self.inputs)
        index = self._value(dtypes.int64)
        index = self.b.binary(B.MODULO, index, array.length)
        pointer = array.pointer
        if self._chance(0.3):
            # Half of the way in the pointer: the last element is one step beyond it.
            two = self.b.constant(2, dtypes.int64)
            half = self.b.binary(B.FLOOR_DIVIDE, index, two)
            pointer = self.b.offset(pointer, half, array.dtype.size_bytes)
            index = self.b.binary(B.SUBTRACT, index, half)
        return self.b.load(pointer, index, array.dtype.size_bytes, array.dtype)

    def _own_index(self, slot: int) -> ir.Value:
        """Return the index of one of the thread's own elements."""
        base = self.b.binary(B.MULTIPLY, self.gid, self.b.constant(SLOTS, dtypes.int64))
        return self.b.binary(B.ADD, base, self.b.constant(slot, dtypes.int64))

    def _load_output(self) -> ir.Value:
        array = self.random.choice(self.outputs)
        index = self._own_index(self.random.randrange(SLOTS))
        return self.b.load(array.pointer, index, array.dtype.size_bytes, array.dtype)

    def _store(self, array: _Array, slot: int, value: ir.Value) -> None:
        self.b.store(array.pointer, self._own_index(slot), value, array.dtype.size_bytes)

    def _write(self) -> None:
        array = self.random.choice(self.outputs)
        self._store(array, self.random.randrange(SLOTS), self._value(array.dtype))

    def _allocate(self) -> None:
        """Allocate local memory and fill it; the allocation lives on in this block."""
        dtype, count = self.random.choice(SCALARS), self.random.randint(1, 4)
        pointer = ir.Value(ir.Pointer(ir.AddressSpace.LOCAL), "local")
        size = dtype.size_bytes
        self.b.append(ir.Allocate(ir.AddressSpace.LOCAL, size * count, size, pointer))
        for index in range(count):
            self.b.store(
                pointer, self.b.constant(index, dtypes.int64), self._value(dtype), dtype.size_bytes
            )
        self.locals.append((dtype, count, pointer))

    def _load_local(self) -> ir.Value:
        if not self.locals:
            return self._load_output()
        dtype, count, pointer = self.random.choice(self.locals)
        if self._chance(0.3):
            self.b.store(pointer, self._small(count), self._value(dtype), dtype.size_bytes)
        return self.b.load(pointer, self._small(count), dtype.size_bytes, dtype)

    def _exchange(self) -> None:
        """Pass a value to another thread of the block through shared memory."""
        dtype = self.random.choice(SCALARS)
        size = dtype.size_bytes
        pointer = ir.Value(ir.Pointer(ir.AddressSpace.SHARED), "shared")
        self.b.append(ir.Allocate(ir.AddressSpace.SHARED, 66 * size, size, pointer))
        self.b.store(pointer, self.thread, self._value(dtype), size)
        self.b.append(ir.Barrier(ir.BarrierKind.BLOCK))
        shift = self.b.constant(self.random.randint(1, 5), dtypes.int64)
        other = self.b.binary(B.MODULO, self.b.binary(B.ADD, self.thread, shift), self.threads)
        self._add(self.b.load(pointer, other, size, dtype))
        self.b.append(ir.Barrier(ir.BarrierKind.BLOCK))

    def _count_together(self) -> None:
        """Combine a predicate over the block."""
        kinds = (ir.BarrierKind.BLOCK_COUNT, ir.BarrierKind.BLOCK_AND, ir.BarrierKind.BLOCK_OR)
        predicate = self.b.cast(self._value(dtypes.bool_), dtypes.int32)
        result = ir.Value(dtypes.int32)
        self.b.append(ir.Barrier(self.random.choice(kinds), predicate, (result,)))
        self._add(result)

    def _count_atomically(self) -> None:
        """Change a counter by an operation whose order does not matter; the old value is lost."""
        array = self.random.choice(self.counters)
        # Each element has one kind, for different kinds do not commute.
        slot = self.random.randrange(len(_ATOMIC_KINDS))
        index = self.b.constant(slot, dtypes.int64)
        old = ir.Value(array.dtype)
        value = self._value(array.dtype)
        size = array.dtype.size_bytes
        self.b.append(ir.Atomic(_ATOMIC_KINDS[slot], array.pointer, index, value, None, size, old))


_POSITION_REGISTERS = (
    ir.Register.TID_X,
    ir.Register.TID_Y,
    ir.Register.CTAID_X,
    ir.Register.CTAID_Y,
    ir.Register.NTID_X,
    ir.Register.NTID_Y,
    ir.Register.NCTAID_X,
    ir.Register.LANEID,
)

_INTEGER_KINDS = tuple(kind for kind in B if kind is not B.DIVIDE)
_FLOAT_KINDS = (
    B.ADD, B.SUBTRACT, B.MULTIPLY, B.DIVIDE, B.FLOOR_DIVIDE, B.MODULO, B.REMAINDER,
    B.MINIMUM, B.MAXIMUM,
)  # fmt: skip
_ATOMIC_KINDS = (
    ir.AtomicKind.ADD,
    ir.AtomicKind.AND,
    ir.AtomicKind.OR,
    ir.AtomicKind.XOR,
    ir.AtomicKind.MAXIMUM,
)


def _random_array(values: np.random.Generator, dtype: DType, count: int) -> np.ndarray:
    """Return elements of which some are small, some arbitrary and some special."""
    if dtype.is_bool:
        return values.integers(0, 2, count).astype(np.bool_)
    if dtype.is_float:
        data = values.normal(0, 10, count).astype(dtype.numpy)
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], dtype.numpy)
        return np.where(values.random(count) < 0.2, values.choice(special, count), data)
    limits = np.iinfo(dtype.numpy)
    data = values.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
    small = values.integers(0, 10, count).astype(dtype.numpy)
    return np.where(values.random(count) < 0.6, small, data)
