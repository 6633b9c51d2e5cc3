"""The types of the kernel language, under numba's names.

Scalar types also have their short names (``f4``, ``i8``, ``c16``, ...). ``float32[:, ::1]`` is an
array type, ``void(float32[:], int32)`` a signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import ArgumentTypeError
from pygpulib.jit.declarations import (
    SCALAR_NAMES,
    Array,
    CPointer,
    NPDatetime,
    NPTimedelta,
    Optional,
    Tuple,
    TypeConstructor,
    UniTuple,
)
from pygpulib.jit.elements import element_of
from pygpulib.jit.types import (
    ArrayType,
    CharsType,
    FunctionSignature,
    LiteralType,
    NoneType,
    OptionalType,
    RecordType,
    ScalarType,
    TimeType,
    TupleType,
    Type,
    element_type,
    none,
    void,
    voidptr,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from pygpulib.core.dtypes import DType
    from pygpulib.jit.types import (
        bfloat16,
        boolean,
        complex64,
        complex128,
        float8_e4m3fn,
        float8_e5m2,
        float8_e8m0fnu,
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
optional = Optional


def from_dtype(dtype: DTypeLike) -> Type:
    """Return the type of the elements of NumPy arrays of a dtype.

    Parameters
    ----------
    dtype : dtype-like
        NumPy's type: of numbers, records, dates or strings of fixed length.

    Returns
    -------
    Type
        The type.

    Raises
    ------
    DTypeError
        If kernels have no such elements.
    """
    return element_type(element_of(dtypes.numpy_dtype(dtype)))


def as_dtype(type_: Type) -> np.dtype[Any]:
    """Return NumPy's type of the elements of arrays of a type.

    Parameters
    ----------
    type_ : Type
        The type of a number, a record, a date or a string of fixed length.

    Returns
    -------
    numpy.dtype
        The type.

    Raises
    ------
    ArgumentTypeError
        If NumPy has no such elements.
    """
    match type_:
        case ScalarType(dtype):
            return dtype.numpy
        case RecordType(layout) | CharsType(layout) | TimeType(layout):
            return layout.numpy
        case _:
            raise ArgumentTypeError(f"NumPy has no elements of the type {type_}")


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


def _literal(value: int) -> LiteralType:
    """Return the type of a number whose value is known."""
    return LiteralType(dtypes.bool_ if isinstance(value, bool) else dtypes.int64, value)


Literal = TypeConstructor(LiteralType, _literal)
IntegerLiteral = TypeConstructor(LiteralType, _literal, lambda type_: type_.dtype.is_integer)
BooleanLiteral = TypeConstructor(LiteralType, _literal, lambda type_: type_.dtype.is_bool)


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
    "BooleanLiteral",
    "CPointer",
    "Complex",
    "Float",
    "FunctionSignature",
    "Integer",
    "IntegerLiteral",
    "Literal",
    "NPDatetime",
    "NPTimedelta",
    "NoneType",
    "Optional",
    "OptionalType",
    "ScalarType",
    "Tuple",
    "TupleType",
    "Type",
    "UniTuple",
    "as_dtype",
    "bfloat16",
    "boolean",
    "complex64",
    "complex128",
    "complex_domain",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "from_dtype",
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
    "voidptr",
]
