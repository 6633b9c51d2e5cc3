"""Which threads run next: the deepest call first, in it the lowest instruction, and fairly.

Threads that split at a branch meet again because those behind are run first. Each thread has its
own place in the code, so a thread may wait for another one of its warp. Threads that spin until
another one has done something would be "behind" for ever: reading memory in a loop uses up the
patience with which the others wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.fakecuda.ptx.barriers import Barriers
from tests.fakecuda.ptx.faults import PtxFault, Runaway
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.opcodes import executable
from tests.fakecuda.ptx.syntax import Instruction, Register

if TYPE_CHECKING:
    from tests.fakecuda.ptx.machine import Machine

# A key sorts places: the calls that a thread could still make, then the instruction's number.
DEPTH_SHIFT = 32
DEEPEST = 1 << 20
_PC_MASK = (1 << DEPTH_SHIFT) - 1
_NOWHERE = np.iinfo(np.int64).max
# Slices that threads wait before one of them runs out of turn.
PATIENCE = 4096
# What an operation on memory that others may change costs.
SPIN_COST = 256


class Scheduler:
    """Run all threads of a launch to their ends."""

    def __init__(self, machine: Machine, *, shuffled: bool, seed: int, max_steps: int) -> None:
        self.machine = machine
        self.max_steps = max_steps
        self.steps = 0
        lanes = machine.geometry.lanes
        start = (DEEPEST << DEPTH_SHIFT) + machine.kernel.start
        self.key = np.full(lanes, start, np.int64)  # where each thread is
        self.order = self.key.copy()  # the same, or _NOWHERE if it cannot run
        self.live = np.ones(lanes, bool)
        self.barriers = Barriers(machine, self)
        self.random = np.random.default_rng(seed) if shuffled else None
        self._last_slice = np.zeros(lanes, np.int64)
        self._slices = 0
        self._patience = PATIENCE

    # ------------------------------------------------------------------ moves of threads

    def move(self, lanes: Lanes, depth: int, pc: int | np.ndarray) -> None:
        """Let threads go on at an instruction."""
        key = ((DEEPEST - depth) << DEPTH_SHIFT) + pc
        self.key[lanes.numbers] = key
        self.order[lanes.numbers] = key

    def park(self, lanes: Lanes) -> None:
        """Take threads that wait out of the order."""
        self.order[lanes.numbers] = _NOWHERE

    def finish(self, lanes: Lanes) -> None:
        """End threads."""
        self.live[lanes.numbers] = False
        self.order[lanes.numbers] = _NOWHERE
        self.barriers.after_exit()

    def be_patient_no_more(self) -> None:
        """Note that a thread looks at what others may change, as spinning threads do."""
        self._patience -= SPIN_COST

    def pc_of(self, lanes: np.ndarray) -> np.ndarray:
        """Return the numbers of the threads' instructions."""
        return self.key[lanes] & _PC_MASK

    def lanes_at(self, key: int, numbers: np.ndarray) -> Lanes:
        """Return threads that are all at one place."""
        machine = self.machine
        function = machine.module.code[key & _PC_MASK].function
        frame = machine.frame(DEEPEST - (key >> DEPTH_SHIFT), function)
        return Lanes(machine, frame, None if len(numbers) == len(self.key) else numbers)

    # --------------------------------------------------------------------------- running

    def run(self) -> None:
        """Run until no thread is left."""
        while True:
            lowest = int(self.order.min())
            if lowest == _NOWHERE:
                if not self.live.any():
                    return
                self.barriers.explain_deadlock()
            self._slices += 1
            if self.random is not None:
                self._run_shuffled()
            elif self._patience <= 0:
                self._patience = PATIENCE
                waiting = np.where(self.order == _NOWHERE, _NOWHERE, self._last_slice)
                self._run_group(int(self.order[np.argmin(waiting)]), until_jump=True)
            else:
                self._run_group(lowest)

    def _run_group(self, key: int, *, until_jump: bool = False) -> None:
        """Run all threads at one place."""
        chosen = self.order == key
        count = int(np.count_nonzero(chosen))
        if count == len(chosen):
            index, limit = None, _NOWHERE
        else:
            index = np.nonzero(chosen)[0]
            limit = int(np.min(self.order, initial=_NOWHERE, where=~chosen))
        self._run_slice(key, index, limit, budget=0, until_jump=until_jump)

    def _run_shuffled(self) -> None:
        """Run some instructions of one warp, chosen by chance."""
        assert self.random is not None
        runnable = np.nonzero(self.order != _NOWHERE)[0]
        warp = self.machine.geometry.warp
        mine = runnable[warp[runnable] == warp[self.random.choice(runnable)]]
        keys = self.order[mine]
        # Mostly those behind, so that threads meet again; sometimes any, so that none starves.
        key = int(keys.min() if self.random.random() < 0.9 else self.random.choice(keys))
        index: np.ndarray | None = mine[keys == key]
        if len(self.order) == 1:
            index = None
        rest = keys[keys > key]
        limit = int(rest.min()) if len(rest) else _NOWHERE
        self._run_slice(key, index, limit, budget=int(self.random.integers(1, 40)), until_jump=True)

    def _run_slice(
        self, key: int, index: np.ndarray | None, limit: int, *, budget: int, until_jump: bool
    ) -> None:
        """Run a group until it splits, waits, ends, or reaches the place of others."""
        machine = self.machine
        code = machine.module.code
        depth, pc = DEEPEST - (key >> DEPTH_SHIFT), key & _PC_MASK
        base = key - pc
        lanes = Lanes(machine, machine.frame(depth, code[pc].function), index)
        self._last_slice[lanes.numbers] = self._slices
        if limit == _NOWHERE:
            self._patience = PATIENCE
        end = self.steps + budget if budget else self.max_steps
        instruction = code[pc]
        try:
            while True:
                instruction = code[pc]
                self.steps += 1
                target = self._step(lanes, instruction, depth)
                if target is None:
                    pc += 1
                elif target < 0:
                    return  # the threads' places are noted already
                else:
                    if target <= pc:
                        self._patience -= 1
                        until_jump |= self._patience <= 0 and limit != _NOWHERE
                    pc = target
                    if until_jump:
                        break
                if (base + pc >= limit and not until_jump) or self.steps >= end:
                    break
            self.move(lanes, depth, pc)
            if self.steps >= self.max_steps:
                raise Runaway(f"more than {self.max_steps} steps: a loop that does not end?")
        except PtxFault as fault:
            self._locate(fault, instruction, lanes)
            raise

    def _step(self, lanes: Lanes, instruction: Instruction, depth: int) -> int | None:
        """Execute one instruction.

        Returns
        -------
        int | None
            None for the next instruction, the number of the one to go on with, or -1 if the
            threads' places have been noted.
        """
        step = instruction.step
        if step is None:
            step = instruction.step = executable(instruction)
        guard = instruction.guard
        if guard is None:
            return step(lanes)
        active = _guard_values(lanes, guard)
        if active.all():
            return step(lanes)
        if not active.any():
            return None
        some = lanes.subset(active)
        others = lanes.subset(~active)
        if not step.moves_threads:
            step(some)
            return None
        self.move(others, depth, instruction.pc + 1)
        # In their old places, the threads are those that the instruction finds waiting there.
        self.move(some, depth, instruction.pc)
        target = step(some)
        if target is None or target >= 0:
            self.move(some, depth, instruction.pc + 1 if target is None else target)
        return -1

    def _locate(self, fault: PtxFault, instruction: Instruction, lanes: Lanes) -> None:
        """Fill in where a fault has happened."""
        if fault.kernel:
            return
        geometry = self.machine.geometry
        fault.kernel = self.machine.kernel.name
        if not fault.line:
            fault.line, fault.instruction = instruction.line, instruction.text
        lane = int(lanes.numbers[0]) if fault.lane is None else fault.lane
        fault.lane = lane
        fault.thread, fault.block = geometry.thread_of(lane), geometry.block_at(lane)


def _guard_values(lanes: Lanes, guard: Register) -> np.ndarray:
    values = lanes.pick(lanes.registers[guard.slot])
    return ~values if guard.negated else values
