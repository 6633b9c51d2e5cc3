"""Running the gangs of a block in rounds, from one barrier to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import (
    DONE,
    PROGRESS,
    RESULT_FOR,
    VOTES_FOR,
    block_barriers,
    is_cooperative,
)
from pygpulib.jit.backends.cpu.faults import claim_record
from pygpulib.jit.backends.cpu.reports import BLOCKS_WORD, WAITING_WORD, memory_error
from pygpulib.jit.backends.cpu.walk import Walk, number_of
from pygpulib.jit.backends.cpu.workspace import Workspace
from pygpulib.jit.backends.llvm.text import Code
from pygpulib.jit.ir.ops import BarrierKind

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.program import Program
    from pygpulib.jit.backends.cpu.shared import SharedPlaces
    from pygpulib.jit.backends.cpu.target import CpuVariant
    from pygpulib.jit.backends.cpu.walk import Coordinates
    from pygpulib.jit.ir import ops as ir

# Progress of a block in a cooperative launch, besides 0 for not started.
_WAITING, _THROUGH = 1, 2


class Rounds:
    """Writes the two functions of a kernel with barriers.

    Attributes
    ----------
    code : Code
        The outer function.
    """

    PARAMETERS = (
        "ptr noalias readonly %words, i64 %block_x, i64 %block_y, i64 %block_z, "
        "i64 %x, i64 %y, i64 %z, ptr %frame, ptr %record, ptr %shared"
    )

    def __init__(
        self, code: Code, function: ir.Function, variant: CpuVariant, gang_name: str
    ) -> None:
        self.code = code
        self.function = function
        self.variant = variant
        self.gang_name = gang_name

    def write_gang(self, program: Program) -> None:
        """Write the function that runs a gang up to the next barrier."""
        code, gang = program.code, program.gang
        frame = gang.frame
        assert frame is not None
        program.set_block(("%block_x", "%block_y", "%block_z"))
        program.set_threads(("%x", "%y", "%z"))
        state = code.load("%frame", "i32")
        start = code.new_label("start")
        code.do("")
        switch = len(code.lines) - 1
        code.label(start)
        program.write_body()
        code.do(f"ret i32 {DONE}")
        cases = " ".join(
            f"i32 {number}, label %{label}" for number, label in frame.resumptions.items()
        )
        code.lines[switch] = f"  switch i32 {state}, label %{start} [ {cases} ]"

    def write_kernel(self, places: SharedPlaces, frame_bytes: int) -> None:
        """Write the function that runs blocks, each to its end or to a barrier of the grid."""
        code = self.code
        walk = Walk(code, self.variant)
        workspace = Workspace(code, walk, places, frame_bytes)
        fault_record = workspace.launch_record
        is_grid = is_cooperative(self.function)
        memory = "" if is_grid else workspace.allocate(memory_error(self.function))

        def run_block(block: Coordinates) -> None:
            done = code.new_label("through")
            if is_grid:
                self._enter_block(workspace, walk, block, fault_record, done)
            else:
                self._start_block(workspace, walk)
            self._run_rounds(workspace, walk, block, (fault_record, done))
            code.label(done)

        walk.each_block(run_block)
        if not is_grid:
            workspace.free(memory)
        code.do("ret void")

    def write_sizes(self, places: SharedPlaces, frame_bytes: int) -> Code:
        """Write the function that says how much memory a block needs."""
        code = Code()
        workspace = Workspace(code, Walk(code, self.variant), places, frame_bytes)
        code.do(f"ret i64 {workspace.size}")
        return code

    def _each_frame(
        self, workspace: Workspace, walk: Walk, body: Callable[[str, Coordinates], None]
    ) -> None:
        code = self.code
        frame_slot = code.slot("ptr")
        code.store(frame_slot, "ptr", workspace.frames)

        def visit(threads: Coordinates) -> None:
            frame = code.load(frame_slot, "ptr")
            body(frame, threads)
            following = f"getelementptr i8, ptr {frame}, i64 {workspace.frame_stride}"
            code.store(frame_slot, "ptr", code.emit(following))

        walk.each_gang(visit)

    def _start_block(self, workspace: Workspace, walk: Walk) -> None:
        self._each_frame(workspace, walk, lambda frame, _: self.code.store(frame, "i32", "0"))
        self._clear(workspace.record)

    def _enter_block(
        self, workspace: Workspace, walk: Walk, block: Coordinates, launch_record: str, done: str
    ) -> None:
        """Write the start of a block, or its return from a barrier of the grid."""
        code = self.code
        base = code.load(
            code.emit(f"getelementptr i64, ptr {launch_record}, i64 {BLOCKS_WORD}"), "ptr"
        )
        number = number_of(code, block, walk.grid)
        offset = code.emit(f"mul i64 {number}, {workspace.size}")
        workspace.place(code.emit(f"getelementptr i8, ptr {base}, i64 {offset}"))
        progress = code.load(self._word(workspace.record, PROGRESS), "i64")
        start, go_on = code.new_label("begin"), code.new_label("return")
        code.do(
            f"switch i64 {progress}, label %{go_on} "
            f"[ i64 0, label %{start} i64 {_THROUGH}, label %{done} ]"
        )
        code.label(start)
        self._start_block(workspace, walk)
        code.branch(go_on)
        code.label(go_on)

    def _run_rounds(
        self, workspace: Workspace, walk: Walk, block: Coordinates, fault: tuple[str, str]
    ) -> None:
        """Write the rounds of a block, until all its gangs are through or wait for the grid."""
        code = self.code
        waiting = code.slot("i32")
        round_ = code.new_label("round")
        code.branch(round_)
        code.label(round_)
        code.store(waiting, "i32", "0")
        self._each_frame(
            workspace,
            walk,
            lambda frame, threads: self._resume(workspace, frame, (block, threads), waiting, fault),
        )
        self._publish_votes(workspace.record)
        reached = code.load(waiting, "i32")
        grid_barriers = [
            number
            for number, op in enumerate(block_barriers(self.function), start=1)
            if op.kind is BarrierKind.GRID
        ]
        through, paused = code.new_label("ended"), code.new_label("paused")
        cases = " ".join(f"i32 {number}, label %{paused}" for number in grid_barriers)
        code.do(f"switch i32 {reached}, label %{round_} [ i32 0, label %{through} {cases} ]")
        if grid_barriers:
            code.label(paused)
            code.store(self._word(workspace.record, PROGRESS), "i64", str(_WAITING))
            count = code.emit(f"getelementptr i64, ptr {fault[0]}, i64 {WAITING_WORD}")
            code.do(f"atomicrmw add ptr {count}, i64 1 seq_cst")
            code.branch(fault[1])
        code.label(through)
        code.store(self._word(workspace.record, PROGRESS), "i64", str(_THROUGH))
        code.branch(fault[1])

    def _clear(self, record: str) -> None:
        for word in range(PROGRESS):
            self.code.store(self._word(record, word), "i64", "0")

    def _word(self, record: str, word: int) -> str:
        return self.code.emit(f"getelementptr i64, ptr {record}, i64 {word}")

    def _publish_votes(self, record: str) -> None:
        """Write the end of a round: the votes become the result, and counting starts anew."""
        for offset in range(2):
            votes = self._word(record, VOTES_FOR + offset)
            text = self.code.load(votes, "i64")
            self.code.store(self._word(record, RESULT_FOR + offset), "i64", text)
            self.code.store(votes, "i64", "0")

    def _resume(
        self,
        workspace: Workspace,
        frame: str,
        place: tuple[Coordinates, Coordinates],
        waiting: str,
        fault: tuple[str, str],
    ) -> None:
        """Write one gang's turn, unless it is through."""
        code, (block, threads) = self.code, place
        run, skip = code.new_label("resume"), code.new_label("next")
        state = code.load(frame, "i32")
        code.branch_if(code.emit(f"icmp eq i32 {state}, {DONE}"), skip, run)
        code.label(run)
        arguments = ", ".join(
            [
                "ptr %words",
                *(f"i64 {position}" for position in (*block, *threads)),
                f"ptr {frame}, ptr {workspace.record}, ptr {workspace.shared}",
            ]
        )
        reached = code.emit(f"call i32 @{self.gang_name}({arguments})")
        code.store(frame, "i32", reached)
        check = code.new_label("waits")
        code.branch_if(code.emit(f"icmp eq i32 {reached}, {DONE}"), skip, check)
        code.label(check)
        # All gangs of a block that are not through must wait at one barrier.
        others = code.load(waiting, "i32")
        is_first = code.emit(f"icmp eq i32 {others}, 0")
        expected = code.emit(f"select i1 {is_first}, i32 {reached}, i32 {others}")
        code.store(waiting, "i32", expected)
        is_same = code.emit(f"icmp eq i32 {expected}, {reached}")
        is_complete = code.emit(f"icmp sgt i32 {reached}, 0")
        is_right = code.emit(f"and i1 {is_same}, {is_complete}")
        broken = code.new_label("broken")
        code.branch_if(is_right, skip, broken)
        code.label(broken)
        self._report(fault[0], reached, place)
        code.branch(fault[1])
        code.label(skip)

    def _report(
        self, fault_record: str, reached: str, place: tuple[Coordinates, Coordinates]
    ) -> None:
        """Write the report of a barrier that not all threads of the block reach."""
        code = self.code
        # A gang that diverged on its own returns -1 - n instead of the barrier's number n.
        negated = code.emit(f"sub i32 -1, {reached}")
        is_positive = code.emit(f"icmp sgt i32 {reached}, 0")
        number = code.emit(f"select i1 {is_positive}, i32 {reached}, i32 {negated}")
        first = len(self.function.errors) - 1
        error = code.emit(f"add i64 {code.emit(f'sext i32 {number} to i64')}, {first}")
        claim_record(code, fault_record, lambda: [error, *place[0], *place[1], "0"])
