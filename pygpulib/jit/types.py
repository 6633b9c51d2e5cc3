"""The types of the kernel language, and their flat form.

A value of the language is a tree (a tuple of arrays, say); the IR has only scalars and pointers.
:meth:`Type.flat` is the one place that says how a type is laid out: it fixes the parameters of a
kernel, and each flat value takes one 8-byte word of the argument block, in its low bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import ArgumentError
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from collections.abc import Callable


class Type:
    """Base class. ``t[:, ::1]`` is an array type, ``t(u, v)`` a signature returning ``t``."""

    __slots__ = ()

    def flat(self) -> tuple[ir.Type, ...]:
        """Return the types of the IR values that make up one value of this type."""
        raise NotImplementedError

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - types or numbers
        """Return a signature; scalar types also convert a number."""
        for argument in arguments:
            if not isinstance(argument, Type):
                raise ArgumentError(
                    f"{argument!r} is not a type",
                    help=f"write a signature as {self}(float32[:], int32)",
                )
        return FunctionSignature(self, tuple(arguments))


@record(eq=True)
class ScalarType(Type):
    """A number, real or complex, or a truth value."""

    dtype: DType

    def __str__(self) -> str:
        return self.dtype.name

    def __repr__(self) -> str:
        return self.dtype.name

    def flat(self) -> tuple[ir.Type, ...]:
        """One scalar; a complex number is its real and its imaginary part."""
        part = self.dtype.component
        return (part, part) if self.dtype.is_complex else (part,)

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - types or numbers
        """Convert one number to a NumPy scalar, or make a signature."""
        if len(arguments) == 1 and not isinstance(arguments[0], Type):
            return self.dtype.numpy.type(arguments[0])
        return Type.__call__(self, *arguments)

    def __getitem__(self, index: object) -> ArrayType:
        """Return an array type: ``float32[:, ::1]``."""
        slices = index if isinstance(index, tuple) else (index,)
        for part in slices:
            if not isinstance(part, slice) or part.start is not None or part.stop is not None:
                raise ArgumentError(
                    f"{self.dtype}[...] takes only ':' and '::1'",
                    help=f"write {self.dtype}[:] or {self.dtype}[:, ::1]",
                )
        unit = [part.step == 1 for part in slices if isinstance(part, slice)]
        for part in slices:
            if isinstance(part, slice) and part.step not in (None, 1):
                raise ArgumentError(f"a step of {part.step} in an array type is not supported")
        layout = "C" if unit[-1] else "F" if unit[0] else "A"
        return ArrayType(self.dtype, len(slices), layout)


@record(eq=True)
class ArrayType(Type):
    """An array: element type, number of dimensions, layout ``C``, ``F`` or ``A`` (any).

    ``space`` is where its elements lie; arguments of kernels, and arrays that lie here or there,
    are in global memory.
    """

    dtype: DType
    ndim: int
    layout: str
    readonly: bool = False
    space: ir.AddressSpace = ir.AddressSpace.GLOBAL

    def __str__(self) -> str:
        mark = ", readonly" if self.readonly else ""
        return f"array({self.dtype}, {self.ndim}d, {self.layout}{mark})"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Pointer, then the shape, then the strides in bytes."""
        return (ir.Pointer(self.space), *(dtypes.int64,) * (2 * self.ndim))


@record(eq=True)
class TupleType(Type):
    """A tuple; ``cls`` is the namedtuple class, if it is one."""

    items: tuple[Type, ...]
    cls: Callable[..., tuple[object, ...]] | None = None

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))}{',' if len(self.items) == 1 else ''})"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Return the items one after the other."""
        return tuple(part for item in self.items for part in item.flat())


@record(eq=True)
class NoneType(Type):
    """The type of ``None``, and of functions that return nothing."""

    def __str__(self) -> str:
        return "none"

    def __repr__(self) -> str:
        return "none"

    def flat(self) -> tuple[ir.Type, ...]:
        """Nothing."""
        return ()


@record(eq=True)
class FunctionSignature:
    """Parameter types and result type; ``result`` is None where it is to be inferred."""

    result: Type | None
    parameters: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.result or ''}({', '.join(map(str, self.parameters))})"


boolean = ScalarType(dtypes.bool_)
int8 = ScalarType(dtypes.int8)
int16 = ScalarType(dtypes.int16)
int32 = ScalarType(dtypes.int32)
int64 = ScalarType(dtypes.int64)
uint8 = ScalarType(dtypes.uint8)
uint16 = ScalarType(dtypes.uint16)
uint32 = ScalarType(dtypes.uint32)
uint64 = ScalarType(dtypes.uint64)
float16 = ScalarType(dtypes.float16)
float32 = ScalarType(dtypes.float32)
float64 = ScalarType(dtypes.float64)
complex64 = ScalarType(dtypes.complex64)
complex128 = ScalarType(dtypes.complex128)
none = void = NoneType()

_SCALARS: dict[DType, ScalarType] = {
    scalar.dtype: scalar
    for scalar in (
        boolean,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        float16,
        float32,
        float64,
        complex64,
        complex128,
    )
}


def scalar_type(dtype: DType) -> ScalarType:
    """Return the scalar type of a dtype."""
    return _SCALARS[dtype]


def array_layout(array: np.ndarray[Any, Any]) -> str:
    """Return ``C``, ``F`` or ``A`` for an array as the type system sees it."""
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"
