"""The demonstration's matrices are computed and compared with NumPy's."""

from __future__ import annotations

import io

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.demo import matrices, show


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(matrices, "ORDER", 64)


def test_report(small):
    out = io.StringIO()
    assert show.show_matrices(out) == 0
    assert "64 x 64, float32" in out.getvalue()


def test_a_wrong_result_is_found(small, monkeypatch):
    monkeypatch.setattr(matrices, "solve", lambda d_a, d_b: matrices.multiply(d_b, d_a))
    assert show.show_matrices(io.StringIO()) == 1


def test_deviation():
    expected = np.array([[1, -4]], np.float32)
    assert matrices.deviation(cuda.to_device(expected + np.float32(1)), expected) == 0.25
