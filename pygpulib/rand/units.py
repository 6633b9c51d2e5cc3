"""What a stream does when it is its turn: some draws, and a conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    makers = {1: _unit_of_1, 2: _unit_of_2, 4: _unit_of_4}
    function: Value = conversion.function
    return makers[conversion.draws](step, output, function)


def _unit_of_1(step: Value, output: Value, convert: Value) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        after = step(state)
        return after, convert(output(after), a, b, table, aliases)

    return unit


def _unit_of_2(step: Value, output: Value, convert: Value) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        first = step(state)
        after = step(first)
        return after, convert(output(first), output(after), a, b, table, aliases)

    return unit


def _unit_of_4(step: Value, output: Value, convert: Value) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        first = step(state)
        second = step(first)
        third = step(second)
        after = step(third)
        return after, convert(
            output(first), output(second), output(third), output(after), a, b, table, aliases
        )

    return unit
