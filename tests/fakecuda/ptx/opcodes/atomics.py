"""Atomic operations: the lanes of a group one after the other, as far as they meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.opcodes.conversions import from_bf16, to_bf16
from tests.fakecuda.ptx.opcodes.memory import address_of, space_of
from tests.fakecuda.ptx.opcodes.table import Step, direct
from tests.fakecuda.ptx.operands import address_reader, reader, unpacked, writer
from tests.fakecuda.ptx.syntax import Instruction, Sink

# (old, operand, second operand of cas) -> new
Update = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# (first state, operands, second operands) -> that state and the one after each operand
Sequence = Callable[[np.generic, np.ndarray, np.ndarray], np.ndarray]


def _increment(old: np.ndarray, limit: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _decrement(old: np.ndarray, limit: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


UPDATES: dict[str, Update] = {
    "add": lambda old, value, _: old + value,
    "min": lambda old, value, _: np.minimum(old, value),
    "max": lambda old, value, _: np.maximum(old, value),
    "and": lambda old, value, _: old & value,
    "or": lambda old, value, _: old | value,
    "xor": lambda old, value, _: old ^ value,
    "exch": lambda old, value, _: value,
    "cas": lambda old, expected, new: np.where(old == expected, new, old),
    "inc": _increment,
    "dec": _decrement,
}


def _update_of(instruction: Instruction) -> Update:
    name = instruction.choose(*UPDATES)
    if name is None:
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    kind = instruction.type
    # Integers and bits know all operations, floats only two.
    if (kind.is_float or kind.name.startswith("bf16")) and name not in ("add", "exch"):
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    if kind.name == "bf16x2":
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    if kind.name == "bf16" and name == "add":
        return lambda old, value, _: to_bf16(from_bf16(old) + from_bf16(value), "rn")
    return UPDATES[name]


@direct("atom", "red")
def atomic(instruction: Instruction) -> Step:
    """atom returns what was there before, red nothing."""
    returns = instruction.opcode == "atom"
    if instruction.choose("v2", "v4", "v8", "b128"):
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    kind, space, update = instruction.type, space_of(instruction), _update_of(instruction)
    rest = instruction.operands[1:] if returns else instruction.operands
    address = address_of(rest[0])
    read_address = address_reader(address.base, address.offset)
    read_first = reader(rest[1], kind)
    read_second = reader(rest[2], kind) if len(rest) > 2 else read_first
    write = writer(instruction.operands[0] if returns else Sink(), kind)

    def run(lanes: Lanes) -> None:
        machine = lanes.machine
        machine.scheduler.be_patient_no_more()
        first = spread(read_first(lanes), lanes.count)
        second = spread(read_second(lanes), lanes.count)
        addresses = lanes.spread(read_address(lanes))
        before = np.empty(first.shape, kind.dtype)
        for name, moved, some, chosen in machine.spaces.parts(space, addresses, lanes):
            data, offsets = machine.spaces.resolve(name, moved, kind.size, some)
            if name == "shared":
                machine.spaces.note_shared_atomic(offsets, kind.size, some)
            mine = slice(None) if chosen is None else chosen
            elements = unpacked(data.view(kind.raw), kind)
            before[mine] = apply_in_turn(
                elements, offsets // kind.size, first[mine], second[mine], update
            )
        write(lanes, before)

    return run


def spread(values: np.ndarray, count: int) -> np.ndarray:
    """Return one value (or row of a packed type) per lane."""
    return np.broadcast_to(values, (count, *values.shape[1:])) if len(values) == 1 else values


def apply_in_turn(
    elements: np.ndarray,
    index: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    update: Update,
) -> np.ndarray:
    """Update elements lane by lane; return what each lane has found.

    Lanes at different elements are independent: round after round, the first lane that is left at
    each element takes its turn. Where many meet at few elements, each element goes through its
    lanes instead.
    """
    order = np.argsort(index, kind="stable")
    places = index[order]
    starts = np.nonzero(np.concatenate(([True], places[1:] != places[:-1])))[0]
    before = np.empty(first.shape, first.dtype)
    sizes = np.diff(np.append(starts, len(places)))
    rounds = int(sizes.max())
    if rounds > len(starts) and first.ndim == 1 and update in _SEQUENCES:
        for start, size in zip(starts, sizes, strict=True):
            lanes = order[start : start + size]
            values = _SEQUENCES[update](elements[places[start]], first[lanes], second[lanes])
            before[lanes] = values[:-1]
            elements[places[start]] = values[-1]
        return before
    for turn in range(rounds):
        lanes = order[starts[sizes > turn] + turn]
        old = elements[index[lanes]]
        before[lanes] = old
        elements[index[lanes]] = update(old, first[lanes], second[lanes])
    return before


# --------------------------------------------------- all values that one element goes through


def _accumulation(function: np.ufunc) -> Sequence:
    def sequence(old: np.generic, values: np.ndarray, _: np.ndarray) -> np.ndarray:
        return function.accumulate(np.concatenate(([old], values)), dtype=values.dtype)

    return sequence


def _exchanges(old: np.generic, values: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.concatenate(([old], values))


def _comparisons(old: np.generic, expected: np.ndarray, new: np.ndarray) -> np.ndarray:
    found = int(old)
    states = [found]
    for wanted, value in zip(expected.tolist(), new.tolist(), strict=True):
        if found == wanted:
            found = value
        states.append(found)
    return np.array(states, expected.dtype)


_SEQUENCES: dict[Update, Sequence] = {
    UPDATES["add"]: _accumulation(np.add),
    UPDATES["and"]: _accumulation(np.bitwise_and),
    UPDATES["or"]: _accumulation(np.bitwise_or),
    UPDATES["xor"]: _accumulation(np.bitwise_xor),
    UPDATES["min"]: _accumulation(np.minimum),
    UPDATES["max"]: _accumulation(np.maximum),
    UPDATES["exch"]: _exchanges,
    UPDATES["cas"]: _comparisons,
}
