"""Functions of small arrays that work on arrays of such arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.ordering import hand_back
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError, counted
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.types import ArrayType, Type
from pygpulib.ufuncs import operands
from pygpulib.ufuncs.kernels import converter_of, make_generalized
from pygpulib.ufuncs.loops import Loop, choose_loop, parse_loops
from pygpulib.ufuncs.operands import AnyArray, Shape
from pygpulib.ufuncs.ufunc import UFunc

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike

_GROUP = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*)?\)"
_GROUPS = rf"{_GROUP}(?:\s*,\s*{_GROUP})*"

Axes = tuple[str, ...]


@record(eq=True)
class CoreLayout:
    """Which axes of each argument the function sees: ``"(m,n),(n,p)->(m,p)"``.

    Attributes
    ----------
    inputs, outputs : tuple of tuple of str
        The names of the axes.
    """

    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]

    @classmethod
    def parse(cls, text: str) -> CoreLayout:
        """Read a layout.

        Raises
        ------
        ArgumentError
            If it is not well formed, or an output has an axis that no input has.
        """
        match = re.fullmatch(rf"\s*({_GROUPS})\s*->\s*({_GROUPS})\s*", text)
        if match is None:
            raise ArgumentError(
                f"the layout {text!r} is not well formed",
                help='write it as "(m,n),(n,p)->(m,p)"',
            )
        inputs, outputs = (
            tuple(tuple(re.findall(r"\w+", group)) for group in re.findall(_GROUP, side))
            for side in match.groups()
        )
        known = {axis for axes in inputs for axis in axes}
        unknown = [axis for axes in outputs for axis in axes if axis not in known]
        if unknown:
            raise ArgumentError(
                f"the layout {text!r} has the output axis {unknown[0]!r}, which no input has"
            )
        return cls(inputs, outputs)

    def measure(self, name: str, arrays: Sequence[AnyArray]) -> dict[str, int]:
        """Return the length of each named axis.

        Raises
        ------
        ShapeError
            If an array has too few axes, or two axes of one name have different lengths.
        """
        lengths: dict[str, int] = {}
        for axes, array in zip(self.inputs, arrays, strict=True):
            if array.ndim < len(axes):
                raise ShapeError(
                    f"an input of {name} has the shape {array.shape}",
                    detail=f"expected at least {counted(len(axes), 'axis', 'axes')}: "
                    f"({', '.join(axes)})",
                )
            core = array.shape[array.ndim - len(axes) :]
            for axis, length in zip(axes, core, strict=True):
                if lengths.setdefault(axis, length) != length:
                    raise ShapeError(
                        f"the axis {axis} of {name} has the lengths {lengths[axis]} and {length}",
                        detail=f"the shapes are {', '.join(str(each.shape) for each in arrays)}",
                    )
        return lengths


class GUFunc:
    """A function of small arrays made into a function of large ones; made by `guvectorize`.

    The leading axes of the inputs, those that the layout does not name, are broadcast against each
    other, and the function is called once for each position along them.

    Parameters
    ----------
    py_func : function
        Takes the inputs and the outputs, and writes the outputs.
    signatures : signature or list of signatures
        The types to compile it for.
    layout : str
        The axes that the function sees, for example ``"(m,n),(n,p)->(m,p)"``.
    writable_args : sequence of int or str
        Inputs that the function also writes.

    Attributes
    ----------
    py_func : function
        The function of small arrays.
    signature : str
        The layout.
    nin, nout, nargs : int
        Number of inputs, of outputs, and of both.
    types : list of str
        The signatures in NumPy's notation.
    """

    __name__: str

    def __init__(
        self,
        py_func: FunctionType,
        signatures: object,
        layout: str,
        writable_args: Sequence[int | str] = (),
    ) -> None:
        functools.update_wrapper(self, py_func)
        self._function = DeviceFunction(py_func, CompileOptions())
        self.signature = layout
        self._layout = CoreLayout.parse(layout)
        self.nin = len(self._layout.inputs)
        self.nout = len(self._layout.outputs)
        self.nargs = self.nin + self.nout
        names = py_func.__code__.co_varnames[: py_func.__code__.co_argcount]
        self._written = {names.index(arg) if isinstance(arg, str) else arg for arg in writable_args}
        self._rebuild = signatures, layout, tuple(writable_args)
        self._loops = parse_loops(self.__name__, signatures, self.nin, self.nout)
        self._kernels: dict[object, Kernel] = {}

    @property
    def types(self) -> list[str]:
        """The signatures in NumPy's notation."""
        return [str(loop) for loop in self._loops]

    def __call__(self, *args: object, out: object = None, stream: StreamLike = 0) -> Any:  # noqa: ANN401
        """Call the function for each position along the leading axes.

        Parameters
        ----------
        *args : array_like or device array
            The inputs, and after them the outputs if `out` is not given.
        out : array or tuple of arrays, optional
            Where the results go; default: new arrays.
        stream : Stream or 0
            Where the work is queued.

        Returns
        -------
        array or tuple of arrays
            The outputs.

        Raises
        ------
        ArgumentTypeError
            If the number of arguments is wrong, or their types convert to no signature.
        ShapeError
            If the shapes do not go together.
        """
        wanted = self._outputs_of(args, out)
        given = [
            None if value is None else operands.read_output(self.__name__, value)
            for value in wanted
        ]
        inputs = [operands.read_operand(value) for value in args[: self.nin]]
        loop = choose_loop(self.__name__, self._loops, inputs)
        arrays = [
            self._convert(position, operands.as_array(value, dtype), dtype, stream)
            for position, (value, dtype) in enumerate(zip(inputs, loop.input_dtypes, strict=True))
        ]
        lengths = self._layout.measure(self.__name__, arrays)
        outer = [
            array.shape[: array.ndim - len(axes)]
            for array, axes in zip(arrays, self._layout.inputs, strict=True)
        ]
        shape = operands.broadcast_shapes(self.__name__, outer)
        on_device = any(isinstance(array, ndarray) for array in arrays)
        outputs = []
        for axes, dtype, array in zip(self._layout.outputs, loop.output_dtypes, given, strict=True):
            full = shape + tuple(lengths[axis] for axis in axes)
            if array is None:
                outputs.append(operands.make_output(full, dtype, on_device, stream))
            else:
                outputs.append(operands.check_output(self.__name__, array, full, dtype))
        if prod(shape):
            self._launch(loop, arrays + outputs, shape, stream)
            hand_back(args[: self.nin], inputs, stream_handle(stream))
            hand_back(wanted, given, stream_handle(stream))
        results = [
            _without_axes(output) if array is None else array
            for array, output in zip(given, outputs, strict=True)
        ]
        return results[0] if self.nout == 1 else tuple(results)

    def _outputs_of(self, args: tuple[object, ...], out: object) -> Sequence[object]:
        """Return those arguments of a call that are outputs, None for each that is not given."""
        count = len(args)
        if count not in (self.nin, self.nargs):
            raise ArgumentTypeError(
                f"gufunc accepts {self.nin} positional arguments (when providing input only) or "
                f"{self.nargs} positional arguments (when providing input and output). "
                f"Got {counted(count, 'positional argument')}."
            )
        if count == self.nargs:
            if out is not None:
                raise ArgumentError("cannot specify argument 'out' as both positional and keyword")
            return args[self.nin :]
        if out is None:
            return [None] * self.nout
        values = out if isinstance(out, tuple | list) else (out,)
        if len(values) != self.nout:
            raise ArgumentTypeError(
                f"{self.__name__} was given {len(values)} output arrays",
                detail=f"expected {self.nout}",
            )
        return values

    def _convert(
        self, position: int, array: AnyArray, dtype: np.dtype[Any], stream: StreamLike
    ) -> AnyArray:
        """Return an input with the elements that the function was compiled for."""
        if array.dtype == dtype:
            return array
        if position in self._written:
            raise ArgumentTypeError(
                f"an argument that {self.__name__} writes holds {array.dtype}",
                detail=f"expected {dtype}",
            )
        if isinstance(array, np.ndarray):
            return array.astype(dtype)
        result = operands.make_output(array.shape, dtype, True, stream)
        _converter(dtype)(array, out=result, stream=stream)
        return result

    def _launch(
        self, loop: Loop, arrays: Sequence[AnyArray], shape: Shape, stream: StreamLike
    ) -> None:
        shape = shape or (1,)
        declared = (*loop.inputs, *loop.outputs)
        layouts = (*self._layout.inputs, *self._layout.outputs)
        views = tuple(
            self._view(position, array, len(axes), type_, shape)
            for position, (array, axes, type_) in enumerate(
                zip(arrays, layouts, declared, strict=True)
            )
        )
        kernel = self._kernel(loop, len(shape))
        kernel.forall(prod(shape), stream=stream)(views, shape, prod(shape))

    def _view(
        self, position: int, array: AnyArray, core: int, type_: Type, shape: Shape
    ) -> AnyArray:
        view = operands.broadcast_to(array, shape, core)
        if isinstance(type_, ArrayType) and core == 0:
            # The function sees a number as an array of one element.
            view = operands.with_strides(view, (*shape, 1), (*view.strides, view.dtype.itemsize))
        is_written = position >= self.nin or position in self._written
        return view if is_written else operands.read_only(view)

    def _kernel(self, loop: Loop, ndim: int) -> Kernel:
        key = loop, ndim
        kernel = self._kernels.get(key)
        if kernel is None:
            converters = [converter_of(type_) for type_ in (*loop.inputs, *loop.outputs)]
            kernel = make_generalized(self._function, converters, ndim)
            self._kernels[key] = kernel
        return kernel

    def __repr__(self) -> str:
        return f"<gufunc {self.__name__} {self.signature}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        from pygpulib.jit.pickling import reduce_wrapper

        return reduce_wrapper(self, self._function.py_func, GUFunc, self._rebuild)


def _without_axes(array: AnyArray) -> Any:  # noqa: ANN401
    """Return what a caller gets: a NumPy scalar for a host array without axes."""
    return array[()] if isinstance(array, np.ndarray) and not array.ndim else array


@functools.lru_cache
def _converter(dtype: np.dtype[Any]) -> UFunc:
    """Return a function that copies elements of any type to elements of one."""

    def convert(value: Any) -> Any:  # noqa: ANN401
        return value

    return UFunc(convert, f"{dtype.name}({dtype.name})")  # type: ignore[arg-type]
