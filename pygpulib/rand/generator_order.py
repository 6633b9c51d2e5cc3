"""What `Generator` does with the order of things: choosing from them, and shuffling them."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.layout import as_integer, normalize_axis
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    PyGpuLibError,
    ShapeError,
)
from pygpulib.rand.choosing import choose_places
from pygpulib.rand.drawing import Array, check_is_array, read_size
from pygpulib.rand.generator_base import DrawsNumbers
from pygpulib.rand.moving import Packed, take, take_lines
from pygpulib.rand.permutations import can_shuffle, random_order, random_orders, shuffle_lines

# The largest place has 63 bits.
_MOST = 2**63


class DrawsOrder(DrawsNumbers):
    """Choosing and shuffling."""

    def choice(
        self,
        a: object,
        size: object = None,
        replace: bool = True,
        p: object = None,
        axis: int = 0,
        shuffle: bool = True,  # noqa: ARG002
    ) -> Any:
        """Return elements of an array, or numbers below an integer.

        Parameters
        ----------
        a : int or array_like
            What to choose from.
        size : int or tuple of int, optional
            Shape of the choice; default: one element.
        replace : bool
            Whether elements may be chosen again.
        p : array_like, optional
            Probability of each element; default: all the same.
        axis : int
            Along which axis of `a` to choose.
        shuffle : bool
            No meaning here: the choice is in random order in any case.
        """
        number = _read_number(a)
        array = None if number is not None else _read_array("a", a)
        axis = 0 if array is None else normalize_axis(axis, array.ndim)
        count = array.shape[axis] if array is not None else number
        assert count is not None
        shape = () if size is None else read_size(size)
        places = choose_places(self._bit_generator, count, shape, replace, p)
        if array is None:
            return int(places.item()) if size is None else places.reshape(shape)  # type: ignore[call-overload]
        found = take(array, places, axis)
        whole = (*array.shape[:axis], *shape, *array.shape[axis + 1 :])
        if size is None and not whole:
            return found.copy_to_host()[0]
        return found.reshape(whole)

    def shuffle(self, x: object, axis: int = 0) -> None:
        """Shuffle an array or a list in place.

        Parameters
        ----------
        x : array or mutable sequence
            What to shuffle.
        axis : int
            Along which axis: sub-arrays change places, and stay what they are.
        """
        if isinstance(x, np.ndarray) or is_cuda_array(x):
            x = x if isinstance(x, np.ndarray) else as_cuda_array(x)
            _check_target(x, "the array to shuffle")
            axis = normalize_axis(axis, x.ndim)
            if x.dtype.hasobject:
                # Python objects stay on the host.
                order = random_order(self._bit_generator, x.shape[axis]).copy_to_host()
                x[...] = np.take(x, order.tolist(), axis)
            else:
                _write(x, self._shuffled(_packed(x), axis))
            return
        if not isinstance(x, MutableSequence):
            raise ArgumentTypeError(
                f"a {type(x).__name__} cannot be shuffled in place",
                detail="expected an array, or a sequence that can be changed, such as a list",
                help="use permutation(...) for a shuffled copy",
            )
        if axis != 0:
            raise ArgumentError(
                f"the argument axis is {axis}, and x is a {type(x).__name__}",
                detail="expected an array, for other axes than 0",
            )
        chosen = random_order(self._bit_generator, len(x)).copy_to_host()
        x[:] = [x[place] for place in chosen.tolist()]

    def permutation(self, x: object, axis: int = 0) -> ndarray:
        """Return a shuffled copy of an array, or the numbers below an integer in random order.

        Parameters
        ----------
        x : int or array_like
            What to shuffle.
        axis : int
            Along which axis: sub-arrays change places, and stay what they are.
        """
        number = _read_number(x)
        if number is not None:
            return random_order(self._bit_generator, number)
        array = _read_array("x", x)
        return self._shuffled(array, normalize_axis(axis, array.ndim))

    def _shuffled(self, array: Packed, axis: int) -> ndarray:
        """Return a copy whose sub-arrays along an axis have changed places."""
        count = array.shape[axis]
        if array.size == count and can_shuffle(array):
            return shuffle_lines(self._bit_generator, array, count)
        return take(array, random_order(self._bit_generator, count), axis)

    def permuted(self, x: object, *, axis: int | None = None, out: object = None) -> Any:
        """Return a copy in which every line along an axis is shuffled by itself.

        Parameters
        ----------
        x : array_like
            What to shuffle.
        axis : int, optional
            Which axis; default: all elements may change places.
        out : array, optional
            Where to write to; may be `x` itself.
        """
        array = _read_array("x", x)
        if out is None:
            return self._permute(array, axis)
        target = check_is_array(out)
        _check_target(target, "the argument out")
        if target.shape != array.shape:
            raise ShapeError(
                f"the argument out has the shape {target.shape}",
                detail=f"expected that of x, {array.shape}",
            )
        if not np.can_cast(array.dtype, target.dtype, "safe"):
            raise DTypeError(
                f"the argument out holds {target.dtype}",
                detail=f"expected the type of x, {array.dtype}, or one that has all of its values",
            )
        _write(target, self._permute(array, axis))
        return out

    def _permute(self, array: Packed, axis: int | None) -> ndarray:
        if axis is None:
            return self._shuffled(array.reshape(-1), 0).reshape(array.shape)
        axis = normalize_axis(axis, array.ndim)
        count = array.shape[axis]
        if not array.size:
            return device_array(array.shape, array.dtype)
        if axis == array.ndim - 1 and can_shuffle(array):
            return shuffle_lines(self._bit_generator, array, count)
        orders = random_orders(self._bit_generator, array.size // count, count)
        return take_lines(array, orders, axis)


def _read_number(value: object) -> int | None:
    """Return a number of things, or None for the things themselves."""
    if is_cuda_array(value):
        return None
    try:
        number = as_integer(value)
    except TypeError:
        return None
    if not 0 <= number <= _MOST:
        raise ArgumentError(
            f"the number of things is {number}", detail=f"expected an integer from 0 to {_MOST}"
        )
    return number


def _read_array(name: str, value: object) -> Packed:
    """Return a contiguous array with at least one axis."""
    try:
        array = as_cuda_array(value) if is_cuda_array(value) else np.asarray(value)
    except ValueError as cause:
        if isinstance(cause, PyGpuLibError):
            raise
        raise ArgumentTypeError(
            f"the argument {name} is a {type(value).__name__} with rows of different lengths",
            detail="expected an integer, or an array",
        ) from cause
    if array.ndim == 0:
        raise ArgumentTypeError(
            f"the argument {name} is {value!r}", detail="expected an integer, or an array"
        )
    return _packed(array)


def _check_target(array: Array, name: str) -> None:
    """Refuse an array that cannot be written to."""
    if isinstance(array, np.ndarray):
        is_readonly = not array.flags.writeable
    else:
        is_readonly = array.buffer.is_readonly
    if is_readonly:
        raise ArgumentError(f"{name} is read-only")


def _packed(array: ndarray | np.ndarray[Any, np.dtype[Any]]) -> Packed:
    """Return an array with its elements in the order of the indices; a copy if need be."""
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(np.asarray(array))
    if array.flags.c_contiguous:
        return array
    copy = device_array(array.shape, array.dtype)
    copy.copy_to_device(array)
    return copy


def _write(target: ndarray | np.ndarray[Any, np.dtype[Any]], source: ndarray) -> None:
    if isinstance(target, np.ndarray):
        if target.flags.c_contiguous and target.flags.aligned and target.dtype == source.dtype:
            source.copy_to_host(target)
        else:
            target[...] = source.copy_to_host()
    else:
        target.copy_to_device(source)
