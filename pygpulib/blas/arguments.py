"""Reading the arguments of a call: letters, numbers, arrays, and the sizes that these tell."""

from __future__ import annotations

import operator
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.routines import FLAGS, LETTERS, NUMBERS, Form
from pygpulib.core.array import ndarray
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pygpulib.blas.routines import Operand, Routine

GivenArray = np.ndarray[Any, Any] | ndarray

_FLAG_WORDS = {
    "trans": "'N' (as it is), 'T' (transposed) or 'C' (transposed and conjugated)",
    "transa": "'N' (as it is), 'T' (transposed) or 'C' (transposed and conjugated)",
    "transb": "'N' (as it is), 'T' (transposed) or 'C' (transposed and conjugated)",
    "uplo": "'L' (the lower triangle) or 'U' (the upper triangle)",
    "side": "'L' (the matrix stands on the left) or 'R' (on the right)",
    "diag": "True (ones on the diagonal, whatever it holds) or False",
}


def read_flag(routine: str, name: str, value: object) -> str:
    """Return a letter argument as BLAS's letter.

    Raises
    ------
    ArgumentError
        If it is another letter, or none.

    Examples
    --------
    >>> read_flag("gemm", "transa", "h"), read_flag("trsm", "diag", True)
    ('C', 'U')
    """
    letter = value.upper() if isinstance(value, str) else ""
    if name == "diag" and isinstance(value, int | np.integer | np.bool_) and value in (0, 1):
        letter = "U" if value else "N"
    elif name.startswith("trans") and letter == "H":
        letter = "C"
    if len(letter) != 1 or letter not in FLAGS[name]:
        raise ArgumentError(
            f"{routine}: the argument {name} is {value!r}", detail=f"expected {_FLAG_WORDS[name]}"
        )
    return letter


def read_number(routine: str, name: str, value: object) -> object:
    """Return a number, or an array without axes that holds one.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    if isinstance(value, Number) and not isinstance(value, np.timedelta64):
        try:
            complex(value)  # type: ignore[call-overload]
        except OverflowError as cause:
            raise ArgumentError(
                f"{routine}: the argument {name} is too large",
                detail="expected a number below 1e308",
            ) from cause
        return value
    if isinstance(value, np.ndarray | ndarray) or is_cuda_array(value):
        array = value if isinstance(value, np.ndarray | ndarray) else as_cuda_array(value)
        if array.size == 1 and array.ndim == 0 and array.dtype.kind in "iufc":
            return array[()] if isinstance(array, np.ndarray) else array
    raise ArgumentError(
        f"{routine}: the argument {name} is not a number: {value!r}",
        detail="expected a number, or an array without axes that holds one",
    )


def is_complex(number: object) -> bool:
    """Return whether a number, or an array that holds it, is complex."""
    if isinstance(number, ndarray):
        return number.dtype.kind == "c"
    return isinstance(number, complex | np.complexfloating)


def read_real(routine: str, name: str, number: object, reason: str) -> object:
    """Return a number where only a real one will do.

    Parameters
    ----------
    routine : str
        The function, for messages.
    name : str
        The argument.
    number : object
        What `read_number` returned.
    reason : str
        Why it has to be real, for messages.

    Raises
    ------
    ArgumentError
        If it has an imaginary part, or is an array of complex numbers in device memory.
    """
    if not is_complex(number):
        return number
    found: Any = number
    if isinstance(found, ndarray) or found.imag:
        raise ArgumentError(
            f"{routine}: the argument {name} is {number!r}",
            detail=f"expected a real number: {reason}",
        )
    return found.real


def read_integer(routine: str, name: str, value: object) -> int:
    """Return an integer argument.

    Raises
    ------
    ArgumentTypeError
        If it is no integer.
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as cause:
        raise ArgumentTypeError(
            f"{routine}: the argument {name} is {value!r}", detail="expected an integer"
        ) from cause


def read_size(routine: str, name: str, value: object) -> int:
    """Return an integer argument that counts something.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If it is no integer, or negative.
    """
    size = read_integer(routine, name, value)
    if size < 0:
        raise ArgumentError(
            f"{routine}: the argument {name} is {size}", detail="expected zero or more"
        )
    return size


def as_array(function: str, name: str, value: object) -> GivenArray:
    """Return an array argument of any dtype as an array of NumPy or of this package.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    """
    is_array = isinstance(value, np.ndarray | ndarray)
    if isinstance(value, np.ma.MaskedArray) or not (is_array or is_cuda_array(value)):
        raise ArgumentTypeError(
            f"{function}: the argument {name} is a {type(value).__name__}",
            detail="expected an array",
            help="make it one with numpy.asarray(...) or cuda.to_device(...)",
        )
    return value if isinstance(value, np.ndarray | ndarray) else as_cuda_array(value)


def read_array(routine: Routine, name: str, value: object, function: str = "") -> GivenArray:
    """Return an array argument as an array of NumPy or of this package.

    Messages speak of the routine, or of the function that uses it.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    DTypeError
        If the routine does not exist for its dtype.
    """
    function = function or routine.name
    array = as_array(function, name, value)
    if LETTERS.get(array.dtype.name) not in routine.names:
        offered = [name for name, letter in LETTERS.items() if letter in routine.names]
        raise DTypeError(
            f"{function}: the argument {name} has the unsupported dtype {array.dtype}",
            detail=f"expected {', '.join(offered[:-1])} or {offered[-1]}",
            help="convert it first, with .astype(...)",
        )
    return array


