"""What the CUDA back end compiles for: a generation of GPUs, and bounds on what a kernel takes."""

from __future__ import annotations

from functools import cache

from pygpulib._record import record
from pygpulib.errors import ArgumentError, NoDeviceError

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


# Which generations have a variant, and the first version of LLVM that knows it.
_VARIANTS: dict[str, tuple[int, tuple[ComputeCapability, ...]]] = {
    "": (0, ()),
    "a": (0, ((9, 0), (10, 0), (10, 1), (10, 3), (11, 0), (12, 0), (12, 1))),
    "f": (22, ((10, 0), (12, 0))),
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
    variant : str
        ``"a"`` for code with instructions that only this generation has, ``"f"`` for those that
        only its family has, or empty for code that newer generations run, too.
    """

    compute_capability: ComputeCapability
    max_registers: int = 0
    max_threads_per_block: int = 0
    min_blocks: int = 0
    variant: str = ""

    @property
    def sm(self) -> str:
        """LLVM's and PTX's name of the generation, for example ``"sm_80"``."""
        return sm_name(self.compute_capability) + self.variant

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
    # Asking LLVM takes longer than all the rest of a launch whose code is in the cache.
    known = _SINCE_LLVM[0]
    if compute_capability not in known:
        known = known_generations()
    newest = max(each for each in known if each <= compute_capability)
    return CudaTarget(newest, max_registers, max_threads_per_block, min_blocks)


def exact_target(
    compute_capability: ComputeCapability,
    variant: str = "",
    *,
    max_registers: int = 0,
    max_threads_per_block: int = 0,
    min_blocks: int = 0,
) -> CudaTarget:
    """Return what to compile for where the user names the generation.

    Parameters
    ----------
    compute_capability : tuple of int
        The generation.
    variant, max_registers, max_threads_per_block, min_blocks
        See :class:`CudaTarget`.

    Raises
    ------
    ArgumentError
        If there is no such generation, or the installed LLVM does not know it.
    """
    import llvmlite.binding as llvm

    since, have_it = _VARIANTS.get(variant, (0, ()))
    is_known = compute_capability in known_generations() and variant in _VARIANTS
    has_variant = not variant or (
        compute_capability in have_it and llvm.llvm_version_info[0] >= since
    )
    if not is_known or not has_variant:
        known = ", ".join(f"{major}.{minor}" for major, minor in known_generations())
        raise ArgumentError(
            f"the argument cc is {(*compute_capability, *variant)}, which names no generation of "
            "GPUs that code is made for",
            detail=f"expected one of {known} as a tuple, such as (8, 0)",
        )
    return CudaTarget(compute_capability, max_registers, max_threads_per_block, min_blocks, variant)
