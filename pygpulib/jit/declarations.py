"""Types and signatures as the user writes them: names, strings, NumPy's and Python's types."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import TimeLayout, element_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pygpulib.jit.elements import Element

_HELP = 'write a signature as "void(float32[:], int32)"'

_ALIASES = {
    "boolean": "bool",
    "bool_": "bool",
    "byte": "uint8",
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "intc": "int32",
    "uintc": "uint32",
    "int_": "int64",
    "uint": "uint64",
    "long_": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "intp": "int64",
    "uintp": "uint64",
    "ssize_t": "int64",
    "size_t": "uint64",
    "float_": "float32",
    "double": "float64",
}


class TypeConstructor:
    """A name that makes types when called, and that ``isinstance`` takes, like numba's classes.

    Parameters
    ----------
    cls : type
        What it makes.
    make : callable
        Makes one of the arguments of a call.
    accepts : callable, optional
        Which objects of the class count as its instances; default: all.
    """

    def __init__(
        self,
        cls: type[types.Type],
        make: Callable[..., types.Type],
        accepts: Callable[[Any], bool] = lambda _: True,
    ) -> None:
        self._cls = cls
        self._make = make
        self._accepts = accepts
        self.__doc__ = make.__doc__

    def __call__(self, *args: object, **kwargs: object) -> types.Type:
        """Return the type for the arguments."""
        return self._make(*args, **kwargs)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._cls) and self._accepts(value)


def _make_tuple_type(items: Iterable[object]) -> types.TupleType:
    """Return the type of a tuple with items of these types."""
    return types.TupleType(tuple(parse_type(item) for item in items))


def _make_uniform_tuple_type(item: object, count: int) -> types.TupleType:
    """Return the type of a tuple of ``count`` items of one type."""
    return types.TupleType((parse_type(item),) * count)


def _make_array_type(
    dtype: object,
    ndim: int,
    layout: str,
    readonly: bool = False,
    aligned: bool = True,
) -> types.ArrayType:
    """Return the type of an array.

    Parameters
    ----------
    dtype : type
        Type of the elements.
    ndim : int
        Number of axes.
    layout : str
        ``"C"``, ``"F"`` or ``"A"``.
    readonly : bool
        Whether kernels may only read it.
    aligned : bool
        Whether the elements lie at multiples of their size; they have to.
    """
    if layout not in ("C", "F", "A"):
        raise ArgumentError(f"the layout of an array is {layout!r}", detail="expected C, F or A")
    if not aligned:
        raise ArgumentError(
            "arrays whose elements are not aligned in memory are not supported",
            help="pass np.require(a, requirements='A'), a copy that is aligned",
        )
    return types.ArrayType(element_of_type(parse_type(dtype)), ndim, layout, readonly)


def element_of_type(type_: types.Type) -> Element:
    """Return the elements of arrays of a type, or fail if there are none."""
    match type_:
        case types.ScalarType(dtype):
            return dtype
        case types.RecordType(layout) | types.CharsType(layout) | types.TimeType(layout):
            return layout
        case _:
            raise ArgumentTypeError(f"{type_} cannot be the element type of an array")


def _is_uniform(tuple_type: types.TupleType) -> bool:
    return len(set(tuple_type.items)) <= 1


Array = TypeConstructor(types.ArrayType, _make_array_type)
Tuple = TypeConstructor(types.TupleType, _make_tuple_type)
UniTuple = TypeConstructor(types.TupleType, _make_uniform_tuple_type, _is_uniform)


def _scalar_names() -> dict[str, types.ScalarType]:
    rows = dtypes.ALL_DTYPES + dtypes.SMALL_FLOATS
    scalars = {row.name: types.scalar_type(row) for row in rows}
    scalars.update({row.code: types.scalar_type(row) for row in rows})
    scalars.update({alias: scalars[name] for alias, name in _ALIASES.items()})
    return scalars


SCALAR_NAMES: dict[str, types.ScalarType] = _scalar_names()
"""Every name of a scalar type, numba's short ones included."""


def _make_optional_type(inner: object) -> types.OptionalType:
    """Return the type of a value that may be None."""
    return types.OptionalType(parse_type(inner))


def _make_pointer_type(dtype: object) -> types.PointerType:
    """Return the type of the address of elements of a type, which is passed as an integer."""
    return types.PointerType(element_of_type(parse_type(dtype)))


def _make_date_type(unit: str) -> types.TimeType:
    """Return the type of dates with a unit, such as ``"s"``."""
    return types.TimeType(TimeLayout("M", *np.datetime_data(np.dtype(f"M8[{unit}]"))))


def _make_span_type(unit: str) -> types.TimeType:
    """Return the type of spans of time with a unit, such as ``"s"``."""
    return types.TimeType(TimeLayout("m", *np.datetime_data(np.dtype(f"m8[{unit}]"))))


Optional = TypeConstructor(types.OptionalType, _make_optional_type)
CPointer = TypeConstructor(types.PointerType, _make_pointer_type)
NPDatetime = TypeConstructor(types.TimeType, _make_date_type, lambda time: time.layout.kind == "M")
NPTimedelta = TypeConstructor(types.TimeType, _make_span_type, lambda time: time.layout.kind == "m")


