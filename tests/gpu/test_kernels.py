"""Kernels of all kinds on the GPU of this machine: ``pytest --backend cuda -m gpu tests/gpu``."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib.core.device import current_driver
from tests.fakecuda.mutation.cases import CASES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("config.getoption('backend') != 'cuda'", reason="needs --backend cuda"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_kernels(name, seed):
    assert current_driver().name == "cuda"
    CASES[name](np.random.default_rng(seed))
