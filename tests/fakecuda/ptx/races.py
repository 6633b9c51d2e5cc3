"""Races on shared memory: accesses of a byte by two threads with no barrier in between."""

from __future__ import annotations

import numpy as np

from tests.fakecuda.ptx.faults import SharedRace
from tests.fakecuda.ptx.layout import Geometry

_NONE = -1
# Read by several threads since the last barrier.
_MANY = -2


class RaceCheck:
    """Remember who touched each byte of shared memory last.

    Barriers of the block and `bar.warp.sync` order accesses; locks and fences are not understood.
    Atomic operations do not race with each other, only with plain accesses.
    """

    def __init__(self, geometry: Geometry, shared_bytes: int) -> None:
        self.geometry = geometry
        self.block_epoch = np.zeros(geometry.blocks, np.int64)
        self.warp_epoch = np.zeros(geometry.warps, np.int64)
        size = geometry.blocks * (-(-shared_bytes // 16) * 16)
        # Of the last writer, reader and atomic operation: thread, epoch of block and of warp.
        self._last = {kind: _Accesses(size) for kind in ("write", "read", "atomic")}

    def pass_block_barrier(self, blocks: np.ndarray) -> None:
        self.block_epoch[blocks] += 1

    def pass_warp_barrier(self, warps: np.ndarray) -> None:
        self.warp_epoch[warps] += 1

    def read(self, offsets: np.ndarray, size: int, lanes: np.ndarray) -> None:
        """Check loads of `size` bytes."""
        for byte in range(size):
            self._check(offsets + byte, lanes, ("write", "atomic"))
            self._record("read", offsets + byte, lanes)

    def write(self, offsets: np.ndarray, size: int, lanes: np.ndarray, values: np.ndarray) -> None:
        """Check stores; equal values from several lanes of one instruction are no race."""
        self._check_same_instruction(offsets, lanes, values)
        for byte in range(size):
            self._check(offsets + byte, lanes, ("write", "read", "atomic"))
            self._record("write", offsets + byte, lanes)

    def atomic(self, offsets: np.ndarray, size: int, lanes: np.ndarray) -> None:
        """Check atomic operations."""
        for byte in range(size):
            self._check(offsets + byte, lanes, ("write", "read"))
            self._record("atomic", offsets + byte, lanes)

    def _check(self, offsets: np.ndarray, lanes: np.ndarray, kinds: tuple[str, ...]) -> None:
        epoch = self.block_epoch[self.geometry.block_of[lanes]]
        warps = self.geometry.warp[lanes]
        for kind in kinds:
            last = self._last[kind]
            ordered = (last.warp[offsets] == warps) & (
                last.warp_epoch[offsets] != self.warp_epoch[warps]
            )
            who = last.lane[offsets]
            clash = (who != _NONE) & (who != lanes) & (last.block_epoch[offsets] == epoch)
            clash &= ~ordered
            if clash.any():
                self._fail(kind, int(np.argmax(clash)), offsets, lanes)

    def _record(self, kind: str, offsets: np.ndarray, lanes: np.ndarray) -> None:
        last = self._last[kind]
        epoch = self.block_epoch[self.geometry.block_of[lanes]]
        warps = self.geometry.warp[lanes]
        # A write replaces what was before; reads and atomic operations are kept together.
        kept = (last.block_epoch[offsets] == epoch) & (kind != "write")
        before_lane, before_warp = last.lane[offsets], last.warp[offsets]
        last.lane[offsets] = np.where(kept & (before_lane != lanes), _MANY, lanes)
        last.warp[offsets] = np.where(kept & (before_warp != warps), _MANY, warps)
        if kind != "write":
            # Several lanes of this very instruction at one byte: the last one has won above.
            last.lane[offsets[last.lane[offsets] != lanes]] = _MANY
            last.warp[offsets[last.warp[offsets] != warps]] = _MANY
        last.block_epoch[offsets] = epoch
        last.warp_epoch[offsets] = self.warp_epoch[warps]

    def _check_same_instruction(
        self, offsets: np.ndarray, lanes: np.ndarray, values: np.ndarray
    ) -> None:
        order = np.argsort(offsets, kind="stable")
        same = offsets[order][1:] == offsets[order][:-1]
        differs = (values[:, order][:, 1:] != values[:, order][:, :-1]).any(axis=0)
        if (same & differs).any():
            place = int(order[1:][np.argmax(same & differs)])
            self._fail("write", place, offsets, lanes)

    def _fail(self, kind: str, place: int, offsets: np.ndarray, lanes: np.ndarray) -> None:
        lane, last = int(lanes[place]), int(self._last[kind].lane[offsets[place]])
        stride = len(self._last["write"].lane) // self.geometry.blocks
        if last >= 0 and last != lane:
            other = f"thread {self.geometry.thread_of(last)}"
        else:
            other = "another thread"
        raise SharedRace(
            f"race on byte {int(offsets[place]) % stride} of shared memory with the {kind}"
            f" of {other}",
            lane,
        )


class _Accesses:
    """The last access to each byte."""

    def __init__(self, size: int) -> None:
        self.lane = np.full(size, _NONE, np.int64)
        self.warp = np.full(size, _NONE, np.int64)
        self.block_epoch = np.full(size, _NONE, np.int64)
        self.warp_epoch = np.full(size, _NONE, np.int64)
