"""The types of the kernel language, and their flat form.

A value of the language is a tree (a tuple of arrays, say); the IR has only scalars and pointers.
:meth:`Type.flat` is the one place that says how a type is laid out: it fixes the parameters of a
kernel, and each flat value takes one 8-byte word of the argument block, in its low bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from pygpulib._record import field, record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import ArgumentError
from pygpulib.jit.elements import Element, RecordLayout, TextLayout, TimeLayout
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import Enum


class Type:
    """Base class. ``t[:, ::1]`` is an array type, ``t(u, v)`` a signature returning ``t``."""

    __slots__ = ()

    def __init__(self, name: str = "") -> None:
        """Let a program derive a type of its own, which says what it is called.

        Parameters
        ----------
        name : str
            Its name.
        """
        self.__dict__["name"] = name

    @property
    def key(self) -> object:
        """What tells types of one class apart."""
        return self.__dict__.get("name", "")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash((type(self), self.key))

    def __str__(self) -> str:
        return self.__dict__.get("name") or type(self).__name__

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Return the types of the IR values that make up one value of this type."""
        from pygpulib.jit.models import members_of  # imports this module

        return tuple(part for _, member in members_of(self) for part in member.flat())

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

    @property
    def name(self) -> str:
        """The name of the type."""
        return self.dtype.name

    @property
    def __name__(self) -> str:
        return self.dtype.name

    @property
    def bitwidth(self) -> int:
        """The number of bits of a value."""
        return self.dtype.bits

    @property
    def underlying_float(self) -> ScalarType:
        """Of a complex type: the type of the real and of the imaginary part."""
        return scalar_type(self.dtype.component)

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
        return _array_of(self.dtype, index)


def _array_of(element: Element, index: object) -> ArrayType:
    """Return the type of an array that ``element[index]`` stands for."""
    slices = index if isinstance(index, tuple) else (index,)
    for part in slices:
        if not isinstance(part, slice) or part.start is not None or part.stop is not None:
            raise ArgumentError(
                f"{element}[...] takes only ':' and '::1'",
                help=f"write {element}[:] or {element}[:, ::1]",
            )
    unit = [part.step == 1 for part in slices if isinstance(part, slice)]
    for part in slices:
        if isinstance(part, slice) and part.step not in (None, 1):
            raise ArgumentError(f"a step of {part.step} in an array type is not supported")
    layout = "C" if unit[-1] else "F" if unit[0] else "A"
    return ArrayType(element, len(slices), layout)


@record(eq=True)
class LiteralType(ScalarType):
    """A number whose value is known; what overloads may ask for."""

    literal_value: int

    def __str__(self) -> str:
        return f"literal {self.literal_value}"


@record(eq=True)
class WeakType(ScalarType):
    """A number that takes the type of others: computed from literals alone, if these are weak."""


@record(eq=True)
class ArrayType(Type):
    """An array: element, number of dimensions, layout ``C``, ``F`` or ``A`` (any).

    ``space`` is where its elements lie; arguments of kernels, and arrays that lie here or there,
    are in global memory.
    """

    element: Element
    ndim: int
    layout: str
    readonly: bool = False
    space: ir.AddressSpace = ir.AddressSpace.GLOBAL

    def __str__(self) -> str:
        mark = ", readonly" if self.readonly else ""
        return f"array({self.element}, {self.ndim}d, {self.layout}{mark})"

    def __repr__(self) -> str:
        return str(self)

    @property
    def dtype(self) -> DType:
        """The type of its elements, where these are numbers."""
        assert isinstance(self.element, DType), self.element
        return self.element

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
class RecordType(Type):
    """A record in memory, which is where its fields are read and written."""

    layout: RecordLayout
    readonly: bool = False
    space: ir.AddressSpace = ir.AddressSpace.GLOBAL

    def __str__(self) -> str:
        return str(self.layout)

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, index: object) -> ArrayType:
        """Return the type of an array of such records."""
        return _array_of(self.layout, index)

    def flat(self) -> tuple[ir.Type, ...]:
        """Its address."""
        return (ir.Pointer(self.space),)


