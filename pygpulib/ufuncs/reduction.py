"""Combining all elements of an array into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, lies_on_device
from pygpulib.errors import ArgumentError, ArgumentTypeError, counted
from pygpulib.jit import types
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.memory import shared
from pygpulib.jit.intrinsics.sync import syncthreads
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, grid, gridsize, threadIdx
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike

_BLOCK = 128
_MAX_BLOCKS = 64

_OPTIONS = CompileOptions()


class Reduce:
    """A function of two numbers made into a reduction of arrays; the base of ``cuda.reduce``.

    Parameters
    ----------
    functor : function
        Combines two elements. It must be associative and commutative: the order in which elements
        are combined is not defined.

    Examples
    --------
    >>> largest = Reduce(lambda a, b: max(a, b))
    >>> largest(np.array([3.0, 8.0, 5.0]))
    np.float64(8.0)
    """

    def __init__(self, functor: Callable[..., object]) -> None:
        has_source = callable(getattr(functor, "py_func", None))
        self._functor = functor if has_source else DeviceFunction(functor, _OPTIONS)  # type: ignore[arg-type]
        self._kernels: dict[np.dtype[Any], Kernel] = {}

    def __call__(
        self,
        arr: object,
        size: int | None = None,
        res: object = None,
        init: object = 0,
        stream: StreamLike = 0,
    ) -> Any:  # noqa: ANN401
        """Combine the elements of an array of one axis.

        Parameters
        ----------
        arr : array_like or device array
            The elements.
        size : int, optional
            How many of them; default: all.
        res : device array, optional
            Its first element becomes the result, which then is not returned.
        init : number
            What the combination of all elements is combined with; the result where there are none.
        stream : Stream or 0
            Where the work is queued.

        Returns
        -------
        scalar or None
            The combination, of the type of the elements.

        Raises
        ------
        ArgumentTypeError
            If the array does not have one axis.
        ArgumentError
            If there are fewer than `size` elements.
        """
        values = _read_array(arr)
        count = values.shape[0] if size is None else size
        if not 0 <= count <= values.shape[0]:
            raise ArgumentError(
                f"the argument size of a reduction is {count}",
                detail=f"expected 0 to {values.shape[0]}, the number of elements",
            )
        result = device_array(1, values.dtype, stream=stream) if res is None else _read_array(res)
        if count:
            self._launch(values[:count], np.asarray(init, values.dtype)[()], result, stream)
        elif isinstance(result, ndarray):
            result.setitem(0, init, stream=stream)
        else:
            result[0] = init
        if res is not None:
            return None
        assert isinstance(result, ndarray)
        return result.getitem(0, stream=stream)

    def _launch(self, values: Any, init: Any, result: Any, stream: StreamLike) -> None:  # noqa: ANN401
        kernel = self._kernel(values.dtype)
        # Every thread has at least one element, so that none needs a neutral one.
        block = min(_BLOCK, values.shape[0])
        blocks = min(_MAX_BLOCKS, values.shape[0] // block)
        if blocks > 1:
            partial = device_array(blocks, values.dtype, stream=stream)
            kernel[blocks, block, stream](values, partial, init, False)
            values, block = partial, blocks
        kernel[1, block, stream](values, result, init, True)

    def _kernel(self, dtype: np.dtype[Any]) -> Kernel:
        kernel = self._kernels.get(dtype)
        if kernel is None:
            element = types.scalar_type(dtypes.from_numpy(dtype))
            kernel = self._kernels[dtype] = _make_kernel(self._functor, element)
        return kernel


def _read_array(value: object) -> Any:  # noqa: ANN401
    """Return a host or device array of one axis."""
    if lies_on_device(value):
        array: Any = value if isinstance(value, ndarray) else as_cuda_array(value)
    else:
        array = np.asarray(value)
    if array.ndim != 1:
        raise ArgumentTypeError(
            f"a reduction was called on an array of {counted(array.ndim, 'axis', 'axes')}",
            detail="only support 1D array",
            help="pass a.ravel()",
        )
    return array


def _make_kernel(functor: Any, element: types.ScalarType) -> Kernel:  # noqa: ANN401
    def reduce_block(values: Any, results: Any, init: Any, with_init: bool) -> None:  # noqa: ANN401
        """Combine the elements that the threads of a block meet."""
        partial = shared.array(_BLOCK, element)
        thread = threadIdx.x
        total = values[grid(1)]
        for position in range(grid(1) + gridsize(1), values.size, gridsize(1)):
            total = element(functor(total, values[position]))
        partial[thread] = total
        active = blockDim.x
        while active > 1:
            syncthreads()
            half = (active + 1) // 2
            if thread + half < active:
                partial[thread] = functor(partial[thread], partial[thread + half])
            active = half
        if thread == 0:
            total = partial[0]
            if with_init:
                total = element(functor(init, total))
            results[blockIdx.x] = total

    return Kernel(reduce_block, _OPTIONS)  # type: ignore[arg-type]
