"""Copies between host and device, and on the device, of arrays with any strides.

CUDA copies boxes: rows of bytes at a fixed distance, in planes at a fixed distance. Most views of
arrays are a box, or a few of them. What is not, and what changes its dtype, a kernel copies on the
device (`ndarray.copy_rule`); between host and device, NumPy packs or unpacks it on the host.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._bindings import cuda_driver as cu
from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.layout import byte_span, element_count, strides_like

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver import StridedMemory
    from pygpulib.core.driver_cuda.contexts import Context
    from pygpulib.core.layout import Shape

_Axis = tuple[int, int, int]  # length, stride of the target, stride of the source
_Host = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

MAX_PIECES = 64
"""More boxes than this take longer than packing on the host does."""

_MAX_SPREAD = 4
"""An array may lie in so many times its size to be copied with all that lies in between."""

_MAX_PITCH = 2**31 - 1
_NO_AXIS = (1, 0, 0)


@record(eq=True)
class CopyPlan:
    """A copy as boxes: for each position along `loops`, `planes` of `rows` of `width` bytes.

    Attributes
    ----------
    width : int
        Bytes that lie next to each other on both sides.
    rows, planes : tuple of int
        Number, and distance in the target and in the source.
    loops : tuple of tuple of int
        The same for each axis that no box covers.
    """

    width: int
    rows: _Axis = _NO_AXIS
    planes: _Axis = _NO_AXIS
    loops: tuple[_Axis, ...] = ()

    @property
    def pieces(self) -> int:
        """The number of boxes."""
        return element_count(tuple(length for length, _, _ in self.loops))

    def offsets(self) -> Iterator[tuple[int, int]]:
        """Yield where each box starts in the target and in the source."""
        for position in itertools.product(*(range(length) for length, _, _ in self.loops)):
            yield (
                sum(at * axis[1] for at, axis in zip(position, self.loops, strict=True)),
                sum(at * axis[2] for at, axis in zip(position, self.loops, strict=True)),
            )


def plan_copy(shape: Shape, target: Shape, source: Shape, itemsize: int) -> CopyPlan:
    """Return how to copy an array of at least one element.

    Parameters
    ----------
    shape : tuple of int
        Length of each axis.
    target, source : tuple of int
        Strides of both sides in bytes.
    itemsize : int
        Bytes of an element.

    Examples
    --------
    >>> plan_copy((4, 6), (24, 4), (32, 4), 4)
    CopyPlan(width=24, rows=(4, 24, 32), planes=(1, 0, 0), loops=())
    """
    axes = [axis for axis in zip(shape, target, source, strict=True) if axis[0] != 1]
    axes.sort(key=lambda axis: abs(axis[1]), reverse=True)
    width = itemsize
    while axes and axes[-1][1:] == (width, width):
        width *= axes.pop()[0]
    axes = _merge(axes)
    rows = planes = _NO_AXIS
    if axes and _is_row(axes[-1], width):
        rows = axes.pop()
        if axes and _is_plane(axes[-1], rows):
            planes = axes.pop()
    return CopyPlan(width, rows, planes, tuple(axes))


def _merge(axes: list[_Axis]) -> list[_Axis]:
    """Make neighbouring axes one, where both sides step through them as through one."""
    merged: list[_Axis] = []
    for length, target, source in axes:
        if merged and merged[-1][1:] == (length * target, length * source):
            merged[-1] = merged[-1][0] * length, target, source
        else:
            merged.append((length, target, source))
    return merged


def _is_row(axis: _Axis, width: int) -> bool:
    return all(width <= stride <= _MAX_PITCH for stride in axis[1:])


def _is_plane(axis: _Axis, rows: _Axis) -> bool:
    """Return whether planes are a whole number of rows apart, as CUDA wants them."""
    return all(
        stride % pitch == 0 and stride // pitch >= rows[0]
        for stride, pitch in zip(axis[1:], rows[1:], strict=True)
    )


class _Direction:
    """Which side of a copy is host memory."""

    def __init__(self, library: Library, *, target_on_host: bool, source_on_host: bool) -> None:
        self._library = library
        self._target = "dst_host" if target_on_host else "dst_device"
        self._source = "src_host" if source_on_host else "src_device"
        self._kinds = {
            "dst_memory_type": cu.MEMORY_TYPE_HOST if target_on_host else cu.MEMORY_TYPE_DEVICE,
            "src_memory_type": cu.MEMORY_TYPE_HOST if source_on_host else cu.MEMORY_TYPE_DEVICE,
        }
        if target_on_host:
            self._linear = "cuMemcpyDtoHAsync_v2"
        else:
            self._linear = "cuMemcpyHtoDAsync_v2" if source_on_host else "cuMemcpyDtoDAsync_v2"

    def copy(self, plan: CopyPlan, target: int, source: int, stream: int) -> None:
        """Queue the boxes of a plan."""
        for target_offset, source_offset in plan.offsets():
            self._copy_box(plan, target + target_offset, source + source_offset, stream)

    def _copy_box(self, plan: CopyPlan, target: int, source: int, stream: int) -> None:
        if plan.rows is _NO_AXIS:
            getattr(self._library, self._linear)(target, source, plan.width, stream)
            return
        fields = {
            **self._kinds,
            self._target: target,
            self._source: source,
            "width_in_bytes": plan.width,
            "height": plan.rows[0],
            "dst_pitch": plan.rows[1],
            "src_pitch": plan.rows[2],
        }
        if plan.planes is _NO_AXIS:
            self._library.cuMemcpy2DAsync_v2(ctypes.byref(cu.Memcpy2D(**fields)), stream)
            return
        fields["depth"] = plan.planes[0]
        fields["dst_height"] = plan.planes[1] // plan.rows[1]
        fields["src_height"] = plan.planes[2] // plan.rows[2]
        self._library.cuMemcpy3DAsync_v2(ctypes.byref(cu.Memcpy3D(**fields)), stream)


class Copier:
    """Copies of arrays; the device of the given context is current.

    Parameters
    ----------
    library : Library
        The driver library.

    Notes
    -----
    Copies with the host on the default stream are done when they return. On other streams they
    may go on, from and to pinned memory at least; the arrays are kept alive until they are done,
    and must not be changed before.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._upload = _Direction(library, target_on_host=False, source_on_host=True)
        self._download = _Direction(library, target_on_host=True, source_on_host=False)
        self._on_device = _Direction(library, target_on_host=False, source_on_host=False)

    def upload(self, context: Context, target: StridedMemory, source: _Host, stream: int) -> None:
        """Copy a host array into a device array of the same shape."""
        if 0 in target.shape:
            return
        itemsize = target.dtype.itemsize
        if self._fill(target, source, stream):
            context.pending.mark(stream)
            return
        address, strides, host = _forwards(target.address, target.strides, source)
        if host.dtype != target.dtype:
            host = _packed(host, strides, target.dtype)
        plan = plan_copy(host.shape, strides, host.strides, itemsize)
        if plan.pieces > MAX_PIECES:
            host = _packed(host, strides, target.dtype)
            plan = plan_copy(host.shape, strides, host.strides, itemsize)
        self._upload.copy(plan, address, _address_of(host), stream)
        self._finish(context, stream, host)

    def send(self, context: Context, address: int, source: _Host, stream: int) -> None:
        """Copy a packed host array that nobody changes any more, without waiting."""
        self._upload.copy(CopyPlan(source.nbytes), address, _address_of(source), stream)
        context.pending.mark(stream)
        context.pending.release_kept()
        context.pending.keep(stream, source)

    def _fill(self, target: StridedMemory, source: _Host, stream: int) -> bool:
        """Fill a packed array with one value, if that is what the copy does."""
        if any(source.strides) or element_count(target.shape) < 2:
            return False
        low, high = byte_span(target.shape, target.strides, target.dtype.itemsize)
        count = element_count(target.shape)
        if high - low != count * target.dtype.itemsize:
            return False
        value = _packed(source[(slice(1),) * source.ndim], source.strides, target.dtype).tobytes()
        fills = {
            1: self._library.cuMemsetD8Async,
            2: self._library.cuMemsetD16Async,
            4: self._library.cuMemsetD32Async,
        }
        if len(set(value)) == 1:
            count, value = high - low, value[:1]
        if len(value) not in fills:
            return False
        number = int.from_bytes(value, "little")
        fills[len(value)](target.address + low, number, count, stream)
        return True

    def download(self, context: Context, target: _Host, source: StridedMemory, stream: int) -> None:
        """Copy a device array into a host array of the same shape."""
        if 0 in target.shape:
            self._finish(context, stream)
            return
        address, strides, host = _forwards(source.address, source.strides, target)
        if host.dtype == source.dtype:
            plan = plan_copy(host.shape, host.strides, strides, host.itemsize)
            if plan.pieces <= MAX_PIECES:
                self._download.copy(plan, _address_of(host), address, stream)
                self._finish(context, stream, host)
                return
        _assign(target, self._fetch(context, source, stream))

    def _fetch(self, context: Context, source: StridedMemory, stream: int) -> _Host:
        """Return a device array as a host array, after waiting for it."""
        itemsize = source.dtype.itemsize
        low, high = byte_span(source.shape, source.strides, itemsize)
        # An axis of stride zero repeats elements: one of each is enough.
        lengths = tuple(
            length if stride else 1
            for length, stride in zip(source.shape, source.strides, strict=True)
        )
        if high - low <= _MAX_SPREAD * element_count(lengths) * itemsize:
            raw = np.empty(high - low, np.uint8)
            self._download.copy(
                CopyPlan(high - low), _address_of(raw), source.address + low, stream
            )
            context.synchronize_stream(stream)
            return np.ndarray(source.shape, source.dtype, raw, -low, source.strides)
        steps = tuple(abs(stride) for stride in source.strides)
        packed = _empty_like(lengths, steps, source.dtype)
        plan = plan_copy(lengths, packed.strides, steps, itemsize)
        self._download.copy(plan, _address_of(packed), source.address + low, stream)
        context.synchronize_stream(stream)
        return np.broadcast_to(packed[_reversals(source.strides)], source.shape)

    def copy_on_device(
        self, context: Context, target: StridedMemory, source: StridedMemory, stream: int
    ) -> None:
        """Copy between device arrays of the same shape, which may overlap."""
        if 0 in target.shape:
            return
        if target.dtype == source.dtype and self._copy_boxes(context, target, source, stream):
            return
        if not _copy_by_kernel(target, source, stream):
            self.upload(context, target, self._fetch(context, source, stream), stream)

    def _copy_boxes(
        self, context: Context, target: StridedMemory, source: StridedMemory, stream: int
    ) -> bool:
        """Copy without the host; return False where that is not possible."""
        shape, itemsize = target.shape, target.dtype.itemsize
        target_address, target_strides = target.address, target.strides
        source_address, source_strides = source.address, source.strides
        for axis, stride in enumerate(target_strides):
            if stride < 0:
                target_address += (shape[axis] - 1) * stride
                source_address += (shape[axis] - 1) * source_strides[axis]
        signs = tuple(-1 if stride < 0 else 1 for stride in target_strides)
        target_strides = tuple(map(operator.mul, target_strides, signs))
        source_strides = tuple(map(operator.mul, source_strides, signs))
        plan = plan_copy(shape, target_strides, source_strides, itemsize)
        if plan.pieces > MAX_PIECES:
            return False
        if not _overlap(target, source):
            self._on_device.copy(plan, target_address, source_address, stream)
            context.pending.mark(stream)
        elif (target_address, target_strides) != (source_address, source_strides):
            between = strides_like(shape, target_strides, itemsize)
            address = context.allocate(element_count(shape) * itemsize, stream)
            try:
                first = plan_copy(shape, between, source_strides, itemsize)
                self._on_device.copy(first, address, source_address, stream)
                second = plan_copy(shape, target_strides, between, itemsize)
                self._on_device.copy(second, target_address, address, stream)
                context.pending.mark(stream)
            finally:
                context.free(address)
        return True

    def _finish(self, context: Context, stream: int, *hosts: _Host) -> None:
        if stream == DEFAULT_STREAM:
            context.synchronize_stream(stream)
            return
        context.pending.mark(stream)
        context.pending.release_kept()
        context.pending.keep(stream, *hosts)


