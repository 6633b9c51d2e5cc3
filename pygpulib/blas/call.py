"""One call of a routine: its arrays in the layouts that BLAS takes, and back again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.layout import (
    find_columns,
    find_increment,
    repeats_memory,
    share_elements,
    spans_overlap,
)
from pygpulib.blas.routines import LETTERS, Form, Role
from pygpulib.core.array import ndarray
from pygpulib.core.layout import byte_span
from pygpulib.errors import ArgumentError

if TYPE_CHECKING:
    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.engine import AnyArray, DType, Engine
    from pygpulib.blas.routines import Operand, Routine


# What goes through one vector does nothing if it is to go backwards. Some of it does as well
# the other way round.
_IN_ANY_ORDER = frozenset(["nrm2", "asum", "scal"])
_ONLY_FORWARD = frozenset(["amax", "amin", "dgmm"])


@record
class Placed:
    """An array as BLAS takes it.

    Attributes
    ----------
    array : array
        The array, which stays alive as long as this.
    address : int
        Where its memory begins.
    step : int
        The leading dimension of a matrix, or the distance of the elements of a vector.
    is_flipped : bool
        Whether the columns that BLAS sees are the array's rows.
    """

    array: AnyArray
    address: int
    step: int
    is_flipped: bool = False


class Call:
    """A routine with arguments, while these are being brought into BLAS's layouts.

    Parameters
    ----------
    routine : Routine
        What to do.
    engine : Engine
        What computes.
    dtype : numpy.dtype
        The dtype it computes in.
    values : dict
        Letters, sizes and numbers by the names of the arguments; addresses and distances are
        added here.
    arrays : dict
        The arrays, in the order of the arguments.
    stream : int
        Where the work is queued.
    """

    def __init__(
        self,
        routine: Routine,
        engine: Engine,
        dtype: DType,
        values: dict[str, Any],
        arrays: dict[str, GivenArray],
        stream: int,
    ) -> None:
        self.routine = routine
        self.engine = engine
        self.dtype = dtype
        self.values = values
        self.stream = stream
        self._arrays = {
            name: self._in_dtype(engine.adopt(array, stream)) for name, array in arrays.items()
        }
        self.placed: dict[str, Placed] = {}
        self._written: list[tuple[int, int]] = []

    @property
    def is_complex(self) -> bool:
        """Whether the routine computes with complex numbers."""
        return self.dtype.kind == "c"

    def array(self, name: str) -> AnyArray:
        """Return an argument as an array of the engine."""
        return self._arrays[name]

    # ------------------------------------------------------------------------- placing arrays

    def matrix(self, name: str, flipped: bool | None = None) -> Placed:
        """Return a matrix in a layout of BLAS; a copy if it is in none.

        Parameters
        ----------
        name : str
            The argument.
        flipped : bool, optional
            The orientation it has to be in; default: either.
        """
        operand, array = self._find(name)
        columns = None
        if self._may_use(operand, array):
            columns = find_columns(array.shape, array.strides, array.dtype.itemsize, flipped)
        if columns is None:
            array = self._copy(operand, array, "C" if flipped else "F")
            columns = find_columns(array.shape, array.strides, array.dtype.itemsize, flipped)
            assert columns is not None
        address = self.engine.address(array)
        return self._note(operand, Placed(array, address, columns.leading, columns.is_flipped))

    def vector(self, name: str) -> Placed:
        """Return a vector in a layout of BLAS; a copy if it is in none."""
        operand, array = self._find(name)
        itemsize = array.dtype.itemsize
        step = 0
        if self._may_use(operand, array):
            step = find_increment(array.shape, array.strides, itemsize)
            if not self._takes_step(operand, step):
                step = 0
        if not step:
            array, step = self._copy(operand, array, "C"), 1
        address = self.engine.address(array)
        if step < 0 and self.routine.name in _IN_ANY_ORDER:
            address += (array.shape[0] - 1) * step * itemsize
            step = -step
        elif step < 0:
            # BLAS wants the end of the vector that comes first in memory.
            address += (array.shape[0] - 1) * step * itemsize
        return self._note(operand, Placed(array, address, step))

    def _takes_step(self, operand: Operand, step: int) -> bool:
        """Return whether the routine goes through memory with a step."""
        if operand.form is Form.PACKED:
            return step == 1
        return step > 0 or self.routine.name not in _ONLY_FORWARD

    def conjugated(self, placed: Placed) -> Placed:
        """Return a vector with conjugated elements."""
        if not self.is_complex:
            return placed
        array = self.engine.conjugate(placed.array, self.stream)
        return Placed(array, self.engine.address(array), 1)

    def transposed(self, placed: Placed) -> Placed:
        """Return a matrix that is only read in the other orientation, as a copy."""
        order = "F" if placed.is_flipped else "C"
        array = self.engine.copy(placed.array, self.dtype, order, self.stream)
        flipped = not placed.is_flipped
        columns = find_columns(array.shape, array.strides, array.dtype.itemsize, flipped)
        assert columns is not None
        return Placed(array, self.engine.address(array), columns.leading, flipped)

    def put(self, name: str, placed: Placed) -> None:
        """Make a placed array an argument of the routine."""
        operand, _ = self._find(name)
        self.values[name] = placed.address
        self.placed[name] = placed
        if operand.stride:
            self.values[operand.stride] = placed.step

    def _find(self, name: str) -> tuple[Operand, AnyArray]:
        operand = next(one for one in self.routine.operands if one.name == name)
        return operand, self._arrays[name]

    def _in_dtype(self, array: AnyArray) -> AnyArray:
        if array.dtype == self.dtype:
            return array
        return self.engine.copy(array, self.dtype, "F", self.stream)

    def _may_use(self, operand: Operand, array: AnyArray) -> bool:
        """Return whether BLAS may work in an array's memory, as far as its place decides."""
        if self.engine.address(array) % self.dtype.alignment:
            return False
        span = _span(self.engine, array)
        if operand.is_output:
            return not repeats_memory(array.shape, array.strides, array.dtype.itemsize)
        return not any(spans_overlap(span, written) for written in self._written)

    def _note(self, operand: Operand, placed: Placed) -> Placed:
        if operand.is_output:
            self._written.append(_span(self.engine, placed.array))
        return placed

    def _copy(self, operand: Operand, array: AnyArray, order: str) -> AnyArray:
        if operand.is_output and not self._is_read(operand):
            return self.engine.empty(array.shape, self.dtype, order, self.stream)
        return self.engine.copy(array, self.dtype, order, self.stream)

    def _is_read(self, operand: Operand) -> bool:
        """Return whether what an output holds matters."""
        if operand.role is Role.WRITTEN:
            return False
        is_triangle = "uplo" in self.values and operand.form is Form.MATRIX
        return operand.role is not Role.BLENDED or is_triangle or not self.drops_output()

    def drops_output(self) -> bool:
        """Return whether beta is the number zero, so that the old output does not matter."""
        beta = self.values.get("beta")
        return isinstance(beta, int | float | complex | np.generic) and not beta

    # --------------------------------------------------------------------------------- running

    def scale(self, name: str, factor: object) -> None:
        """Multiply an output; the number 0 makes zeros whatever it held."""
        operand, array = self._find(name)
        is_usable = self._may_use(operand, array)
        scaled = array if is_usable else self.engine.copy(array, self.dtype, "F", self.stream)
        self.engine.scale(scaled, factor, self.stream)
        if scaled is not array:
            self.engine.assign(array, scaled, self.stream)

    def run(self) -> Any:
        """Do the routine, and bring what it wrote to where it belongs."""
        values, routine = self.values, self.routine
        for name in ("alpha", "beta", "c", "s", "param"):
            if name in values:
                is_real = name in routine.real_numbers
                number = self._apart(values[name])
                values[name] = self.engine.number(number, self.dtype, is_real)
        letter = LETTERS[self.dtype.name]
        result = self.engine.run(routine, letter, values, self.stream)
        for operand in routine.outputs:
            placed, array = self.placed[operand.name], self._arrays[operand.name]
            if placed.array is not array:
                self.engine.assign(array, placed.array, self.stream)
        return result

    def _apart(self, number: Any) -> Any:
        """Return a number, as a copy where the routine would write over it before it is done."""
        if is_left_on_device(number):
            span = _span(self.engine, number)
            if any(spans_overlap(span, written) for written in self._written):
                return self.engine.copy(number, number.dtype, "C", self.stream)
        return number


