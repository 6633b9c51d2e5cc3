"""Device memory from other libraries, by the classes that numba's plug-ins are made of.

A plug-in is a class whose objects allocate the memory of one device. Here it gives device memory
only: memory of the host is always this package's. What it gives is given back to it when all work
that was queued before is done, so that plug-ins need not know of streams.
"""

from __future__ import annotations

import ctypes
import weakref
from abc import ABC, abstractmethod
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pygpulib._config import config
from pygpulib.core.device import current_driver
from pygpulib.core.driver import MemoryInfo
from pygpulib.errors import MemoryManagerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pygpulib.core.ipc import IpcHandle

INTERFACE_VERSION = 1
_MODULE_NAME = "_numba_memory_manager"


class MemoryPointer:
    """Device memory that a plug-in gives, until this object dies.

    Parameters
    ----------
    context : object
        The context that the plug-in was made for.
    pointer : int or ctypes pointer
        The address.
    size : int
        Bytes.
    owner : object, optional
        Kept alive as long as the pointer.
    finalizer : callable, optional
        Called without arguments when nobody uses the memory any more.
    """

    __cuda_memory__ = True

    def __init__(
        self,
        context: object,
        pointer: Any,  # noqa: ANN401
        size: int,
        owner: object = None,
        finalizer: Callable[[], object] | None = None,
    ) -> None:
        self.context = context
        self.device_pointer = pointer
        self.handle = pointer
        self.size = size
        self.is_managed = finalizer is not None
        self._owner = owner
        self._finalizer = None if finalizer is None else weakref.finalize(self, finalizer)

    @property
    def owner(self) -> object:
        """What the memory belongs to."""
        return self if self._owner is None else self._owner

    @property
    def device_pointer_value(self) -> int:
        """The address."""
        value = self.device_pointer
        return int(getattr(value, "value", value) or 0)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address as a ctypes pointer."""
        return ctypes.c_void_p(self.device_pointer_value)

    def __int__(self) -> int:
        return self.device_pointer_value

    def free(self) -> None:
        """Give the memory back now."""
        if self._finalizer is not None:
            self._finalizer()


class BaseCUDAMemoryManager(ABC):
    """What a plug-in derives from.

    Parameters
    ----------
    context : object
        The device that it is for, with its `device`.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:  # noqa: ARG002
        if "context" not in kwargs:
            raise MemoryManagerError("Memory manager requires a context")
        self.context = kwargs["context"]

    @abstractmethod
    def memalloc(self, size: int) -> MemoryPointer:
        """Return new device memory."""

    @abstractmethod
    def memhostalloc(self, size: int, mapped: bool, portable: bool, wc: bool) -> object:
        """Return new pinned memory of the host; this package does not ask for it."""

    @abstractmethod
    def mempin(self, owner: object, pointer: int, size: int, mapped: bool) -> object:
        """Pin memory of the host; this package does not ask for it."""

    @abstractmethod
    def initialize(self) -> None:
        """Get ready; called once, with the device current."""

    @abstractmethod
    def get_ipc_handle(self, memory: MemoryPointer) -> IpcHandle:
        """Return what another process needs to open memory."""

    @abstractmethod
    def get_memory_info(self) -> MemoryInfo:
        """Return free and total memory in bytes, or raise NotImplementedError."""

    @abstractmethod
    def reset(self) -> None:
        """Give back everything."""

    @abstractmethod
    def defer_cleanup(self) -> AbstractContextManager[object]:
        """Return a context in which nothing is given back."""

    @property
    @abstractmethod
    def interface_version(self) -> int:
        """The version of this interface: 1."""


class Deallocations:
    """What waits to be given back; this package keeps nothing here."""

    def clear(self) -> None:
        """Do nothing."""

    @contextmanager
    def disable(self) -> Iterator[None]:
        """Return a context without effect."""
        yield


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """What a plug-in derives from that cares for device memory only.

    Attributes
    ----------
    allocations : dict
        For the plug-in's own use.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict[object, object] = {}
        self.deallocations = Deallocations()

    def memhostalloc(
        self,
        size: int,
        mapped: bool = False,  # noqa: ARG002
        portable: bool = False,  # noqa: ARG002
        wc: bool = False,  # noqa: ARG002
    ) -> object:
        """Return new pinned memory as a NumPy array of bytes."""
        return current_driver().allocate_host(size)

    def mempin(
        self,
        owner: object,
        pointer: int,
        size: int,
        mapped: bool = False,  # noqa: ARG002
    ) -> object:
        """Return memory of the host, pinned as long as the result lives."""
        import numpy as np

        memory = (ctypes.c_ubyte * size).from_address(pointer)
        memory.owner = owner  # type: ignore[attr-defined]
        return current_driver().map_host(np.asarray(memory))[0]

    def reset(self) -> None:
        """Forget all allocations."""
        self.allocations.clear()
        self.deallocations.clear()

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Return a context in which nothing is given back."""
        with self.deallocations.disable():
            yield


class GetIpcHandleMixin:
    """Shares memory of ``cuMemAlloc`` with other processes."""

    def get_ipc_handle(self, memory: MemoryPointer) -> IpcHandle:
        """Return what another process needs to open memory."""
        from pygpulib.core.ipc import IpcHandle

        handle, offset = current_driver().ipc_handle(memory.device_pointer_value)
        return IpcHandle(handle, memory.size, offset)


Plugin = Any
"""A class like `BaseCUDAMemoryManager`; those of numba's own base classes are taken, too."""

_registered: list[Plugin] = []


def set_memory_manager(mm_plugin: Plugin) -> None:
    """Let a plug-in allocate the device memory of all arrays from now on.

    Parameters
    ----------
    mm_plugin : type
        The plug-in; derives from `BaseCUDAMemoryManager`.

    Raises
    ------
    MemoryManagerError
        If it is for another version of the interface.

    Notes
    -----
    Arrays that exist keep their memory. Where kernels run on the processor, arrays lie in the
    memory of the host, and the plug-in is not asked for any.
    """
    version = mm_plugin(context=None).interface_version
    if version != INTERFACE_VERSION:
        raise MemoryManagerError(
            f"the memory manager {mm_plugin.__name__} is for version {version} of the interface",
            detail=f"EMM Plugin interface has version {version} - version {INTERFACE_VERSION} "
            "required",
            help="install a version of its library that goes with this one",
        )
    _registered[:] = [mm_plugin]


def find_plugin() -> Plugin | None:
    """Return the plug-in that allocates device memory, None if there is none."""
    if not _registered:
        name = config.cuda_memory_manager
        if name in ("", "default"):
            return None
        _registered.append(_import_plugin(name))
    return _registered[0]


def _import_plugin(name: str) -> Plugin:
    try:
        plugin = getattr(import_module(name), _MODULE_NAME)
    except (ImportError, AttributeError) as cause:
        raise MemoryManagerError(
            f"the memory manager {name!r} cannot be used",
            detail=f"PYGPULIB_CUDA_MEMORY_MANAGER names it; {cause}",
            help=f"name a module that has {_MODULE_NAME}, or unset the variable",
        ) from cause
    set_memory_manager(plugin)
    return _registered.pop()