@record(eq=True)
class PointerType(Type):
    """The address of elements in memory, which is passed as an integer.

    ``element`` is None where it does not say what lies there.
    """

    element: Element | None
    space: ir.AddressSpace = ir.AddressSpace.GLOBAL

    def __str__(self) -> str:
        return "voidptr" if self.element is None else f"{self.element}*"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Itself."""
        return (ir.Pointer(self.space),)


@record(eq=True)
class CharsType(Type):
    """A string of fixed length in memory."""

    layout: TextLayout
    readonly: bool = False
    space: ir.AddressSpace = ir.AddressSpace.GLOBAL

    def __str__(self) -> str:
        return str(self.layout)

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, index: object) -> ArrayType:
        """Return the type of an array of such strings."""
        return _array_of(self.layout, index)

    def flat(self) -> tuple[ir.Type, ...]:
        """Its address."""
        return (ir.Pointer(self.space),)


@record(eq=True)
class TimeType(Type):
    """A date (``datetime64``) or a span of time (``timedelta64``)."""

    layout: TimeLayout

    def __str__(self) -> str:
        return str(self.layout)

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, index: object) -> ArrayType:
        """Return the type of an array of such times."""
        return _array_of(self.layout, index)

    def flat(self) -> tuple[ir.Type, ...]:
        """Its number of units."""
        return (dtypes.int64,)


@record(eq=True)
class EnumType(Type):
    """A member of an enumeration."""

    cls: type[Enum]

    def __str__(self) -> str:
        return self.cls.__name__

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Its position among the members."""
        return (dtypes.int64,)


@record(eq=True)
class VectorType(Type):
    """A short vector of numbers, such as ``float32x4``; called, it makes one in a kernel.

    ``aliases`` are its other names, which do not tell types apart.
    """

    dtype: DType
    count: int
    aliases: tuple[str, ...] = field(default_factory=tuple, compare=False)

    def __str__(self) -> str:
        return f"{self.dtype}x{self.count}"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """List its numbers."""
        return (self.dtype,) * self.count


@record(eq=True)
class ClassType(Type):
    """A type of numbers as an argument, such as ``numpy.float32``: kernels are compiled for it."""

    dtype: DType

    def __str__(self) -> str:
        return f"class({self.dtype})"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Nothing."""
        return ()


@record(eq=True)
class OptionalType(Type):
    """A value or None."""

    inner: Type

    def __str__(self) -> str:
        return f"optional({self.inner})"

    def __repr__(self) -> str:
        return str(self)

    def flat(self) -> tuple[ir.Type, ...]:
        """Whether there is a value, and the value."""
        return (dtypes.bool_, *self.inner.flat())


@record(eq=True)
class FunctionSignature:
    """Parameter types and result type; ``result`` is None where it is to be inferred."""

    result: Type | None
    parameters: tuple[Type, ...]

    @property
    def return_type(self) -> Type | None:
        """Numba's name for the result type."""
        return self.result

    @property
    def args(self) -> tuple[Type, ...]:
        """Numba's name for the parameter types."""
        return self.parameters

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
bfloat16 = ScalarType(dtypes.bfloat16)
float8_e4m3fn = ScalarType(dtypes.float8_e4m3fn)
float8_e5m2 = ScalarType(dtypes.float8_e5m2)
float8_e8m0fnu = ScalarType(dtypes.float8_e8m0fnu)
none = void = NoneType()
voidptr = PointerType(None)

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
        bfloat16,
        float8_e4m3fn,
        float8_e5m2,
        float8_e8m0fnu,
    )
}


def scalar_type(dtype: DType) -> ScalarType:
    """Return the scalar type of a dtype."""
    return _SCALARS[dtype]


def element_type(element: Element) -> Type:
    """Return the type of what reading an element of an array gives."""
    match element:
        case DType():
            return scalar_type(element)
        case RecordLayout():
            return RecordType(element)
        case TimeLayout():
            return TimeType(element)
        case TextLayout():
            return CharsType(element)
        case _:
            assert_never(element)


def array_layout(array: np.ndarray[Any, Any]) -> str:
    """Return ``C``, ``F`` or ``A`` for an array as the type system sees it."""
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"
