"""Every function of linear algebra that GPUs do: on the device, with the library's results."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg

from pygpulib import cuda, linalg
from pygpulib.errors import HostFallbackWarning
from pygpulib.linalg import cuda_equations, cuda_factors, table
from pygpulib.linalg.cuda import NATIVE
from tests.helpers import linalg_cases
from tests.helpers.linalg_cases import DTYPES, Arrays, expect_same

# The numbers of the cases that the host does, because cuSOLVER has no such option.
ON_HOST = {
    (table.NUMPY, "pinv"): {2},
    (table.NUMPY, "svd"): {3},
    (table.SCIPY, "eig"): {1, 2},
    (table.SCIPY, "eigh"): {1},
    (table.SCIPY, "eigvals"): {1},
    (table.SCIPY, "lstsq"): {2},
    (table.SCIPY, "qr"): {2},
}


def to_host(array):
    if isinstance(array, np.ndarray):
        return array
    copy = array.copy_to_host()
    cuda.synchronize()
    return copy


def columns(array):
    return cuda.to_device(np.ascontiguousarray(array.T)).T


def each_case(home):
    """Yield functions with arguments: another dtype and layout each time, stacks for NumPy's."""
    turn = 0
    for function in NATIVE:
        is_scipy = function.home == table.SCIPY
        if is_scipy != (home == table.SCIPY):
            continue
        cases = (linalg_cases.OF_SCIPY if is_scipy else linalg_cases.OF_NUMPY)[function.name]
        for number, make in enumerate(cases):
            is_native = number not in ON_HOST.get((function.home, function.name), ())
            for batch in [()] if is_scipy else [(), (2, 2)]:
                turn += 1
                arrays = Arrays(DTYPES[turn % 4], 4, batch)
                yield function, make(arrays), (cuda.to_device, columns)[turn // 4 % 2], is_native


@pytest.mark.parametrize("home", [table.NUMPY, table.SCIPY])
def test_results_are_the_library_s_without_the_host(fake_cusolver, home):
    face = linalg.scipy if home == table.SCIPY else linalg
    for function, given, place, is_native in each_case(home):
        with warnings.catch_warnings():
            warnings.simplefilter("error" if is_native else "ignore", HostFallbackWarning)
            expect_same(function, getattr(face, function.name), given, place, True, to_host)


def test_stacks_of_large_matrices_go_one_by_one(fake_cusolver, monkeypatch):
    monkeypatch.setattr(cuda_equations, "SMALL_ORDER", 0)
    monkeypatch.setattr(cuda_factors, "SMALL_ORDER", 0)
    monkeypatch.setattr(cuda_factors, "JACOBI_ORDER", 0)
    for name in ("solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "svd", "pinv"):
        function = table.OF_NUMPY[name]
        given = linalg_cases.OF_NUMPY[name][0](Arrays("c16", 3, (2, 1)))
        expect_same(function, getattr(linalg, name), given, cuda.to_device, True, to_host)
    assert not [name for name, _ in fake_cusolver.calls if "Batched" in name]


def test_long_rows_are_reduced_in_chunks(fake_cusolver):
    x = np.random.default_rng(5).uniform(-1, 1, (2, 5000))
    x[0, 4321] = -3
    device = cuda.to_device(x)
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        got = to_host(linalg.vector_norm(device, axis=1, ord=order))
        np.testing.assert_allclose(got, np.linalg.vector_norm(x, axis=1, ord=order), rtol=1e-12)
    x[1, 4999] = np.nan
    assert np.isnan(linalg.norm(cuda.to_device(x[1]), np.inf))


def test_functions_of_singular_matrices(fake_cusolver):
    for batch in ((), (2,)):
        singular = cuda.to_device(np.ones((*batch, 3, 3)))
        assert to_host(np.asarray(linalg.det(singular))).ravel()[0] == pytest.approx(0)
        for order in (None, 1):
            got = np.asarray(linalg.cond(singular, order))
            assert (got > 1e15).all()
        rank = linalg.matrix_rank(singular)
        assert np.asarray(rank).tolist() == np.linalg.matrix_rank(np.ones((*batch, 3, 3))).tolist()
    sign, logarithm = linalg.slogdet(cuda.to_device(np.zeros((3, 3))))
    assert (sign, logarithm) == (0, -np.inf)
    assert linalg.cond(cuda.to_device(np.zeros((2, 2))), 1) == np.inf


def test_what_is_no_number_is_an_error_of_numpy_s(fake_cusolver):
    for batch in ((), (2,)):
        a = cuda.to_device(np.full((*batch, 3, 3), np.nan))
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            linalg.svdvals(a)
        with pytest.raises(np.linalg.LinAlgError, match="must not contain infs or NaNs"):
            linalg.eigvals(a)
    with pytest.raises(np.linalg.LinAlgError, match="in Linear Least Squares"):
        linalg.lstsq(cuda.to_device(np.full((3, 2), np.nan)), cuda.to_device(np.ones(3)))


def count_warnings(function, *arguments):
    """Return how often SciPy warns of a matrix."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    return sum(issubclass(each.category, scipy.linalg.LinAlgWarning) for each in caught)


def test_scipy_warns_of_matrices_that_are_almost_singular(fake_cusolver):
    triangle = np.diag([1.0, 1e-17, 1.0]) + np.eye(3, k=1)
    diagonal, hilbert = np.diag([1.0, 1e-17, 1.0]), scipy.linalg.hilbert(14)
    for kind, a in (("gen", triangle), ("pos", diagonal), ("sym", hilbert), ("gen", np.eye(3))):
        arguments = a, a, False, False, False, True, kind
        expected = count_warnings(scipy.linalg.solve, *arguments)
        assert expected == (a[1, 1] < 0.5 or a is hilbert)
        placed = cuda.to_device(a)
        got = count_warnings(linalg.scipy.solve, placed, placed, *arguments[2:])
        assert got == expected
        assert count_warnings(linalg.scipy.inv, placed) == count_warnings(scipy.linalg.inv, a)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        linalg.scipy.solve_triangular(cuda.to_device(np.eye(2, k=1)), cuda.to_device(np.ones(2)))


def test_a_library_without_general_eigenvalues(fake_cusolver):
    fake_cusolver.missing.add("cusolverDnXgeev")
    a = Arrays().square
    with pytest.warns(HostFallbackWarning, match=r"numpy.linalg.eigvals computes on the host"):
        got = linalg.eigvals(cuda.to_device(a))
    np.testing.assert_allclose(to_host(got), np.linalg.eigvals(a))


def test_eigenvalues_of_rotations_are_complex(fake_cusolver):
    a = np.array([[[0.0, 1], [-1, 0]], [[2.0, 0], [0, 3]]])
    for given in (a, a[:1], a[1:]):
        values, vectors = linalg.eig(cuda.to_device(given))
        expected = np.linalg.eigvals(given)
        assert values.dtype == expected.dtype
        values, vectors = to_host(values), to_host(vectors)
        np.testing.assert_allclose(given @ vectors, vectors * values[:, None, :], atol=1e-15)


def test_a_product_goes_to_the_array_that_is_given(fake_cusolver):
    rng = np.random.default_rng(3)
    factors = [rng.random(shape) for shape in ((2, 9), (9, 3), (3, 8), (8, 2))]
    placed = [cuda.to_device(each) for each in factors]
    out = cuda.device_array((2, 2))
    assert linalg.multi_dot(placed, out=out) is out
    np.testing.assert_allclose(to_host(out), np.linalg.multi_dot(factors))
    with pytest.raises(ValueError, match="output array"):
        linalg.multi_dot(placed[:2], out=cuda.device_array((2, 3), order="F"))
    with pytest.raises(ValueError, match="aligned"):
        linalg.multi_dot([placed[0], placed[0]])


def test_results_belong_to_the_stream(fake_cusolver):
    stream = cuda.stream()
    a = cuda.to_device(Arrays().square)
    for function in (linalg.inv, linalg.matrix_transpose, linalg.diagonal, linalg.svdvals):
        assert function(a, stream=stream).stream is stream
    assert linalg.norm(a, axis=0, stream=stream).stream is stream
    stream.synchronize()
