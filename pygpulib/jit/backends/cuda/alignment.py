"""What a kernel's arguments have to fulfil, for accesses of several elements at once.

An instruction of a GPU accesses up to 16 bytes, at an address that is a multiple of their number.
LLVM joins accesses to neighbours where it can prove that. Addresses in global memory are sums of
arguments, such as where an array begins and how long its rows are, so it is the launch that knows:
a kernel that would profit has a variant for arguments that fit, and one for all others.

What is found here decides what launches look at. A variant is told nothing else, so that its code
is right wherever it is used.
"""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from pygpulib._record import record, replace
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cuda.overlap import Pairs, are_apart, find_pairs
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WIDEST = 16
"""Most bytes that are accessed at once."""

# Of a number that is a length or an offset of elements, without its sign.
_LENGTH_BITS = 31

_MOST_TERMS = 8
_MOST_STEPS = 40


@record(eq=True)
class Alignment:
    """A variant of a kernel.

    Attributes
    ----------
    size_bytes : int
        What the addresses of accesses are multiples of; 1 where nothing is known.
    multiples : mapping of int to int
        By its position, what a parameter is a multiple of.
    ends : mapping of int to int
        By its position, which number a parameter is less than; and it is not negative. Sums of
        products of such numbers do not overflow, which shows that indices are not negative.
    mask : int
        The bits that are zero then, of all words of the arguments as one number.
    apart : sequence of (Place, Place)
        Arrays that do not overlap.
    """

    size_bytes: int
    multiples: Mapping[int, int]
    ends: Mapping[int, int]
    mask: int
    apart: Pairs = ()

    @property
    def key(self) -> tuple[int, bool]:
        """What tells the variants of one kernel apart."""
        return self.size_bytes, bool(self.apart)

    def takes(self, words: bytes) -> bool:
        """Return whether it is right for some arguments, given by their words."""
        if int.from_bytes(words, "little") & self.mask:
            return False
        return not self.apart or are_apart(self.apart, words)


PLAIN = Alignment(1, {}, {}, 0)
"""The variant for all arguments."""


def fitting_alignments(alignments: Sequence[Alignment], words: bytes) -> Iterator[Alignment]:
    """Return the variants that take some arguments.

    Parameters
    ----------
    alignments : sequence of Alignment
        The variants, the best one first; the last one is `PLAIN`.
    words : bytes
        The words of the arguments, 8 bytes each.
    """
    return (each for each in alignments if each.takes(words))


def relevant_bits(alignments: Sequence[Alignment]) -> int:
    """Return the bits of the words of arguments that the choice of a variant depends on."""
    bits = 0
    for each in alignments:
        bits |= each.mask
        for place in (place for pair in each.apart for place in pair):
            bits |= place.mask
    return bits


def find_alignments(kernel: ir.Function) -> tuple[Alignment, ...]:
    """Return the variants that a kernel is worth, widest first; the last one is `PLAIN`.

    Parameters
    ----------
    kernel : ir.Function
        The kernel as the code generator gets it.
    """
    groups = list(_Addresses(kernel).groups())
    sizes = {size for group in groups for size in group.sizes()}
    if not sizes:
        return (PLAIN,)
    pairs = find_pairs(kernel)
    found: list[Alignment] = []
    for size in sorted(sizes, reverse=True):
        variant = _variant(kernel, size, groups)
        found += [replace(variant, apart=pairs), variant] if pairs else [variant]
    return (*found, PLAIN)


def _variant(kernel: ir.Function, size_bytes: int, groups: list[_Group]) -> Alignment:
    multiples: dict[int, int] = {}
    ends: dict[int, int] = {}
    mask = 0
    # Lengths are known to be some, and strides may be negative.
    of_arrays = {
        position + number
        for position, param in enumerate(kernel.params)
        if param in kernel.arrays
        for number in range(1 + 2 * kernel.arrays[param][0])
    }
    for group in groups:
        wanted = min(size_bytes, group.widest)
        for position, unit in group.parameters:
            multiple = wanted // gcd(wanted, unit)
            if multiple > multiples.get(position, 1):
                multiples[position] = multiple
                mask |= (multiple - 1) << 64 * position
            param = kernel.params[position]
            if isinstance(param.type, DType) and position not in of_arrays:
                bits = param.type.bits
                end = ends[position] = 1 << min(_LENGTH_BITS, bits - 1)
                mask |= ((1 << bits) - end) << 64 * position
    return Alignment(size_bytes, multiples, ends, mask)


