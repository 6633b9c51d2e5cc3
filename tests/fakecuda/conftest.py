from __future__ import annotations

import gc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pygpulib.core.device import current_driver
from pygpulib.errors import DeviceLostError
from tests.fakecuda.driver import FakeCuda

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "fake_gpus(**options): arguments of FakeCuda for the fixtures of this test"
    )


@pytest.fixture(params=["eager", "deferred"])
def fake_driver(request: pytest.FixtureRequest) -> Iterator[FakeCuda]:
    """The fake ``libcuda.so.1`` itself, with work done at once and as late as allowed."""
    options: dict[str, Any] = {"deferred": request.param == "deferred"}
    for marker in request.node.iter_markers("fake_gpus"):
        options = marker.kwargs | options
    # Chosen now, so that no fake becomes what the process uses without one.
    current_driver()
    with FakeCuda(**options) as fake:
        yield fake
    assert fake.internal_errors == []
    assert fake.late_writes() == []


@pytest.fixture
def fake_cuda(fake_driver: FakeCuda) -> Iterator[FakeCuda]:
    """The fake driver, with the package's back end for CUDA in use."""
    from pygpulib.core.device import use_driver
    from pygpulib.core.driver_cuda import CudaDriver

    driver = CudaDriver()
    gc.freeze()  # to collect what is made from now on; all objects would take long
    try:
        with use_driver(driver):
            yield fake_driver
            # Finalizers must not call the driver of the next test.
            gc.collect()
    finally:
        gc.unfreeze()
    # A device that a kernel has spoiled cannot be given back.
    with suppress(DeviceLostError):
        driver.close()


@pytest.fixture
def fake_cusolver(fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A fake cuSOLVER on the fake driver, and as its ``blas`` a fake cuBLAS."""
    from tests.helpers.cublas_fake import replace_cublas
    from tests.helpers.cusolver_fake import replace_cusolver

    fake = replace_cusolver(monkeypatch, fake_cuda)
    fake.blas = replace_cublas(monkeypatch, fake_cuda)
    return fake
