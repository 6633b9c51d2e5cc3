"""cuBLAS's functions under pyculib's names: typed methods with all their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings import cublas
from pygpulib._bindings.cublas import CuBLASError
from pygpulib.blas import rotations
from pygpulib.blas.arguments import (
    Sizes,
    read_flag,
    read_integer,
    read_number,
    read_real,
    read_size,
)
from pygpulib.blas.engine import current_engine
from pygpulib.blas.functions import read_parameters, write_function
from pygpulib.blas.precision import deterministic
from pygpulib.blas.routines import DTYPES, FLAGS, MIXED_ROUTINES, NUMBERS, ROUTINES, SIZES, Form
from pygpulib.core.array import ndarray
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.routines import Routine
    from pygpulib.core.stream import StreamLike

INV_STATUS = {
    "CUBLAS_STATUS_SUCCESS": 0,
    **{f"CUBLAS_STATUS_{name}": code for code, (name, _) in cublas.STATUSES.items()},
}
STATUS = {code: name for name, code in INV_STATUS.items()}
"""Names of all statuses."""

CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = cublas.OPERATIONS.values()
CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER = cublas.FILL_MODES.values()
CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT = cublas.SIDES.values()
CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT = cublas.DIAGONALS.values()
CUBLAS_POINTER_MODE_HOST = cublas.POINTER_MODE_HOST
CUBLAS_POINTER_MODE_DEVICE = cublas.POINTER_MODE_DEVICE
CUBLAS_ATOMICS_NOT_ALLOWED = cublas.ATOMICS_NOT_ALLOWED
CUBLAS_ATOMICS_ALLOWED = cublas.ATOMICS_ALLOWED

_INVALID_VALUE = 7


class RefusedError(CuBLASError, ArgumentError):
    """An argument that cuBLAS would refuse with a status."""


def _refuse(function: str, problem: str, detail: str) -> RefusedError:
    error = RefusedError(f"{function}: {problem}", detail=f"{detail} (CUBLAS_STATUS_INVALID_VALUE)")
    error.code = _INVALID_VALUE
    return error


def run_native(
    routine: Routine,
    letter: str,
    given: dict[str, Any],
    stream: StreamLike,
    atomics: int = CUBLAS_ATOMICS_NOT_ALLOWED,
) -> Any:
    """Do a routine with all arguments of its C function but the handle.

    Parameters
    ----------
    routine : Routine
        What to do.
    letter : str
        Which dtype.
    given : dict
        The arguments by name. Arrays are in device memory; only their addresses count, not their
        shapes.
    stream : Stream or 0
        Where the work is queued.
    atomics : int
        Whether it may use atomic operations.

    Returns
    -------
    object
        The number that the routine returns, an index counted from 1; None if there is none.

    Raises
    ------
    CuBLASError
        If an argument is outside its range.
    """
    name, dtype = routine.names[letter], np.dtype(DTYPES[letter])
    engine = current_engine()
    values: dict[str, Any] = {}
    for each, value in given.items():
        if each in FLAGS:
            values[each] = read_flag(name, each, value)
        elif each in NUMBERS:
            is_real = each in routine.real_numbers
            number = read_number(name, each, value)
            if is_real or dtype.kind != "c":
                number = read_real(name, each, number, "the function takes no other")
            values[each] = engine.number(number, dtype, is_real)
        elif each == "param":
            values[each] = engine.number(read_parameters(name, value, dtype), dtype, False)
        elif any(operand.name == each for operand in routine.operands):
            values[each] = _read_address(name, each, value)
        elif each in SIZES:
            values[each] = read_size(name, each, value)
        else:
            values[each] = read_integer(name, each, value)
    _check_distances(routine, name, values)
    with deterministic(not atomics):
        result = engine.run(routine, letter, values, stream_handle(stream))
    if not routine.returns_number or routine.name in ("amax", "amin"):
        return result
    real = np.zeros(0, dtype).real.dtype
    return (real if routine.name in ("nrm2", "asum") else dtype).type(result)


def _read_address(function: str, name: str, value: object) -> int:
    if not isinstance(value, ndarray) and not is_cuda_array(value):
        kind = "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__
        raise ArgumentTypeError(
            f"{function}: the argument {name} is a {kind}",
            detail="expected an array in device memory",
            help="copy it there with cuda.to_device(...)",
        )
    return as_cuda_array(value).address


def _check_distances(routine: Routine, name: str, values: dict[str, Any]) -> None:
    flags = {each: values[each] for each in values if each in FLAGS}
    known = {each: values[each] for each in values if each in SIZES}
    sizes = Sizes(routine, flags, known)
    for operand in routine.operands:
        if not operand.stride:
            continue
        step = values[operand.stride]
        if operand.form is Form.VECTOR:
            if not step and operand.lengths != ("n",):
                raise _refuse(name, f"the argument {operand.stride} is 0", "expected another step")
            continue
        rows = sizes.length(sizes.names_of(operand)[0]) or 0
        if step < max(rows, 1):
            raise _refuse(
                name,
                f"the argument {operand.stride} is {step}",
                f"expected at least {max(rows, 1)}, the rows of {operand.name}",
            )


def _make_method(routine: Routine, letter: str) -> Callable[..., Any]:
    name = routine.names[letter]
    parameters = [each for each in routine.native if each != "result"]
    passed = ", ".join(f"{each!r}: {each}" for each in parameters)
    scope: dict[str, Any] = {"run_native": run_native, "routine": routine}
    body = f"return run_native(routine, {letter!r}, {{{passed}}}, self.stream, self.atomics_mode)"
    made = write_function(name, ["self", *parameters], [body], scope)
    made.__qualname__ = f"cuBlas.{name}"
    made.__doc__ = f"{routine.summary.rstrip('.')}."
    return made


class cuBlas:  # noqa: N801  (pyculib's name)
    """cuBLAS's functions as methods, ``Sgemm`` and so on, without the handle.

    Arrays are device arrays in BLAS's layout, described by the sizes and distances that are given.
    The same methods work on the CPU back end.

    Attributes
    ----------
    version : int
        The version of cuBLAS.
    stream : Stream or 0
        Where the work is queued; can be set.
    pointer_mode : int
        Kept for programs that set it: numbers may be on the host or device arrays in any mode.
    atomics_mode : int
        Whether routines may use atomic operations; only cuBLAS itself has some that do.
    """

    def __init__(self) -> None:
        current_engine()
        self._stream: StreamLike = 0
        self._pointer_mode = CUBLAS_POINTER_MODE_HOST
        self._atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED

    @property
    def version(self) -> int:
        """The version of cuBLAS."""
        return current_engine().version

    @property
    def stream(self) -> StreamLike:
        """Where the work is queued."""
        return self._stream

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        stream_handle(stream)
        self._stream = stream

    @property
    def pointer_mode(self) -> int:
        """Where numbers are, as the program has said it."""
        return self._pointer_mode

    @pointer_mode.setter
    def pointer_mode(self, mode: int) -> None:
        self._pointer_mode = _read_mode("pointer_mode", mode)

    @property
    def atomics_mode(self) -> int:
        """Whether routines may use atomic operations."""
        return self._atomics_mode

    @atomics_mode.setter
    def atomics_mode(self, mode: int) -> None:
        self._atomics_mode = _read_mode("atomics_mode", mode)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


def _read_mode(name: str, mode: int) -> int:
    if mode not in (0, 1):
        raise _refuse(name, f"the mode is {mode!r}", "expected one of the library's constants")
    return int(mode)


def _make_rotation(letter: str) -> Callable[..., Any]:
    element = np.dtype(DTYPES[letter]).type

    def rotg(self: cuBlas, a: object, b: object) -> tuple[Any, Any, Any, Any]:  # noqa: ARG001
        """Return ``(r, z, c, s)``: the rotation that makes the second of two numbers zero."""
        return rotations.rotg(element(a), element(b))

    return rotg


def _make_modified_rotation(letter: str) -> Callable[..., Any]:
    element = np.dtype(DTYPES[letter]).type

    def rotmg(self: cuBlas, d1: object, d2: object, x1: object, y1: object) -> Any:  # noqa: ARG001
        """Return the five numbers of a modified Givens rotation."""
        return rotations.rotmg(element(d1), element(d2), element(x1), element(y1))

    return rotmg


for _routine in (*ROUTINES.values(), *MIXED_ROUTINES.values()):
    for _letter in _routine.names:
        setattr(cuBlas, _routine.names[_letter], _make_method(_routine, _letter))
for _letter in "SDCZ":
    setattr(cuBlas, f"{_letter}rotg", _make_rotation(_letter))
for _letter in "SD":
    setattr(cuBlas, f"{_letter}rotmg", _make_modified_rotation(_letter))
