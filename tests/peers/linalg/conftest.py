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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("xslow"):
            item.add_marker(pytest.mark.slow)
        for mark in item.iter_markers("xfail"):
            mark.kwargs.setdefault("strict", False)  # some fail only on some machines


@pytest.fixture
def xp():
    """The array library of a test."""
    return np
