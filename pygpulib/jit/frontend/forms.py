"""The form of any operand: its type, extended to what exists only at compile time.

Where paths of control meet, the front end has to carry every kind of operand through results of
``If`` and parameters of loops. A form says which IR values that takes and how to put the operand
together again; for numbers, arrays and tuples it is the language's type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.jit import types
from pygpulib.jit.frontend import inference, values
from pygpulib.jit.frontend.values import (
    Closure,
    Complex,
    Method,
    Number,
    Object,
    Operand,
    Range,
    Slice,
    Text,
    Tuple,
    Unbound,
)
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.frontend.context import Context, Frame


class CompileTimeForm(types.Type):
    """A form that no kernel argument has."""

    __slots__ = ()


@record(eq=True)
class RangeForm(CompileTimeForm):
    """A ``range`` of an integer dtype."""

    dtype: DType

    def __str__(self) -> str:
        return "range"

    def flat(self) -> tuple[ir.Type, ...]:
        """List start, stop and step."""
        return (self.dtype,) * 3


@record(eq=True)
class SliceForm(CompileTimeForm):
    """A ``slice``, with the dtypes of those of its three parts that are there."""

    parts: tuple[DType | None, ...]

    def __str__(self) -> str:
        return "slice"

    def flat(self) -> tuple[ir.Type, ...]:
        """List the parts that are there."""
        return tuple(part for part in self.parts if part is not None)


@record(eq=True)
class MethodForm(CompileTimeForm):
    """A method looked up on a value."""

    receiver: types.Type
    name: str

    def __str__(self) -> str:
        return f"the method {self.name}"

    def flat(self) -> tuple[ir.Type, ...]:
        """Take what the receiver takes."""
        return self.receiver.flat()


@record(eq=True)
class ConstantForm(CompileTimeForm):
    """One certain Python object or string."""

    key: object
    operand: Object | Text = field(compare=False)

    def __str__(self) -> str:
        match self.operand:
            case Text(text):
                return repr(text)
            case Object(value):
                return str(getattr(value, "__name__", repr(value)))

    def flat(self) -> tuple[ir.Type, ...]:
        """Take nothing."""
        return ()


@record(eq=True)
class ClosureForm(CompileTimeForm):
    """One certain inner function, with the forms of its default values."""

    node: ast.FunctionDef | ast.Lambda
    scope_id: int
    defaults: tuple[tuple[str, types.Type], ...]
    scope: Frame = field(compare=False)

    def __str__(self) -> str:
        name = self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"
        return f"the inner function {name}"

    def flat(self) -> tuple[ir.Type, ...]:
        """Take what the default values take."""
        return tuple(part for _, form in self.defaults for part in form.flat())


@record(eq=True)
class Conflict(CompileTimeForm):
    """Values that do not go together met; ``problem`` is what to tell whoever uses the result."""

    problem: str

    def __str__(self) -> str:
        return "no one type"

    def flat(self) -> tuple[ir.Type, ...]:
        """Take nothing."""
        return ()


def form_of(operand: Operand) -> types.Type:
    """Return the form of an operand; an unbound one must have a problem."""
    match operand:
        case Number(is_weak=True) | Complex(is_weak=True):
            return types.WeakType(operand.dtype)
        case Tuple(items, cls):
            return types.TupleType(tuple(form_of(item) for item in items), cls)
        case Range(start):
            return RangeForm(start.dtype)
        case Slice(start, stop, step):
            parts = (start, stop, step)
            return SliceForm(tuple(None if part is None else part.dtype for part in parts))
        case Method(receiver, name):
            return MethodForm(form_of(receiver), name)
        case Object(value):
            return ConstantForm(("object", id(value)), operand)
        case Text(text):
            return ConstantForm(("text", text), operand)
        case Closure(node, scope, defaults):
            forms = tuple((name, form_of(value)) for name, value in defaults)
            return ClosureForm(node, id(scope), forms, scope)
        case Unbound(problem):
            assert problem
            return Conflict(problem)
        case _:
            type_ = values.type_of(operand)
            assert type_ is not None
            return type_


def flatten(operand: Operand) -> tuple[ir.Value, ...]:
    """Return the IR values of an operand, in the order of its form."""
    match operand:
        case Tuple(items):
            return tuple(value for item in items for value in flatten(item))
        case Range(start, stop, step):
            return (start.value, stop.value, step.value)
        case Slice(start, stop, step):
            return tuple(part.value for part in (start, stop, step) if part is not None)
        case Method(receiver):
            return flatten(receiver)
        case Closure(defaults=defaults):
            return tuple(value for _, operand in defaults for value in flatten(operand))
        case _:
            return values.flatten(operand)


def unflatten(form: types.Type, parts: Iterator[ir.Value], name: str = "") -> Operand:
    """Build an operand of a form from IR values, taking as many as the form needs."""
    match form:
        case types.TupleType(items, cls):
            return Tuple(tuple(unflatten(item, parts, name) for item in items), cls)
        case RangeForm():
            return Range(Number(next(parts)), Number(next(parts)), Number(next(parts)))
        case SliceForm(dtypes):
            return Slice(*(None if dtype is None else Number(next(parts)) for dtype in dtypes))
        case MethodForm(receiver, method):
            return Method(unflatten(receiver, parts), method)
        case ConstantForm(operand=operand):
            return operand
        case ClosureForm():
            defaults = tuple((name, unflatten(part, parts, name)) for name, part in form.defaults)
            return Closure(form.node, form.scope, defaults)
        case Conflict(problem):
            return Unbound(problem)
        case _:
            return values.unflatten(form, parts, name)


def join(left: types.Type, right: types.Type, name: str) -> types.Type:
    """Return the form of a variable that has one form or the other.

    Parameters
    ----------
    left, right : types.Type
        The forms.
    name : str
        What the message calls it if the forms do not go together; then the result is a
        :class:`Conflict`.
    """
    joined = _join(left, right)
    if joined is not None:
        return joined
    for form in (left, right):
        if isinstance(form, Conflict):
            return form
    return Conflict(f"{name} is {left} on one path and {right} on another")


def is_runtime(form: types.Type) -> bool:
    """Return whether values of a form exist when the kernel runs."""
    if isinstance(form, types.TupleType):
        return all(is_runtime(item) for item in form.items)
    return not isinstance(form, CompileTimeForm)


def _join(left: types.Type, right: types.Type) -> types.Type | None:
    if left == right:
        return left
    match left, right:
        case types.TupleType(), types.TupleType() if len(left.items) == len(right.items):
            items = [_join(a, b) for a, b in zip(left.items, right.items, strict=True)]
            if any(item is None for item in items):
                return None
            cls = left.cls if left.cls is right.cls else None
            return types.TupleType(tuple(item for item in items if item is not None), cls)
        case _ if not (is_runtime(left) and is_runtime(right)):
            return None
        case _:
            return inference.join(left, right)


def convert(ctx: Context, operand: Operand, form: types.Type, node: ast.AST) -> Operand:
    """Convert an operand to a form that it was joined to."""
    if isinstance(form, Conflict):
        return Unbound(form.problem)
    if form_of(operand) == form:
        return operand
    if isinstance(operand, Tuple) and isinstance(form, types.TupleType):
        pairs = zip(operand.items, form.items, strict=True)
        return Tuple(tuple(convert(ctx, item, part, node) for item, part in pairs), form.cls)
    return inference.convert(ctx, operand, form, node)
