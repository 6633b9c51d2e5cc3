"""The vendor's library of random numbers on the fake driver.

Its generators for the host need no GPU and have the numbers of those for GPUs. They make numbers
when they are asked, and the numbers are copied to the fake driver's device memory in the order of
the generator's stream.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings import curand
from pygpulib._bindings.library import Library
from tests.fakecuda.driver.fake import without_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from tests.fakecuda.driver import FakeCuda

ITEM_SIZES = {
    "curandGenerate": 4,
    "curandGenerateLongLong": 8,
    "curandGenerateUniform": 4,
    "curandGenerateUniformDouble": 8,
    "curandGenerateNormal": 4,
    "curandGenerateNormalDouble": 8,
    "curandGenerateLogNormal": 4,
    "curandGenerateLogNormalDouble": 8,
    "curandGeneratePoisson": 4,
}


class FakeCurand(Library):
    """The library, with generators of the host for those of GPUs.

    Attributes
    ----------
    streams : list of int
        The streams that generators were told to use.
    """

    def __init__(self, driver: FakeCuda) -> None:
        real = curand.find_curand()
        assert real is not None, "install nvidia-curand, which the tests need"
        super().__init__(
            real.title, real._handle, curand.FUNCTIONS, curand.check_status, real.version
        )
        self.driver = driver
        self.streams: list[int] = []
        self._stream_of: dict[int, int] = {}
        # Attributes of the object come before the functions of the table.
        self.curandCreateGenerator = self._create
        self.curandSetStream = self._set_stream
        self._destroy_generator = self.curandDestroyGenerator
        self.curandDestroyGenerator = self._destroy
        for name, size in ITEM_SIZES.items():
            setattr(self, name, self._generating(getattr(self, name), name, size))

    def _create(self, handle: Any, kind: int) -> None:
        with self.driver.system.lock:
            self.driver.system.current()
        self.curandCreateGeneratorHost(handle, kind)
        self._stream_of[handle._obj.value] = 0

    def _destroy(self, generator: Any) -> None:
        self._stream_of.pop(generator.value, None)
        self._destroy_generator(generator)

    def _set_stream(self, generator: Any, stream: int) -> None:
        self.streams.append(stream)
        self._stream_of[generator.value] = stream

    def _generating(self, generate: Any, name: str, size: int) -> Callable[..., None]:
        def entry(generator: Any, address: int, count: int, *parameters: float) -> None:
            if generator.value not in self._stream_of:
                generate(generator, address, count, *parameters)  # a generator for the host
                return
            numbers = np.empty(size * count, np.uint8)
            generate(generator, numbers.ctypes.data, count, *parameters)
            if count:
                with self.driver.system.lock, without_collection():
                    self._deliver(name, self._stream_of[generator.value], address, numbers)

        return entry

    def _deliver(self, name: str, stream: int, address: int, numbers: Any) -> None:
        """Queue the copy of numbers to device memory."""
        system = self.driver.system

        def copy() -> None:
            system.blocks.check_now(address, numbers.size)
            ctypes.memmove(address, numbers.ctypes.data, numbers.size)

        system.work.submit(system.stream(stream), name, copy)


@contextmanager
def curand_in_use(driver: FakeCuda) -> Iterator[FakeCurand]:
    """Make the package use the fake library with a fake driver, inside of a block."""
    fake, before = FakeCurand(driver), curand.find_curand
    curand.find_curand = lambda: fake  # type: ignore[assignment]
    try:
        yield fake
    finally:
        curand.find_curand = before


def replace_curand(monkeypatch: pytest.MonkeyPatch, driver: FakeCuda) -> FakeCurand:
    """Make the package use the fake library with a fake driver, for the time of a test."""
    fake = FakeCurand(driver)
    monkeypatch.setattr(curand, "find_curand", lambda: fake)
    return fake
