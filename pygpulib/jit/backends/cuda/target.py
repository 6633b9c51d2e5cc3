"""What the CUDA back end compiles for: a generation of GPUs, and bounds on what a kernel takes."""

from __future__ import annotations

from functools import cache

from pygpulib._record import record
from pygpulib.errors import NoDeviceError

ComputeCapability = tuple[int, int]

OLDEST: ComputeCapability = (7, 5)
"""The oldest supported generation."""

# The generations that a version of LLVM can compile for. It does not refuse others but gives code
# for the oldest one, so they have to be known here. Only baselines: code for the variants with a
# letter runs on no other generation.
_SINCE_LLVM: dict[int, tuple[ComputeCapability, ...]] = {
    0: ((7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 1), (12, 0)),
    21: ((10, 3), (12, 1)),
    22: ((8, 8), (11, 0)),
}


@record(eq=True)
class CudaTarget:
    """A generation of GPUs as the code generator sees it, and bounds for one kernel.

    Attributes
    ----------
    compute_capability : tuple of int
        The generation; one that LLVM knows, see :func:`known_target`.
    max_registers : int
        Most registers of a thread, or 0 for no bound.
    max_threads_per_block : int
        Largest block that the kernel will be launched with, or 0.
    min_blocks : int
        How many blocks a multiprocessor should have room for, or 0.
    """

    compute_capability: ComputeCapability
    max_registers: int = 0
    max_threads_per_block: int = 0
    min_blocks: int = 0

    @property
    def sm(self) -> str:
        """LLVM's and PTX's name of the generation, for example ``"sm_80"``."""
        return sm_name(self.compute_capability)

    @property
    def features(self) -> str:
        """LLVM's features: none, which gives the oldest PTX version that knows the generation."""
        return ""


def sm_name(compute_capability: ComputeCapability) -> str:
    """Return NVIDIA's name of a generation.

    Examples
    --------
    >>> sm_name((12, 0))
    'sm_120'
    """
    major, minor = compute_capability
    return f"sm_{major}{minor}"


@cache
def known_generations() -> tuple[ComputeCapability, ...]:
    """Return the generations that the installed LLVM can compile for, oldest first."""
    import llvmlite.binding as llvm

    version = llvm.llvm_version_info[0]
    return tuple(
        sorted(cc for since, all_ in _SINCE_LLVM.items() if since <= version for cc in all_)
    )


def known_target(
    compute_capability: ComputeCapability,
    *,
    max_registers: int = 0,
    max_threads_per_block: int = 0,
    min_blocks: int = 0,
) -> CudaTarget:
    """Return what to compile for so that the code runs on a device.

    Parameters
    ----------
    compute_capability : tuple of int
        Of the device; one that is newer than LLVM gets the code of an older generation, which
        drivers translate for newer ones.
    max_registers, max_threads_per_block, min_blocks : int
        See :class:`CudaTarget`.

    Returns
    -------
    CudaTarget
        The newest generation that LLVM knows and the device understands.

    Raises
    ------
    NoDeviceError
        If the device is too old.

    Examples
    --------
    >>> known_target((99, 0)).sm == known_target(known_generations()[-1]).sm
    True
    """
    if compute_capability < OLDEST:
        major, minor = compute_capability
        raise NoDeviceError(
            f"GPUs of compute capability {major}.{minor} are not supported",
            detail=f"expected {OLDEST[0]}.{OLDEST[1]} or newer",
            help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
        )
    newest = max(each for each in known_generations() if each <= compute_capability)
    return CudaTarget(newest, max_registers, max_threads_per_block, min_blocks)
