"""Where the state spaces lie among the generic addresses, and the shape of a launch."""

from __future__ import annotations

import numpy as np

WARP_SIZE = 32

# No host address reaches these, so every other generic address is one of global memory.
SHARED_WINDOW = 0x0010_0000_0000_0000
LOCAL_WINDOW = 0x0020_0000_0000_0000
PARAM_WINDOW = 0x0030_0000_0000_0000
FUNCTION_WINDOW = 0x0040_0000_0000_0000
WINDOW_SIZE = 1 << 32
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


class Geometry:
    """Numbers of all threads of the grid: one position ("lane") per thread, block after block."""

    def __init__(self, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        self.grid, self.block = grid, block
        self.blocks = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.lanes = self.blocks * self.threads
        self.warps_per_block = -(-self.threads // WARP_SIZE)
        self.warps = self.blocks * self.warps_per_block
        in_block = np.arange(self.threads)
        self.thread = np.tile(in_block, self.blocks)
        self.block_of = np.repeat(np.arange(self.blocks), self.threads)
        self.warp = self.block_of * self.warps_per_block + self.thread // WARP_SIZE
        self.lane_in_warp = self.thread % WARP_SIZE
        self.lane_bit = np.left_shift(np.uint32(1), self.lane_in_warp.astype(np.uint32))

    def thread_of(self, lane: int) -> tuple[int, int, int]:
        """Return the coordinates of a thread in its block."""
        return _coordinates(lane % self.threads, self.block)

    def block_at(self, lane: int) -> tuple[int, int, int]:
        """Return the coordinates of a thread's block in the grid."""
        return _coordinates(lane // self.threads, self.grid)

    def special(self, name: str) -> np.ndarray | None:
        """Return the register of that name, if it follows from the shape alone."""
        register, _, axis = name[1:].partition(".")
        if axis in ("x", "y", "z"):
            return self._axis_register(register, "xyz".index(axis))
        in_warp = self.lane_in_warp.astype(np.uint32)
        bit = self.lane_bit
        match register:
            case "laneid":
                return in_warp
            case "warpid":
                return (self.thread // WARP_SIZE).astype(np.uint32)
            case "nwarpid":
                return np.full(1, self.warps_per_block, np.uint32)
            case "lanemask_eq":
                return bit
            case "lanemask_lt":
                return bit - np.uint32(1)
            case "lanemask_le":
                return (bit - np.uint32(1)) | bit
            case "lanemask_gt":
                return ~((bit - np.uint32(1)) | bit)
            case "lanemask_ge":
                return ~(bit - np.uint32(1))
        return None

    def _axis_register(self, register: str, axis: int) -> np.ndarray | None:
        match register:
            case "ntid":
                return np.full(1, self.block[axis], np.uint32)
            case "nctaid":
                return np.full(1, self.grid[axis], np.uint32)
            case "tid":
                return _coordinate(self.thread, self.block, axis)
            case "ctaid" | "clusterid":
                return _coordinate(self.block_of, self.grid, axis)
            case "cluster_ctaid":
                return np.zeros(1, np.uint32)
            case "cluster_nctaid":
                return np.ones(1, np.uint32)
        return None


def _coordinate(numbers: np.ndarray, shape: tuple[int, int, int], axis: int) -> np.ndarray:
    if shape[axis] == 1:
        return np.zeros(1, np.uint32)
    before = (1, shape[0], shape[0] * shape[1])[axis]
    return (numbers // before % shape[axis]).astype(np.uint32)


def _coordinates(number: int, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    return (
        number % shape[0],
        number // shape[0] % shape[1],
        number // (shape[0] * shape[1]),
    )
