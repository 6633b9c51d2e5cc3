"""The GPU of this machine, on which a session runs the public tests.

It needs nothing of the simulated GPU, which needs a C compiler and the vendor's header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pygpulib.core.device import current_driver
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Iterator


class RealGpu:
    """The GPU of this machine."""

    def __init__(self) -> None:
        reason = "kernels of this process run on the processor"
        try:
            if current_driver().name == "cuda":
                return
        except NoDeviceError as error:
            reason = str(error)
        raise pytest.UsageError(
            f"--backend cuda needs a GPU that works; python -m pygpulib doctor tells more\n{reason}"
        )

    def check_test(self) -> Iterator[None]:
        """Run a test between the two parts, and wait for what it has left on the GPU."""
        yield
        current_driver().synchronize()

    def leftovers(self) -> list[str]:
        """Return nothing: a real driver does not tell."""
        return []

    def close(self) -> None:
        """Leave the GPU to the process."""
