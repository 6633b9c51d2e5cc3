"""Compute every pure expression once."""

from __future__ import annotations

from collections.abc import Hashable

from pygpulib._record import replace
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import (
    blocks_of,
    expression_key,
    is_pure,
    replace_blocks,
    replace_values,
    results_of,
)

Known = dict[Hashable, tuple[ir.Value, ...]]
"""The results of each expression that is visible."""


def share_common(function: ir.Function) -> ir.Function:
    """Replace pure operations by earlier ones that are the same.

    An operation of an outer block serves the blocks inside it, one of a block does not outlive
    it. Loads are not shared: what happens in between would have to be known.

    Parameters
    ----------
    function : Function
        A well-formed function.

    Returns
    -------
    Function
        The same object if nothing was computed twice.
    """
    body = _share(function.body, {}, {})
    return function if body is function.body else replace(function, body=body)


def _share(block: ir.Block, outer: Known, values: dict[ir.Value, ir.Value]) -> ir.Block:
    known = outer.copy()
    ops: list[ir.Op] = []
    changed = False
    for op in block.ops:
        new = replace_values(op, values) if values else op
        if blocks_of(new):
            new = replace_blocks(new, lambda nested: _share(nested, known, values))
        elif is_pure(new) and (key := expression_key(new)) is not None:
            results = results_of(new)
            earlier = known.setdefault(key, results)
            if earlier is not results:
                values.update(zip(results, earlier, strict=True))
                changed = True
                continue
        changed = changed or new is not op
        ops.append(new)
    return ir.Block(block.params, tuple(ops)) if changed else block
