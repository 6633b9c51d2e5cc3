"""The GPU of this machine, on which a session runs the public tests.

It needs nothing of the simulated GPU, which needs a C compiler and the vendor's header.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.selection import choose_driver
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Iterator


class RealGpu:
    """The GPU of this machine."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        try:
            if current_driver().name != "cuda":
                self._stack.enter_context(use_driver(choose_driver("cuda")))
        except NoDeviceError as error:
            raise pytest.UsageError(
                "--backend cuda needs a GPU that works; "
                f"python -m pygpulib doctor tells more\n{error}"
            ) from error
        os.environ["PYGPULIB_BACKEND"] = "cuda"  # of processes that tests start

    def check_test(self) -> Iterator[None]:
        """Run a test between the two parts, and wait for what it has left on the GPU."""
        yield
        current_driver().synchronize()

    def leftovers(self) -> list[str]:
        """Return nothing: a real driver does not tell."""
        return []

    def close(self) -> None:
        """Put the back end back that was in use before."""
        self._stack.close()
