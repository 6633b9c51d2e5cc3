"""What computes: the interface of a back end, and which one a call gets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from pygpulib.core.device import current_driver
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.array import ndarray
    from pygpulib.core.driver import Driver, HostArray
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


_HOMES = {"cpu": "pygpulib.linalg.cpu", "cuda": "pygpulib.linalg.cuda"}

# The driver of the last call and its engine. A process has one driver, and tests one at a time.
_latest: list[tuple[Driver, Engine]] = []


def current_engine() -> Engine:
    """Return the engine that computes where the arrays of this process are.

    Raises
    ------
    NoDeviceError
        If the back end has none.
    """
    driver = current_driver()
    if _latest and _latest[0][0] is driver:
        return _latest[0][1]
    home = _HOMES.get(driver.name)
    if home is None:
        raise NoDeviceError(
            f"there is no linear algebra on the back end {driver.name!r}",
            help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
        )
    engine: Engine = import_module(home).create(driver)
    _latest[:] = [(driver, engine)]
    return engine
