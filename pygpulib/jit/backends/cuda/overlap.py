"""Which arrays of a launch do not overlap, and what LLVM may do because of that.

A store may change what a load of another array reads, so that neither moves past the other, unless
the launch has seen that both arrays lie apart.
"""

from __future__ import annotations

import struct

from pygpulib._record import record
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk


@record(eq=True)
class Place:
    """Where the words of an array are among those of a launch.

    Attributes
    ----------
    position : int
        Of its address; lengths and strides follow.
    ndim : int
        Number of dimensions.
    item_bytes : int
        Size of an element.
    """

    position: int
    ndim: int
    item_bytes: int

    @property
    def mask(self) -> int:
        """The bits of all its words in the words of a launch as one number."""
        return ((1 << 64 * (1 + 2 * self.ndim)) - 1) << 64 * self.position

    def bounds(self, words: bytes) -> tuple[int, int]:
        """Return the address of its first byte, and the one behind its last byte."""
        text = f"<Q{2 * self.ndim}q"
        address, *numbers = struct.unpack_from(text, words, 8 * self.position)
        low, high = address, address + self.item_bytes
        for extent, stride in zip(numbers[: self.ndim], numbers[self.ndim :], strict=True):
            if extent == 0:
                return address, address
            reach = (extent - 1) * stride
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


Pairs = tuple[tuple[Place, Place], ...]
"""Arrays of which at least one is written."""


def find_pairs(kernel: ir.Function) -> Pairs:
    """Return the arrays among a kernel's arguments that matter to each other."""
    roots = find_roots(kernel)
    accessed: dict[ir.Value, bool] = {}
    for op in walk(kernel.body):
        if isinstance(op, ir.Load | ir.Store | ir.Atomic):
            array = roots.get(op.pointer)
            if array is not None:
                accessed[array] = accessed.get(array, False) or not isinstance(op, ir.Load)
    positions = {param: position for position, param in enumerate(kernel.params)}
    places = [
        (Place(positions[array], *kernel.arrays[array]), is_written)
        for array, is_written in accessed.items()
        if array in kernel.arrays
    ]
    return tuple(
        (first, second)
        for number, (first, is_first_written) in enumerate(places)
        for second, is_second_written in places[:number]
        if is_first_written or is_second_written
    )


def are_apart(pairs: Pairs, words: bytes) -> bool:
    """Return whether no two of these arrays share a byte.

    Parameters
    ----------
    pairs : sequence of (Place, Place)
        The arrays.
    words : bytes
        The words of a launch's arguments.
    """
    places = {place.position: place for pair in pairs for place in pair}
    bounds = {position: place.bounds(words) for position, place in places.items()}
    return not any(_meet(bounds[one.position], bounds[other.position]) for one, other in pairs)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def find_roots(kernel: ir.Function) -> dict[ir.Value, ir.Value]:
    """Return the parameter that an address belongs to, of addresses that belong to one only."""
    roots = {param: param for param in kernel.params if isinstance(param.type, ir.Pointer)}
    for op in walk(kernel.body):
        if isinstance(op, ir.PointerAdd) and op.pointer in roots:
            roots[op.result] = roots[op.pointer]
    return roots


class Scopes:
    """LLVM's metadata of accesses to arrays that lie apart.

    Parameters
    ----------
    kernel : ir.Function
        The kernel.
    pairs : sequence of (Place, Place)
        The arrays.

    Attributes
    ----------
    nodes : list of str
        The metadata; nodes are numbered from 1 on.
    """

    def __init__(self, kernel: ir.Function, pairs: Pairs) -> None:
        self.nodes: list[str] = []
        self._marks: dict[ir.Value, str] = {}
        if not pairs:
            return
        others: dict[int, list[int]] = {}
        for one, other in pairs:
            others.setdefault(one.position, []).append(other.position)
            others.setdefault(other.position, []).append(one.position)
        domain = self._node("distinct !{{{0}}}")
        scopes = {position: self._node(f"distinct !{{{{{{0}}, {domain}}}}}") for position in others}
        marks = {}
        for position, rest in others.items():
            own = self._node(f"!{{{{{scopes[position]}}}}}")
            apart = self._node(f"!{{{{{', '.join(scopes[other] for other in rest)}}}}}")
            marks[position] = f", !alias.scope {own}, !noalias {apart}"
        positions = {param: position for position, param in enumerate(kernel.params)}
        for address, array in find_roots(kernel).items():
            if positions[array] in marks:
                self._marks[address] = marks[positions[array]]

    def _node(self, text: str) -> str:
        """Add a node, which may name itself as ``{0}``; return its name."""
        name = f"!{len(self.nodes) + 1}"
        self.nodes.append(f"{name} = {text.format(name)}")
        return name

    def mark(self, address: ir.Value) -> str:
        """Return what is written behind an access through an address."""
        return self._marks.get(address, "")
