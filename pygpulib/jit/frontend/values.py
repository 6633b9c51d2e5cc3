"""What an expression of the kernel language evaluates to while it is compiled.

Each class is one way in which a Python value exists at compile time. The IR values inside are
scalars and pointers; see :meth:`pygpulib.jit.types.Type.flat` for the flat form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.core.dtypes import DType
from pygpulib.jit import models, types
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    import ast

    from pygpulib.jit.frontend.context import Frame


@record
class Number:
    """A real number or truth value; ``literal`` is its Python value where that is known.

    A *weak* number takes the type of others: :mod:`pygpulib.jit.frontend.literals`.
    """

    value: ir.Value
    literal: bool | int | float | None = None
    is_weak: bool = False

    @property
    def dtype(self) -> DType:
        """The element type."""
        assert isinstance(self.value.type, DType)
        return self.value.type


@record
class Complex:
    """A complex number as two floats; ``dtype`` is the complex type."""

    real: ir.Value
    imag: ir.Value
    dtype: DType
    is_weak: bool = False


@record
class Array:
    """An array or a view of one: shape and strides (bytes) are int64.

    For layouts C and F the strides of the type hold: address computations use the shape and the
    element size instead of ``strides``.
    """

    type: types.ArrayType
    pointer: ir.Value
    shape: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]
    name: str = ""


@record
class Tuple:
    """A tuple; ``cls`` is the namedtuple class, if it is one."""

    items: tuple[Operand, ...]
    cls: Callable[..., tuple[object, ...]] | None = None


@record
class Record:
    """A record in memory: reading and writing its fields goes there, as with NumPy's records."""

    type: types.RecordType
    pointer: ir.Value
    name: str = ""


@record
class Chars:
    """A string of fixed length in memory."""

    type: types.CharsType
    pointer: ir.Value


@record
class Address:
    """An address, which knows nothing of how many elements lie there."""

    type: types.PointerType
    pointer: ir.Value
    name: str = ""


@record
class Time:
    """A date or a span of time: a number of units, or "not a time"."""

    type: types.TimeType
    value: ir.Value


@record
class Member:
    """A member of an enumeration; ``position`` counts the members in their order."""

    cls: type[Enum]
    position: Number


@record
class Vector:
    """A short vector of numbers."""

    type: types.VectorType
    items: tuple[ir.Value, ...]


@record
class Struct:
    """A value of a type made by a program; ``items`` are its members, of the types of these."""

    type: types.Type
    items: tuple[Operand, ...]


@record
class Maybe:
    """A value or None; without ``has_value`` the value is any of its type."""

    has_value: Number
    value: Operand


@record
class NoneValue:
    """``None``."""


@record
class Text:
    """A string known now."""

    text: str


@record
class Object:
    """A Python object known now: a module, a function, a type, a class, an intrinsic."""

    value: object


@record
class Closure:
    """A function defined inside the kernel (``def`` or ``lambda``).

    ``scope`` is the frame of its birthplace; ``defaults`` are its parameters' default values,
    evaluated there.
    """

    node: ast.FunctionDef | ast.Lambda
    scope: Frame
    defaults: tuple[tuple[str, Operand], ...] = ()


@record
class Range:
    """``range(start, stop, step)``; all of one integer dtype."""

    start: Number
    stop: Number
    step: Number


@record
class Slice:
    """``slice(start, stop, step)``; None where left out."""

    start: Number | None
    stop: Number | None
    step: Number | None


@record
class Method:
    """A method looked up on a value (``z.conjugate``), not yet called."""

    receiver: Operand
    name: str


@record
class Unbound:
    """A variable that no path has assigned yet, or whose values on two paths do not go together.

    ``problem`` says why in the second case.
    """

    problem: str = ""


@record
class Elementwise:
    """An expression of arrays that has not been computed.

    Attributes
    ----------
    shape : tuple of ir.Value
        Its extents.
    element : callable
        Compiles the element at some indices, one per dimension and none of them negative.
    sources : tuple of Array
        What it reads.
    """

    shape: tuple[ir.Value, ...]
    element: Callable[[Sequence[Number]], Operand]
    sources: tuple[Array, ...]


Operand = (
    Number
    | Complex
    | Array
    | Tuple
    | Record
    | Chars
    | Address
    | Time
    | Member
    | Vector
    | Struct
    | Maybe
    | NoneValue
    | Text
    | Object
    | Closure
    | Range
    | Slice
    | Method
    | Unbound
    | Elementwise
)


def type_of(operand: Operand) -> types.Type | None:
    """Return the language type, or None for what exists only at compile time."""
    match operand:
        case Number():
            return types.scalar_type(operand.dtype)
        case Complex():
            return types.scalar_type(operand.dtype)
        case Array() | Record() | Chars() | Address() | Time() | Vector() | Struct():
            return operand.type
        case Member(cls):
            return types.EnumType(cls)
        case Maybe(_, value):
            inner = type_of(value)
            return None if inner is None else types.OptionalType(inner)
        case Tuple():
            items = [type_of(item) for item in operand.items]
            if any(item is None for item in items):
                return None
            return types.TupleType(tuple(item for item in items if item is not None), operand.cls)
        case NoneValue():
            return types.none
        case _:
            return None


def flatten(operand: Operand) -> tuple[ir.Value, ...]:
    """Return the IR values inside, in the order of ``Type.flat``."""
    match operand:
        case Number():
            return (operand.value,)
        case Complex():
            return (operand.real, operand.imag)
        case Array():
            return (operand.pointer, *operand.shape, *operand.strides)
        case Tuple() | Struct():
            return tuple(value for item in operand.items for value in flatten(item))
        case Record() | Chars() | Address():
            return (operand.pointer,)
        case Time():
            return (operand.value,)
        case Member():
            return (operand.position.value,)
        case Vector():
            return operand.items
        case Maybe():
            return (operand.has_value.value, *flatten(operand.value))
        case _:
            return ()


def unflatten(type_: types.Type, values: Iterator[ir.Value], name: str = "") -> Operand:
    """Build an operand of a type from IR values, taking as many as the type needs."""
    match type_:
        case types.ScalarType(dtype) if dtype.is_complex:
            real = next(values)
            return Complex(real, next(values), dtype, isinstance(type_, types.WeakType))
        case types.ScalarType():
            return Number(next(values), None, isinstance(type_, types.WeakType))
        case types.ArrayType(_, ndim):
            pointer = next(values)
            shape = tuple(next(values) for _ in range(ndim))
            strides = tuple(next(values) for _ in range(ndim))
            return Array(type_, pointer, shape, strides, name)
        case types.TupleType(items, cls):
            return Tuple(tuple(unflatten(item, values, name) for item in items), cls)
        case types.NoneType():
            return NoneValue()
        case _:
            return _unflatten_other(type_, values, name)


def _unflatten_other(type_: types.Type, values: Iterator[ir.Value], name: str) -> Operand:
    match type_:
        case types.ClassType(dtype):
            return Object(dtype.numpy.type)
        case types.RecordType():
            return Record(type_, next(values), name)
        case types.PointerType():
            return Address(type_, next(values), name)
        case types.CharsType():
            return Chars(type_, next(values))
        case types.TimeType():
            return Time(type_, next(values))
        case types.EnumType(cls):
            return Member(cls, Number(next(values)))
        case types.VectorType(_, count):
            return Vector(type_, tuple(next(values) for _ in range(count)))
        case types.OptionalType(inner):
            has_value = Number(next(values))
            return Maybe(has_value, unflatten(inner, values, name))
        case _:
            members = models.members_of(type_)
            return Struct(type_, tuple(unflatten(member, values, name) for _, member in members))
