"""The signatures of a vectorized function, and which of them a call means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.errors import ArgumentTypeError, counted
from pygpulib.jit import types
from pygpulib.jit.declarations import parse_signatures
from pygpulib.jit.ir.small_floats import is_small

WEAK_KINDS = {bool: "?", int: "i", float: "f", complex: "c"}
"""Python's numbers, which take the type of the arrays that they meet, as in NumPy."""


@record(eq=True)
class Loop:
    """One signature: what the function takes and gives.

    Attributes
    ----------
    inputs, outputs : tuple of Type
        Types of the parameters, and of the results.
    """

    inputs: tuple[types.Type, ...]
    outputs: tuple[types.Type, ...]

    @property
    def input_dtypes(self) -> tuple[np.dtype[Any], ...]:
        """NumPy's dtypes of the elements that it takes."""
        return tuple(map(dtype_of, self.inputs))

    @property
    def output_dtypes(self) -> tuple[np.dtype[Any], ...]:
        """NumPy's dtypes of the elements that it gives."""
        return tuple(map(dtype_of, self.outputs))

    def __str__(self) -> str:
        given = "".join(dtype.char for dtype in self.input_dtypes)
        return f"{given}->{''.join(dtype.char for dtype in self.output_dtypes)}"


def dtype_of(type_: types.Type) -> np.dtype[Any]:
    """Return NumPy's dtype of a number, or of the elements of an array."""
    match type_:
        case types.ScalarType(dtype):
            return dtype.numpy
        case types.ArrayType():
            return type_.element.numpy
        case types.TimeType(layout):
            return layout.numpy
        case _:
            raise ArgumentTypeError(
                f"the type {type_} cannot be vectorized over",
                help="use numbers, and in guvectorize also arrays of numbers",
            )


Infer = Callable[[tuple[types.Type, ...]], types.Type]


def parse_loops(
    name: str, declared: object, nin: int, nout: int, infer: Infer | None = None
) -> tuple[Loop, ...]:
    """Return the loops that a list of signatures stands for.

    Parameters
    ----------
    name : str
        Name of the function, for messages.
    declared : signature or list of signatures
        As `pygpulib.cuda.jit` takes them.
    nin, nout : int
        How many inputs and outputs there are. The outputs of a function that returns nothing are
        its last parameters.
    infer : callable, optional
        Says what the function returns where a signature does not.

    Raises
    ------
    ArgumentTypeError
        If a signature has another number of types.
    """
    loops = []
    for signature in parse_signatures(declared):
        parameters = signature.parameters
        if signature.result is None and infer is not None and len(parameters) == nin:
            loop = Loop(parameters, (infer(parameters),))
        elif signature.result is None or signature.result == types.void:
            inputs = len(parameters) - nout
            loop = Loop(parameters[:inputs], parameters[inputs:])
        else:
            loop = Loop(parameters, (signature.result,))
        if len(loop.inputs) != nin or len(loop.outputs) != nout:
            raise ArgumentTypeError(
                f"the signature {signature} does not fit the function {name}",
                detail=f"expected {counted(nin, 'input')} and {counted(nout, 'output')}",
            )
        for type_ in (*loop.inputs, *loop.outputs):
            dtype_of(type_)
        loops.append(loop)
    return tuple(loops)


def choose_loop(name: str, loops: Sequence[Loop], operands: Sequence[object]) -> Loop:
    """Return the loop for some operands.

    That is the first one whose types are those of the operands, else the first one to which all
    operands convert without loss, else the first one to which they convert within their kind
    (float64 to float32, say).

    Parameters
    ----------
    name : str
        Name of the function, for messages.
    loops : sequence of Loop
        The choices.
    operands : sequence
        Arrays, and Python's numbers.

    Raises
    ------
    ArgumentTypeError
        If the operands convert to none.
    """
    given = [_find_dtype(operand) for operand in operands]
    if all(isinstance(dtype, str) for dtype in given):
        # With no array to adapt to, numbers are what NumPy makes of them.
        given = [np.asarray(operand).dtype for operand in operands]
    for casting in ("no", "safe", "same_kind"):
        for loop in loops:
            if all(map(_converts, given, loop.input_dtypes, [casting] * len(given))):
                return loop
    shown = ", ".join(str(dtype) for dtype in given)
    raise ArgumentTypeError(
        f"{name} was called with elements of types ({shown})",
        detail=f"No matching signature; its loops are {', '.join(map(str, loops))}",
        help="convert the arguments, or add a signature",
    )


def _find_dtype(operand: object) -> np.dtype[Any] | str:
    kind = WEAK_KINDS.get(type(operand))
    return operand.dtype if kind is None else kind  # type: ignore[attr-defined]


_KIND_ORDER = {"?": "buifc", "i": "iufc", "f": "fc", "c": "c"}


def _converts(given: np.dtype[Any] | str, wanted: np.dtype[Any], casting: Any) -> bool:  # noqa: ANN401
    if isinstance(given, str):
        return ("f" if is_small(wanted) else wanted.kind) in _KIND_ORDER[given]
    return np.can_cast(given, wanted, casting)
