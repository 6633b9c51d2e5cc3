"""Copies on a device by a kernel: those that change the dtype, and those of scattered elements."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array_like
from pygpulib.core.dtypes import is_number
from pygpulib.core.layout import byte_span
from pygpulib.ufuncs.kernels import make_elementwise, unchanged
from pygpulib.ufuncs.operands import plan_walk, with_strides

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel


def copy_by_kernel(target: ndarray, source: ndarray, stream: int) -> bool:
    """Copy between arrays of one device, converting as a kernel's assignment does.

    Parameters
    ----------
    target, source : ndarray
        Arrays of the same shape, which may overlap.
    stream : int
        Where the copy is queued.

    Returns
    -------
    bool
        False, and nothing is done, where kernels cannot use the elements in place.
    """
    if not all(is_number(array.dtype) and _is_aligned(array) for array in (target, source)):
        return False
    if _overlap(target, source):
        between = device_array_like(source, stream)
        source.buffer.driver.copy_on_device(between, source, stream)
        source = between
    walk = plan_walk(target.shape, [source.strides, target.strides])
    reads, writes = (
        with_strides(array, walk.shape, steps)
        for array, steps in zip((source, target), walk.strides, strict=True)
    )
    _copier(len(walk.shape)).forall(target.size, stream=stream)((reads,), writes)
    return True


@cache
def _copier(ndim: int) -> Kernel:
    """Return the kernel for arrays of so many axes."""

    def copied(value: Any) -> Any:  # noqa: ANN401
        return value

    return make_elementwise(copied, [unchanged, unchanged], (False,), ndim)


def _is_aligned(array: ndarray) -> bool:
    alignment = array.dtype.alignment
    return not any(number % alignment for number in (array.address, *array.strides))


def _overlap(one: ndarray, other: ndarray) -> bool:
    """Return whether the bytes from the first to the last element of two arrays overlap."""
    spans = []
    for array in (one, other):
        low, high = byte_span(array.shape, array.strides, array.itemsize)
        spans.append((array.address + low, array.address + high))
    return spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]
