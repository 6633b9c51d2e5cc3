"""Owners of device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pygpulib.core.device import selected_ordinal
from pygpulib.core.driver import DEFAULT_STREAM, LEGACY_DEFAULT_STREAM
from pygpulib.core.ordering import note_work
from pygpulib.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    import ctypes

    from pygpulib.core.driver import Driver
    from pygpulib.core.ordering import Readiness

# What is queued on these, other streams wait for without being told.
_DEFAULT_STREAMS = (DEFAULT_STREAM, LEGACY_DEFAULT_STREAM)


class Buffer:
    """A contiguous piece of device memory that lives as long as this object.

    Parameters
    ----------
    driver : Driver
        Whose memory it is.
    address : int
        First byte.
    size_bytes : int
        Length.
    owner : object, optional
        Kept alive as long as this buffer; None where the buffer itself owns the memory and
        gives it back to the driver when it dies.
    is_readonly : bool
        Whether nobody may write to it.
    ordinal : int, optional
        Number of the device whose memory it is; default: the calling thread's device.

    Attributes
    ----------
    readiness : Readiness or None
        What streams have to wait for before they use the memory; None if for nothing.
    """

    __slots__ = (
        "__weakref__",
        "_free",
        "address",
        "driver",
        "is_readonly",
        "ordinal",
        "owner",
        "readiness",
        "size_bytes",
    )

    def __init__(
        self,
        driver: Driver,
        address: int,
        size_bytes: int,
        *,
        owner: object = None,
        is_readonly: bool = False,
        ordinal: int | None = None,
    ) -> None:
        self.driver = driver
        self.ordinal = selected_ordinal() if ordinal is None else ordinal
        self.readiness: Readiness | None = None
        self.address = address
        self.size_bytes = size_bytes
        self.owner = owner
        self.is_readonly = is_readonly
        # Bound here, so that the finalizer needs no global name: at interpreter exit those
        # may be gone.
        self._free = driver.free if owner is None else None

    @classmethod
    def allocate(cls, driver: Driver, size_bytes: int, stream: int = 0) -> Buffer:
        """Return new memory with arbitrary contents, aligned to at least 64 bytes."""
        buffer = cls(driver, driver.allocate(size_bytes, stream), size_bytes)
        if stream not in _DEFAULT_STREAMS:
            note_work(buffer, stream)
        return buffer

    @property
    def __array_interface__(self) -> dict[str, object]:
        """The bytes, for NumPy; only drivers of host memory may ask for it.

        An array that NumPy makes from this keeps the buffer alive.
        """
        return {
            "version": 3,
            "typestr": "|u1",
            "shape": (self.size_bytes,),
            "data": (self.address, self.is_readonly),
        }

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None:
            free(self.address)

    def __repr__(self) -> str:
        return f"<Buffer of {self.size_bytes} bytes at 0x{self.address:x}>"


class ForeignMemory(Protocol):
    """Memory of another library, under the names that numba gives its parts."""

    @property
    def device_pointer_value(self) -> int:
        """Address of the first byte."""
        ...

    @property
    def size(self) -> int:
        """Length in bytes."""
        ...


def foreign_memory(driver: Driver, memory: ForeignMemory) -> Buffer:
    """Return another library's memory as a buffer, which keeps it alive."""
    address = memory.device_pointer_value
    ordinal = driver.device_of_address(address)
    return Buffer(driver, address, memory.size, owner=memory, ordinal=ordinal)


def no_ipc() -> UnsupportedFeatureError:
    """Return the error for memory that other processes cannot open."""
    return UnsupportedFeatureError(
        "device arrays are shared with other processes on GPUs only",
        help="where kernels run on the processor, put a NumPy array in a block of "
        "multiprocessing.shared_memory, and give that to kernels of both processes",
    )


class MemoryPointer:
    """The address of an array's first element, as `ndarray.gpu_data` gives it.

    Parameters
    ----------
    buffer : Buffer
        The memory; kept alive.
    address : int
        The address.
    size_bytes : int
        Bytes of the array.
    """

    __slots__ = ("address", "buffer", "size")

    def __init__(self, buffer: Buffer, address: int, size_bytes: int) -> None:
        self.buffer = buffer
        self.address = address
        self.size = size_bytes

    @property
    def device_pointer(self) -> int:
        """The address."""
        return self.address

    @property
    def device_pointer_value(self) -> int:
        """The address."""
        return self.address

    @property
    def handle(self) -> int:
        """The address."""
        return self.address

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address as a ctypes pointer."""
        import ctypes

        return ctypes.c_void_p(self.address)

    def __int__(self) -> int:
        return self.address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryPointer) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __repr__(self) -> str:
        return f"<MemoryPointer 0x{self.address:x}, {self.size} bytes>"
