from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

# What an earlier run left on disk must not decide what a test sees; the tests of the cache use
# folders of their own. Set before the package is imported, and inherited by other processes.
os.environ.setdefault("PYGPULIB_CACHE", "0")
# Nor must the GPU of a machine, or a driver there that does not work; `--backend cuda` wants them.
os.environ.setdefault("PYGPULIB_BACKEND", "cpu")

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


# Compiling inside a property makes time limits per example meaningless. `quick` repeats the same
# examples in every run, so that a change and not chance decides whether the tests pass;
# `--hypothesis-profile=fuzz` searches.
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=2000, deadline=None, print_blob=True)
settings.register_profile("interpreted", settings.get_profile("quick"), max_examples=8)
settings.load_profile("quick")


GPU = pytest.StashKey["SimulatedGpu | RealGpu"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        choices=["cpu", "fakecuda", "fakecuda-deferred", "cuda"],
        default="cpu",
        help="what kernels of the public tests run on",
    )
    parser.addoption(
        "--keep-kernels", type=Path, help="folder for the kernels that are compiled for GPUs"
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    name = session.config.getoption("backend")
    if folder := session.config.getoption("keep_kernels"):
        from tests.fakecuda.generations import keep_kernels

        keep_kernels(folder)
    if name == "cuda":
        from tests.helpers.real_gpu import RealGpu

        session.config.stash[GPU] = RealGpu()
    elif name != "cpu":
        from tests.helpers.backends import SimulatedGpu

        if session.config.getoption("hypothesis_profile") is None:
            settings.load_profile("interpreted")
        session.config.stash[GPU] = SimulatedGpu(deferred=name == "fakecuda-deferred")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if gpu := session.config.stash.get(GPU, None):
        gpu.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if GPU in config.stash:
        left_out = [item for item in items if item.get_closest_marker("cpu_only")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _check_test(request: pytest.FixtureRequest) -> Iterator[None]:
    gpu = request.config.stash.get(GPU, None)
    yield from gpu.check_test() if gpu else (None,)


def pytest_collection_finish(session: pytest.Session) -> None:
    if gpu := session.config.stash.get(GPU, None):
        gpu.leftovers()  # what modules make when they are imported


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Let the last test of a module fail if the module leaves something on the GPU.

    No fixture could do this, because the values of fixtures live longer than all of them.
    """
    result = yield
    gpu = item.config.stash.get(GPU, None)
    if gpu and (nextitem is None or nextitem.path != item.path) and (left := gpu.leftovers()):
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", "\n".join(left), "teardown"
        )
        item.ihook.pytest_runtest_logreport(report=report)
    return result
