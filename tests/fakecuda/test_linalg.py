"""Linear algebra on the fake GPU: what the host does, and that it is told once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pygpulib import cuda, linalg
from pygpulib.core.array import ndarray
from pygpulib.errors import DeviceMismatchError, HostFallbackWarning
from pygpulib.linalg import cuda as engine
from pygpulib.linalg import table
from tests.helpers import linalg_cases
from tests.helpers.linalg_cases import Arrays, expect_same


@pytest.fixture(autouse=True)
def _no_cusolver(monkeypatch):
    monkeypatch.setattr(engine, "open_solver", lambda driver: None)


def places():
    """Yield ways to place arrays: on the default stream, on one of its own, as a view."""
    yield cuda.to_device
    stream = cuda.stream()
    yield lambda array: cuda.to_device(array, stream=stream)

    def turned(array):
        return cuda.to_device(np.ascontiguousarray(array.T)).T

    yield turned


def to_host(array):
    if isinstance(array, np.ndarray):
        return array
    copy = array.copy_to_host()
    cuda.synchronize()
    return copy


@pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning")
@pytest.mark.parametrize("face", [linalg, linalg.scipy], ids=["numpy", "scipy"])
def test_device_arrays_give_device_arrays(fake_cuda, face):
    functions = table.OF_SCIPY if face is linalg.scipy else table.OF_NUMPY | table.OTHERS
    cases = linalg_cases.OF_SCIPY if face is linalg.scipy else linalg_cases.OF_NUMPY
    ways = list(places())
    for position, function in enumerate(functions.values()):
        for make in cases[function.name]:
            given, place = make(Arrays()), ways[position % 3]
            expect_same(function, getattr(face, function.name), given, place, True, to_host)


def test_a_function_tells_once_that_it_computes_on_the_host(fake_cuda):
    a = cuda.to_device(np.eye(3))
    for function in (linalg.eigvals, linalg.scipy.schur):
        with pytest.warns(HostFallbackWarning) as caught:
            list(map(function, [a, a]))
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert f"linalg.{function.__name__} computes on the host" in str(caught[0].message)
        assert "help: work on host arrays" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linalg.eigvals(np.eye(3))


@pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning")
def test_outputs_and_overwriting(fake_cuda):
    parts = [cuda.to_device(part) for part in (np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)))]
    out = cuda.device_array((2, 2))
    assert linalg.multi_dot(parts, out=out) is out
    np.testing.assert_array_equal(to_host(out), np.full((2, 2), 12.0))
    a = cuda.to_device(np.asfortranarray(Arrays().square))
    result = linalg.lu_factor(a, overwrite_a=True)[0]
    assert isinstance(result, ndarray)
    assert result.flags.f_contiguous


@pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning")
@pytest.mark.fake_gpus(device_count=2)
def test_arrays_of_several_devices(fake_cuda):
    a = cuda.to_device(np.eye(3))
    with cuda.gpus[1]:
        b = cuda.to_device(2 * np.eye(3))
    inverse = linalg.inv(b)
    assert inverse.device_ordinal == 1
    np.testing.assert_array_equal(to_host(inverse), np.eye(3) / 2)
    with pytest.raises(DeviceMismatchError, match="solve: the arrays are on devices 0 and 1"):
        linalg.solve(a, b)
