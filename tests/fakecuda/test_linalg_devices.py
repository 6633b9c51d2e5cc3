"""Linear algebra on several fake GPUs and in several threads: handles, kernels, parameters."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from pygpulib import cuda, linalg
from tests.helpers.linalg_cases import Arrays


@pytest.mark.fake_gpus(device_count=2)
def test_each_device_computes_with_what_is_its_own(fake_cusolver):
    x = Arrays("f8", 4, (3,))
    a, positive = x.square, x.positive
    for ordinal in (0, 1):
        with cuda.gpus[ordinal]:
            placed, other = cuda.to_device(a), cuda.to_device(positive)
        values, vectors = linalg.eigh(other)
        q, r = linalg.qr(placed)
        for result in (values, vectors, q, r, linalg.norm(placed, axis=(1, 2))):
            assert result.device_ordinal == ordinal
        np.testing.assert_allclose(values.copy_to_host(), np.linalg.eigvalsh(positive))
        np.testing.assert_allclose(q.copy_to_host() @ r.copy_to_host(), a)
        np.testing.assert_allclose(linalg.det(placed).copy_to_host(), np.linalg.det(a))
    assert len(fake_cusolver.streams) == 2
    assert sorted(fake_cusolver.parameters.values()) == ["SyevjInfo", "SyevjInfo"]


def test_a_thread_gives_back_what_it_has_made(fake_cusolver):
    a = Arrays().positive
    found = []

    def work():
        device = cuda.to_device(a)
        found.extend([linalg.inv(device).copy_to_host(), linalg.eigvalsh(device).copy_to_host()])

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    gc.collect()
    cuda.to_device(a)
    cuda.synchronize()
    for inverse, values in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(inverse, np.linalg.inv(a))
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a))
    assert not fake_cusolver.streams
    assert not fake_cusolver.parameters
