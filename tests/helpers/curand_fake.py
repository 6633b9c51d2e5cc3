"""The vendor's library of random numbers on the fake driver.

Its generators for the host write to any memory of the process, and the fake driver's device memory
is some, so they stand in for those of a GPU, which need one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._bindings import curand
from pygpulib._bindings.library import Library

if TYPE_CHECKING:
    import pytest


class FakeCurand(Library):
    """The library, with generators of the host for those of GPUs.

    Attributes
    ----------
    streams : list of int
        The streams that generators were told to use.
    """

    def __init__(self) -> None:
        real = curand.find_curand()
        assert real is not None, "install nvidia-curand, which the tests need"
        super().__init__("cuRAND", real._handle, curand.FUNCTIONS, curand.check_status, "fake")
        self.streams: list[int] = []
        # Attributes of the object come before the functions of the table.
        self.curandCreateGenerator = self.curandCreateGeneratorHost
        self.curandSetStream = self._set_stream

    def _set_stream(self, _generator: object, stream: int) -> int:
        self.streams.append(stream)
        return 0


def replace_curand(monkeypatch: pytest.MonkeyPatch) -> FakeCurand:
    """Make the package use the fake library."""
    fake = FakeCurand()
    monkeypatch.setattr(curand, "find_curand", lambda: fake)
    return fake