def is_left_on_device(number: object) -> bool:
    """Return whether a number is in memory that the host does not read."""
    return isinstance(number, ndarray) and number.host_view is None


def _span(engine: Engine, array: AnyArray) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one after its last."""
    low, high = byte_span(array.shape, array.strides, array.dtype.itemsize)
    address = engine.address(array)
    return address + low, address + high


def keep_apart(engine: Engine, factor: AnyArray, output: AnyArray, stream: int) -> AnyArray:
    """Return an array that is read, as a copy where an output touches its memory.

    Numbers that the host reads before anything is written are returned as they are.
    """
    if not isinstance(factor, np.ndarray) and not is_left_on_device(factor):
        return factor
    if spans_overlap(_span(engine, factor), _span(engine, output)):
        return engine.copy(factor, factor.dtype, "C", stream)
    return factor


def check_apart(routine: Routine, arrays: dict[str, GivenArray]) -> None:
    """Complain about two outputs with elements in common.

    Raises
    ------
    ArgumentError
        If the result would depend on the order in which elements are written.
    """
    first, second = [operand.name for operand in routine.outputs]
    x, y = arrays[first], arrays[second]
    place, other = _address(x), _address(y)
    if routine.name == "swap" and (place, x.strides) == (other, y.strides):
        return
    if share_elements((place, x.strides[0]), (other, y.strides[0]), x.shape[0], x.itemsize):
        raise ArgumentError(
            f"{routine.name}: the arguments {first} and {second} share memory",
            detail="the routine writes to both, and the result would depend on the order",
            help="give a copy of one of them",
        )


def _address(array: GivenArray) -> int:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.address


def check_writable(routine: str, name: str, array: GivenArray) -> None:
    """Complain about an output that cannot be written to.

    Raises
    ------
    ArgumentError
        If it is read-only, or elements of it share memory.
    """
    if isinstance(array, np.ndarray):
        is_readonly = not array.flags.writeable
    else:
        is_readonly = array.buffer.is_readonly
    if is_readonly:
        raise ArgumentError(
            f"{routine}: the argument {name} is read-only", detail="the routine writes to it"
        )
    if array.size and repeats_memory(array.shape, array.strides, array.dtype.itemsize):
        raise ArgumentError(
            f"{routine}: elements of the argument {name} share memory",
            detail="the routine writes to it, and the result would depend on the order",
            help="give a copy, or leave it out",
        )
