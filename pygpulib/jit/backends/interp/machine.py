"""Control flow under masks.

A lane that ends a block is put aside at an *exit* together with the values it brings; the
construct that owns the exit picks it up when the other lanes are done. Lanes are in step, so a
barrier under a full mask needs no further work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record, replace
from pygpulib.jit.backends.interp.memory import Mask
from pygpulib.jit.backends.interp.operations import access, compute, cooperate
from pygpulib.jit.backends.interp.state import Array, Fault, Frame, State, garbage
from pygpulib.jit.ir import ops as ir

Region = ir.If | ir.For | ir.Loop | ir.Scope | ir.CallFunction


class Exit:
    """The lanes that have left by one way, and their values.

    Attributes
    ----------
    mask : ndarray of bool
        Who has left.
    values : list of ndarray
        What they brought; garbage in the other lanes.
    """

    def __init__(self, types: Sequence[ir.Type], count: int) -> None:
        self.mask: Mask = np.zeros(count, np.bool_)
        self.values: list[Array] = [garbage(type_, count) for type_ in types]

    def leave(self, mask: Mask, values: Sequence[Array]) -> None:
        """Put lanes aside."""
        self.mask |= mask
        for kept, new in zip(self.values, values, strict=True):
            kept[mask] = new[mask]


@record(eq=True)
class Exits:
    """Where each terminator leads from here; None where it is not allowed."""

    function: Exit
    return_: Exit
    yield_: Exit | None = None
    continue_: Exit | None = None
    break_: Exit | None = None


class Machine:
    """Runs functions for all lanes of a state.

    Parameters
    ----------
    state : State
        The lanes, their memory, and where results go.
    functions : mapping
        The functions that can be called, by name.
    """

    def __init__(self, state: State, functions: Mapping[str, ir.Function]) -> None:
        self._state = state
        self._functions = functions

    def run_kernel(self, function: ir.Function, arguments: Sequence[Array]) -> None:
        """Run a kernel to its end in every lane."""
        frame = Frame(dict(zip(function.params, arguments, strict=True)))
        end = self._exit(())
        self._run_block(function.body, frame, self._state.alive.copy(), Exits(end, end))

    def _exit(self, values: Sequence[ir.Value | ir.Type]) -> Exit:
        types = [value.type if isinstance(value, ir.Value) else value for value in values]
        return Exit(types, self._state.lanes.count)

    def _run_block(self, block: ir.Block, frame: Frame, mask: Mask, exits: Exits) -> None:
        for op in block.ops:
            if not mask.any():
                return
            mask = self._run_op(op, frame, mask, exits)

    def _run_op(self, op: ir.Op, frame: Frame, mask: Mask, exits: Exits) -> Mask:
        """Run one operation and return the lanes that go on behind it."""
        match op:
            case ir.If() | ir.For() | ir.Loop() | ir.Scope() | ir.CallFunction():
                return self._run_region(op, frame, mask, exits)
            case (
                ir.Yield()
                | ir.Continue()
                | ir.Break()
                | ir.Return()
                | ir.Unreachable()
                | ir.Raise()
            ):
                self._leave(op, frame, mask, exits)
                return np.zeros_like(mask)
            case ir.Load() | ir.Store() | ir.Atomic() | ir.ConstantData() | ir.Allocate():
                access(self._state, frame, op, mask)
            case ir.ReadRegister() | ir.Barrier() | ir.Fence() | ir.Print() | ir.Call():
                cooperate(self._state, frame, op, mask)
            case _:
                frame.values[op.result] = compute(self._state, frame, op)
        return mask

    # ----------------------------------------------------------------------------- terminators

    def _leave(
        self,
        op: ir.Yield | ir.Continue | ir.Break | ir.Return | ir.Unreachable | ir.Raise,
        frame: Frame,
        mask: Mask,
        exits: Exits,
    ) -> None:
        match op:
            case ir.Yield():
                self._take(op, exits.yield_, frame, mask)
            case ir.Continue():
                self._take(op, exits.continue_, frame, mask)
            case ir.Break():
                self._take(op, exits.break_, frame, mask)
            case ir.Return():
                self._take(op, exits.return_, frame, mask)
                if exits.return_ is exits.function:
                    self._state.alive &= ~mask
            case ir.Raise():
                self._raise(op, frame, mask)
            case ir.Unreachable():
                raise self._state.fault(op, _first(mask), "control came to an unreachable place")
            case _:
                assert_never(op)

    @staticmethod
    def _take(
        op: ir.Yield | ir.Continue | ir.Break | ir.Return,
        exit_: Exit | None,
        frame: Frame,
        mask: Mask,
    ) -> None:
        assert exit_ is not None, op
        exit_.leave(mask, frame.read(op.values))

    def _raise(self, op: ir.Raise, frame: Frame, mask: Mask) -> None:
        self._state.alive &= ~mask
        if op.code is not None and self._state.outcome.fault is None:
            lane = _first(mask)
            block, thread = self._state.lanes.place(lane)
            details = tuple(value[lane].item() for value in frame.read(op.details))
            self._state.outcome.fault = Fault(op.code, block, thread, details)

    # --------------------------------------------------------------------------------- regions

    def _run_region(self, op: Region, frame: Frame, mask: Mask, exits: Exits) -> Mask:
        match op:
            case ir.If():
                end = self._run_if(op, frame, mask, exits)
            case ir.For():
                end = self._run_for(op, frame, mask, exits)
            case ir.Loop():
                end = self._run_loop(op, frame, mask, exits)
            case ir.Scope():
                end = self._exit(op.results)
                self._run_block(op.body, frame, mask, Exits(exits.function, end))
            case ir.CallFunction():
                end = self._run_call(op, frame, mask)
            case _:
                assert_never(op)
        frame.values.update(zip(op.results, end.values, strict=True))
        return end.mask

    def _run_if(self, op: ir.If, frame: Frame, mask: Mask, exits: Exits) -> Exit:
        end = self._exit(op.results)
        inner = replace(exits, yield_=end)
        condition = frame.values[op.condition]
        self._run_block(op.then_block, frame, mask & condition, inner)
        self._run_block(op.else_block, frame, mask & ~condition, inner)
        return end

    def _run_for(self, op: ir.For, frame: Frame, mask: Mask, exits: Exits) -> Exit:
        start, stop, step = frame.read((op.start, op.stop, op.step))
        remaining = _trip_counts(start, stop, step)
        end = self._exit(op.results)
        carried = frame.read(op.inits)
        index = start
        active = mask
        while True:
            end.leave(active & (remaining == 0), carried)
            active = active & (remaining != 0)
            if not active.any():
                return end
            frame.values.update(zip(op.body.params, (index, *carried), strict=True))
            active, carried = self._iterate(op, frame, active, exits, end)
            with np.errstate(all="ignore"):
                index = index + step
            remaining = np.where(active, remaining - np.uint64(1), remaining)

    def _run_loop(self, op: ir.Loop, frame: Frame, mask: Mask, exits: Exits) -> Exit:
        end = self._exit(op.results)
        carried = frame.read(op.inits)
        active = mask
        iterations = 0
        while active.any():
            if iterations == self._state.max_iterations:
                problem = f"a loop has not ended after {iterations} iterations"
                raise self._state.fault(op, _first(active), problem)
            iterations += 1
            frame.values.update(zip(op.body.params, carried, strict=True))
            active, carried = self._iterate(op, frame, active, exits, end)
        return end

    def _iterate(
        self, op: ir.For | ir.Loop, frame: Frame, active: Mask, exits: Exits, end: Exit
    ) -> tuple[Mask, list[Array]]:
        """Run a loop's body once; return who goes on, and with what."""
        again = self._exit(op.inits)
        inner = replace(exits, yield_=None, continue_=again, break_=end)
        self._run_block(op.body, frame, active, inner)
        return again.mask, again.values

    def _run_call(self, op: ir.CallFunction, frame: Frame, mask: Mask) -> Exit:
        callee = self._functions[op.callee]
        inner = Frame(dict(zip(callee.params, frame.read(op.operands), strict=True)))
        end = self._exit(callee.result_types)
        # No exit of this call is the kernel's end: its lanes stay alive.
        self._run_block(callee.body, inner, mask, Exits(self._exit(()), end))
        return end


def _first(mask: Mask) -> int:
    return int(np.flatnonzero(mask)[0])


def _trip_counts(start: Array, stop: Array, step: Array) -> NDArray[np.uint64]:
    """Return the length of ``range(start, stop, step)``, without overflow; 0 for a step of 0."""
    # Modulo 2**64 every difference below is exact, because it is neither negative nor larger.
    wide_start, wide_stop, wide_step = (
        value.astype(np.int64).view(np.uint64) for value in (start, stop, step)
    )
    one = np.uint64(1)
    is_up = (step > 0) & (start < stop)
    is_down = (step < 0) & (start > stop)
    distance = np.where(is_up, wide_stop - wide_start, wide_start - wide_stop)
    stride = np.where(is_up, wide_step, np.uint64(0) - wide_step)
    runs = is_up | is_down
    counts = (np.where(runs, distance, one) - one) // np.where(runs, stride, one) + one
    return np.where(runs, counts, np.uint64(0))
