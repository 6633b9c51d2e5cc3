"""What a stream does when it is its turn: some draws, and a conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pygpulib.rand.compiling import Function, Value, device

if TYPE_CHECKING:
    from pygpulib.rand.conversions import Conversion


def make_unit(step: Function, output: Function, conversion: Conversion) -> Function:
    """Return a function of a state and the parameters that gives the next state and the values.

    Parameters
    ----------
    step : Function
        From a state to the next.
    output : Function
        From a state to the draw that belongs to it.
    conversion : Conversion
        What becomes of the draws.
    """
    convert, turns = conversion.function, tuple(range(conversion.draws))

    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        draws: Value = ()
        for _ in turns:
            state = step(state)
            draws += (output(state),)
        return state, convert(draws, a, b, table, aliases)

    return unit


def make_load(words: int) -> Function:
    """Return a function that reads the state of a stream: the first words of its column."""
    rows = tuple(range(words))

    @device
    def load(states: Value, stream: Value) -> Value:
        state: Value = ()
        for row in rows:
            state += (states[row, stream],)
        return state

    return load


def make_store(words: int) -> Function:
    """Return a function that writes the state of a stream where `make_load` has it from."""
    rows = tuple(range(words))

    @device
    def store(states: Value, stream: Value, state: Value) -> None:
        for row in rows:
            states[row, stream] = state[row]

    return store


def make_put(values: int) -> Function:
    """Return a function that writes the values of a unit one after the other."""
    numbers = tuple(range(values))

    @device
    def put(out: Value, place: Value, given: Value) -> None:
        for number in numbers:
            out[place + np.uint64(number)] = given[number]

    return put
