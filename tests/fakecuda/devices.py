"""The back end for CUDA on the fake driver, for tests of its parts."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.driver_cuda import CudaDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakecuda.driver import FakeCuda

# Chosen once for a process: not while it has a fake driver.
current_driver()


@contextmanager
def cuda_in_use(fake: FakeCuda) -> Iterator[CudaDriver]:
    """Use the back end for CUDA; at the end nothing may be left on the fake devices."""
    driver = CudaDriver()
    gc.freeze()  # to collect what is made from now on; all objects would take long
    try:
        with use_driver(driver):
            yield driver
            gc.collect()
    finally:
        gc.unfreeze()
    driver.close()
    assert fake.faults == []
    assert fake.leaks() == []


def names_of_calls(fake: FakeCuda) -> list[str]:
    """Return the names of the driver's functions in the order in which they were called."""
    return [call.name for call in fake.calls]
