"""NumPy's own tests of linear algebra."""

from __future__ import annotations

import pytest

from pygpulib import linalg
from tests.helpers.linalg_peers import load_tests

# NumPy's tests use matrices that it warns of.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning"),
]

MODULES = {
    "test_deprecations": [],
    "test_linalg": [],
    "test_regression": ["TestRegression::test_openblas_threading"],
}
# NumPy rounds results of double precision to single.
PRECISE = {
    "test_linalg": [
        "TestLstsq::test_nonsq_cases",
        "TestLstsq::test_sq_cases",
        "TestNormSingle::test_axis",
        "TestQR::test_mode_all_but_economic",
    ]
}

for module, slow in MODULES.items():
    precise = dict.fromkeys(PRECISE.get(module, ()), "computes in double precision")
    tests = load_tests(f"numpy.linalg.tests.{module}", "numpy.linalg", linalg, slow, precise)
    globals().update(tests)
