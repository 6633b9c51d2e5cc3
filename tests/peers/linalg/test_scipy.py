"""SciPy's own tests of linear algebra, one module after the other.

Left out are the modules that test what is not offered: the wrappers of single routines of BLAS and
LAPACK, the interfaces for Cython, and interpolative decompositions, which are a package of their
own. Those that SciPy runs on request only (`xslow`) take gigabytes.
"""

from __future__ import annotations

import pytest

from pygpulib.linalg import scipy
from tests.helpers.linalg_peers import load_tests

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning"),
]

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

OVERWRITES = "overwrites what it is given"
ON_CPU_ONLY = {
    "basic": {
        "TestDet::test_overwrite_a": OVERWRITES,
        "TestInv::test_overwrite_a": OVERWRITES,
        "TestSolve::test_overwrite_args": OVERWRITES,
    },
    "decomp": {"TestEig::test_nd_input": "expects the same rounding for stacks"},
}

for module, slow in MODULES.items():
    where = f"scipy.linalg.tests.test_{module}", "scipy.linalg"
    tests = load_tests(*where, scipy, slow, ON_CPU_ONLY.get(module))
    # Modules have tests of the same names.
    for name, test in tests.items():
        kind = "Test" if name.startswith("Test") else "test_"
        globals()[f"{kind}{module}_{name.removeprefix(kind)}"] = test
