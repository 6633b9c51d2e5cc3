"""What can go wrong in PTX: text that is not understood and kernels that misbehave."""

from __future__ import annotations


class PtxSyntaxError(ValueError):
    """Tell that a text is not PTX as the parser knows it."""

    cuda_error = 218  # CUDA_ERROR_INVALID_PTX


class UnsupportedPtx(NotImplementedError):  # noqa: N818
    """Tell that an instruction is not simulated; the kernel may be right."""


class PtxFault(Exception):  # noqa: N818
    """A fault of a running kernel.

    Attributes
    ----------
    cuda_error
        Number of the CUresult that a driver reports.
    kernel, line, instruction
        Where: name of the kernel, line of the PTX text (from 1) and the instruction's text.
    block, thread
        Three numbers each: the first thread that is at fault, if it is known.
    """

    cuda_error = 719  # CUDA_ERROR_LAUNCH_FAILED

    def __init__(self, message: str, lane: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.lane = lane  # number of the thread in the grid
        self.kernel = ""
        self.line = 0
        self.instruction = ""
        self.block: tuple[int, int, int] | None = None
        self.thread: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        where = f"kernel {self.kernel}, PTX line {self.line}: {self.instruction}"
        if self.thread is not None:
            where += f"; block {self.block}, thread {self.thread}"
        return f"{self.message} [{where}]"


class IllegalAddress(PtxFault):
    """An access outside of every live allocation."""

    cuda_error = 700


class MisalignedAddress(PtxFault):
    """An access whose address is no multiple of its size."""

    cuda_error = 716


class IllegalInstruction(PtxFault):
    """An instruction that the hardware refuses, such as a warp function outside of its own mask."""

    cuda_error = 715


class AssertionFailed(PtxFault):
    """A call of __assertfail."""

    cuda_error = 710


class Trap(PtxFault):
    """The instruction trap or brkpt."""


class Deadlock(PtxFault):
    """All threads that are left wait for something that cannot happen any more."""

    cuda_error = 702  # a driver would only see that the launch takes too long


class DivergentBarrier(Deadlock):
    """Threads of one warp wait at different barriers of the block."""


class Runaway(PtxFault):
    """More steps than the launch may take."""

    cuda_error = 702


class SharedRace(PtxFault):
    """Two threads touch the same byte of shared memory with no barrier in between."""


class UninitializedShared(PtxFault):
    """A load of a byte of shared memory that nobody has written."""
