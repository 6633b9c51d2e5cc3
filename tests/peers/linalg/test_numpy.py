"""NumPy's own tests of linear algebra."""

from __future__ import annotations

import pytest

from pygpulib import linalg
from tests.helpers.linalg_peers import load_tests

# NumPy's tests use matrices that it warns of.
pytestmark = [pytest.mark.cpu_only("shares memory"), pytest.mark.filterwarnings("default")]

# These go through all combinations of strides.
SLOW = [
    f"Test{each}::test_generalized_{kind}_cases"
    for each, kind in (
        ("Cond", "sq"),
        ("Det", "sq"),
        ("Eigvals", "sq"),
        ("Eig", "sq"),
        ("SVD", "sq"),
        ("Pinv", "nonsq"),
    )
]

for module, slow in (("test_linalg", SLOW), ("test_regression", []), ("test_deprecations", [])):
    tests = load_tests(f"numpy.linalg.tests.{module}", "numpy.linalg", linalg, slow)
    globals().update(tests)
