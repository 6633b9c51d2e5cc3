"""The back end on this machine's processor.

Everything a stream is given is done at once, in the order it is given: that satisfies every
ordering rule of streams and events, and leaves nothing to wait for.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._config import config
from pygpulib.core.driver import DeviceProperties, HostArray, MemoryInfo
from pygpulib.core.layout import byte_span
from pygpulib.core.memory import Buffer, no_ipc
from pygpulib.core.pool import HostPool
from pygpulib.core.processor import LAUNCH_LIMITS, host_memory, processor_properties
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pygpulib.core.driver import Executable, HostImage, LaunchShape, Memory, StridedMemory
    from pygpulib.core.layout import Shape
    from pygpulib.errors import DeviceError

_DLPACK_CPU = 1
# The host's memory, the same pinned for CUDA, and memory that CUDA moves to whoever uses it.
_DLPACK_HOST_KINDS = (_DLPACK_CPU, 3, 13)
# Kinds of dtypes that Python's buffers have.
_NUMBERS = frozenset("biufc")


@cache
def cuda_driver_is_installed() -> bool:
    """Return whether a library of this process could use a GPU through CUDA."""
    import ctypes

    try:
        ctypes.CDLL(config.cuda_library)
    except OSError:
        return False
    return True


class CpuEvent:
    """When an event was last recorded."""

    __slots__ = ("recorded_ns", "timing")

    def __init__(self, timing: bool) -> None:
        self.timing = timing
        self.recorded_ns = 0


class CpuDriver:
    """The `Driver` protocol over host memory."""

    name = "cpu"

    def __init__(self) -> None:
        # Enough to reuse the arrays of a working set, and no burden for the machine.
        self.pool = HostPool(cap_bytes=host_memory().total // 8)
        # CUDA's implicit streams are 0, 1 and 2.
        self._streams = itertools.count(3)

    def device_count(self) -> int:
        """Return the number of devices: one."""
        return 1

    def device_properties(self, ordinal: int) -> DeviceProperties:
        """Describe the processor."""
        return processor_properties()

    def launch_limits(self, ordinal: int) -> Mapping[str, int]:
        """Return the limits of current GPUs."""
        return LAUNCH_LIMITS

    def dlpack_device(self, ordinal: int) -> tuple[int, int]:
        """Return DLPack's name of the host."""
        return (_DLPACK_CPU, 0)

    def accepts_dlpack(self, device: tuple[int, int]) -> bool:
        """Return whether the host can address the memory of a device."""
        return device[0] in _DLPACK_HOST_KINDS

    def device_of_address(self, address: int) -> int:
        """Return the number of the only device."""
        return 0

    @property
    def exports_cuda_interface(self) -> bool:
        """Whether no library of this process can have memory of a GPU.

        Without CUDA's driver every address is one of the host's, so that nobody can take one for
        the other.
        """
        return not cuda_driver_is_installed()

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return False: there is no other device."""
        return False

    def memory_info(self, ordinal: int) -> MemoryInfo:
        """Return available and total memory of the machine."""
        return host_memory()

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of new memory."""
        return self.pool.allocate(size_bytes)

    def free(self, address: int) -> None:
        """Give memory back."""
        self.pool.free(address)

    def trim(self) -> None:
        """Return cached memory to the system."""
        self.pool.trim()

    def ipc_handle(self, address: int) -> tuple[bytes, int]:
        """Refuse: other processes do not see this one's memory."""
        raise no_ipc()

    def open_ipc(self, handle: bytes, size_bytes: int) -> Buffer:
        """Refuse: other processes do not see this one's memory."""
        raise no_ipc()

    def allocate_host(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return new memory: the device addresses all of it."""
        return np.asarray(Buffer.allocate(self, size_bytes))

    def allocate_managed(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return new memory: it has nowhere to move to."""
        return self.allocate_host(size_bytes)

    def map_host(self, array: HostArray) -> tuple[Buffer, int]:
        """Return the memory of a host array; the buffer keeps the array alive."""
        flags = array.flags
        if flags.c_contiguous and flags.writeable and array.dtype.kind in _NUMBERS and array.size:
            # In half the time.
            address = ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
            return Buffer(self, address, array.nbytes, owner=array), 0
        low, high = byte_span(array.shape, array.strides, array.itemsize)
        address = array.__array_interface__["data"][0] + low
        return Buffer(self, address, high - low, owner=array, is_readonly=not flags.writeable), -low

    def defer_cleanup(self) -> AbstractContextManager[None]:
        """Return a context that does nothing: freeing never waits here."""
        return nullcontext()

    def host_view(
        self,
        memory: Memory,
        offset: int,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype[np.generic],
    ) -> HostArray:
        """Return device memory, which is host memory, as a NumPy array that keeps it alive."""
        owner = getattr(memory, "owner", None)
        if (
            owner.__class__ is np.ndarray
            and owner.shape == shape
            and owner.strides == strides
            and owner.dtype == dtype
        ):
            return owner.view()  # all of it: much quicker than what follows
        return np.ndarray(shape, dtype, np.asarray(memory), offset, strides)

    def copy_to_device(
        self,
        target: StridedMemory,
        source: NDArray[np.generic],
        stream: int,
    ) -> None:
        """Copy a host array into an array."""
        _copy(_view_of(target), source)

    def copy_to_host(
        self,
        target: NDArray[np.generic],
        source: StridedMemory,
        stream: int,
    ) -> None:
        """Copy an array into a host array."""
        _copy(target, _view_of(source))

    def copy_on_device(
        self,
        target: StridedMemory,
        source: StridedMemory,
        stream: int,
    ) -> None:
        """Copy between two arrays, which may overlap."""
        _copy(_view_of(target), _view_of(source))

    def create_stream(self) -> int:
        """Return an unused number."""
        return next(self._streams)

    def destroy_stream(self, stream: int) -> None:
        """Do nothing: a stream holds nothing."""

    def synchronize_stream(self, stream: int) -> None:
        """Return at once: all work is done."""

    def synchronize(self) -> None:
        """Return at once: all work is done."""

    def add_host_function(
        self,
        stream: int,
        function: Callable[[DeviceError | None], None],
    ) -> None:
        """Call the function now: all earlier work is done."""
        function(None)

    def create_event(self, timing: bool) -> CpuEvent:
        """Return a new event."""
        return CpuEvent(timing)

    def record_event(self, event: object, stream: int) -> None:
        """Note the time."""
        _event_of(event).recorded_ns = time.perf_counter_ns()

    def query_event(self, event: object) -> bool:
        """Return True: all work is done."""
        return True

    def synchronize_event(self, event: object) -> None:
        """Return at once: all work is done."""

    def wait_event(self, stream: int, event: object) -> None:
        """Do nothing: what the event stands for is done."""

    def elapsed_ms(self, start: object, end: object) -> float:
        """Return the time between the two records."""
        return (_event_of(end).recorded_ns - _event_of(start).recorded_ns) / 1e6

    def mark_work(self, stream: int) -> None:
        """Return None: all work is done."""
        return

    def order_after_all(self, stream: int) -> int | None:
        """Return the stream's number, None for the default stream: all work is done."""
        return stream or None

    def let_access(self, ordinal: int, stream: int) -> None:
        """Do nothing: there is no other device."""

    def end_access(self, ordinal: int, stream: int) -> None:
        """Do nothing: there is no other device."""

    def load(self, image: object) -> Executable:
        """Make machine code executable."""
        loadable: HostImage = image  # type: ignore[assignment]
        return loadable.load()

    def launch(
        self,
        executable: Executable,
        shape: LaunchShape,
        arguments_address: int,
        stream: int,
    ) -> None:
        """Run a kernel."""
        executable.run(shape, arguments_address)


def _view_of(memory: StridedMemory) -> NDArray[np.generic]:
    view = memory.host_view
    if view is None:
        raise ArgumentTypeError(
            "an array of another back end reached the CPU back end",
            help="copy it to the host first, with copy_to_host()",
        )
    return view


def _event_of(event: object) -> CpuEvent:
    if not isinstance(event, CpuEvent):
        raise ArgumentTypeError("an event of another back end reached the CPU back end")
    return event


def _copy(target: NDArray[np.generic], source: NDArray[np.generic]) -> None:
    if target.dtype == source.dtype:
        np.copyto(target, source)
        return
    # A conversion is a C cast: what does not fit gives some value, not a warning.
    with np.errstate(invalid="ignore", over="ignore"):
        np.copyto(target, source, casting="unsafe")
