"""A back end that does nothing and remembers what it was asked: for tests of shared code."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._record import record
from pygpulib.core.driver import DeviceProperties, HostArray, MemoryInfo
from pygpulib.core.memory import Buffer, no_ipc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pygpulib.core.driver import Executable, LaunchShape, Memory, StridedMemory
    from pygpulib.core.layout import Shape
    from pygpulib.errors import DeviceError

_DLPACK_EXTENSION_DEVICE = 12


@record(eq=True)
class Call:
    """One request to the driver.

    Attributes
    ----------
    name : str
        Name of the method.
    arguments : tuple
        Its arguments; arrays are replaced by their shapes.
    """

    name: str
    arguments: tuple[object, ...]


class NullExecutable:
    """A kernel that does nothing."""

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Do nothing."""


class NullDriver:
    """The `Driver` protocol without any effect.

    Parameters
    ----------
    device_count : int
        How many devices to report.

    Attributes
    ----------
    calls : list of Call
        What was asked, in order; questions about properties are left out.
    """

    name = "null"
    exports_cuda_interface = True

    def __init__(self, device_count: int = 1) -> None:
        self.calls: list[Call] = []
        self._device_count = device_count
        self._addresses = itertools.count(1 << 20, 1 << 20)
        self._streams = itertools.count(3)

    def _note(self, name: str, *arguments: object) -> None:
        self.calls.append(Call(name, arguments))

    def names(self) -> list[str]:
        """Return the names of the calls so far."""
        return [call.name for call in self.calls]

    def device_count(self) -> int:
        """Return the number given to the constructor."""
        return self._device_count

    def device_properties(self, ordinal: int) -> DeviceProperties:
        """Describe a device that does not exist."""
        return DeviceProperties(f"null device {ordinal}", f"NULL-{ordinal}", (9, 0), False, {})

    def launch_limits(self, ordinal: int) -> Mapping[str, int]:
        """Return no limits."""
        return self.device_properties(ordinal).attributes

    def dlpack_device(self, ordinal: int) -> tuple[int, int]:
        """Return DLPack's number for devices of no known type."""
        return (_DLPACK_EXTENSION_DEVICE, ordinal)

    def accepts_dlpack(self, device: tuple[int, int]) -> bool:
        """Return whether it is the device that this driver reports."""
        return device[0] == _DLPACK_EXTENSION_DEVICE

    def device_of_address(self, address: int) -> int:
        """Return zero."""
        return 0

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return False."""
        return False

    def memory_info(self, ordinal: int) -> MemoryInfo:
        """Return zero."""
        return MemoryInfo(0, 0)

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return an address that was not returned before."""
        self._note("allocate", size_bytes, stream)
        return next(self._addresses)

    def free(self, address: int) -> None:
        """Record the call."""
        self._note("free", address)

    def trim(self) -> None:
        """Record the call."""
        self._note("trim")

    def ipc_handle(self, address: int) -> tuple[bytes, int]:
        """Refuse: other processes do not see this one's memory."""
        raise no_ipc()

    def open_ipc(self, handle: bytes, size_bytes: int) -> Buffer:
        """Refuse: other processes do not see this one's memory."""
        raise no_ipc()

    def allocate_host(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return zeros."""
        self._note("allocate_host", size_bytes)
        return np.zeros(size_bytes, np.uint8)

    def allocate_managed(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return zeros."""
        self._note("allocate_managed", size_bytes)
        return np.zeros(size_bytes, np.uint8)

    def map_host(self, array: HostArray) -> tuple[Buffer, int]:
        """Return an address that was not returned before."""
        self._note("map_host", array.shape)
        return Buffer(self, next(self._addresses), array.nbytes, owner=array), 0

    def defer_cleanup(self) -> AbstractContextManager[None]:
        """Record the call."""
        self._note("defer_cleanup")
        return nullcontext()

    def host_view(
        self,
        memory: Memory,
        offset: int,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype[np.generic],
    ) -> None:
        """Return None: the host cannot address memory that does not exist."""
        return

    def copy_to_device(
        self, target: StridedMemory, source: NDArray[np.generic], stream: int
    ) -> None:
        """Record the call."""
        self._note("copy_to_device", target.shape, source.shape, stream)

    def copy_to_host(self, target: NDArray[np.generic], source: StridedMemory, stream: int) -> None:
        """Record the call, and fill the target with zeros."""
        self._note("copy_to_host", target.shape, source.shape, stream)
        target[...] = 0

    def copy_on_device(self, target: StridedMemory, source: StridedMemory, stream: int) -> None:
        """Record the call."""
        self._note("copy_on_device", target.shape, source.shape, stream)

    def create_stream(self) -> int:
        """Return an unused number."""
        self._note("create_stream")
        return next(self._streams)

    def destroy_stream(self, stream: int) -> None:
        """Record the call."""
        self._note("destroy_stream", stream)

    def synchronize_stream(self, stream: int) -> None:
        """Record the call."""
        self._note("synchronize_stream", stream)

    def synchronize(self) -> None:
        """Record the call."""
        self._note("synchronize")

    def add_host_function(
        self, stream: int, function: Callable[[DeviceError | None], None]
    ) -> None:
        """Record the call, and make it."""
        self._note("add_host_function", stream)
        function(None)

    def create_event(self, timing: bool) -> object:
        """Return a new object."""
        self._note("create_event", timing)
        return object()

    def record_event(self, event: object, stream: int) -> None:
        """Record the call."""
        self._note("record_event", event, stream)

    def query_event(self, event: object) -> bool:
        """Return True."""
        self._note("query_event", event)
        return True

    def synchronize_event(self, event: object) -> None:
        """Record the call."""
        self._note("synchronize_event", event)

    def wait_event(self, stream: int, event: object) -> None:
        """Record the call."""
        self._note("wait_event", stream, event)

    def elapsed_ms(self, start: object, end: object) -> float:
        """Return zero."""
        self._note("elapsed_ms", start, end)
        return 0.0

    def mark_work(self, stream: int) -> object:
        """Return a new event that stands for the stream's work."""
        event = self.create_event(False)
        self.record_event(event, stream)
        return event

    def order_after_all(self, stream: int) -> int | None:
        """Record the call and return the stream's number, None for the default stream."""
        self._note("order_after_all", stream)
        return stream or None

    def let_access(self, ordinal: int, stream: int) -> None:
        """Record the call."""
        self._note("let_access", ordinal, stream)

    def end_access(self, ordinal: int, stream: int) -> None:
        """Record the call."""
        self._note("end_access", ordinal, stream)

    def load(self, image: object) -> NullExecutable:
        """Return a kernel that does nothing."""
        self._note("load", image)
        return NullExecutable()

    def launch(
        self, executable: Executable, shape: LaunchShape, arguments_address: int, stream: int
    ) -> None:
        """Record the call."""
        self._note("launch", executable, shape, arguments_address, stream)
