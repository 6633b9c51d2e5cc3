"""The choice of what computes a library's functions on a back end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from pygpulib.core.device import current_driver
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib.core.driver import Driver

E = TypeVar("E")


class Engines(Generic[E]):
    """Engines of one library, made when first asked for.

    Parameters
    ----------
    subject : str
        What they compute, for messages.
    homes : mapping of str to str
        By name of the back end, the module whose ``create(driver)`` makes an engine.
    """

    def __init__(self, subject: str, homes: Mapping[str, str]) -> None:
        self._subject = subject
        self._homes = homes
        # Of the last call. A process has one driver, and tests one at a time.
        self._latest: tuple[Driver, E] | None = None

    def current(self) -> E:
        """Return the engine that computes where the arrays of this process are.

        Raises
        ------
        NoDeviceError
            If the back end has none.
        """
        driver = current_driver()
        latest = self._latest
        if latest is not None and latest[0] is driver:
            return latest[1]
        home = self._homes.get(driver.name)
        if home is None:
            raise NoDeviceError(
                f"there is no {self._subject} on the back end {driver.name!r}",
                help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
            )
        engine: E = import_module(home).create(driver)
        self._latest = driver, engine
        return engine
