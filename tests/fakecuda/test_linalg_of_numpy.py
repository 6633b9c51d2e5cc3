"""NumPy's own tests of linear algebra on the fake GPU, as far as they are quick.

`pytest --backend fakecuda tests/peers/linalg` runs all of them, and SciPy's.
"""

from __future__ import annotations

import pytest

from pygpulib import linalg
from tests.helpers.linalg_peers import load_tests

pytestmark = [
    pytest.mark.usefixtures("fake_cusolver"),
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning"),
]

NAMES = (
    "TestCond",
    "TestMatrixRank",
    "TestMultiDot",
    "TestSVD",
    "TestTensorinv",
    "TestTensorsolve",
    "test_cross",
    "test_matmul",
    "test_matrix_norm",
    "test_pinv_rtol_arg",
    "test_tensordot",
    "test_vector_norm",
)


def without_layouts(test):
    """Leave out what tests arrays of some thousand layouts."""
    if not isinstance(test, type):
        return test
    left_out = {name: None for name in dir(test) if name.endswith("_cases")}
    return type(test.__name__, (test,), left_out)


tests = load_tests("numpy.linalg.tests.test_linalg", "numpy.linalg", linalg)
globals().update({name: without_layouts(tests[name]) for name in NAMES})
