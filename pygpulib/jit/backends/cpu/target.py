"""What the CPU back end compiles for: a processor, and a shape of blocks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pygpulib._record import record, replace
from pygpulib.jit.intrinsics.warp import WARP_SIZE
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A gang of one or two threads along the preferred axis leaves nearly all of a vector unused.
_SHORT_EXTENT = 2


@record(eq=True)
class CpuTarget:
    """A processor as the code generator sees it.

    Attributes
    ----------
    triple, cpu, features : str
        LLVM's names of the platform, the processor model and its features.
    vector_bytes : int
        Size of the widest vector register.
    has_gather : bool
        Whether one instruction loads from several addresses.
    has_float16 : bool
        Whether float16 values convert to float32 and back in one instruction.
    llvm_version : tuple of int
        Version of the code generator.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    has_gather: bool
    has_float16: bool
    llvm_version: tuple[int, ...]

    @property
    def architecture(self) -> str:
        """The first part of the triple, for example ``"x86_64"``."""
        return self.triple.split("-", 1)[0]


@record(eq=True)
class CpuVariant:
    """One way to lay the threads of a block on vectors.

    Attributes
    ----------
    axis : int
        Axis of the block that the lanes of a gang run along, or ``LINEAR_AXIS``.
    width : int
        Lanes of a gang, a power of two.
    full : bool
        Whether the block's extent along the axis is a multiple of the width.
    """

    axis: int
    width: int
    full: bool


def choose_variant(
    block: Sequence[int], preferred_axes: Sequence[int], max_width: int
) -> CpuVariant:
    """Lay a block on vectors.

    Parameters
    ----------
    block : sequence of int
        Threads along x, y and z.
    preferred_axes : sequence of int
        Axes from best to worst, as the kernel's memory accesses like them.
    max_width : int
        Widest gang worth having, a power of two.

    Returns
    -------
    CpuVariant
        Along the first preferred axis that is not very short, or else along the longest one.

    Examples
    --------
    >>> choose_variant((16, 8, 1), (0, 1, 2), 32)
    CpuVariant(axis=0, width=16, full=True)
    >>> choose_variant((1, 100, 1), (0, 1, 2), 32)
    CpuVariant(axis=1, width=32, full=False)
    """
    axis = next((axis for axis in preferred_axes if block[axis] > _SHORT_EXTENT), None)
    if axis is None:
        axis = max(preferred_axes, key=lambda candidate: block[candidate])
    extent = block[axis]
    width = min(max_width, 1 << (extent - 1).bit_length())
    return CpuVariant(axis, width, extent % width == 0)


def choose_warp_variant(block: Sequence[int]) -> CpuVariant:
    """Lay a block on vectors that are its warps.

    Parameters
    ----------
    block : sequence of int
        Threads along x, y and z.

    Returns
    -------
    CpuVariant
        Along x where the ends of rows are ends of warps too, else in the order of the threads'
        numbers.

    Examples
    --------
    >>> choose_warp_variant((64, 4, 1))
    CpuVariant(axis=0, width=32, full=True)
    >>> choose_warp_variant((8, 8, 1))
    CpuVariant(axis=3, width=32, full=False)
    """
    is_full = block[0] % WARP_SIZE == 0
    if is_full or block[1] * block[2] == 1:
        return CpuVariant(0, WARP_SIZE, is_full)
    return CpuVariant(LINEAR_AXIS, WARP_SIZE, full=False)


def describe_target(
    triple: str, cpu: str, features: Mapping[str, bool], llvm_version: tuple[int, ...]
) -> CpuTarget:
    """Derive a target from LLVM's description of a processor.

    Parameters
    ----------
    triple, cpu : str
        LLVM's names.
    features : mapping of str to bool
        Which features the processor has.
    llvm_version : tuple of int
        Version of the code generator.
    """

    def has(*names: str) -> bool:
        return any(features.get(name, False) for name in names)

    is_arm = triple.startswith(("aarch64", "arm64"))
    return CpuTarget(
        triple=triple,
        cpu=cpu,
        features=",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items())),
        vector_bytes=64 if has("avx512f") else 32 if has("avx") else 16,
        has_gather=has("avx2", "avx512f"),
        has_float16=is_arm or has("f16c", "avx512f"),
        llvm_version=llvm_version,
    )


@cache
def host_target() -> CpuTarget:
    """Return the processor that this process runs on."""
    import llvmlite.binding as llvm

    return describe_target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features(),
        tuple(llvm.llvm_version_info),
    )


@cache
def plain_target() -> CpuTarget:
    """Return the oldest processor of this platform: for code that is compiled fast and not hot."""
    return replace(host_target(), cpu="", features="")