_CONSTRUCTORS: dict[str, Callable[..., types.Type]] = {
    "Array": Array,
    "Tuple": Tuple,
    "UniTuple": UniTuple,
    "Optional": Optional,
    "optional": Optional,
    "CPointer": CPointer,
    "NPDatetime": NPDatetime,
    "NPTimedelta": NPTimedelta,
}

_NAMES: dict[str, object] = {
    **SCALAR_NAMES,
    **_CONSTRUCTORS,
    "void": types.void,
    "none": types.none,
    "voidptr": types.voidptr,
    "float": types.float64,
    "int": types.int64,
    "complex": types.complex128,
}


def parse_type(declared: object) -> types.Type:
    """Return the type that an object stands for.

    Parameters
    ----------
    declared : object
        A type, a string such as ``"f4[:, ::1]"``, a NumPy dtype or scalar type, ``bool``,
        ``int``, ``float`` or ``complex``, or None.

    Returns
    -------
    Type
        The type.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If it stands for no type.

    Examples
    --------
    >>> parse_type(np.float32), parse_type("f4[:, ::1]")
    (float32, array(float32, 2d, C))
    """
    if isinstance(declared, types.Type):
        return declared
    if declared is None:
        return types.none
    if isinstance(declared, str):
        declared = _evaluate(declared)
        if isinstance(declared, types.Type):
            return declared
    try:
        if isinstance(declared, dtypes.DType | np.dtype | type):
            dtype = declared.numpy if isinstance(declared, dtypes.DType) else np.dtype(declared)
            return types.element_type(element_of(dtype))
    except DTypeError as cause:
        raise ArgumentTypeError(f"{declared!r} is not a type that kernels know") from cause
    raise ArgumentTypeError(f"{declared!r} is not a type", help=_HELP)


def parse_signature(declared: object) -> types.FunctionSignature:
    """Return the signature that an object stands for.

    Parameters
    ----------
    declared : object
        A signature, a tuple of types, or a string.

    Returns
    -------
    FunctionSignature
        Its result is None where only the parameters were given.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If it stands for no signature.

    Examples
    --------
    >>> str(parse_signature("void(float32[::1], i4)"))
    'none(array(float32, 1d, C), int32)'
    """
    evaluated = _evaluate(declared) if isinstance(declared, str) else declared
    if isinstance(evaluated, types.FunctionSignature):
        return evaluated
    if isinstance(evaluated, tuple):
        return types.FunctionSignature(None, tuple(parse_type(item) for item in evaluated))
    if callable(evaluated) and not isinstance(evaluated, types.Type):
        raise ArgumentTypeError(
            f"cuda.jit was applied to {declared!r}",
            detail="expected a Python function, or a signature",
            help="call it in a function of your own, and decorate that",
        )
    raise ArgumentTypeError(
        f"{declared!r} is not a signature",
        detail="expected parameter types in parentheses, with or without a result type",
        help=_HELP,
    )


def parse_signatures(declared: object) -> list[types.FunctionSignature]:
    """Return the signatures that a list stands for, or the one that anything else stands for."""
    if isinstance(declared, list):
        return [parse_signature(item) for item in declared]
    return [parse_signature(declared)]


def _evaluate(text: str) -> object:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as cause:
        raise ArgumentError(
            f"the signature {text!r} is not well formed", detail=cause.msg, help=_HELP
        ) from cause
    return _Evaluator(text).value(node)


class _Evaluator:
    """Evaluates the little expression language of signatures: names, ``[:]``, calls, tuples."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
                if name not in _NAMES:
                    raise self._error(f"has the unknown name {name!r}")
                return _NAMES[name]
            case ast.Constant(value=str() | int() | None as literal):
                return literal
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.Subscript(value=base, slice=index):
                element = self.value(base)
                if not isinstance(element, types.ScalarType):
                    raise self._error("has [...] after something that is not a scalar type")
                return element[self._slices(index)]
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(self.value(function), [self.value(item) for item in arguments])
            case _:
                raise self._error(f"has an unexpected part {ast.unparse(node)!r}")

    def _slices(self, node: ast.expr) -> tuple[object, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self._slice(part) for part in parts)

    def _slice(self, node: ast.expr) -> object:
        match node:
            case ast.Slice(lower=None, upper=None, step=None):
                return slice(None)
            case ast.Slice(lower=None, upper=None, step=ast.Constant(value=int(step))):
                return slice(None, None, step)
            case _:
                raise self._error("has something other than ':' and '::1' in [...]")

    def _call(self, function: object, arguments: list[object]) -> object:
        if isinstance(function, types.Type):
            return types.FunctionSignature(function, tuple(map(parse_type, arguments)))
        if callable(function):
            try:
                return function(*arguments)
            except TypeError as cause:
                raise self._error(f"has a type that cannot be made: {cause}") from cause
        raise self._error("has parentheses after something that is not a type")

    def _error(self, problem: str) -> ArgumentError:
        return ArgumentError(f"the signature {self._text!r} {problem}", help=_HELP)
