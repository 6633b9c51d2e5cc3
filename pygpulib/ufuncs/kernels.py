"""The kernels behind vectorized functions: one thread calls the function for one element.

A kernel takes its arrays as one tuple. What reads a tuple's items is put together from small
device functions, one per item, because the items are of different types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pygpulib.jit import types
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.jit.options import CompileOptions

Function = Callable[..., Any]

_OPTIONS = CompileOptions()


def _device(function: Any) -> DeviceFunction:  # noqa: ANN401
    return DeviceFunction(function, _OPTIONS)


def make_locator(ndim: int) -> DeviceFunction:
    """Return a function of a number and a shape that gives the index of the element so numbered.

    Parameters
    ----------
    ndim : int
        Number of axes, at least 1.
    """
    last = ndim - 1
    if ndim == 1:
        return _device(lambda number, _shape: (number,))
    outer: Function = make_locator(last)

    @_device
    def locate(number: Any, shape: Any) -> Any:  # noqa: ANN401
        return (*outer(number // shape[last], shape), number % shape[last])

    return locate


def _make_reader(converters: Sequence[Function], is_scalar: Sequence[bool]) -> Function:
    """Return a function of a tuple and an index that reads an element of each item."""
    if not converters:
        return _device(lambda _items, _index: ())
    last = len(converters) - 1
    before = _make_reader(converters[:last], is_scalar[:last])
    convert = converters[last]
    if is_scalar[last]:
        return _device(lambda items, index: (*before(items, index), convert(items[last])))
    return _device(lambda items, index: (*before(items, index), convert(items[last][index])))


def converter_of(type_: types.Type) -> Function:
    """Return what converts an element to a type; arrays and times stay as they are."""
    return type_ if isinstance(type_, types.ScalarType) else unchanged


unchanged = _device(lambda value: value)


def make_elementwise(
    function: Function, converters: Sequence[Function], is_scalar: Sequence[bool], ndim: int
) -> Kernel:
    """Return a kernel that computes one array from others, element by element.

    Parameters
    ----------
    function : callable
        What computes an element.
    converters : sequence of callable
        What elements are converted with before, and, as the last one, the function's value.
    is_scalar : sequence of bool
        Which inputs are numbers, not arrays.
    ndim : int
        Number of axes of all arrays.

    Returns
    -------
    Kernel
        Takes the tuple of inputs, and the output.
    """
    *before, result = converters
    read = _make_reader(before, is_scalar)
    locate = make_locator(ndim)

    def elementwise(inputs: Any, output: Any) -> None:  # noqa: ANN401
        number = grid(1)
        if number < output.size:
            index = locate(number, output.shape)
            output[index] = result(function(*read(inputs, index)))

    return Kernel(elementwise, _OPTIONS)  # type: ignore[arg-type]


def make_generalized(function: Function, converters: Sequence[Function], ndim: int) -> Kernel:
    """Return a kernel that calls a function for one sub-array of each array.

    Parameters
    ----------
    function : callable
        Takes a number or an array for each argument, and writes to those that are outputs.
    converters : sequence of callable
        What each argument is converted with.
    ndim : int
        Number of leading axes that are walked over.

    Returns
    -------
    Kernel
        Takes the tuple of arrays, the lengths of the leading axes, and their product.
    """
    read = _make_reader(converters, [False] * len(converters))
    locate = make_locator(ndim)

    def generalized(arrays: Any, shape: Any, count: int) -> None:  # noqa: ANN401
        number = grid(1)
        if number < count:
            function(*read(arrays, locate(number, shape)))

    return Kernel(generalized, _OPTIONS)  # type: ignore[arg-type]
