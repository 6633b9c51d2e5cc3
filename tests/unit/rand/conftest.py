from __future__ import annotations

import pytest

from pygpulib._bindings.curand import find_curand
from tests.fakecuda.conftest import fake_cuda, fake_driver, pytest_configure

__all__ = ["fake_cuda", "fake_driver", "pytest_configure"]


@pytest.fixture(autouse=True, scope="session")
def _has_curand(request: pytest.FixtureRequest) -> None:
    """Skip where a real GPU has no cuRAND; everywhere else the tests require it."""
    if request.config.getoption("backend") == "cuda" and find_curand() is None:
        pytest.skip("cuRAND is not installed")