@record
class _Group:
    """Accesses to neighbours that could be joined.

    Attributes
    ----------
    parameters : list of (int, int)
        Positions of parameters in their address, and what these are multiplied by.
    element : int
        Bytes of the smallest access.
    widest : int
        Most bytes that can be joined if these parameters fit.
    """

    parameters: list[tuple[int, int]]
    element: int
    widest: int

    def sizes(self) -> Iterator[int]:
        """Yield how many bytes accesses could have that are joined."""
        size = self.widest
        while size > self.element:
            yield size
            size //= 2


@record
class _Sum:
    """A number or an address: a sum of values, each times a constant, and a constant."""

    terms: dict[ir.Value, int]
    constant: int


class _Addresses:
    """The addresses that a kernel accesses, as sums."""

    def __init__(self, kernel: ir.Function) -> None:
        self._positions = {param: position for position, param in enumerate(kernel.params)}
        self._definitions: dict[ir.Value, ir.Op] = {}
        self._steps: dict[ir.Value, int] = {}
        self._starts: dict[ir.Value, ir.Value] = {}
        self._sums: dict[ir.Value, _Sum] = {}
        self._accesses: list[ir.Load | ir.Store] = []
        for op in walk(kernel.body):
            match op:
                case ir.Load() | ir.Store():
                    self._accesses.append(op)
                case ir.Const() | ir.Cast() | ir.Binary() | ir.Select() | ir.PointerAdd():
                    self._definitions[op.result] = op
                case ir.For():
                    self._note_loop(op)
                case _:
                    pass

    def groups(self) -> Iterator[_Group]:
        """Yield the accesses that could be joined."""
        together: dict[object, list[tuple[_Sum, int]]] = {}
        for op in self._accesses:
            address = self._plus(self._sum(op.pointer), self._sum(op.index), op.scale)
            if any(self._is_array(value) for value in address.terms):
                key = type(op), frozenset(address.terms.items())
                together.setdefault(key, []).append((address, _size_of(op)))
        for accesses in together.values():
            group = self._group(accesses)
            if group.widest > group.element:
                yield group

    def _note_loop(self, op: ir.For) -> None:
        step = self._definitions.get(op.step)
        if isinstance(step, ir.Const):
            variable = op.body.params[0]
            self._steps[variable] = int(step.value)
            self._starts[variable] = op.start

    def _is_array(self, value: ir.Value) -> bool:
        return value in self._positions and isinstance(value.type, ir.Pointer)

    def _group(self, accesses: list[tuple[_Sum, int]]) -> _Group:
        terms, element = accesses[0][0].terms, min(size for _, size in accesses)
        widest = self._extent(accesses, element)
        parameters = []
        for value, unit in terms.items():
            position = self._parameter_of(value)
            if position is None:
                widest = gcd(widest, unit * self._divisor(value, unit))
            else:
                parameters.append((position, abs(unit)))
        return _Group(parameters, element, widest)

    def _extent(self, accesses: list[tuple[_Sum, int]], element: int) -> int:
        """Return how many bytes accesses with the same terms could be joined to at most."""
        steps = (
            abs(unit * self._steps.get(value, 0)) for value, unit in accesses[0][0].terms.items()
        )
        if any(0 < step < WIDEST for step in steps):
            # LLVM unrolls loops, which brings together what iterations access.
            return WIDEST
        ends = sorted({(address.constant, address.constant + size) for address, size in accesses})
        extent = element
        for (first, _), (_, end) in pairwise(ends):
            if end - first <= WIDEST:
                extent = max(extent, ends[-1][1] - ends[0][0])
        return min(WIDEST, 1 << (extent - 1).bit_length())

    def _parameter_of(self, value: ir.Value) -> int | None:
        """Return the position of the parameter that a value is a multiple of, None if of none."""
        op = self._definitions.get(value)
        is_product = isinstance(op, ir.Binary) and op.kind is ir.BinaryKind.MULTIPLY
        for factor in (op.left, op.right) if is_product else (value,):  # type: ignore[union-attr]
            whole = self._sum(factor)
            if len(whole.terms) == 1 and not whole.constant:
                ((single, _),) = whole.terms.items()
                if single in self._positions and _is_whole(single):
                    return self._positions[single]
        return None

    def _divisor(self, value: ir.Value, unit: int) -> int:
        """Return a number that a value is known to be a multiple of, whatever the arguments."""
        if value in self._steps:
            start, step = self._sum(self._starts[value]), self._steps[value]
            # Loops of small steps are unrolled to larger ones.
            step = 0 if abs(unit * step) < WIDEST else step
            return gcd(start.constant, step, *start.terms.values()) or WIDEST
        op = self._definitions.get(value)
        if isinstance(op, ir.Binary) and op.kind is ir.BinaryKind.AND:
            for operand in (op.left, op.right):
                whole = self._sum(operand)
                if not whole.terms:
                    return whole.constant & -whole.constant or WIDEST
        return 1

    def _sum(self, value: ir.Value, depth: int = 0) -> _Sum:
        found = self._sums.get(value)
        if found is None:
            found = self._find_sum(value, depth) if depth < _MOST_STEPS else None
            if found is None or len(found.terms) > _MOST_TERMS:
                found = _Sum({value: 1}, 0)
            self._sums[value] = found
        return found

    def _find_sum(self, value: ir.Value, depth: int) -> _Sum | None:
        match self._definitions.get(value):
            case ir.Const(value=number):
                return _Sum({}, int(number))
            case ir.Cast(operand=operand) if _is_whole(operand):
                return self._sum(operand, depth + 1)
            case ir.PointerAdd(pointer=pointer, index=index, scale=scale):
                return self._plus(self._sum(pointer, depth + 1), self._sum(index, depth + 1), scale)
            case ir.Select(if_true=if_true, if_false=if_false):
                return self._index(self._sum(if_true, depth + 1), self._sum(if_false, depth + 1))
            case ir.Binary(kind=kind, left=left, right=right):
                return self._combine(kind, self._sum(left, depth + 1), self._sum(right, depth + 1))
            case _:
                return None

    def _combine(self, kind: ir.BinaryKind, left: _Sum, right: _Sum) -> _Sum | None:
        match kind:
            case ir.BinaryKind.ADD:
                return self._plus(left, right, 1)
            case ir.BinaryKind.SUBTRACT:
                return self._plus(left, right, -1)
            case ir.BinaryKind.MULTIPLY if not left.terms or not right.terms:
                number, rest = (left, right) if not left.terms else (right, left)
                return self._plus(_Sum({}, 0), rest, number.constant)
            case ir.BinaryKind.SHIFT_LEFT if not right.terms and 0 <= right.constant < 64:
                return self._plus(_Sum({}, 0), left, 1 << right.constant)
        return None

    def _index(self, from_end: _Sum, from_start: _Sum) -> _Sum | None:
        """Return what an index that may be negative is, if it is not: often LLVM knows that."""
        extent = self._plus(from_end, from_start, -1)
        if extent.constant or list(extent.terms.values()) != [1]:
            return None
        return from_start if self._positions.keys() >= extent.terms.keys() else None

    def _plus(self, left: _Sum, right: _Sum, factor: int) -> _Sum:
        terms = dict(left.terms)
        for value, unit in right.terms.items():
            terms[value] = terms.get(value, 0) + unit * factor
        nonzero = {value: unit for value, unit in terms.items() if unit}
        return _Sum(nonzero, left.constant + right.constant * factor)


def _is_whole(value: ir.Value) -> bool:
    return isinstance(value.type, ir.Pointer) or value.type.is_integer


def _size_of(op: ir.Load | ir.Store) -> int:
    type_ = op.result.type if isinstance(op, ir.Load) else op.value.type
    return type_.size_bytes if isinstance(type_, DType) else 8
