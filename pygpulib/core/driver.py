"""What a back end provides to run things: memory, copies, streams, events and launches.

Shared code asks a `Driver` and never which back end it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from pygpulib._record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pygpulib.core.layout import Shape
    from pygpulib.core.memory import Buffer
    from pygpulib.errors import DeviceError

HostArray = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

# CUDA's numbers of the two implicit streams; 0 is whichever of them the driver defaults to.
DEFAULT_STREAM = 0
LEGACY_DEFAULT_STREAM = 1
PER_THREAD_DEFAULT_STREAM = 2


@record(eq=True)
class LaunchShape:
    """How many threads a kernel runs in.

    Attributes
    ----------
    grid : tuple of int
        Blocks along x, y and z.
    block : tuple of int
        Threads of one block along x, y and z.
    shared_bytes : int
        Dynamic shared memory of one block.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


class Executable(Protocol):
    """A kernel that is ready to run."""

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Run every thread of the grid; `arguments_address` points to the packed arguments."""
        ...


class HostImage(Protocol):
    """Machine code for this processor that a host driver can make executable."""

    def load(self) -> Executable:
        """Make the code executable."""
        ...


class MemoryInfo(NamedTuple):
    """Memory of a device in bytes."""

    free: int
    total: int


SMALL_FLOATS = frozenset({"bfloat16", "float8"})
"""What a back end offers that compiles the small floats of `pygpulib.core.dtypes`."""


@record(eq=True)
class DeviceProperties:
    """What is known of a device.

    Attributes
    ----------
    name : str
        The product's name.
    uuid : str
        An identifier in CUDA's form that stays the same between processes.
    compute_capability : tuple of int
        Which generation of CUDA hardware the device behaves like.
    is_cpu : bool
        Whether the device is the host processor.
    attributes : mapping
        Limits and features under CUDA's names without their ``CU_DEVICE_ATTRIBUTE_``.
    extra_dtypes : frozenset of str
        Element types that kernels can use beyond those that NumPy has: some of `SMALL_FLOATS`.
    """

    name: str
    uuid: str
    compute_capability: tuple[int, int]
    is_cpu: bool
    attributes: Mapping[str, int]
    extra_dtypes: frozenset[str] = frozenset()


class StridedMemory(Protocol):
    """An array as a driver sees it: an address and a layout."""

    @property
    def address(self) -> int:
        """Address of the first element, in the device's address space."""
        ...

    @property
    def device_ordinal(self) -> int:
        """Number of the device."""
        ...

    @property
    def shape(self) -> Shape:
        """Length of each axis."""
        ...

    @property
    def strides(self) -> Shape:
        """Bytes from one element to the next along each axis."""
        ...

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Element type."""
        ...

    @property
    def host_view(self) -> NDArray[np.generic] | None:
        """The same memory as a NumPy array, where the host can address it."""
        ...


class Memory(Protocol):
    """A contiguous piece of device memory."""

    @property
    def address(self) -> int:
        """Address of the first byte."""
        ...

    @property
    def size_bytes(self) -> int:
        """Length."""
        ...

    @property
    def is_readonly(self) -> bool:
        """Whether nobody may write to it."""
        ...


class Driver(Protocol):
    """A back end at run time.

    Streams are named by integers, with CUDA's numbers for the implicit ones. Events are objects
    that only the driver that made them understands. A copy may convert between dtypes, with the
    meaning of a C cast, and takes any strides on both sides.
    """

    @property
    def name(self) -> str:
        """Name of the back end, for example ``"cpu"``."""
        ...

    def device_count(self) -> int:
        """Return the number of devices."""
        ...

    def device_properties(self, ordinal: int) -> DeviceProperties:
        """Describe a device."""
        ...

    def launch_limits(self, ordinal: int) -> Mapping[str, int]:
        """Return those attributes of a device that limit the sizes of a launch.

        Every process asks for them, and for the rest few.
        """
        ...

    def dlpack_device(self, ordinal: int) -> tuple[int, int]:
        """Return DLPack's device type and number of a device."""
        ...

    def accepts_dlpack(self, device: tuple[int, int]) -> bool:
        """Return whether kernels can use memory on a device that DLPack names so."""
        ...

    def device_of_address(self, address: int) -> int:
        """Return the number of the device whose memory an address of another library is in."""
        ...

    @property
    def exports_cuda_interface(self) -> bool:
        """Whether addresses may go to other libraries, and come from them, as CUDA's."""
        ...

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return whether kernels of a device can use another device's memory in place."""
        ...

    def memory_info(self, ordinal: int) -> MemoryInfo:
        """Return free and total memory of a device."""
        ...

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of new memory, aligned to at least 64 bytes."""
        ...

    def free(self, address: int) -> None:
        """Give memory back; safe to call from a finalizer in any thread."""
        ...

    def trim(self) -> None:
        """Return cached memory to the system."""
        ...

    def ipc_handle(self, address: int) -> tuple[bytes, int]:
        """Return the name of device memory for other processes, and where in it an address is."""
        ...

    def open_ipc(self, handle: bytes, size_bytes: int) -> Buffer:
        """Return device memory of another process."""
        ...

    def allocate_host(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return host memory, aligned to at least 64 bytes, that the device can address too."""
        ...

    def allocate_managed(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return memory that moves to whoever uses it, aligned to at least 64 bytes."""
        ...

    def map_host(self, array: HostArray) -> tuple[Buffer, int]:
        """Return an existing host array as device memory, and the offset of its first element."""
        ...

    def defer_cleanup(self) -> AbstractContextManager[None]:
        """Return a context in which freeing memory never waits for the device."""
        ...

    def host_view(
        self,
        memory: Memory,
        offset: int,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype[np.generic],
    ) -> HostArray | None:
        """Return device memory as a NumPy array, or None where the host cannot address it."""
        ...

    def copy_to_device(
        self, target: StridedMemory, source: NDArray[np.generic], stream: int
    ) -> None:
        """Copy a host array into an array of the same shape."""
        ...

    def copy_to_host(self, target: NDArray[np.generic], source: StridedMemory, stream: int) -> None:
        """Copy an array into a host array of the same shape."""
        ...

    def copy_on_device(self, target: StridedMemory, source: StridedMemory, stream: int) -> None:
        """Copy between two arrays of the same shape."""
        ...

    def create_stream(self) -> int:
        """Return the number of a new stream."""
        ...

    def destroy_stream(self, stream: int) -> None:
        """Drop a stream once its work is done; safe to call from a finalizer."""
        ...

    def synchronize_stream(self, stream: int) -> None:
        """Wait until all work of a stream is done."""
        ...

    def synchronize(self) -> None:
        """Wait until all work of the device is done."""
        ...

    def add_host_function(
        self, stream: int, function: Callable[[DeviceError | None], None]
    ) -> None:
        """Call a function that does not raise once the stream's work so far is done.

        It is told the error if the device failed at the work.
        """
        ...

    def create_event(self, timing: bool) -> object:
        """Return a new event."""
        ...

    def record_event(self, event: object, stream: int) -> None:
        """Make an event stand for the stream's work so far."""
        ...

    def query_event(self, event: object) -> bool:
        """Return whether the work that an event stands for is done."""
        ...

    def synchronize_event(self, event: object) -> None:
        """Wait for the work that an event stands for."""
        ...

    def wait_event(self, stream: int, event: object) -> None:
        """Let later work of a stream wait for an event."""
        ...

    def elapsed_ms(self, start: object, end: object) -> float:
        """Return the time between two events, in milliseconds."""
        ...

    def mark_work(self, stream: int) -> object | None:
        """Return an event for the stream's work so far, None where nothing is ever waiting."""
        ...

    def order_after_all(self, stream: int) -> int | None:
        """Let later work of a stream wait for all work of the device that was queued so far.

        Returns the stream's number in protocols of other libraries, None if they need not wait.
        """
        ...

    def let_access(self, ordinal: int, stream: int) -> None:
        """Let work of a stream use another device's memory, after what is queued there so far."""
        ...

    def end_access(self, ordinal: int, stream: int) -> None:
        """Let another device's later work wait for the work of a stream so far."""
        ...

    def load(self, image: object) -> Executable:
        """Make compiled code executable."""
        ...

    def launch(
        self, executable: Executable, shape: LaunchShape, arguments_address: int, stream: int
    ) -> None:
        """Run a kernel after the stream's work so far."""
        ...
