"""Run the checks of kernels on changed code, and count what they notice."""

from __future__ import annotations

import gc
import random
import warnings
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pygpulib._bindings.cuda_constants import STATUS_NAMES
from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.driver_cuda import CudaDriver
from pygpulib.errors import DeviceLostError, ImageError, PyGpuLibError
from tests.fakecuda.driver import FakeCuda
from tests.fakecuda.mutation.mutants import Mutant, make_mutants
from tests.fakecuda.ptx import parse_module

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pygpulib.core.driver_cuda.modules import ImageOptions
    from tests.fakecuda.mutation.cases import Check

# A changed loop may never end; this is several times what the right kernels take.
_MAX_STEPS = 20_000
# Threads that run together hide that they do not wait for each other.
_SCHEDULES = ("lockstep", "shuffled", "shuffled")


# What a check raises, or the package that reads what a wrong kernel reports.
_NOTICED = (AssertionError, ArithmeticError, LookupError, ValueError, PyGpuLibError, Warning)


class _Driver(CudaDriver):
    """Loads other code than it is given."""

    replacement: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def load_image(self, code: bytes, name: str, options: ImageOptions) -> int:
        self.loaded.append(code.decode())
        return super().load_image((self.replacement or code.decode()).encode(), name, options)


class Outcome(NamedTuple):
    """What became of the mutants of one kernel.

    Attributes
    ----------
    caught
        How many the check noticed, by how.
    survivors
        Those that it did not notice.
    refused
        How many are no valid PTX, and count for nothing.
    """

    caught: Counter[str]
    survivors: list[Mutant]
    refused: int

    @property
    def total(self) -> int:
        return self.caught.total() + len(self.survivors)


def examine(check: Check, *, most: int | None = None, seed: int = 0) -> Outcome:
    """Check mutants of the code of a kernel: all of them, or some chosen at random."""
    text = original_code(check)
    mutants = list(make_mutants(text))
    if most is not None and len(mutants) > most:
        mutants = random.Random(seed).sample(mutants, most)
    return _examine(check, sorted(mutants, key=lambda mutant: mutant.line))


def survives(check: Check, mutant: Mutant) -> bool:
    """Return whether a check notices nothing of a mutant."""
    return _run(check, mutant.text)[0] is None


def original_code(check: Check) -> str:
    """Return the PTX that a check runs, which must pass."""
    noticed, loaded = _run(check, None)
    assert noticed is None, noticed
    (text,) = loaded
    return text


def _examine(check: Check, mutants: Iterable[Mutant]) -> Outcome:
    outcome = Outcome(Counter(), [], 0)
    for mutant in mutants:
        noticed, _ = _run(check, mutant.text)
        if noticed is None:
            outcome.survivors.append(mutant)
        elif noticed == ImageError.__name__:
            outcome = outcome._replace(refused=outcome.refused + 1)
        else:
            outcome.caught[noticed] += 1
    return outcome


def _run(check: Check, replacement: str | None) -> tuple[str | None, list[str]]:
    """Return what a check noticed, None if all is well, and the code that was loaded."""
    current_driver()  # chosen before the fake one is there
    noticed = None
    with FakeCuda(memory_bytes=1 << 24, race_check=True) as fake:
        fake.launch_options["max_steps"] = _MAX_STEPS
        driver = _Driver()
        driver.replacement = replacement
        with use_driver(driver), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                for seed, schedule in enumerate(_SCHEDULES):
                    fake.launch_options.update(schedule=schedule, seed=seed)
                    check(np.random.default_rng(seed))
            except DeviceLostError as error:
                noticed = STATUS_NAMES[error.code]
            except _NOTICED as error:
                noticed = type(error).__name__
            # What a traceback kept alive must not be given back to the next driver.
            parse_module.cache_clear()
            gc.collect()
            gc.freeze()  # kernels keep drivers: the next collection need not look at them
        fake.revive()
        try:
            driver.close()
        except _NOTICED as error:  # what a kernel had to tell, and nobody had waited for
            noticed = noticed or type(error).__name__
    assert fake.internal_errors == [], fake.internal_errors
    return noticed, driver.loaded
