"""pyculib's class of BLAS routines: sizes are given, and outputs are always written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pygpulib.blas import rotations
from pygpulib.blas.arguments import (
    Sizes,
    flatten_packed,
    read_array,
    read_real,
    read_size,
)
from pygpulib.blas.call import check_writable
from pygpulib.blas.functions import (
    as_scalar,
    check_letters,
    execute,
    read_parameters,
    read_scalars,
    write_function,
)
from pygpulib.blas.routines import ROUTINES, SIZES, Form
from pygpulib.core.device import current_driver
from pygpulib.core.stream import stream_handle
from pygpulib.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.routines import Operand, Routine
    from pygpulib.core.stream import StreamLike


def run_sized(routine: Routine, given: dict[str, Any], stream: StreamLike) -> Any:
    """Do a routine whose sizes are among its arguments, on the leading parts of the arrays.

    Parameters
    ----------
    routine : Routine
        What to do.
    given : dict
        The arguments by name.
    stream : Stream or 0
        Where the work is queued.

    Returns
    -------
    object
        The number that the routine returns, None if there is none.
    """
    flags, numbers = read_scalars(routine, given)
    known = {name: read_size(routine.name, name, given[name]) for name in SIZES if name in given}
    arrays = {
        operand.name: flatten_packed(
            operand, read_array(routine, operand.name, given[operand.name])
        )
        for operand in routine.operands
    }
    dtype = _only_dtype(routine, arrays)
    check_letters(routine, flags, dtype)
    if dtype.kind != "c":
        numbers = {
            name: read_real(routine.name, name, number, f"the arrays are of dtype {dtype}")
            for name, number in numbers.items()
        }
    sizes = Sizes(routine, flags, known)
    for operand in routine.operands:
        if known:
            arrays[operand.name] = _leading_part(sizes, routine, operand, arrays[operand.name])
        sizes.learn(operand, arrays[operand.name])
        if operand.is_output:
            check_writable(routine.name, operand.name, arrays[operand.name])
    values: dict[str, Any] = {**flags, **numbers, **sizes.values}
    if "param" in given:
        values["param"] = read_parameters(routine.name, given["param"], dtype)
    result = execute(routine, dtype, values, arrays, stream_handle(stream))
    return as_scalar(routine, result, dtype) if routine.returns_number else None


def _only_dtype(routine: Routine, arrays: dict[str, GivenArray]) -> np.dtype[Any]:
    (first, one), *others = arrays.items()
    for name, array in others:
        if array.dtype != one.dtype:
            raise DTypeError(
                f"{routine.name}: the argument {name} has dtype {array.dtype}",
                detail=f"expected {one.dtype}, the dtype of {first}",
                help=f"convert one of them: {name}.astype(...)",
            )
    return one.dtype


def _leading_part(
    sizes: Sizes, routine: Routine, operand: Operand, array: GivenArray
) -> GivenArray:
    """Return the part of an array that the sizes of a call speak of."""
    lengths = [sizes.length(name) for name in sizes.names_of(operand)]
    if operand.form is not Form.VECTOR and len(lengths) != array.ndim:
        return array
    pairs = list(zip(lengths, array.shape, strict=False))
    if any(wanted is not None and wanted > given for wanted, given in pairs):
        raise ShapeError(
            f"{routine.name}: the argument {operand.name} is too small: "
            f"its shape is {tuple(array.shape)}",
            detail=f"expected at least {tuple(lengths)}",
        )
    if all(wanted in (None, given) for wanted, given in pairs):
        return array
    part: Any = array[tuple([slice(0, wanted) for wanted, _ in pairs])]
    return cast("GivenArray", part)


def _make_method(name: str) -> Callable[..., Any]:
    routine = ROUTINES[name]
    # Vectors alone tell how long they are.
    is_first_level = all(operand.lengths == ("n",) for operand in routine.operands)
    parameters = [each for each in routine.arguments if not (is_first_level and each == "n")]
    body = f"return run_sized(routine, {_as_dict(parameters)}, self.stream)"
    scope: dict[str, Any] = {"run_sized": run_sized, "routine": routine}
    made = write_function(name, ["self", *parameters], [body], scope)
    made.__qualname__ = f"Blas.{name}"
    made.__doc__ = f"{routine.summary.rstrip('.')}."
    return made


def _as_dict(names: list[str]) -> str:
    return "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"


class Blas:
    """The routines of BLAS with explicit sizes, as pyculib has them.

    Arrays are of NumPy or in device memory, in any layout, and all of one dtype. A routine works on
    the leading parts of larger arrays, and changes its outputs in place. Sizes come in the order
    of BLAS: for example ``gemm(transa, transb, m, n, k, alpha, A, B, beta, C)``.

    Parameters
    ----------
    stream : Stream or 0
        Where the work is queued.

    Attributes
    ----------
    stream : Stream or 0
        Where the work is queued; can be set.

    Examples
    --------
    >>> import numpy as np
    >>> Blas().dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.float64(11.0)
    """

    def __init__(self, stream: StreamLike = 0) -> None:
        current_driver()
        self.stream = stream

    @property
    def stream(self) -> StreamLike:
        """Where the work is queued."""
        return self._stream

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        stream_handle(stream)
        self._stream: StreamLike = 0 if stream is None else stream

    def rotg(self, a: object, b: object) -> tuple[Any, Any, Any, Any]:
        """Return ``(r, z, c, s)``: the rotation that makes the second of two numbers zero."""
        return rotations.rotg(a, b)

    def rotmg(self, d1: object, d2: object, x1: object, y1: object) -> np.ndarray[Any, Any]:
        """Return the five numbers of a modified Givens rotation, for `rotm`."""
        return rotations.rotmg(d1, d2, x1, y1)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


for _name in ROUTINES:
    setattr(Blas, _name, _make_method(_name))
