"""Every function of linear algebra on arrays in every place, layout and dtype."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

from pygpulib import cuda, linalg
from pygpulib.core.array import ndarray
from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.errors import NoDeviceError
from pygpulib.linalg import table
from tests.helpers import linalg_cases
from tests.helpers.linalg_cases import DTYPES, Arrays, change, expect_same, home_of

# On a simulated GPU the host computes.
pytestmark = pytest.mark.filterwarnings("ignore::pygpulib.errors.HostFallbackWarning")

FACES = [(linalg, table.HERE), (linalg.scipy, table.OF_SCIPY)]
ALL = [
    pytest.param(function, getattr(face, function.name), id=f"{function.home}.{function.name}")
    for face, functions in FACES
    for function in functions.values()
    if face is linalg.scipy or function.home != table.SCIPY
]


def cases_of(function):
    is_scipy = function.home == table.SCIPY
    return (linalg_cases.OF_SCIPY if is_scipy else linalg_cases.OF_NUMPY)[function.name]


def strided(array):
    around = np.full([2 * n + 1 for n in array.shape], 99, array.dtype)
    memory = cuda.to_device(around)
    view = memory[tuple([slice(1, 2 * n + 1, 2) for n in array.shape])]
    view.copy_to_device(array)
    return view


def reversed_axes(array):
    backwards = tuple([slice(None, None, -1)] * array.ndim)
    return cuda.to_device(array[backwards].copy())[backwards]


def columns(array):
    return cuda.to_device(np.asfortranarray(array))


LAYOUTS = {
    "rows": cuda.to_device,
    "columns": columns,
    "strided": strided,
    "reversed": reversed_axes,
}


@pytest.mark.parametrize(("function", "ours"), ALL)
def test_host_arrays_give_host_arrays(function, ours):
    for make in cases_of(function):
        for dtype in DTYPES:
            expect_same(function, ours, make(Arrays(dtype)), np.copy, False)


@pytest.mark.parametrize(("function", "ours"), ALL)
def test_device_arrays_give_device_arrays_in_every_layout(function, ours):
    for make in cases_of(function):
        for place in LAYOUTS.values():
            for dtype in DTYPES:
                expect_same(function, ours, make(Arrays(dtype)), place, True)


@pytest.mark.parametrize(("function", "ours"), ALL)
def test_stacks_and_empty_arrays_and_wrong_ones(function, ours):
    for make in cases_of(function):
        for size, batch in ((1, ()), (3, (2, 3)), (0, ()), (2, (0,))):
            try:
                given = make(Arrays("f8", size, batch))
            except (ValueError, np.linalg.LinAlgError):
                continue  # SciPy cannot make what the function is given
            expect_same(function, ours, given, cuda.to_device, True)
        given = make(Arrays())
        for wrong in (lambda a: a[..., :1], lambda a: a * np.nan, lambda a: a.real.astype("f2")):
            expect_same(function, ours, change(given, wrong), cuda.to_device, True)


@pytest.mark.parametrize("face", [linalg, linalg.scipy])
def test_every_name_is_there(face):
    home = np.linalg if face is linalg else __import__("scipy.linalg").linalg
    functions = {
        name
        for name in home.__all__
        if callable(getattr(home, name)) and not isinstance(getattr(home, name), type)
    }
    wrappers = {"find_best_blas_type", "get_blas_funcs", "get_lapack_funcs"}
    assert functions - wrappers <= set(face.__all__) <= set(dir(face))
    assert set(table.OF_SCIPY) <= set(linalg.__all__)
    for name in face.__all__:
        assert getattr(face, name)
    with pytest.raises(AttributeError, match="has no attribute 'solv'"):
        face.solv  # noqa: B018


@pytest.mark.parametrize(("function", "ours"), ALL)
def test_a_function_looks_like_the_library_s(function, ours):
    assert ours.__name__ == function.name
    assert inspect.signature(ours) == inspect.signature(home_of(function))
    assert ours.__doc__.startswith(function.summary)
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_errors_are_numpy_s():
    assert linalg.LinAlgError is np.linalg.LinAlgError is linalg.scipy.LinAlgError
    with pytest.raises(linalg.LinAlgError, match="Singular matrix"):
        linalg.inv(cuda.to_device(np.ones((2, 2))))
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.scipy.inv(cuda.to_device(np.ones((2, 2))))
    with pytest.raises(TypeError, match="assume_a"):
        linalg.solve(cuda.to_device(np.eye(2)), cuda.to_device(np.ones(2)), assume_a="pos")


def test_one_device_array_is_enough():
    a, b = Arrays().square, Arrays().right
    for left, right in ((cuda.to_device(a), b), (a, cuda.to_device(b))):
        got = linalg.solve(left, right)
        assert isinstance(got, ndarray)
        np.testing.assert_allclose(got.copy_to_host(), np.linalg.solve(a, b))
    rows = linalg.det([cuda.to_device(np.array([1.0, 2])), cuda.to_device(np.array([3.0, 4]))])
    np.testing.assert_allclose(rows, -2)


def test_results_belong_to_the_stream_of_the_arrays():
    stream, other = cuda.stream(), cuda.stream()
    a = cuda.to_device(Arrays().square, stream=stream)
    assert linalg.inv(a).stream is stream
    assert linalg.solve(cuda.to_device(np.eye(4)), a).stream is stream
    assert linalg.qr(a, stream=other)[1].stream is other
    assert not linalg.inv(cuda.to_device(np.eye(2))).stream


def test_an_output_is_written_and_returned():
    parts = [cuda.to_device(part) for part in (np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)))]
    out = cuda.device_array((2, 2))
    assert linalg.multi_dot(parts, out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), np.full((2, 2), 12.0))


@pytest.mark.cpu_only("device memory is host memory")
def test_nothing_is_copied():
    a = np.asfortranarray(Arrays().positive)
    device = cuda.to_device(a)
    made = linalg.matrix_transpose(device)
    assert made.address == device.address
    made[0, 1] = 5
    assert device[1, 0] == 5
    factor, _ = linalg.lu_factor(cuda.to_device(a), overwrite_a=True)
    assert factor.flags.f_contiguous
    overwritten = cuda.to_device(a)
    assert linalg.lu_factor(overwritten, overwrite_a=True)[0].address == overwritten.address
    kept = cuda.to_device(a)
    linalg.lu_factor(kept)
    np.testing.assert_array_equal(kept.copy_to_host(), a)


@pytest.mark.cpu_only("device memory is host memory")
def test_kernels_use_results_in_place():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    solution = linalg.solve(cuda.to_device(np.eye(3)), cuda.to_device(np.arange(3.0)))
    double[1, 32](solution)
    np.testing.assert_array_equal(solution.copy_to_host(), [0, 2, 4])


def test_a_back_end_without_linear_algebra_says_so():
    with use_driver(NullDriver()):
        a = cuda.device_array((2, 2))
        with pytest.raises(NoDeviceError, match="no linear algebra on the back end 'null'") as e:
            linalg.inv(a)
    assert "help: set PYGPULIB_BACKEND=cpu" in str(e.value)
    np.testing.assert_array_equal(linalg.inv(np.eye(2)), np.eye(2))


def test_importing_it_imports_nothing_large():
    program = "import sys, pygpulib.linalg; print('scipy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
