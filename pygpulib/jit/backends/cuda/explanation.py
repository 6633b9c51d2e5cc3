"""How the warps of a kernel run on a GPU, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pygpulib.jit.backends.accesses import examine
from pygpulib.jit.backends.findings import JoinedAccesses, Layout
from pygpulib.jit.intrinsics.warp import WARP_SIZE
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.passes.find_lane_shapes import LINEAR_AXIS, find_lane_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib.jit.ir import ops as ir


# Of global memory, or of memory of any kind.
_JOINED = re.compile(r"\b(ld|st)\.(?:global\.)?(?:nc\.)?v[248]\.")


def explain_joining(variants: Mapping[tuple[int, bool], str]) -> tuple[JoinedAccesses, ...]:
    """Describe which accesses to neighbours are one instruction.

    Parameters
    ----------
    variants : mapping of (int, bool) to str
        The PTX of each variant, by what its arguments are aligned to in bytes, and whether its
        arrays do not overlap.
    """
    found = {key: _JOINED.findall(ptx) for key, ptx in variants.items()}
    return tuple(
        JoinedAccesses(kinds.count("ld"), kinds.count("st"), size_bytes, are_apart)
        for (size_bytes, are_apart), kinds in sorted(found.items(), reverse=True)
    )


def explain_block(
    function: ir.Function,
    block: tuple[int, int, int],
    was_cached: bool | None,
    joined: tuple[JoinedAccesses, ...] = (),
) -> Layout:
    """Describe how a kernel runs blocks of one shape.

    Parameters
    ----------
    function : ir.Function
        Its prepared IR.
    block : tuple of int
        The block's shape.
    was_cached : bool or None
        Whether the PTX was found on disk.
    joined : tuple of JoinedAccesses
        How neighbours are accessed.

    Returns
    -------
    Layout
        The threads of a warp are neighbours along x, where rows are whole numbers of warps.
    """
    is_along_x = block[0] % WARP_SIZE == 0
    shapes = find_lane_shapes(function, 0 if is_along_x else LINEAR_AXIS)
    found = (examine(op, shapes) for op in walk(function.body))
    findings = dict.fromkeys(each for each in found if each is not None)
    threads = block[0] * block[1] * block[2]
    return Layout(
        block,
        WARP_SIZE,
        "x" if is_along_x else "warp",
        threads % WARP_SIZE == 0,
        was_cached,
        (*findings, *joined),
    )
