"""Kernels and routines of libraries on the same arrays and stream."""

from __future__ import annotations

import numpy as np

from pygpulib import blas, cuda
from pygpulib.rand.compat import PRNG
from tests.helpers.cublas_fake import replace_cublas
from tests.helpers.curand_fake import replace_curand


def make_kernels():
    """Return new kernels: each is loaded for one driver."""

    @cuda.jit
    def fill(a):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] = i + 10 * j

    @cuda.jit
    def shift(c, noise):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = 2 * c[i, j] + noise[i * c.shape[1] + j]

    return fill, shift


def run(stream):
    """Fill a matrix, multiply it, draw numbers, and add them; all on one stream."""
    fill, shift = make_kernels()
    a = cuda.device_array((5, 4), np.float32, stream=stream)
    b = cuda.to_device(np.arange(12, dtype=np.float32).reshape(4, 3), stream=stream)
    c = cuda.device_array((5, 3), np.float32, stream=stream)
    noise = cuda.device_array(15, np.float32, stream=stream)
    generator = PRNG(PRNG.XORWOW, seed=7, stream=stream)

    def work():
        fill[(1, 1), (8, 8), stream](a)
        blas.gemm("N", "N", 0.5, a, b, 0, c, stream=stream)
        generator.uniform(noise)
        shift[(1, 1), (8, 8), stream](c, noise)
        blas.scal(-1.0, c[2], stream=stream)

    return work, c, noise


def expected(noise):
    rows, columns = np.mgrid[:5, :4]
    product = (rows + 10 * columns) @ np.arange(12).reshape(4, 3)
    c = product + noise.reshape(5, 3).astype("f8")
    c[2] *= -1
    return c


def test_kernels_and_libraries_share_arrays_on_the_processor():
    work, c, noise = run(cuda.stream())
    work()
    np.testing.assert_allclose(c.copy_to_host(), expected(noise.copy_to_host()), rtol=1e-6)


def test_kernels_and_libraries_share_arrays_without_copies(fake_cuda, monkeypatch):
    cublas, curand = replace_cublas(monkeypatch, fake_cuda), replace_curand(monkeypatch, fake_cuda)
    stream = cuda.stream()
    work, c, noise = run(stream)
    # The first time sets up handles and compiles kernels.
    work()
    stream.synchronize()
    before = len(fake_cuda.calls), len(cublas.calls)
    work()
    names = [call.name for call in fake_cuda.calls[before[0] :]]
    assert not [name for name in names if "Memcpy" in name or "Synchronize" in name]
    assert [name for name in names if "Launch" in name] == ["cuLaunchKernel"] * 2
    assert {launch.stream for launch in fake_cuda.launches} == {stream.handle}
    assert cublas.calls[before[1] :] == [
        ("cublasSgemm_v2", stream.handle),
        ("cublasSscal_v2", stream.handle),
    ]
    assert set(curand.streams) == {stream.handle}
    np.testing.assert_allclose(c.copy_to_host(), expected(noise.copy_to_host()), rtol=1e-6)
