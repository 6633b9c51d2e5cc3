"""The functions of SciPy's BLAS and LAPACK, called without copying an argument.

SciPy exports them for Cython, as capsules whose names are their C declarations. All arguments are
pointers; letters, sizes and numbers are packed into one block of memory that each thread keeps for
each function.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from scipy.linalg import cython_blas, cython_lapack

from pygpulib.blas.routines import FLAGS, NUMBERS
from pygpulib.errors import ArgumentError

if TYPE_CHECKING:
    from pygpulib.blas.routines import Routine


class _Complex64(ctypes.Structure):
    _fields_ = (("real", ctypes.c_float), ("imag", ctypes.c_float))


class _Complex128(ctypes.Structure):
    _fields_ = (("real", ctypes.c_double), ("imag", ctypes.c_double))


_REAL_OF = {"S": "S", "D": "D", "C": "S", "Z": "D"}
# Eight bytes at least for each, so that all are aligned.
_FORMATS = {"S": "f4x", "D": "d", "C": "ff", "Z": "dd"}
_RESULTS: dict[str, Any] = {
    "S": ctypes.c_float,
    "D": ctypes.c_double,
    "C": _Complex64,
    "Z": _Complex128,
}
_INTEGER = "i4x"
_LARGEST = 2**31 - 1
_RETURNS_REAL = ("nrm2", "asum")
_RETURNS_INDEX = ("amax",)

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = (ctypes.py_object,)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


@cache
def find_address(name: str) -> int:
    """Return the address of a function of BLAS or LAPACK, 0 if there is none."""
    for module in (cython_blas, cython_lapack):
        capsule = module.__pyx_capi__.get(name)
        if capsule is not None:
            return int(_capsule_pointer(capsule, _capsule_name(capsule)))
    return 0


def find_function(name: str, count: int, result: Any = None) -> Any:
    """Return a function with a number of pointers for arguments, as ctypes calls it."""
    return ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * count)(find_address(name))


def check_size(routine: str, name: str, size: int) -> None:
    """Complain about a size or distance that BLAS's integers do not hold.

    Raises
    ------
    ArgumentError
        If it is too large.
    """
    if abs(size) > _LARGEST:
        raise ArgumentError(
            f"{routine}: the arrays are too large for this machine's BLAS",
            detail=f"{name} is {size}, and SciPy's BLAS counts to {_LARGEST}",
        )


class FortranRoutine:
    """A routine of BLAS for one dtype.

    Parameters
    ----------
    routine : Routine
        Its row of the table.
    letter : str
        Which dtype.
    name : str
        Its name in BLAS.
    """

    def __init__(self, routine: Routine, letter: str, name: str) -> None:
        self._letter = letter
        self._routine = routine
        result: Any = None
        if routine.returns_number:
            if routine.name in _RETURNS_INDEX:
                result = ctypes.c_int
            else:
                kind = _REAL_OF[letter] if routine.name in _RETURNS_REAL else letter
                result = _RESULTS[kind]
        self._returns_complex = result in (_Complex64, _Complex128)
        arguments = [each for each in routine.native if each != "result"]
        self._names = arguments
        formats = [self._format(routine, each) for each in arguments]
        packed = [(each, form) for each, form in zip(arguments, formats, strict=True) if form]
        self._packed = [each for each, _ in packed]
        self._integers = [each for each, form in packed if form == _INTEGER]
        self._is_complex = [form in ("ff", "dd") for _, form in packed]
        self._layout = struct.Struct("=" + "".join(form for _, form in packed))
        offset = 0
        self._offsets: list[int | None] = []
        for form in formats:
            self._offsets.append(offset if form else None)
            offset += struct.calcsize("=" + form)
        self._size = max(offset, 8)
        self._call = find_function(name, len(arguments), result)
        self._blocks = threading.local()

    def _format(self, routine: Routine, name: str) -> str:
        """Return how an argument is packed; empty for arrays, whose addresses are passed."""
        if name in FLAGS:
            return "c7x"
        if name in NUMBERS:
            letter = self._letter
            return _FORMATS[_REAL_OF[letter] if name in routine.real_numbers else letter]
        if any(operand.name == name for operand in routine.operands) or name == "param":
            return ""
        return _INTEGER

    def _block(self) -> tuple[Any, list[int | None]]:
        found: tuple[Any, list[int | None]] | None = getattr(self._blocks, "found", None)
        if found is None:
            memory = ctypes.create_string_buffer(self._size)
            start = ctypes.addressof(memory)
            pointers = [None if at is None else start + at for at in self._offsets]
            found = self._blocks.found = (memory, pointers)
        return found

    def __call__(self, values: dict[str, Any]) -> Any:
        """Call it with arguments by name; addresses for arrays."""
        memory, pointers = self._block()
        words: list[Any] = []
        for name, is_complex in zip(self._packed, self._is_complex, strict=True):
            value = values[name]
            if is_complex:
                words += (value.real, value.imag)
            elif value.__class__ is str:
                words.append(value.encode())
            else:
                words.append(value)
        try:
            self._layout.pack_into(memory, 0, *words)
        except struct.error:
            return self._run_in_parts(values)
        names = self._names
        result = self._call(
            *[
                values[name] if pointer is None else pointer
                for name, pointer in zip(names, pointers, strict=True)
            ]
        )
        return complex(result.real, result.imag) if self._returns_complex else result

    def _run_in_parts(self, values: dict[str, Any]) -> Any:
        """Do what is too large for the integers in parts, if it can be cut."""
        from pygpulib.blas.parts import run_in_parts

        result = run_in_parts(self._routine, self._letter, self, values, _LARGEST)
        if result is NotImplemented:
            for name in self._integers:
                check_size(self._routine.name, name, values[name])
        return result
