"""Drawing: from a sampler, its parameters and what NumPy calls size and out to numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.layout import normalize_shape
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from pygpulib.rand.operands import Operand, broadcast_shape
from pygpulib.rand.samplers import Sampler, kernel_of, launch

if TYPE_CHECKING:
    from pygpulib.rand.bit_generators import BitGenerator

Array: TypeAlias = "ndarray | NDArray[Any]"
Shape: TypeAlias = tuple[int, ...]

_PARAMETERS = 3
"""How many parameters the kernels of samplers take."""


def draw(
    bits: BitGenerator,
    sampler: Sampler,
    dtype: np.dtype[Any],
    operands: tuple[Operand, ...] = (),
    size: object = None,
    out: object = None,
) -> Any:
    """Return numbers of a distribution: a number of Python, or an array.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    sampler : Sampler
        The distribution.
    dtype : numpy.dtype
        Type of the numbers.
    operands : tuple of ndarray
        The parameters, each a host array or a scalar of NumPy.
    size : int or tuple of int, optional
        Shape of the result; default: that of the parameters.
    out : array, optional
        Where to write to.

    Raises
    ------
    ShapeError
        If parameters, size and out do not fit each other.
    """
    shape = find_shape(operands, size, out)
    if out is None and size is None and not shape:
        single = np.empty(1, dtype)
        fill(bits, sampler, single, operands)
        return single[0].item()
    target: Any = device_array(shape, dtype) if out is None else check_out(out, dtype)
    if 0 not in shape:
        is_in_rows = out is None or target.flags.c_contiguous
        order: Literal["C", "F"] = "C" if is_in_rows else "F"
        spread = tuple(_spread(operand, shape, order) for operand in operands)
        fill(bits, sampler, flatten(target), spread)
    return target if out is None else out


def fill(
    bits: BitGenerator, sampler: Sampler, target: Array, operands: tuple[Operand | ndarray, ...]
) -> None:
    """Write numbers to an array with one axis.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    sampler : Sampler
        The distribution.
    target : array
        Where to write to.
    operands : tuple of array
        Host arrays with one element for each number, or without axes; or device arrays, which the
        sampler gets as they are.
    """
    streams = -(-target.size // sampler.width)
    source = bits.take(streams)
    is_array = tuple(isinstance(each, np.ndarray) and each.ndim == 1 for each in operands)
    given = tuple(map(_as_argument, operands))
    kernel = kernel_of(sampler, source.open_stream, is_array)
    # Truth values are the numbers 0 and 1.
    plain = target.view(np.uint8) if target.dtype == np.bool_ else target
    nothing = (0.0,) * (_PARAMETERS - len(given))
    launch(kernel, streams, plain, *given, *nothing, *source.arguments)


def _as_argument(operand: Operand | ndarray) -> Any:
    """Return what a kernel is given for a parameter."""
    if not operand.ndim:
        return operand.dtype.type(operand)
    if isinstance(operand, np.ndarray):
        # Kernels read arrays of the host; those that cannot be written to are not copied back.
        operand = operand.view()
        operand.flags.writeable = False
    return operand


def _spread(operand: Operand, shape: Shape, order: Literal["C", "F"]) -> Operand:
    """Return an operand as a number, or with one element for each of the result in memory."""
    if not operand.ndim:
        return operand
    if operand.size == 1:
        return operand.reshape(())
    return np.broadcast_to(operand, shape).ravel(order)


def flatten(array: Array) -> Array:
    """Return a contiguous array with one axis, in the order of the memory."""
    if isinstance(array, np.ndarray):
        # Matrices keep two axes whatever their shape is asked to be.
        array = np.asarray(array)
    if array.ndim == 1:
        return array
    return (array if array.flags.c_contiguous else array.T).reshape(-1)


def read_size(size: object) -> Shape:
    """Return a size as a shape.

    Raises
    ------
    ArgumentTypeError, ShapeError
        If it is not made of integers of zero or more.
    """
    if type(size) is int and size >= 0:
        return (size,)
    return normalize_shape(size, "size")


def find_shape(operands: tuple[Operand, ...], size: object, out: object) -> Shape:
    """Return the shape of a result.

    Raises
    ------
    ShapeError
        If parameters, size and out do not fit each other.
    """
    common = broadcast_shape(operands)
    shape = common if size is None else read_size(size)
    if out is not None:
        given = check_is_array(out).shape
        if size is not None and shape != given:
            raise ShapeError(
                f"the argument size is {shape}, and out has the shape {given}",
                detail="expected the same shape",
                help="leave size away",
            )
        shape = given
    if common and shape is not common and not _fits(common, shape):
        raise ShapeError(
            f"numbers of the shape {shape} were asked for",
            detail=f"the parameters have the shape {common}, which cannot be broadcast to it",
        )
    return shape


def _fits(shape: Shape, target: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def check_is_array(out: object) -> Array:
    """Return an output as an array of NumPy or of this package.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    """
    if isinstance(out, np.ndarray | ndarray):
        return out
    if is_cuda_array(out):
        return as_cuda_array(out)
    raise ArgumentTypeError(
        f"the argument out is a {type(out).__name__}",
        detail="expected a device array, or a NumPy array",
    )


def check_out(out: object, dtype: np.dtype[Any]) -> Array:
    """Return an output that can be written to as it lies in memory.

    Raises
    ------
    DTypeError
        If it is of another dtype.
    ArgumentTypeError, ArgumentError
        If it is no array, or has gaps, or is read-only.
    """
    array = check_is_array(out)
    if array.dtype != dtype:
        raise DTypeError(f"the argument out holds {array.dtype}", detail=f"expected {dtype}")
    flags = array.flags
    if isinstance(array, np.ndarray):
        is_usable = array.flags.writeable and array.flags.aligned
    else:
        is_usable = not array.buffer.is_readonly
    if not (flags.c_contiguous or flags.f_contiguous) or not is_usable:
        raise ArgumentError(
            "the argument out cannot be filled as it lies in memory",
            detail="expected a contiguous, writable and aligned array",
        )
    return array
