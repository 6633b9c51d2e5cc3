"""What is remembered of calls whose arrays BLAS could use as they were.

The next call with arrays of the same shapes, strides and dtypes, and the same letters, only has to
see where its arrays are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.layout import spans_overlap
from pygpulib.blas.routines import LETTERS, NUMBERS
from pygpulib.core.array import ndarray
from pygpulib.core.layout import byte_span
from pygpulib.core.stream import stream_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.call import Call
    from pygpulib.blas.engine import Engine
    from pygpulib.blas.routines import Routine
    from pygpulib.core.stream import StreamLike

Key = tuple["Hashable", ...]

_MOST_PLANS = 4096
_FLOATS = frozenset([float, complex, np.float32, np.float64, np.complex64, np.complex128])
_PLAIN = frozenset([int, str, bool, type(None)])


def key_of(routine: Routine, given: dict[str, Any]) -> Key | None:
    """Return what calls have in common that are done in the same way; None if that is unknown."""
    parts: list[Hashable] = [routine.name]
    arrays: list[int] = []
    for value in given.values():
        kind = value.__class__
        if kind is np.ndarray and not value.ndim:
            # A number, which is not known before it is read.
            return None
        if kind is np.ndarray or kind is ndarray:
            # One array in two places is not like two arrays.
            arrays.append(id(value))
            parts += (kind, value.dtype, value.shape, value.strides, arrays.index(id(value)))
        elif kind in _FLOATS:
            parts += (kind, not value)
        elif kind in _PLAIN:
            parts += (kind, value)
        else:
            return None
    return tuple(parts)


@record
class Slot:
    """An array among the arguments of the routine.

    Attributes
    ----------
    name : str
        The argument.
    source : str
        The array that it is.
    offset : int
        Bytes from the array's first element to where the routine begins.
    """

    name: str
    source: str
    offset: int


@record
class Span:
    """The memory that an array touches.

    Attributes
    ----------
    name : str
        The array.
    low, high : int
        Its first byte and the one after its last, counted from its first element.
    """

    name: str
    low: int
    high: int


@record
class Plan:
    """How a call is done.

    Attributes
    ----------
    routine : Routine
        The routine, which may be another one than that of the function.
    letter : str
        Which dtype.
    alignment : int
        What the addresses of arrays have to be multiples of.
    values : dict
        Letters, sizes and distances.
    numbers : tuple of str
        The numbers.
    slots : tuple of Slot
        Where the arrays go.
    read, written : tuple of Span
        The arrays.
    make_output : callable or None
        Makes the array that the function returns, on a stream; None if its outputs are given.
    dtype : numpy.dtype
        What it computes in.
    """

    routine: Routine
    letter: str
    alignment: int
    values: dict[str, Any]
    numbers: tuple[str, ...]
    slots: tuple[Slot, ...]
    read: tuple[Span, ...]
    written: tuple[Span, ...]
    make_output: Callable[[StreamLike], GivenArray] | None
    dtype: np.dtype[Any]

    def run(
        self, engine: Engine, given: dict[str, Any], stream: StreamLike
    ) -> tuple[Any, dict[str, GivenArray]] | None:
        """Do the call; return its number and its outputs, or None if arrays are in the way."""
        outputs = self._outputs(given, stream)
        if outputs is None:
            return None
        handle = stream_handle(stream)
        addresses = {}
        for span in (*self.read, *self.written):
            name = span.name
            native = engine.adopt(outputs.get(name, given[name]), handle)
            address = addresses[name] = engine.address(native)
            if address % self.alignment:
                return None
        if self._is_overlapping(addresses):
            return None
        values = self.values.copy()
        for slot in self.slots:
            values[slot.name] = addresses[slot.source] + slot.offset
        real = self.routine.real_numbers
        for name in self.numbers:
            number = given[name]
            if number.__class__ is ndarray and self._writes_to(number, addresses):
                return None
            values[name] = engine.number(number, self.dtype, name in real)
        return engine.run(self.routine, self.letter, values, handle), outputs

    def _outputs(self, given: dict[str, Any], stream: StreamLike) -> dict[str, GivenArray] | None:
        if self.make_output is not None:
            return {self.written[0].name: self.make_output(stream)}
        outputs = {}
        for span in self.written:
            array = outputs[span.name] = given[span.name]
            if array.__class__ is ndarray:
                if array.buffer.is_readonly:
                    return None
            elif not array.flags.writeable:
                return None
        return outputs

    def _writes_to(self, number: ndarray, addresses: dict[str, int]) -> bool:
        span = number.address, number.address + number.itemsize
        starts = [(addresses[target.name], target) for target in self.written]
        return any(spans_overlap(span, (at + each.low, at + each.high)) for at, each in starts)

    def _is_overlapping(self, addresses: dict[str, int]) -> bool:
        for i, target in enumerate(self.written):
            start = addresses[target.name]
            written = start + target.low, start + target.high
            for source in (*self.read, *self.written[:i]):
                place = addresses[source.name]
                if spans_overlap((place + source.low, place + source.high), written):
                    return True
        return False


def make_plan(
    call: Call,
    function: Routine,
    arrays: dict[str, GivenArray],
    make_output: Callable[[StreamLike], GivenArray] | None,
) -> Plan | None:
    """Return how calls like one are done, or None if it worked on copies.

    Parameters
    ----------
    call : Call
        The call, whose arrays are placed.
    function : Routine
        The routine of the function.
    arrays : dict
        The arrays, outputs that were made among them.
    make_output : callable or None
        Makes the output on a stream, if none was given.
    """
    sources = {id(_native(array)): name for name, array in arrays.items()}
    if "param" in call.values:
        return None
    slots = []
    for name, placed in call.placed.items():
        source = sources.get(id(placed.array))
        if source is None:
            return None
        offset = call.values[name] - call.engine.address(placed.array)
        slots.append(Slot(name, source, offset))
    numbers = tuple([name for name in call.routine.native if name in NUMBERS])
    spans = {
        name: Span(name, *byte_span(tuple(each.shape), tuple(each.strides), each.dtype.itemsize))
        for name, each in arrays.items()
    }
    written = {operand.name for operand in function.outputs}
    values = {
        name: value
        for name, value in call.values.items()
        if name not in numbers and name not in call.placed
    }
    return Plan(
        call.routine,
        LETTERS[call.dtype.name],
        call.dtype.alignment,
        values,
        numbers,
        tuple(slots),
        tuple([span for name, span in spans.items() if name not in written]),
        tuple([span for name, span in spans.items() if name in written]),
        make_output,
        call.dtype,
    )


def _native(array: GivenArray) -> object:
    """Return the array that an engine makes of an array without copying it."""
    if isinstance(array, ndarray) and array.host_view is not None:
        return array.host_view
    return array


class Plans:
    """The plans of this process, for one engine: another one may need copies of the arrays."""

    def __init__(self) -> None:
        self._plans: dict[Key, Plan] = {}
        self._engine: Engine | None = None

    def find(self, key: Key | None, engine: Engine) -> Plan | None:
        """Return the plan for a key."""
        if engine is not self._engine:
            self._plans, self._engine = {}, engine
        return None if key is None else self._plans.get(key)

    def add(self, key: Key | None, plan: Plan | None) -> None:
        """Remember a plan; if there are too many, all others are forgotten."""
        if key is not None and plan is not None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
