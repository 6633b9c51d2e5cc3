"""The types of the kernel language, under numba's names.

Scalar types also have their short names (``f4``, ``i8``, ``c16``, ...). ``float32[:, ::1]`` is an
array type, ``void(float32[:], int32)`` a signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.declarations import SCALAR_NAMES, Array, Tuple, TypeConstructor, UniTuple
from pygpulib.jit.types import (
    ArrayType,
    FunctionSignature,
    NoneType,
    ScalarType,
    TupleType,
    Type,
    none,
    void,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.dtypes import DType
    from pygpulib.jit.types import (
        boolean,
        complex64,
        complex128,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
    )

globals().update(SCALAR_NAMES)


def _family(name: str, accepts: Callable[[DType], bool]) -> TypeConstructor:
    """Return the name of a family of scalar types, for ``isinstance``."""

    def make(scalar_name: str) -> ScalarType:
        return SCALAR_NAMES[scalar_name]

    make.__doc__ = f"{name} types; called, it gives the one of a name."
    return TypeConstructor(ScalarType, make, lambda type_: accepts(type_.dtype))


Boolean = _family("Boolean", lambda dtype: dtype.is_bool)
Integer = _family("Integer", lambda dtype: dtype.is_integer)
Float = _family("Floating-point", lambda dtype: dtype.is_float)
Complex = _family("Complex", lambda dtype: dtype.is_complex)


def _domain(accepts: Callable[[DType], bool]) -> frozenset[ScalarType | DType]:
    """Return the scalar types of a kind, also as the dtypes that ``ArrayType.dtype`` gives."""
    found = [type_ for type_ in SCALAR_NAMES.values() if accepts(type_.dtype)]
    return frozenset({*found, *(type_.dtype for type_ in found)})


signed_domain = _domain(lambda dtype: dtype.is_signed)
unsigned_domain = _domain(lambda dtype: dtype.is_integer and not dtype.is_signed)
integer_domain = signed_domain | unsigned_domain
real_domain = _domain(lambda dtype: dtype.is_float)
complex_domain = _domain(lambda dtype: dtype.is_complex)
number_domain = integer_domain | real_domain | complex_domain

__all__ = [
    "Array",
    "ArrayType",
    "Boolean",
    "Complex",
    "Float",
    "FunctionSignature",
    "Integer",
    "NoneType",
    "ScalarType",
    "Tuple",
    "TupleType",
    "Type",
    "UniTuple",
    "boolean",
    "complex64",
    "complex128",
    "complex_domain",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer_domain",
    "none",
    "number_domain",
    "real_domain",
    "signed_domain",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsigned_domain",
    "void",
]