def _copy_by_kernel(target: StridedMemory, source: StridedMemory, stream: int) -> bool:
    """Let a kernel copy, if there is one that can; return whether it does."""
    rule = ndarray.copy_rule
    if rule is None or not (isinstance(target, ndarray) and isinstance(source, ndarray)):
        return False
    return rule(target, source, stream)


def _address_of(host: _Host) -> int:
    address: int = host.__array_interface__["data"][0]
    return address


def _reversals(strides: Shape) -> tuple[slice, ...]:
    """Return the index that turns axes of negative stride around."""
    return tuple(slice(None, None, -1 if stride < 0 else 1) for stride in strides)


def _forwards(address: int, strides: Shape, host: _Host) -> tuple[int, Shape, _Host]:
    """Turn axes of negative stride around, on the device and on the host."""
    if min(strides, default=0) >= 0:
        return address, strides, host
    low = sum(
        (length - 1) * stride
        for length, stride in zip(host.shape, strides, strict=True)
        if stride < 0
    )
    return address + low, tuple(abs(stride) for stride in strides), host[_reversals(strides)]


def _empty_like(shape: Shape, strides: Shape, dtype: np.dtype[np.generic]) -> _Host:
    """Return a packed host array with its axes in the order of the strides."""
    return np.ndarray(shape, dtype, strides=strides_like(shape, strides, dtype.itemsize))


def _packed(host: _Host, strides: Shape, dtype: np.dtype[np.generic]) -> _Host:
    """Return a host array packed and converted, with its axes in the order of the strides."""
    result = _empty_like(host.shape, strides, dtype)
    _assign(result, host)
    return result


def _assign(target: _Host, source: _Host) -> None:
    # A conversion is a C cast: what does not fit gives some value, not a warning.
    with np.errstate(invalid="ignore", over="ignore"):
        np.copyto(target, source, casting="unsafe")


def _overlap(one: StridedMemory, other: StridedMemory) -> bool:
    """Return whether the bytes from the first to the last element of two arrays overlap."""
    spans = []
    for array in (one, other):
        low, high = byte_span(array.shape, array.strides, array.dtype.itemsize)
        spans.append((array.address + low, array.address + high))
    return spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]
