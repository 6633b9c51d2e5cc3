"""Functions of numbers that work on arrays element by element."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.ordering import hand_back
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError, counted
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.options import CompileOptions
from pygpulib.ufuncs import operands
from pygpulib.ufuncs.kernels import converter_of, make_elementwise
from pygpulib.ufuncs.loops import Loop, choose_loop, parse_loops
from pygpulib.ufuncs.operands import AnyArray, plan_walk
from pygpulib.ufuncs.reduction import Reduce

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike
    from pygpulib.jit.types import Type


class UFunc:
    """A function of numbers made into a function of arrays; made by `vectorize`.

    Inputs are broadcast against each other. Where any of them is a device array the result is one
    too, else it is a NumPy array, or a NumPy scalar if no input has axes. In kernels it is called
    like a device function.

    Parameters
    ----------
    py_func : function
        The function of numbers.
    signatures : signature or list of signatures
        The types to compile it for.
    identity : number, optional
        What ``reduce`` starts with; 0 if it is not given.

    Attributes
    ----------
    py_func : function
        The function of numbers.
    nin, nout, nargs : int
        Number of inputs, of outputs, and of both.
    types : list of str
        The signatures in NumPy's notation, for example ``"ff->f"``.
    ntypes : int
        How many there are.
    identity : number or None
        What ``reduce`` starts with.
    signature : None
        As NumPy's ufuncs have it.
    """

    __name__: str

    signature = None
    nout = 1

    def __init__(self, py_func: FunctionType, signatures: object, identity: object = None) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.identity = identity
        self.nin = py_func.__code__.co_argcount
        self.nargs = self.nin + self.nout
        self._declared = signatures
        self._loops = parse_loops(
            self.__name__, signatures, self.nin, self.nout, self._infer_result
        )
        self._kernels: dict[object, Kernel] = {}
        self._reductions: dict[Loop, Reduce] = {}

    def _infer_result(self, inputs: tuple[Type, ...]) -> Type:
        from pygpulib.jit.frontend.compile import resolve_result_type

        return resolve_result_type(self.py_func, inputs, CompileOptions())

    @property
    def types(self) -> list[str]:
        """The signatures in NumPy's notation, for example ``"ff->f"``."""
        return [str(loop) for loop in self._loops]

    @property
    def ntypes(self) -> int:
        """How many signatures there are."""
        return len(self._loops)

    def __call__(self, *args: object, out: object = None, stream: StreamLike = 0) -> Any:  # noqa: ANN401
        """Apply the function to every element.

        Parameters
        ----------
        *args : array_like or device array
            The inputs, and after them the output if `out` is not given.
        out : array, optional
            Where the results go; default: a new array.
        stream : Stream or 0
            Where the work is queued.

        Returns
        -------
        array or scalar
            `out`, or the new array.

        Raises
        ------
        ArgumentTypeError
            If the number of arguments is wrong, or their types convert to no signature.
        ShapeError
            If the shapes do not go together.
        """
        if len(args) not in (self.nin, self.nargs):
            raise ArgumentTypeError(
                f"{self.__name__} was called with {counted(len(args), 'argument')}",
                detail=f"expected {counted(self.nin, 'input')}, and no or one output",
            )
        if len(args) == self.nargs:
            if out is not None:
                raise ArgumentError("cannot specify argument 'out' as both positional and keyword")
            out = args[self.nin]
        inputs = [operands.read_operand(value) for value in args[: self.nin]]
        loop = choose_loop(self.__name__, self._loops, inputs)
        arrays = [
            operands.as_array(value, dtype)
            for value, dtype in zip(inputs, loop.input_dtypes, strict=True)
        ]
        if isinstance(out, tuple) and len(out) == 1:
            (out,) = out
        given = None if out is None else operands.read_output(self.__name__, out)
        output = self._prepare_output(arrays, given, loop, stream)
        if output.size:
            self._launch(loop, arrays, output, stream)
            hand_back([*args[: self.nin], out], [*inputs, given], stream_handle(stream))
        if given is not None:
            return given
        return output[()] if isinstance(output, np.ndarray) and not output.ndim else output

    def _prepare_output(
        self, arrays: list[AnyArray], given: AnyArray | None, loop: Loop, stream: StreamLike
    ) -> AnyArray:
        shape = operands.broadcast_shapes(self.__name__, [array.shape for array in arrays])
        (dtype,) = loop.output_dtypes
        if given is None:
            on_device = any(isinstance(array, ndarray) for array in arrays)
            return operands.make_output(shape, dtype, on_device, stream)
        shape = operands.broadcast_shapes(self.__name__, [shape, given.shape])
        return operands.check_output(self.__name__, given, shape, dtype)

    def _launch(
        self, loop: Loop, arrays: list[AnyArray], output: AnyArray, stream: StreamLike
    ) -> None:
        strides = [operands.broadcast_strides(array, output.ndim) for array in arrays]
        walk = plan_walk(output.shape, [*strides, output.strides])
        is_scalar = tuple(isinstance(array, np.ndarray) and not array.ndim for array in arrays)
        views = tuple(
            array[()]
            if scalar
            else operands.read_only(operands.with_strides(array, walk.shape, steps))
            for array, scalar, steps in zip(arrays, is_scalar, walk.strides[:-1], strict=True)
        )
        target = operands.with_strides(output, walk.shape, walk.strides[-1])
        kernel = self._kernel(loop, is_scalar, len(walk.shape))
        kernel.forall(output.size, stream=stream)(views, target)

    def _kernel(self, loop: Loop, is_scalar: tuple[bool, ...], ndim: int) -> Kernel:
        key = loop, is_scalar, ndim
        kernel = self._kernels.get(key)
        if kernel is None:
            converters = [converter_of(type_) for type_ in (*loop.inputs, *loop.outputs)]
            kernel = make_elementwise(self, converters, is_scalar, ndim)
            self._kernels[key] = kernel
        return kernel

    def reduce(self, array: object, axis: int = 0, stream: StreamLike = 0) -> Any:  # noqa: ANN401
        """Combine all elements of an array of one axis.

        Parameters
        ----------
        array : array_like or device array
            The elements. The function must be associative and commutative.
        axis : int
            0, for compatibility with NumPy.
        stream : Stream or 0
            Where the work is queued.

        Returns
        -------
        scalar
            The combination, the identity first.

        Raises
        ------
        ArgumentTypeError
            If the function does not have two inputs, or the array not one axis.
        """
        if self.nin != 2:
            raise ArgumentTypeError(
                f"{self.__name__} has {self.nin} inputs and cannot reduce",
                detail="reduce only supported for binary functions",
            )
        if axis not in (0, -1):
            raise ArgumentError(f"the argument axis is {axis}", detail="expected 0")
        values = operands.read_operand(array)
        if not isinstance(values, ndarray | np.ndarray):
            raise ArgumentTypeError(f"reduce was called on the number {values!r}")
        loop = choose_loop(self.__name__, self._loops, [values, values])
        reduction = self._reductions.get(loop)
        if reduction is None:
            reduction = self._reductions[loop] = Reduce(self)
        init = 0 if self.identity is None else self.identity
        return reduction(values, init=init, stream=stream)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        from pygpulib.jit.pickling import reduce_wrapper

        return reduce_wrapper(self, self.py_func, UFunc, (self._declared, self.identity))
