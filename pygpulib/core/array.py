"""The array on a device: memory, dtype, shape and strides."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pygpulib.core import transfer
from pygpulib.core.device import current_driver
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.indexing import apply_index
from pygpulib.core.layout import (
    Layout,
    as_integer,
    byte_span,
    contiguous_strides,
    element_count,
    normalize_shape,
    normalize_strides,
)
from pygpulib.core.memory import Buffer, ForeignMemory, MemoryPointer, foreign_memory
from pygpulib.core.stream import stream_handle
from pygpulib.core.views import ArrayViews
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    LayoutError,
    ShapeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike, NDArray

    from pygpulib.core.driver import HostArray
    from pygpulib.core.ipc import IpcArrayHandle
    from pygpulib.core.stream import StreamLike


class Flags(dict[str, bool]):
    """Whether an array is packed: ``flags["C_CONTIGUOUS"]`` or ``flags.c_contiguous``."""

    @property
    def c_contiguous(self) -> bool:
        """Whether the last axis varies fastest and nothing lies between elements."""
        return self["C_CONTIGUOUS"]

    @property
    def f_contiguous(self) -> bool:
        """Whether the first axis varies fastest and nothing lies between elements."""
        return self["F_CONTIGUOUS"]


class ndarray(ArrayViews):  # noqa: N801  (NumPy's name for NumPy's notion)
    """An array in the memory of a device.

    Usually made by `to_device` or `device_array`. Indexing with integers, slices, ``...`` and
    ``None`` gives views; an index of one element gives a NumPy scalar.

    Parameters
    ----------
    shape : int or tuple of int
        Length of each axis.
    strides : int or tuple of int, optional
        Bytes from one element to the next along each axis; default: packed, C order.
    dtype : dtype-like
        Type of the elements.
    stream : Stream or 0
        Where operations on the array go that name no stream.
    gpu_data : Buffer, MemoryPointer, or memory of another library, optional
        Existing memory; default: new memory with arbitrary contents. That of other libraries has
        an address as `device_pointer_value` and a length as `size`.

    Attributes
    ----------
    shape, strides : tuple of int
        Layout; strides are in bytes.
    dtype : numpy.dtype
        Type of the elements.
    ndim, size : int
        Number of axes and of elements.
    stream : Stream or 0
        Where operations on the array go that name no stream.
    buffer : Buffer
        The memory, which the array keeps alive.
    address : int
        Address of the first element.
    host_view : numpy.ndarray or None
        The same memory as a NumPy array, on back ends whose memory the host can address.
    """

    __slots__ = (
        "__weakref__",
        "address",
        "buffer",
        "dtype",
        "host_view",
        "kernel_form",
        "ndim",
        "shape",
        "size",
        "stream",
        "strides",
    )

    host_view: NDArray[np.generic] | None

    # What kernels take the array for, and the words that they are given for it; kept by whoever
    # makes them, because they never change.
    kernel_form: tuple[object, bytes] | None

    # Types are the compiler's business, which lies above this module and sets the rule.
    type_rule: ClassVar[Callable[[ndarray], object]]

    # Copies on a device that its driver has no function for: a kernel makes them, and who can
    # compile one sets the rule. It takes the target, the source and the number of the stream, and
    # returns whether it did it.
    copy_rule: ClassVar[Callable[[ndarray, ndarray, int], bool] | None] = None

    def __init__(
        self,
        shape: object,
        strides: object = None,
        dtype: DTypeLike = np.float64,
        stream: StreamLike = 0,
        gpu_data: Buffer | MemoryPointer | ForeignMemory | None = None,
    ) -> None:
        lengths, element = normalize_shape(shape), storage_dtype(dtype)
        if strides is None:
            steps = contiguous_strides(lengths, element.itemsize)
        else:
            steps = normalize_strides(strides, len(lengths))
        low, high = byte_span(lengths, steps, element.itemsize)
        buffer, offset = _find_memory(gpu_data, low, high, stream)
        self._set(buffer, Layout(lengths, steps, offset), element, stream)

    def _set(
        self, buffer: Buffer, layout: Layout, dtype: np.dtype[np.generic], stream: StreamLike
    ) -> None:
        self.buffer = buffer
        self.kernel_form = None
        self.shape = layout.shape
        self.strides = layout.strides
        self.dtype = dtype
        self.stream = stream
        self.ndim = len(layout.shape)
        self.size = element_count(layout.shape)
        # The first element of an empty array may lie past the end of the memory.
        offset = layout.offset if self.size else 0
        self.address = buffer.address + offset
        self.host_view = buffer.driver.host_view(
            buffer, offset, layout.shape, layout.strides, dtype
        )

    @classmethod
    def from_buffer(
        cls,
        buffer: Buffer,
        layout: Layout,
        dtype: np.dtype[np.generic],
        stream: StreamLike = 0,
    ) -> ndarray:
        """Return an array over existing memory, unchecked; the offset counts from its start."""
        array = cls.__new__(cls)
        array._set(buffer, layout, dtype, stream)
        return array

    def with_layout(
        self,
        layout: Layout,
        dtype: np.dtype[np.generic] | None = None,
        stream: StreamLike = 0,
    ) -> ndarray:
        """Return a view of another layout, whose offset counts from this array's first element."""
        offset = self.address - self.buffer.address + layout.offset
        return self.from_buffer(
            self.buffer,
            Layout(layout.shape, layout.strides, offset),
            dtype or self.dtype,
            stream or self.stream,
        )

    # ---------------------------------------------------------------------------- properties

    @property
    def device_ordinal(self) -> int:
        """Number of the device that the array lies on."""
        return self.buffer.ordinal

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def alloc_size(self) -> int:
        """Bytes from the first to the last byte that belongs to an element."""
        low, high = byte_span(self.shape, self.strides, self.dtype.itemsize)
        return high - low

    @property
    def gpu_data(self) -> MemoryPointer:
        """The address of the first element, as an object that keeps the memory alive."""
        return MemoryPointer(self.buffer, self.address, self.alloc_size)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address of the first element, as C functions take it."""
        return ctypes.c_void_p(self.address)

    @property
    def _numba_type_(self) -> object:
        """The type of the array in kernels, under the name that code for numba asks for it."""
        return type(self).type_rule(self)

    @property
    def flags(self) -> Flags:
        """Whether the array is packed, as in ``flags["C_CONTIGUOUS"]``."""
        return Flags(C_CONTIGUOUS=self.is_c_contiguous(), F_CONTIGUOUS=self.is_f_contiguous())

    # -------------------------------------------------------------------------------- copies

    def copy_to_host(self, ary: object = None, stream: StreamLike = 0) -> HostArray:
        """Copy the array to the host.

        Parameters
        ----------
        ary : numpy.ndarray, shape of this array, dtype of this array, optional
            Where to; any strides. Default: a new array.
        stream : Stream or 0
            The stream that copies; 0 is the array's own.

        Returns
        -------
        numpy.ndarray
            `ary`, or the new array, packed in the memory order of this one.

        Raises
        ------
        ShapeError, DTypeError
            If `ary` has another shape (axes of length one aside) or dtype.
        ArgumentTypeError, ArgumentError
            If `ary` is no NumPy array, or is read-only.

        Notes
        -----
        Without a stream the copy is done when the method returns.

        Examples
        --------
        >>> from pygpulib.core.creation import to_device
        >>> to_device([1, 2, 3])[::-1].copy_to_host()
        array([3, 2, 1])
        """
        return transfer.download(self, ary, stream or self.stream)

    def copy_to_device(self, ary: object, stream: StreamLike = 0) -> None:
        """Copy a host or device array into this one.

        Parameters
        ----------
        ary : array_like or ndarray, shape of this array, dtype of this array
            What to copy; any strides.
        stream : Stream or 0
            The stream that copies; 0 is the array's own.

        Raises
        ------
        ShapeError, DTypeError
            If `ary` has another shape (axes of length one aside) or dtype.
        """
        transfer.upload(self, ary, stream or self.stream)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> HostArray:
        """Return a host copy, for NumPy.

        Always a copy, even where the host could address the memory: a program must not see a
        later kernel change what it took for the old values. ``numpy.from_dlpack(a)`` shares.
        """
        if copy is False:
            raise ArgumentError("`copy=False` is not supported. A copy is always created.")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def item(self) -> object:
        """Return the only element as a Python object."""
        return self._scalar("item()").item()

    def tolist(self) -> object:
        """Return the elements as nested lists of Python objects."""
        return self.copy_to_host().tolist()

    def bind(self, stream: StreamLike = 0) -> ndarray:
        """Return the same array with another stream for operations that name none."""
        layout = Layout(self.shape, self.strides, self.address - self.buffer.address)
        return self.from_buffer(self.buffer, layout, self.dtype, stream)

    def get_ipc_handle(self) -> IpcArrayHandle:
        """Return what another process needs to use the array in place.

        Returns
        -------
        IpcArrayHandle
            Can be pickled; opened there, it gives the array. This array must stay alive.

        Raises
        ------
        UnsupportedFeatureError
            If kernels run on the processor.
        DeviceError
            If the memory is of a kind that CUDA does not share.
        """
        from pygpulib.core.ipc import get_ipc_handle

        return get_ipc_handle(self)

    # ------------------------------------------------------------------------------ elements

    def __getitem__(self, item: object) -> ndarray | np.generic:
        return self.getitem(item)

    def getitem(self, item: object, stream: StreamLike = 0) -> ndarray | np.generic:
        """Return ``self[item]``, with a stream for the copy of an element or for the view."""
        view, is_element = self._select(item, stream)
        return transfer.read_scalar(view) if is_element else view

    def __setitem__(self, key: object, value: object) -> None:
        self.setitem(key, value)

    def setitem(self, key: object, value: object, stream: StreamLike = 0) -> None:
        """Do ``self[key] = value`` on a stream; without one it is done at return."""
        transfer.assign(self._select(key, 0)[0], value, stream)

    def _select(self, key: object, stream: StreamLike) -> tuple[ndarray, bool]:
        """Return the view that an index selects, and whether it stands for one element."""
        if isinstance(key, str):
            return self._field(key, stream)
        layout, is_element = apply_index(self.shape, self.strides, key)
        # A record stays on the device, so that d[i]["field"] = x can write to it.
        return self.with_layout(layout, stream=stream), is_element and not self.dtype.names

    def _field(self, name: str, stream: StreamLike) -> tuple[ndarray, bool]:
        if self.dtype.fields is None or name not in self.dtype.fields:
            raise AxisError(
                f"the array has no field {name!r}",
                detail=f"its dtype is {self.dtype}",
            )
        field, offset = self.dtype.fields[name][:2]
        shape = self.shape + field.shape
        strides = self.strides + contiguous_strides(field.shape, field.base.itemsize)
        view = self.with_layout(Layout(shape, strides, offset), field.base, stream)
        return view, not shape and not field.names

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("len() of unsized object", detail="the array has no axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray | np.generic]:
        if not self.shape:
            raise ArgumentTypeError("iteration over a 0-d array")
        return (self[position] for position in range(self.shape[0]))

    def _scalar(self, asked: str) -> np.generic:
        if self.size != 1:
            raise ArgumentTypeError(
                f"{asked} was asked of an array of {self.size} elements",
                detail="only length-1 arrays can be converted to Python scalars",
            )
        return transfer.read_scalar(self)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(
                "the truth value of an array with other than one element is ambiguous",
                detail=f"the shape is {self.shape}",
            )
        return bool(transfer.read_scalar(self))

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __index__(self) -> int:
        if self.ndim:
            raise ArgumentTypeError(
                "only arrays with no axes can be used as an index",
                detail=f"the shape is {self.shape}",
            )
        return as_integer(transfer.read_scalar(self))

    def __repr__(self) -> str:
        return f"nd{self.copy_to_host()!r}"

    # ------------------------------------------------------------------------------- exchange

    def __reduce__(self) -> tuple[object, ...]:
        from pygpulib.core.creation import to_device

        return to_device, (self.copy_to_host(),)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The memory for other libraries, in the protocol of libraries for GPUs.

        Arrays of the CPU back end have it where no driver of CUDA is installed: elsewhere a
        library could take their addresses for those of a GPU.
        """
        from pygpulib.core.cuda_interface import export_interface

        return export_interface(self)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Hand the memory to another library without a copy, as a DLPack capsule.

        Its `stream` waits for all work on the array so far; the host does not wait.
        """
        from pygpulib.core.interop import export_dlpack

        options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        return export_dlpack(self, stream, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's name of the device: its type and its number."""
        return self.buffer.driver.dlpack_device(self.buffer.ordinal)


def _find_memory(
    gpu_data: Buffer | MemoryPointer | ForeignMemory | None, low: int, high: int, stream: StreamLike
) -> tuple[Buffer, int]:
    """Return memory for a new array, and where in it the first element lies.

    The elements take the bytes from `low` to `high`, counted from the first one.
    """
    if gpu_data is None:
        return Buffer.allocate(current_driver(), high - low, stream_handle(stream)), -low
    if isinstance(gpu_data, Buffer):
        buffer, offset = gpu_data, -low
    elif isinstance(gpu_data, MemoryPointer):
        buffer, offset = gpu_data.buffer, gpu_data.address - gpu_data.buffer.address
    else:
        buffer, offset = foreign_memory(current_driver(), gpu_data), 0
    if offset + low < 0 or offset + high > buffer.size_bytes:
        raise LayoutError(
            "the argument gpu_data is too small for the array",
            detail=f"expected {high - low} bytes, got {buffer.size_bytes} bytes",
        )
    return buffer, offset
