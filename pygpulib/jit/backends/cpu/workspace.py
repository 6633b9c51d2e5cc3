"""The memory that a worker needs while it runs blocks: shared memory, and gangs' frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import BLOCK_RECORD_WORDS

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.shared import SharedPlaces
    from pygpulib.jit.backends.cpu.walk import Walk
    from pygpulib.jit.backends.llvm.text import Code

_ALIGNMENT = 64
_DYNAMIC_WORD = 7


class Workspace:
    """One piece of memory per call of a kernel function, used for one block after the other.

    Attributes
    ----------
    record, frames, shared : str
        Registers of the addresses of the block's record, the gangs' frames, the shared memory.
    frame_stride : int
        Distance in bytes between the frames of neighbouring gangs.
    """

    def __init__(self, code: Code, walk: Walk, places: SharedPlaces, frame_bytes: int) -> None:
        self.code = code
        self.frame_stride = -(-frame_bytes // _ALIGNMENT) * _ALIGNMENT
        fixed = _ALIGNMENT + BLOCK_RECORD_WORDS * 8 + _ALIGNMENT + places.dynamic_offset
        size = code.emit(f"add i64 {walk.word(_DYNAMIC_WORD, 'i64')}, {fixed}")
        frames_bytes = "0"
        if frame_bytes:
            frames_bytes = code.emit(f"mul i64 {walk.count_gangs()}, {self.frame_stride}")
            size = code.emit(f"add i64 {size}, {frames_bytes}")
        self._memory = code.call("malloc", "ptr", [("i64", size)])
        address = code.emit(f"ptrtoint ptr {self._memory} to i64")
        raised = code.emit(f"add i64 {address}, {_ALIGNMENT - 1}")
        aligned = code.emit(f"and i64 {raised}, {-_ALIGNMENT}")
        self.record = code.emit(f"inttoptr i64 {aligned} to ptr")
        self.frames = code.emit(f"getelementptr i8, ptr {self.record}, i64 {_ALIGNMENT}")
        self.shared = code.emit(f"getelementptr i8, ptr {self.frames}, i64 {frames_bytes}")

    def free(self) -> None:
        """Write the release."""
        self.code.call_void("free", [("ptr", self._memory)])
