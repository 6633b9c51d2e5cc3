"""What computes: the interface of a back end, and which one a call gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pygpulib.core.engines import Engines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.array import ndarray
    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.table import Function


class Engine(Protocol):
    """A back end of the library."""

    def find(self, function: Function) -> Callable[..., Any] | None:
        """Return what does a function on device arrays, None if the host has to.

        It is called with the stream and the function's arguments, in which every array on a
        device is one of this package. It returns `NotImplemented` for arguments that it does not
        take, without having changed anything.
        """
        ...

    def announce(self, function: Function) -> None:
        """Tell that the host does a function, if that is worth telling."""
        ...

    def to_host(self, array: ndarray, stream: StreamLike) -> HostArray:
        """Return an array as one of NumPy that can be read at once."""
        ...

    def to_device(self, array: HostArray, stream: StreamLike) -> ndarray:
        """Return what the host computed as an array on the device."""
        ...

    def write_back(self, copy: HostArray, array: ndarray, stream: StreamLike) -> None:
        """Bring what the host wrote to what `to_host` returned to the device."""
        ...


_ENGINES: Engines[Engine] = Engines(
    "linear algebra", {"cpu": "pygpulib.linalg.cpu", "cuda": "pygpulib.linalg.cuda"}
)

current_engine = _ENGINES.current