def common_dtype(
    routine: Routine, arrays: Iterable[GivenArray], numbers: Mapping[str, object]
) -> np.dtype[Any]:
    """Return the dtype that a routine computes in.

    Numbers decide nothing where all arrays are of one dtype, but that complex ones make the result
    complex. Where arrays are of several dtypes, all of them and the numbers are promoted, as
    pyculib does it: Python's numbers count as float64 and complex128.

    Examples
    --------
    >>> from pygpulib.blas.routines import ROUTINES
    >>> common_dtype(ROUTINES["scal"], [np.ones(2, np.float32)], {"alpha": 2.5})
    dtype('float32')
    """
    # By their types, which have the byte order of the machine.
    dtypes = {np.dtype(array.dtype.type) for array in arrays}
    free = [value for name, value in numbers.items() if name not in routine.real_numbers]
    dtype = np.result_type(*dtypes)
    if any(is_complex(number) for number in free):
        dtype = np.result_type(dtype, np.complex64)
    if len(dtypes) > 1 and any(isinstance(number, float | complex) for number in free):
        dtype = np.promote_types(dtype, np.float64)
    return dtype


class Sizes:
    """The sizes of a call, each with the argument that told it.

    Parameters
    ----------
    routine : Routine
        The routine.
    flags : mapping of str to str
        Its letters.
    known : mapping of str to int
        Sizes among the arguments.
    """

    def __init__(
        self, routine: Routine, flags: Mapping[str, str], known: Mapping[str, int]
    ) -> None:
        self._routine = routine
        self._flags = flags
        self.values = dict(known)
        self._sources = {name: f"the argument {name} is {size}" for name, size in known.items()}

    def names_of(self, operand: Operand) -> tuple[str, ...]:
        """Return which sizes the axes of an array have in this call."""
        lengths = operand.lengths
        if operand.op and self._flags[operand.op] != "N":
            lengths = lengths[::-1]
        is_plain = self._flags.get("trans", "N") == "N"
        chosen = {
            "rows": "m" if is_plain else "n",
            "cols": "n" if is_plain else "m",
            "order": "m" if self._flags.get("side") == "L" else "n",
        }
        return tuple([chosen.get(name, name) for name in lengths])

    def length(self, name: str) -> int | None:
        """Return the length that stands for a name, None if it is not known yet."""
        values = self.values
        if name == "band":
            if "kl" in values:
                return values["kl"] + values["ku"] + 1
            return values["k"] + 1 if "k" in values else None
        if name == "packed":
            return values["n"] * (values["n"] + 1) // 2 if "n" in values else None
        return values.get(name)

    def learn(self, operand: Operand, array: GivenArray) -> None:
        """Take the sizes that an array tells, and check those that are known.

        Raises
        ------
        ShapeError
            If the array has another number of axes, or another length than others demand.
        """
        names = self.names_of(operand)
        if array.ndim != len(names):
            raise ShapeError(
                f"{self._routine.name}: the argument {operand.name} has "
                f"{counted(array.ndim, 'axis', 'axes')}",
                detail=f"expected {'one axis' if len(names) == 1 else 'two axes'}, "
                f"its shape is {tuple(array.shape)}",
            )
        for axis, (name, given) in enumerate(zip(names, array.shape, strict=True)):
            wanted = self.length(name)
            if wanted is None:
                self._note(operand, array, name, given)
            elif wanted != given:
                raise self._mismatch(operand, array, axis, wanted)

    def _note(self, operand: Operand, array: GivenArray, name: str, given: int) -> None:
        if name == "band":
            name, given = "k", given - 1
        elif name == "packed":
            root = int(((8 * given + 1) ** 0.5 - 1) / 2 + 0.5)
            if root * (root + 1) // 2 != given:
                raise ShapeError(
                    f"{self._routine.name}: the argument {operand.name} has {given} elements",
                    detail="expected n (n + 1) / 2 of them, those of a triangle",
                )
            name, given = "n", root
        if given < 0:
            raise ShapeError(
                f"{self._routine.name}: the argument {operand.name} has no diagonals",
                detail=f"expected at least one row, its shape is {tuple(array.shape)}",
            )
        self.values[name] = given
        op = f" and {operand.op} is {self._flags[operand.op]!r}" if operand.op else ""
        self._sources[name] = (
            f"{operand.name} has shape {tuple(array.shape)}{op}, which makes {name} {given}"
        )

    def _mismatch(self, operand: Operand, array: GivenArray, axis: int, wanted: int) -> ShapeError:
        names = self.names_of(operand)
        rule = " x ".join(_WORDS.get(name, name) for name in names)
        base = {"band": "kl" if "kl" in self.values else "k", "packed": "n"}
        name = base.get(names[axis], names[axis])
        return ShapeError(
            f"{self._routine.name}: the argument {operand.name} has shape {tuple(array.shape)}, "
            f"which does not fit the other arguments",
            detail=f"expected {rule}, so length {wanted} along axis {axis}: {self._sources[name]}",
        )


_WORDS = {"band": "diagonals", "packed": "n (n + 1) / 2"}


def split_arguments(routine: Routine) -> tuple[list[str], list[str]]:
    """Return the names of a routine's letters and of its numbers."""
    flags = [name for name in routine.native if name in FLAGS]
    return flags, [name for name in routine.native if name in NUMBERS]


def flatten_packed(operand: Operand, array: GivenArray) -> GivenArray:
    """Return a packed triangle that was given with two axes as one, in the order of memory."""
    if operand.form is Form.PACKED and array.ndim > 1:
        return array.T.reshape(-1) if array.flags["F_CONTIGUOUS"] else array.reshape(-1)
    return array
