"""The simulated GPU on which a session runs the public tests."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.driver_cuda import CudaDriver
from tests.fakecuda.driver import FakeCuda
from tests.helpers.cublas_fake import cublas_in_use
from tests.helpers.curand_fake import curand_in_use
from tests.helpers.cusolver_fake import cusolver_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator


class SimulatedGpu:
    """The fake driver as the process's back end, from the start of a session to its end.

    Parameters
    ----------
    deferred
        Whether work of streams runs as late as allowed instead of at once.
    """

    def __init__(self, *, deferred: bool) -> None:
        current_driver()
        self._stack = ExitStack()
        self.fake = self._stack.enter_context(FakeCuda(deferred=deferred))
        self.driver = CudaDriver()
        self._stack.enter_context(use_driver(self.driver))
        self._cublas = self._stack.enter_context(cublas_in_use(self.fake))
        self._stack.enter_context(cusolver_in_use(self.fake))
        self._stack.enter_context(curand_in_use(self.fake))
        self._known: set[str] = set()
        self._is_closed = threading.Event()
        if deferred:
            threading.Thread(target=self._go_on, daemon=True).start()

    def check_test(self) -> Iterator[None]:
        """Run a test between the two parts, and complain about what it did to the driver."""
        yield
        fake = self.fake
        fake.calls.clear()
        fake.launches.clear()
        wrong = [*fake.internal_errors, *fake.late_writes()]
        fake.internal_errors.clear()
        fake.late_writes().clear()
        for fault in fake.faults:
            sys.stderr.write(f"{fault}\n")
        # A kernel's fault is the end of a process, but not of the next test.
        fake.revive()
        assert wrong == [], "\n".join(wrong)

    def leftovers(self) -> list[str]:
        """Describe what is still allocated or alive, and was not when this was last asked."""
        gc.collect()
        # What lives now is not looked at again: the next collections are quick.
        gc.freeze()
        # The package keeps events to use them again, and one stream of its own per device.
        own = ("event", "non-blocking stream")
        alive = {thing for thing in self.fake.leaks(cached=False) if not thing.startswith(own)}
        # So does cuBLAS with its workspaces.
        left = sorted(alive - self._known - self._cublas.workspaces)
        self._known = alive
        return left

    def _go_on(self) -> None:
        """Do what is pending now and then, as devices do even if nobody asks."""
        while not self._is_closed.wait(0.2):
            self.fake.run_pending()

    def close(self) -> None:
        """Put the back end back that was in use before."""
        self._is_closed.set()
        gc.collect()
        self.driver.close()
        self._stack.close()
