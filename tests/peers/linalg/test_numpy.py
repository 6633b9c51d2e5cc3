"""NumPy's own tests of linear algebra."""

from __future__ import annotations

import pytest

from pygpulib import linalg
from tests.helpers.linalg_peers import load_tests

# NumPy's tests use matrices that it warns of.
pytestmark = [pytest.mark.cpu_only("shares memory"), pytest.mark.filterwarnings("default")]

MODULES = {
    "test_deprecations": [],
    "test_linalg": [],
    "test_regression": ["TestRegression::test_openblas_threading"],
}

for module, slow in MODULES.items():
    tests = load_tests(f"numpy.linalg.tests.{module}", "numpy.linalg", linalg, slow)
    globals().update(tests)
