"""The CPU back end: SciPy's BLAS on the arrays as they lie in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pygpulib.blas import mixed_cpu, packed_matrices, packed_vectors
from pygpulib.blas.batched_cpu import CpuBatched
from pygpulib.blas.fortran import FortranRoutine, find_address
from pygpulib.blas.missing import REPLACEMENTS
from pygpulib.blas.threads import LARGEST, SMALLEST, OneThread, one_thread
from pygpulib.core.array import ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.engine import DType, Finish, Product
    from pygpulib.blas.routines import Routine
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.layout import Shape

# The smallest number that float32 rounds to infinity.
_OVERFLOWS = 2.0**128 - 2.0**103
_PRODUCTS = frozenset(["gemm", "symm", "hemm", "rank_k", "trmm", "trsm"])


class CpuEngine:
    """The `Engine` protocol over arrays of NumPy."""

    version = 131000
    short_ways: ClassVar = packed_vectors.SHORT_WAYS | packed_matrices.SHORT_WAYS

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {}
        self.batched = CpuBatched()

    def adopt(self, array: HostArray | ndarray, stream: int) -> HostArray:  # noqa: ARG002
        """Return an array as one of NumPy."""
        if isinstance(array, ndarray):
            assert array.host_view is not None
            return array.host_view
        # Subclasses have ideas of their own: a matrix has two axes whatever happens to it.
        return array if array.__class__ is np.ndarray else np.asarray(array)

    def publish(self, native: HostArray, target: HostArray | ndarray, stream: int) -> None:
        """Do nothing: adopted arrays are in the same memory."""

    def address(self, array: HostArray) -> int:
        """Return the address of the first element."""
        return array.ctypes.data

    def empty(self, shape: Shape, dtype: DType, order: str, stream: int) -> HostArray:  # noqa: ARG002
        """Return a new array."""
        return np.empty(shape, dtype, "F" if order == "F" else "C")

    def copy(self, array: HostArray, dtype: DType, order: str, stream: int) -> HostArray:  # noqa: ARG002
        """Return a packed copy of an array, converted."""
        return np.array(array, dtype, order="F" if order == "F" else "C")

    def assign(self, target: HostArray, source: HostArray, stream: int) -> None:  # noqa: ARG002
        """Copy between two arrays of the same shape."""
        np.copyto(target, source)

    def conjugate(self, array: HostArray, stream: int) -> HostArray:  # noqa: ARG002
        """Return a new vector with conjugated elements."""
        return np.array(np.conjugate(array))

    @np.errstate(all="ignore")
    def scale(self, array: Any, factor: object, stream: int) -> None:  # noqa: ARG002
        """Multiply an array in place; 0 makes zeros whatever it held."""
        number = self.number(factor, array.dtype, False)
        if number:
            array *= number
        else:
            array[...] = 0

    def number(self, value: Any, dtype: DType, is_real: bool) -> Any:
        """Return a number as Python's float or complex, and several by their address."""
        if value.__class__ is np.ndarray and value.ndim:
            # This also keeps the memory alive.
            return value.ctypes
        if isinstance(value, ndarray):
            value = value.item()
        if dtype.kind == "c" and not is_real:
            pair = complex(value)
            is_wide = dtype.char == "D"
            return pair if is_wide else complex(_as_float32(pair.real), _as_float32(pair.imag))
        return float(value) if dtype.char in "dD" else _as_float32(float(value))

    @np.errstate(all="ignore")
    def multiply_mixed(
        self,
        product: Product,
        a: HostArray,
        b: HostArray,
        c: HostArray,
        stream: int,  # noqa: ARG002
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c."""
        mixed_cpu.multiply_mixed(product, a, b, c)

    def multiply_and_finish(self, wanted: Finish, stream: int) -> bool:  # noqa: ARG002
        """Return False: products and what follows are separate steps."""
        return False

    @np.errstate(all="ignore")
    def finish(
        self,
        work: HostArray,
        bias: HostArray | None,
        activation: str | None,
        out: HostArray,
        stream: int,  # noqa: ARG002
    ) -> None:
        """Write f(work + bias) to out."""
        mixed_cpu.finish(work, bias, activation, out)

    def run(self, routine: Routine, letter: str, values: dict[str, Any], stream: int) -> Any:  # noqa: ARG002
        """Do a routine of BLAS at once."""
        entry = self._entries.get((routine.name, letter))
        if entry is None:
            entry = self._entries[routine.name, letter] = find_entry(routine, letter)
        return entry(values)


def find_entry(routine: Routine, letter: str) -> Callable[[dict[str, Any]], Any]:
    """Return what does a routine with arguments by name."""
    make = REPLACEMENTS.get(routine.name)
    made = make(routine, letter) if make is not None else None
    if made is not None:
        # BLAS does not complain of what overflows.
        made = np.errstate(all="ignore")(made)
    else:
        name = routine.names[letter].lower()
        assert find_address(name), name
        made = FortranRoutine(routine, letter, name)
    if routine.name in ("gemm", "gemm3m"):
        made = _without_factors_of_zero(made)
    control = one_thread() if routine.family in _PRODUCTS else None
    return made if control is None else _with_threads_if_worth_it(made, control)


def _without_factors_of_zero(
    entry: Callable[[dict[str, Any]], Any],
) -> Callable[[dict[str, Any]], Any]:
    """Make the factors of products times zero empty; OpenBLAS reads them on some processors."""

    def call(values: dict[str, Any]) -> Any:
        return entry(values if values["alpha"] else values | {"k": 0})

    return call


def _with_threads_if_worth_it(
    entry: Callable[[dict[str, Any]], Any], control: OneThread
) -> Callable[[dict[str, Any]], Any]:
    def call(values: dict[str, Any]) -> Any:
        columns = values["n"]
        rows = values.get("m", columns)
        if SMALLEST <= rows * columns * values.get("k", max(rows, columns)) < LARGEST:
            with control:
                return entry(values)
        return entry(values)

    return call


def _as_float32(number: float) -> float:
    """Return a number as float32 holds it: infinite where it is too large."""
    return math.copysign(math.inf, number) if abs(number) >= _OVERFLOWS else number


def create(driver: Driver) -> CpuEngine:  # noqa: ARG001
    """Return a new engine."""
    return CpuEngine()
