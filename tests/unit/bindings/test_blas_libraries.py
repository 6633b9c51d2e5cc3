"""Where the libraries of BLAS are looked for."""

from __future__ import annotations

import pytest

from pygpulib._bindings import cublas, cublaslt


@pytest.fixture
def nothing_installed(monkeypatch):
    asked = []
    for module in (cublas, cublaslt):
        monkeypatch.setattr(module, "find_in_wheels", lambda places: None)
        monkeypatch.setattr(module, "open_shared", asked.extend)
        monkeypatch.setattr(module, "find_by_vendor", asked.append)
    monkeypatch.setattr(cublas, "_open", cublas._open.__wrapped__)
    return asked


def test_a_library_that_nobody_has_is_none(nothing_installed):
    assert cublaslt.find_cublaslt.__wrapped__() is None
    assert nothing_installed == ["libcublasLt.so.13", "libcublasLt.so.12", "cublasLt"]
    nothing_installed.clear()
    assert cublas.find_cublas({}) is None
    assert nothing_installed == ["libcublas.so.13", "libcublas.so.12", "cublas"]
