"""SciPy's own tests of linear algebra, one module after the other.

Left out are the modules that test what is not offered: the wrappers of single routines of BLAS and
LAPACK, the interfaces for Cython, and interpolative decompositions, which are a package of their
own. Those that SciPy runs on request only (`xslow`) take gigabytes.
"""

from __future__ import annotations

import pytest

from pygpulib.linalg import scipy
from tests.helpers.linalg_peers import load_tests

pytestmark = [pytest.mark.cpu_only("shares memory"), pytest.mark.filterwarnings("default")]

MODULES = {
    "basic": ["TestLstsq", "TestDTypes"],
    "batch": ["TestBatch"],
    "cythonized_array_utils": [],
    "decomp": [
        "test_svd_gesdd_nofegfault",
        "test_orth",
        "TestNullSpace",
        "TestQR",
        "TestSVD_GESDD::test_crash_1580",
        "TestRQ",
        "TestSVDVals",
        "TestSVD_GESVD::test_crash_1580",
        "TestOrdQZWorkspaceSize",
    ],
    "decomp_cholesky": [],
    "decomp_cossin": ["test_cossin", "test_cossin_separate"],
    "decomp_ldl": ["test_permutations", "test_ldl_type_size_combinations_complex"],
    "decomp_lu": [],
    "decomp_polar": [],
    "decomp_update": [],
    "matmul_toeplitz": [],
    "matfuncs": [
        "TestExpM",
        "TestExpmFrechet",
        "TestExpmConditionNumber",
        "TestFractionalMatrixPower",
        "TestLogM",
        "TestSqrtM",
    ],
    "procrustes": [],
    "sketches": [],
    "solve_toeplitz": [],
    "solvers": ["TestSolveContinuousAre", "TestSolveDiscreteAre"],
    "special_matrices": [],
}

for module, slow in MODULES.items():
    tests = load_tests(f"scipy.linalg.tests.test_{module}", "scipy.linalg", scipy, slow)
    # Modules have tests of the same names.
    for name, test in tests.items():
        kind = "Test" if name.startswith("Test") else "test_"
        globals()[f"{kind}{module}_{name.removeprefix(kind)}"] = test
