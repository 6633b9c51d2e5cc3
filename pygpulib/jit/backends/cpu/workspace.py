"""The memory that a block needs besides its threads' registers: shared memory, gangs' frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import BLOCK_RECORD_WORDS
from pygpulib.jit.backends.cpu.faults import claim_record
from pygpulib.jit.backends.cpu.walk import DYNAMIC_WORD, RECORD_WORD

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.shared import SharedPlaces
    from pygpulib.jit.backends.cpu.walk import Walk
    from pygpulib.jit.backends.llvm.text import Code

_ALIGNMENT = 64

assert BLOCK_RECORD_WORDS * 8 <= _ALIGNMENT


class Workspace:
    """The layout of a block's memory: its record, the frames of its gangs, its shared memory.

    Attributes
    ----------
    size : str
        Register of the size in bytes, a multiple of the alignment.
    frame_stride : int
        Distance in bytes between the frames of neighbouring gangs.
    record, frames, shared : str
        Registers of addresses, once the workspace has been placed.
    """

    def __init__(self, code: Code, walk: Walk, places: SharedPlaces, frame_bytes: int) -> None:
        self.code = code
        self.frame_stride = -(-frame_bytes // _ALIGNMENT) * _ALIGNMENT
        self._frames_bytes = "0"
        fixed = _ALIGNMENT + places.dynamic_offset + _ALIGNMENT - 1
        size = code.emit(f"add i64 {walk.word(DYNAMIC_WORD, 'i64')}, {fixed}")
        if frame_bytes:
            count = walk.count_gangs()
            self._frames_bytes = code.emit(f"mul i64 {count}, {self.frame_stride}")
            size = code.emit(f"add i64 {size}, {self._frames_bytes}")
        self.size = code.emit(f"and i64 {size}, {-_ALIGNMENT}")
        self.record = self.frames = self.shared = ""
        self.launch_record = walk.word(RECORD_WORD, "ptr")

    def place(self, address: str) -> None:
        """Place the workspace at an aligned address."""
        code = self.code
        self.record = address
        self.frames = code.emit(f"getelementptr i8, ptr {address}, i64 {_ALIGNMENT}")
        self.shared = code.emit(f"getelementptr i8, ptr {self.frames}, i64 {self._frames_bytes}")

    def allocate(self, error: int) -> str:
        """Place the workspace in new memory; return what to free.

        Where there is none, the function reports an error with the given number and ends.
        """
        code = self.code
        size = code.emit(f"add i64 {self.size}, {_ALIGNMENT}")
        memory = code.call("malloc", "ptr", [("i64", size)])
        failed, placed = code.new_label("exhausted"), code.new_label("placed")
        code.branch_if(code.emit(f"icmp eq ptr {memory}, null"), failed, placed)
        code.label(failed)
        claim_record(code, self.launch_record, lambda: [str(error), *["0"] * 7])
        code.do("ret void")
        code.label(placed)
        address = code.emit(f"ptrtoint ptr {memory} to i64")
        raised = code.emit(f"add i64 {address}, {_ALIGNMENT - 1}")
        aligned = code.emit(f"and i64 {raised}, {-_ALIGNMENT}")
        self.place(code.emit(f"inttoptr i64 {aligned} to ptr"))
        return memory

    def free(self, memory: str) -> None:
        """Write the release."""
        self.code.call_void("free", [("ptr", memory)])
