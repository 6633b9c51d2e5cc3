"""From the arguments of a call to the types that a kernel is compiled for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, Flag
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import DType
from pygpulib.core.mapped import MappedArray
from pygpulib.errors import DTypeError, LaunchTypeError, PyGpuLibError
from pygpulib.jit import models, types
from pygpulib.jit.elements import Element, RecordLayout, TimeLayout, element_of
from pygpulib.jit.overloads import find_conversion
from pygpulib.jit.transfers import HostArgument

_DLPACK_HOST = 1
INT64_MIN, INT64_END, UINT64_END = -(1 << 63), 1 << 63, 1 << 64


class Argument(NamedTuple):
    """An argument as a kernel sees it.

    Attributes
    ----------
    type : Type
        Its type.
    value : object
        A number, an array or a tuple; what another library's object was exchanged for.
    """

    type: types.Type
    value: object


def typeof(value: object, name: str = "", position: int = 0) -> types.Type:
    """Return the type that a value has as an argument of a kernel.

    Parameters
    ----------
    value : object
        A number, an array of NumPy or of this package, a tuple of such, None, or anything that
        shares its memory by DLPack or the array interface.
    name : str, optional
        Name of the parameter, for messages.
    position : int, optional
        Its position, from 0.

    Returns
    -------
    Type
        The type.

    Raises
    ------
    LaunchTypeError
        If kernels do not take such a value.

    Examples
    --------
    >>> typeof(1), typeof(1.5), typeof(np.float32(1)), typeof(np.zeros((2, 3)).T)
    (int64, float64, float32, array(float64, 2d, F))
    """
    return interpret(value, name, position).type


ndarray.type_rule = typeof


def interpret(value: object, name: str = "", position: int = 0) -> Argument:
    """Return the type of an argument, and the value to hand over; see :func:`typeof`."""
    rule = _RULES.get(type(value))
    where = _Place(name, position)
    if rule is not None:
        return Argument(rule(value, where), value)
    return _interpret_other(value, where)


def interpret_all(
    names: Sequence[str], values: Sequence[object]
) -> tuple[tuple[types.Type, ...], list[object]]:
    """Return types and values of all arguments of a call; see :func:`interpret`."""
    arguments = [
        interpret(value, name, position)
        for position, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    return tuple(argument.type for argument in arguments), [item.value for item in arguments]


class _Place(NamedTuple):
    """Which argument a message is about."""

    name: str
    position: int

    def __str__(self) -> str:
        if not self.name:
            return "the value"
        return f"the argument {self.name!r} (position {self.position + 1})"


@lru_cache(maxsize=256)
def _array_type(
    dtype: np.dtype[np.generic], ndim: int, layout: str, readonly: bool
) -> types.ArrayType:
    return types.ArrayType(element_of(dtype), ndim, layout, readonly)


def _checked(element: Element, address: int, strides: Sequence[int]) -> Element:
    """Return an element with what its addresses are multiples of here."""
    if isinstance(element, RecordLayout):
        whole = element.alignment
        if address % whole or any(stride % whole for stride in strides):
            return element.packed
    return element


def _type_of_array(array: np.ndarray[Any, Any], where: _Place) -> types.Type:
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    try:
        type_ = _array_type(array.dtype, array.ndim, layout, not flags.writeable)
    except DTypeError as cause:
        raise LaunchTypeError(
            f"{where} is an array of dtype {array.dtype}, which kernels do not take",
            help="convert it with a.astype(...) first",
        ) from cause
    if isinstance(type_.element, DType):
        return type_
    return replace(type_, element=_checked(type_.element, array.ctypes.data, array.strides))


def _type_of_device_array(array: ndarray, where: _Place) -> types.Type:
    if array.dtype.names is not None and not array.shape:
        return _type_of_device_record(array, where)
    _require_aligned(array, where)
    if array.host_view is not None:
        return _type_of_array(array.host_view, where)
    layout = "C" if array.is_c_contiguous() else "F" if array.is_f_contiguous() else "A"
    try:
        type_ = _array_type(array.dtype, array.ndim, layout, array.buffer.is_readonly)
    except DTypeError as cause:
        raise LaunchTypeError(
            f"{where} is an array of dtype {array.dtype}, which kernels do not take",
            help="copy it to the device anew, with cuda.to_device(a.copy_to_host().astype(...))",
        ) from cause
    if isinstance(type_.element, DType):
        return type_
    return replace(type_, element=_checked(type_.element, array.address, array.strides))


def _require_aligned(array: ndarray, where: _Place) -> None:
    """Check that kernels can use an array in place; those of the host are copied if not."""
    alignment = array.dtype.alignment
    steps = [
        stride for stride, length in zip(array.strides, array.shape, strict=True) if length > 1
    ]
    if array.size and any(number % alignment for number in (array.address, *steps)):
        raise LaunchTypeError(
            f"{where} is an array whose elements are not aligned in memory",
            help="pass cuda.to_device(a.copy_to_host()), a copy that is aligned",
        )


def _type_of_int(value: int, where: _Place) -> types.Type:
    if INT64_MIN <= value < INT64_END:
        return types.int64
    if 0 <= value < UINT64_END:
        return types.uint64
    raise LaunchTypeError(
        f"{where} is {value}, which does not fit into 64 bits",
        detail="expected -2**63 to 2**64 - 1",
        help="pass it as a float, or in two parts: n >> 64 and n & (2**64 - 1)",
    )


_TypeRule = Callable[[Any, _Place], types.Type]


def _type_of_device_record(array: ndarray, where: _Place) -> types.Type:
    """Return the type of an array without axes: what indexing an array of records gives."""
    layout = _checked(_record_layout(array.dtype, where), array.address, ())
    assert isinstance(layout, RecordLayout)
    return types.RecordType(layout, readonly=array.buffer.is_readonly)


def _type_of_record(value: np.void, where: _Place) -> types.Type:
    """Return the type of a record that lies in an array, or by itself."""
    layout = _checked(_record_layout(value.dtype, where), address_of_record(value), ())
    assert isinstance(layout, RecordLayout)
    return types.RecordType(layout, readonly=not value.flags.writeable)


def _record_layout(dtype: np.dtype[Any], where: _Place) -> RecordLayout:
    try:
        element = element_of(dtype)
    except DTypeError as cause:
        raise LaunchTypeError(
            f"{where} is a record of dtype {dtype}, which kernels do not take",
            detail=cause.problem,
        ) from cause
    assert isinstance(element, RecordLayout)
    return element


def address_of_record(value: np.void) -> int:
    """Return where a record lies in memory."""
    return int(np.frombuffer(value, np.uint8).ctypes.data)


def _type_of_time(value: np.datetime64 | np.timedelta64, where: _Place) -> types.Type:  # noqa: ARG001
    element = element_of(value.dtype)
    assert isinstance(element, TimeLayout)
    return types.TimeType(element)


def _constant_rule(type_: types.Type) -> _TypeRule:
    return lambda _value, _where: type_


_RULES: dict[type, _TypeRule] = {
    **{row.numpy.type: _constant_rule(types.scalar_type(row)) for row in dtypes.ALL_DTYPES},
    np.ndarray: _type_of_array,
    MappedArray: _type_of_array,
    ndarray: _type_of_device_array,
    bool: _constant_rule(types.boolean),
    int: _type_of_int,
    float: _constant_rule(types.float64),
    complex: _constant_rule(types.complex128),
    np.void: _type_of_record,
    np.record: _type_of_record,
    np.datetime64: _type_of_time,
    np.timedelta64: _type_of_time,
    type(None): _constant_rule(types.none),
}


def _type_of_class(
    value: type | np.dtype[Any] | types.ScalarType, where: _Place
) -> types.ClassType:
    """Return the type of a type of numbers."""
    if isinstance(value, types.ScalarType):
        return types.ClassType(value.dtype)
    try:
        return types.ClassType(dtypes.from_numpy(value))
    except DTypeError as cause:
        raise LaunchTypeError(
            f"{where} is {value!r}, which is no type of numbers that kernels know",
            help="pass a type such as numpy.float64",
        ) from cause


def _interpret_other(value: object, where: _Place) -> Argument:
    """Interpret what is recognized by what it derives from or offers."""
    if isinstance(value, HostArgument):
        return interpret(value.prepare(), *where)
    made = models.type_of_object(value)
    if made is not None:
        return Argument(made, tuple(_members(made, value, where)))
    if isinstance(value, type | np.dtype | types.ScalarType):
        return Argument(_type_of_class(value, where), value)
    if isinstance(value, Enum) and not isinstance(value, Flag):
        return Argument(types.EnumType(type(value)), value)
    if isinstance(value, tuple):
        items = [interpret(item, *where) for item in value]
        cls = type(value) if hasattr(value, "_fields") else None
        type_ = types.TupleType(tuple(item.type for item in items), cls)
        return Argument(type_, tuple(item.value for item in items))
    if isinstance(value, np.ma.MaskedArray):
        raise LaunchTypeError(
            f"{where} is a masked array, and kernels do not see masks",
            help="pass a.data and a.mask as two arguments, or a.filled(...)",
        )
    for base in (np.ndarray, ndarray, int, float, complex):
        if isinstance(value, base):
            return Argument(_RULES[base](value, where), value)
    if isinstance(value, np.generic):
        return Argument(_type_of_number(value, where), value)
    array = _share(value, where)
    return Argument(_RULES[type(array)](array, where), array)


# By the kind of a dtype that is wider than those of kernels.
_CONVERSIONS = {
    "f": "convert it with float(...) first, to a float64",
    "c": "convert it with complex(...) first, to a complex128",
}


def _type_of_number(value: np.generic, where: _Place) -> types.Type:
    """Return the type of another spelling of a scalar type, such as numpy.longlong."""
    try:
        return types.scalar_type(dtypes.from_numpy(value.dtype))
    except DTypeError as cause:
        raise LaunchTypeError(
            f"{where} is a NumPy scalar of dtype {value.dtype}, which kernels do not take",
            help=_CONVERSIONS.get(value.dtype.kind, "pass a number, or an array with one element"),
        ) from cause


def _members(type_: types.Type, value: object, where: _Place) -> Iterator[object]:
    """Yield the members of a value of a type made by a program: its attributes of these names."""
    for name, member in models.members_of(type_):
        if not hasattr(value, name):
            raise LaunchTypeError(
                f"{where} is a {type_} without the attribute {name!r}",
                detail="the members of its model are read from attributes of the same names",
                help=f"give {type(value).__name__} such an attribute, a property for example",
            )
        found = interpret(getattr(value, name), f"{where.name}.{name}", where.position)
        if find_conversion(found.type, member) is None:
            raise LaunchTypeError(
                f"{where} is a {type_} whose member {name!r} is of type {found.type}",
                detail=f"expected {member}, as the model says",
            )
        yield found.value


def _share(value: object, where: _Place) -> object:
    """Return an array over the memory that another library's object offers."""
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        host = _host_array(value)
        return _share_device_array(value, where) if host is None else host
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise LaunchTypeError(
        f"{where} is of type {type(value).__name__}, which kernels do not take",
        detail="expected a number, an array, or a tuple of these",
        help="make it an array with numpy.array(...), or a tuple"
        if isinstance(value, list)
        else "pass what the kernel needs of it as separate arguments",
    )


def _host_array(value: object) -> np.ndarray[Any, Any] | None:
    """Return an array of another library that lies in the host's memory, for a GPU to copy."""
    from pygpulib.core.device import current_driver
    from pygpulib.core.dlpack import import_array

    find_device = getattr(value, "__dlpack_device__", None)
    if find_device is None or find_device()[0] != _DLPACK_HOST:
        return None
    if current_driver().dlpack_device(0)[0] == _DLPACK_HOST:
        return None
    return import_array(value)  # type: ignore[arg-type]


def _share_device_array(value: object, where: _Place) -> ndarray:
    from pygpulib.core.interop import as_cuda_array

    try:
        return as_cuda_array(value)
    except PyGpuLibError as cause:
        raise type(cause)(
            f"{where} is a {type(value).__name__} whose memory cannot be shared",
            detail="\n".join(filter(None, (cause.problem, cause.detail))),
            help=cause.help,
        ) from cause
