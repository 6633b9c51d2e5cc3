"""Host arrays whose memory kernels use in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.device import current_driver
from pygpulib.core.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike


class MappedArray(np.ndarray[Any, Any]):
    """A NumPy array in memory that the device addresses, too.

    Made by `mapped_array` and `managed_array`. Views of it are such arrays as well; copies and
    results of arithmetic are ordinary ones.

    Attributes
    ----------
    memory : numpy.ndarray or None
        All of the memory that the driver gave; None if the elements lie somewhere else.
    stream : Stream or 0
        The stream that other libraries have to wait for.
    """

    memory: NDArray[np.uint8] | None
    stream: StreamLike

    @classmethod
    def over(
        cls, memory: NDArray[np.uint8], elements: HostArray, stream: StreamLike
    ) -> MappedArray:
        """Return a view of elements that lie in memory which the driver gave."""
        result = elements.view(cls)
        result.memory, result.stream = memory, stream
        return result

    def __array_finalize__(self, obj: object) -> None:
        memory = getattr(obj, "memory", None)
        self.memory = memory if memory is not None and self._lies_in(memory) else None
        self.stream = getattr(obj, "stream", 0)

    def _lies_in(self, memory: NDArray[np.uint8]) -> bool:
        start: int = memory.__array_interface__["data"][0]
        address: int = self.__array_interface__["data"][0]
        return start <= address <= start + memory.nbytes

    def __array_wrap__(
        self,
        array: np.ndarray[Any, Any],
        context: object = None,
        return_scalar: bool = False,
    ) -> Any:  # noqa: ANN401
        """Return a result of NumPy's as it would be for ordinary arrays."""
        if array is self:
            return array
        return array[()] if return_scalar else array.view(np.ndarray)

    @property
    def is_mapped(self) -> bool:
        """Whether the device addresses the elements: not so in copies."""
        return self.memory is not None

    def as_device_array(self) -> ndarray:
        """Return a device array over the same memory."""
        buffer, offset = current_driver().map_host(self)
        layout = Layout(self.shape, self.strides, offset)
        return ndarray.from_buffer(buffer, layout, self.dtype, self.stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The memory for other libraries, in the protocol of libraries for GPUs."""
        if not self.is_mapped:
            raise AttributeError("the array is a copy, in memory that the device does not address")
        return self.as_device_array().__cuda_array_interface__
