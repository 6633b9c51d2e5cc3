"""Threads that wait for each other: barriers of the block and functions of the warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tests.fakecuda.ptx.faults import Deadlock, DivergentBarrier
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.layout import Geometry
from tests.fakecuda.ptx.syntax import Instruction

if TYPE_CHECKING:
    from tests.fakecuda.ptx.machine import Machine
    from tests.fakecuda.ptx.scheduler import Scheduler

BARRIERS_PER_BLOCK = 16
# What is done when the threads have met: gets those that are released.
Meeting = Callable[[Lanes], None]


class Barriers:
    """Note who waits where, and release who has been waited for."""

    def __init__(self, machine: Machine, scheduler: Scheduler) -> None:
        geometry = machine.geometry
        self.machine, self.scheduler = machine, scheduler
        # Number of the barrier of the block at which a thread waits, or -1.
        self.barrier = np.full(geometry.lanes, -1, np.int64)
        self.expected = np.zeros(geometry.lanes, np.int64)  # threads it waits for; 0: all
        self.arrived = np.zeros((geometry.blocks, BARRIERS_PER_BLOCK), np.int64)
        # Members of the warp for whom a thread waits, or 0.
        self.members = np.zeros(geometry.lanes, np.uint32)
        self._instructions: dict[int, tuple[Instruction, Meeting, bool]] = {}
        # For barriers that vote: what each thread has said, and per block how many said yes of how
        # many when the threads met last.
        self.vote = np.zeros(geometry.lanes, bool)
        self.yes = np.zeros(geometry.blocks, np.int64)
        self.met = np.zeros(geometry.blocks, np.int64)

    # ------------------------------------------------------------------------ of the block

    def wait_for_block(
        self,
        lanes: Lanes,
        instruction: Instruction,
        numbers: np.ndarray,
        expected: np.ndarray,
        meeting: Meeting,
    ) -> None:
        """Let threads wait at barriers of their blocks (expected 0: for all live threads)."""
        who = lanes.numbers
        self._place(lanes, instruction, meeting, aligned="aligned" in instruction.modifiers
                    or instruction.opcode == "bar")  # fmt: skip
        self.barrier[who] = numbers
        self.expected[who] = expected
        self._release_blocks()

    def arrive(self, lanes: Lanes, numbers: np.ndarray) -> None:
        """Count threads that do not wait themselves."""
        blocks = lanes.pick(self.machine.geometry.block_of)
        np.add.at(self.arrived, (blocks, numbers), 1)
        self._release_blocks()

    def _release_blocks(self) -> None:
        geometry = self.machine.geometry
        waiting = np.nonzero(self.barrier >= 0)[0]
        if not len(waiting):
            return
        place = geometry.block_of[waiting] * BARRIERS_PER_BLOCK + self.barrier[waiting]
        size = geometry.blocks * BARRIERS_PER_BLOCK
        count = np.bincount(place, minlength=size) + self.arrived.reshape(-1)
        live = np.bincount(geometry.block_of[self.scheduler.live], minlength=geometry.blocks)
        needed = self.expected[waiting]
        needed = np.where(needed > 0, needed, live[geometry.block_of[waiting]])
        free = waiting[count[place] >= needed]
        if not len(free):
            return
        self._check_alignment(free)
        blocks = geometry.block_of[free]
        self.arrived[blocks, self.barrier[free]] = 0
        self.barrier[free] = -1
        self.yes = np.bincount(blocks[self.vote[free]], minlength=geometry.blocks)
        self.met = np.bincount(blocks, minlength=geometry.blocks)
        if self.machine.races is not None:
            self.machine.races.pass_block_barrier(np.unique(blocks))
        self._release(free)

    def _check_alignment(self, lanes: np.ndarray) -> None:
        """Refuse aligned barriers that the threads of a warp reach at different instructions."""
        pcs = self.scheduler.pc_of(lanes)
        if (pcs == pcs[0]).all():
            return
        warps = self.machine.geometry.warp[lanes]
        first = np.full(self.machine.geometry.warps, -1, np.int64)
        first[warps] = pcs
        apart = first[warps] != pcs
        for pc in np.unique(pcs[apart]):
            instruction, _, aligned = self._instructions[int(pc)]
            if aligned:
                lane = int(lanes[apart][pcs[apart] == pc][0])
                other = self._instructions[int(first[self.machine.geometry.warp[lane]])][0]
                fault = DivergentBarrier(
                    "threads of one warp wait at different barriers of the block: also at line"
                    f" {other.line}",
                    lane,
                )
                fault.line, fault.instruction = instruction.line, instruction.text
                raise fault

    # ------------------------------------------------------------------------- of the warp

    def wait_for_warp(
        self, lanes: Lanes, instruction: Instruction, members: np.ndarray, meeting: Meeting
    ) -> None:
        """Let threads wait for those of their warp that `members` names."""
        self._place(lanes, instruction, meeting, aligned=False)
        self.members[lanes.numbers] = members
        self._release_warps()

    def _release_warps(self) -> None:
        geometry, scheduler = self.machine.geometry, self.scheduler
        waiting = np.nonzero(self.members)[0]
        if not len(waiting):
            return
        live = warp_masks(geometry, scheduler.live.nonzero()[0])
        keys = scheduler.key[waiting]
        for key in np.unique(keys):
            here = waiting[keys == key]
            present = warp_masks(geometry, here)
            warps = geometry.warp[here]
            missing = self.members[here] & live[warps] & ~present[warps]
            free = here[missing == 0]
            if len(free):
                self.members[free] = 0
                self._release(free)

    # ------------------------------------------------------------------------------ common

    def _place(
        self, lanes: Lanes, instruction: Instruction, meeting: Meeting, *, aligned: bool
    ) -> None:
        self.scheduler.move(lanes, lanes.frame.depth, instruction.pc)
        self.scheduler.park(lanes)
        self._instructions[instruction.pc] = (instruction, meeting, aligned)

    def _release(self, free: np.ndarray) -> None:
        """Do what was waited for and let the threads go on."""
        scheduler = self.scheduler
        keys = scheduler.key[free]
        for key in np.unique(keys):
            lanes = scheduler.lanes_at(int(key), free[keys == key])
            pc = int(scheduler.pc_of(lanes.numbers[:1])[0])
            self._instructions[pc][1](lanes)
            scheduler.move(lanes, lanes.frame.depth, pc + 1)

    def after_exit(self) -> None:
        """Release threads that have only waited for some that have ended now."""
        self._release_blocks()
        self._release_warps()

    def explain_deadlock(self) -> NoReturn:
        """Raise the fault for threads that wait for ever."""
        scheduler = self.scheduler
        stuck = np.nonzero(scheduler.live)[0]
        pcs = scheduler.pc_of(stuck)
        code = self.machine.module.code
        places = [
            f"{int((pcs == pc).sum())} at line {code[pc].line}: {code[pc].text}"
            for pc in np.unique(pcs)[:4]
        ]
        fault = Deadlock(f"{len(stuck)} threads wait for ever: " + "; ".join(places), int(stuck[0]))
        first = code[int(pcs[0])]
        fault.line, fault.instruction = first.line, first.text
        fault.kernel = self.machine.kernel.name
        geometry = self.machine.geometry
        fault.thread = geometry.thread_of(int(stuck[0]))
        fault.block = geometry.block_at(int(stuck[0]))
        raise fault


def warp_masks(geometry: Geometry, lanes: np.ndarray) -> np.ndarray:
    """Return for each warp of the grid the mask of those of `lanes` that are in it."""
    bits = geometry.lane_bit[lanes]
    return np.bincount(geometry.warp[lanes], bits, geometry.warps).astype(np.uint32)
