"""The types of the kernel language, under numba's names.

Scalar types also have their short names (``f4``, ``i8``, ``c16``, ...). ``float32[:, ::1]`` is an
array type, ``void(float32[:], int32)`` a signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.declarations import (
    SCALAR_NAMES,
)
from pygpulib.jit.declarations import (
    make_array_type as Array,  # noqa: N812
)
from pygpulib.jit.declarations import (
    make_tuple_type as Tuple,  # noqa: N812
)
from pygpulib.jit.declarations import (
    make_uniform_tuple_type as UniTuple,  # noqa: N812
)
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

__all__ = [
    "Array",
    "ArrayType",
    "FunctionSignature",
    "NoneType",
    "ScalarType",
    "Tuple",
    "TupleType",
    "Type",
    "UniTuple",
    "boolean",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "none",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
]
