"""What SciPy's tests expect of their surroundings."""

from __future__ import annotations

import numpy as np
import pytest

MARKERS = (
    "array_api_backends",
    "fail_slow",
    "parallel_threads",
    "parallel_threads_limit",
    "skip_xp_backends",
    "thread_unsafe",
    "uses_xp_capabilities",
    "xfail_on_32bit",
    "xfail_xp_backends",
    "xslow",
)


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", f"{marker}: a mark of SciPy's tests")


def pytest_collection_modifyitems(config, items):
    # SciPy runs these on request only: they take gigabytes, or minutes.
    left_out = [item for item in items if item.get_closest_marker("xslow")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        for mark in item.iter_markers("xfail"):
            mark.kwargs.setdefault("strict", False)  # some fail only on some machines


@pytest.fixture
def xp():
    """The array library of a test."""
    return np
