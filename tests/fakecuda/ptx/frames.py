"""The registers and parameters of a function's calls, one array over all threads each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.fakecuda.ptx.syntax import Function

if TYPE_CHECKING:
    from tests.fakecuda.ptx.machine import Machine

# What registers hold before they are written.
POISON = {
    np.dtype(bool): np.zeros(1, bool),
    np.dtype("u1"): np.full(1, 0xCD, np.uint8),
    np.dtype("u2"): np.full(1, 0xCDCD, np.uint16),
    np.dtype("u4"): np.full(1, 0xCDCDCDCD, np.uint32),
    np.dtype("u8"): np.full(1, 0xCDCDCDCDCDCDCDCD, np.uint64),
}


class Frame:
    """The state of one function at one depth of calls.

    An array has one element per thread of the grid, or a single one if it is the same for all.
    """

    def __init__(self, function: Function, lanes: int, depth: int) -> None:
        self.function, self.lanes, self.depth = function, lanes, depth
        self.registers = [POISON[item.raw] for item in function.registers]
        self.param: dict[str, np.ndarray] = {}
        self.local_base = np.zeros(1, np.int64)
        self.return_pc = np.zeros(lanes if depth else 0, np.int64)

    def param_bytes(self, key: str) -> np.ndarray:
        """Return a variable in parameter space, one row of bytes per thread."""
        found = self.param.get(key)
        if found is None:
            found = np.zeros((self.lanes, self.function.param_sizes[key]), np.uint8)
            self.param[key] = found
        return found


class Lanes:
    """The threads that execute an instruction together.

    `index` holds their numbers, or is None if they are all threads of the grid.
    """

    __slots__ = ("frame", "index", "machine", "registers")

    def __init__(self, machine: Machine, frame: Frame, index: np.ndarray | None) -> None:
        self.machine, self.frame, self.index = machine, frame, index
        self.registers = frame.registers

    @property
    def count(self) -> int:
        return self.frame.lanes if self.index is None else len(self.index)

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the threads."""
        return self.machine.all_lanes if self.index is None else self.index

    def subset(self, chosen: np.ndarray) -> Lanes:
        """Return those lanes for which `chosen` is true."""
        if len(chosen) == 1 and self.count > 1:
            chosen = np.broadcast_to(chosen, self.count)
        return Lanes(self.machine, self.frame, self.numbers[chosen])

    def pick(self, values: np.ndarray) -> np.ndarray:
        """Return the lanes' part of an array over all threads."""
        return values if self.index is None or len(values) == 1 else values[self.index]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return one value per lane."""
        return np.broadcast_to(values, self.count) if len(values) == 1 else values
