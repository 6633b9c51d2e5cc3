"""Sizes and distances that no C int holds: the functions of cuBLAS whose names end in _64.

Arrays claim to lie far apart; the fake library refuses what is called before it looks at memory.
"""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.binding import CuBLASError
from pygpulib.blas.engine import current_engine
from pygpulib.core.layout import Layout
from pygpulib.errors import ArgumentError
from tests.helpers.cublas_fake import replace_cublas

FAR = 1 << 31
REFUSED = 15


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def apart(shape, distances, dtype="f8"):
    """Return an array that claims to be that large."""
    base = cuda.to_device(np.ones((2,) * len(shape), dtype))
    return base.with_layout(Layout(shape, tuple(each * base.itemsize for each in distances)))


MATRIX = (2, 2), (FAR, 1)
STACK = (3, 2, 2), (2, FAR, 1)
CALLS = {
    "cublasDgemm_v2_64": lambda a, c: blas.gemm("N", "N", 1, a, a, 0, apart(*MATRIX)),
    "cublasDgemv_v2_64": lambda a, c: blas.gemv("N", 1, a, a[0], 0, apart((2,), (FAR,))),
    "cublasDnrm2_v2_64": lambda a, c: blas.nrm2(apart((2,), (-FAR,))),
    "cublasIdamax_v2_64": lambda a, c: blas.amax(apart((2,), (FAR,))),
    "cublasDsyrk_v2_64": lambda a, c: blas.syrk("L", "N", 1, a, 0, apart(*MATRIX)),
    # Not through functions that look whether arrays overlap: what claims to lie so far may.
    "cublasDgemmStridedBatched_64": lambda a, c: current_engine().batched.gemm(
        "N", "N", 1, apart(*STACK), a[None], 0, cuda.device_array((3, 2, 2)), 0
    ),
    "cublasDgemmBatched_64": lambda a, c: current_engine().batched.gemm_lists(
        ("N", "T"), (1, 0), [(a, apart(*MATRIX), c)], 0
    ),
    "cublasGemmEx_64": lambda a, c: blas.gemm_ex("N", "N", 1, a, a, 0, apart(*MATRIX)),
    "cublasGemmStridedBatchedEx_64": lambda a, c: blas.matmul(apart(*STACK), a),
}


@pytest.mark.parametrize("name", CALLS)
def test_long_distances_use_the_long_functions(library, name):
    library.refused[name] = REFUSED
    a = cuda.to_device(np.ones((2, 2)))
    with pytest.raises(CuBLASError) as caught:
        CALLS[name](a, cuda.to_device(np.ones((2, 2))))
    assert f"{name} returned CUBLAS_STATUS_NOT_SUPPORTED (15)" in str(caught.value)


def test_products_with_finished_elements_take_long_distances(library):
    asked = []
    library.light.offers = asked.append
    a = cuda.to_device(np.ones((2, 2), "f4"))
    library.refused["cublasGemmEx_64"] = REFUSED
    with pytest.raises(CuBLASError):
        blas.matmul(apart(*MATRIX, "f4"), a, activation="relu")
    assert asked[0]["matrices"][1]["leading"] == FAR


def test_sizes_that_a_function_does_not_take_are_refused(library):
    solver = apart((1, 2, 2), (4, 1, 2))
    pivots = cuda.to_device(np.ones((1, 2), np.int32))
    engine = current_engine()
    right = apart((1, 2, FAR), (2, 1, 0))
    with pytest.raises(ArgumentError) as caught:
        engine.batched.getrs("N", solver, pivots, right, 0)
    assert str(caught.value) == (
        "DgetrsBatched: the arrays are too large for cuBLAS\n"
        "sizes and distances go up to 2147483647"
    )
