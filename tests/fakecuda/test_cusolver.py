"""Linear algebra through ctypes: cuSOLVER's calls, on a fake library that computes with SciPy."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest
import scipy.linalg

from pygpulib import cuda, linalg
from pygpulib._bindings.cusolver import CuSolverError
from pygpulib.errors import HostFallbackWarning
from pygpulib.linalg import cuda_equations
from pygpulib.linalg.cuda import NATIVE
from tests.helpers import linalg_cases
from tests.helpers.linalg_cases import DTYPES, Arrays, change, compare


@pytest.fixture
def library(fake_cusolver):
    return fake_cusolver


def columns(array):
    """Return an array whose matrices have contiguous columns."""
    return array if array.ndim < 2 else array.swapaxes(-1, -2).copy().swapaxes(-1, -2)


LAYOUTS = {
    "rows": lambda a, s: cuda.to_device(a, stream=s),
    "columns": lambda a, s: cuda.to_device(columns(a), s),
    "reversed": lambda a, s: cuda.to_device(a[..., ::-1].copy(), s)[..., ::-1],
    "every other": lambda a, s: cuda.to_device(np.repeat(a, 2, -1), s)[..., ::2],
}
CASES = [
    (linalg.solve, lambda x: (x.square, x.right), {}),
    (linalg.inv, lambda x: (x.square,), {}),
    (linalg.cholesky, lambda x: (x.positive,), {}),
    (linalg.cholesky, lambda x: (x.positive,), {"upper": True}),
    (linalg.eigvalsh, lambda x: (x.positive,), {}),
    (linalg.eigvalsh, lambda x: (x.positive,), {"UPLO": "U"}),
    (linalg.svdvals, lambda x: (x.tall,), {}),
    (linalg.svdvals, lambda x: (x.wide,), {}),
    (linalg.svd, lambda x: (x.wide,), {"compute_uv": False}),
]


def read(array, stream):
    copy = array.copy_to_host(stream=stream)
    stream.synchronize()
    return copy


def tolerance(dtype):
    eps = float(np.finfo(dtype).eps) * 200
    return {"rtol": eps, "atol": eps}


def each_way():
    stream = cuda.stream()
    layouts = itertools.cycle(LAYOUTS.values())
    for turn, dtype in enumerate(DTYPES):
        next(layouts)  # each dtype in another layout for another number of axes
        for batch in ((), ((3,), (2, 1))[turn % 2]):
            place = next(layouts)
            yield Arrays(dtype, 5, batch), lambda a, place=place: place(a, stream), stream


@pytest.mark.parametrize(("function", "make", "options"), CASES)
def test_results_are_numpy_s(library, function, make, options):
    for x, place, stream in each_way():
        given = make(x)
        got = function(*map(place, given), **options)
        expected = getattr(np.linalg, function.__name__)(*given, **options)
        assert got.stream is stream
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(read(got, stream), expected, **tolerance(x.dtype))
        assert {used for _, used in library.calls + library.blas.calls} == {stream.handle}
        library.calls.clear()
        library.blas.calls.clear()


@pytest.mark.parametrize("limit", [0, 64])
def test_stacks_are_solved_one_by_one_or_at_once(library, monkeypatch, limit):
    monkeypatch.setattr(cuda_equations, "SMALL_ORDER", limit)
    x = Arrays("f8", 4, (3, 2))
    a, b = x.square, x.right
    got = linalg.solve(cuda.to_device(a), cuda.to_device(b)).copy_to_host()
    np.testing.assert_allclose(got, np.linalg.solve(a, b), rtol=1e-10)
    np.testing.assert_allclose(linalg.inv(cuda.to_device(a)).copy_to_host(), np.linalg.inv(a))
    assert ("cublasDgetrfBatched" in dict(library.blas.calls)) == bool(limit)
    assert ("cusolverDnXgetrf" in dict(library.calls)) != bool(limit)
    a[1, 1] = 0
    with pytest.raises(linalg.LinAlgError, match="Singular matrix"):
        linalg.inv(cuda.to_device(a))


@pytest.mark.parametrize("kind", ["tall", "wide", "square"])
def test_qr(library, kind):
    for x, place, stream in each_way():
        a = getattr(x, kind)
        q, r = linalg.qr(place(a))
        assert (q.shape, r.shape) == tuple(each.shape for each in np.linalg.qr(a))
        q, r = read(q, stream), read(r, stream)
        np.testing.assert_allclose(q @ r, a, **tolerance(x.dtype))
        unit = np.broadcast_to(np.eye(q.shape[-1]), (*x.batch, q.shape[-1], q.shape[-1]))
        np.testing.assert_allclose(q.swapaxes(-1, -2).conj() @ q, unit, **tolerance(x.dtype))
        np.testing.assert_array_equal(r, np.triu(r))
        np.testing.assert_array_equal(read(linalg.qr(place(a), "r"), stream), r)


@pytest.mark.parametrize("kind", ["tall", "wide", "square"])
@pytest.mark.parametrize("is_full", [False, True])
def test_svd(library, kind, is_full):
    for x, place, stream in each_way():
        a = getattr(x, kind)
        found = linalg.svd(place(a), full_matrices=is_full)
        expected = np.linalg.svd(a, full_matrices=is_full)
        assert found._fields == expected._fields
        assert [each.shape for each in found] == [each.shape for each in expected]
        u, s, vh = (read(each, stream) for each in found)
        k = s.shape[-1]
        np.testing.assert_allclose(s, expected.S, **tolerance(x.dtype))
        product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
        np.testing.assert_allclose(product, a, **tolerance(x.dtype))
        unit = np.broadcast_to(np.eye(u.shape[-1]), (*x.batch, u.shape[-1], u.shape[-1]))
        np.testing.assert_allclose(u.swapaxes(-1, -2).conj() @ u, unit, **tolerance(x.dtype))


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(library, uplo):
    for x, place, stream in each_way():
        a = x.positive
        found = linalg.eigh(place(a), uplo)
        assert found._fields == ("eigenvalues", "eigenvectors")
        values, vectors = (read(each, stream) for each in found)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a), **tolerance(x.dtype))
        np.testing.assert_allclose(
            a @ vectors, vectors * values[..., None, :], **tolerance(x.dtype)
        )


def test_determinants(library):
    for x, place, stream in each_way():
        a = x.square
        a[..., :2, :] = a[..., 1::-1, :]
        for given in (a, a[..., :1, :1], np.zeros_like(a)):
            got, expected = linalg.det(place(given)), np.linalg.det(given)
            sign, logarithm = linalg.slogdet(place(given))
            wanted = np.linalg.slogdet(given)
            if x.batch:
                got, sign, logarithm = (read(each, stream) for each in (got, sign, logarithm))
            for one, other in ((got, expected), (sign, wanted.sign), (logarithm, wanted.logabsdet)):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, **tolerance(x.dtype))


def test_a_transpose_is_a_view(library):
    a = cuda.to_device(np.arange(24.0).reshape(2, 3, 4))
    turned = linalg.matrix_transpose(a)
    assert turned.shape == (2, 4, 3)
    assert turned.address == a.address
    with pytest.raises(ValueError, match="at least 2"):
        linalg.matrix_transpose(a[0, 0])


def test_one_right_side_and_products(library):
    stream = cuda.stream()
    x = Arrays()
    a, b = x.square, x.vector
    got = linalg.solve(cuda.to_device(a, stream), cuda.to_device(b, stream))
    np.testing.assert_allclose(read(got, stream), np.linalg.solve(a, b))
    got = linalg.matmul(cuda.to_device(a, stream), cuda.to_device(x.right, stream))
    assert got.shape == (4, 2)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_errors_are_numpy_s(library, batch):
    singular = np.ones((*batch, 3, 3))
    for function, message in (
        (linalg.inv, "Singular matrix"),
        (lambda a: linalg.solve(a, a), "Singular matrix"),
        (linalg.cholesky, "Matrix is not positive definite"),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            function(cuda.to_device(singular))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        linalg.inv(cuda.to_device(np.ones((*batch, 2, 3))))
    with pytest.raises(ValueError, match="UPLO argument must be 'L' or 'U'"):
        linalg.eigh(cuda.to_device(singular), "X")


def test_given_arrays_stay_what_they_are(library):
    for function, make, options in CASES:
        given = make(Arrays())
        placed = [cuda.to_device(each) for each in given]
        function(*placed, **options)
        for array, expected in zip(placed, given, strict=True):
            np.testing.assert_array_equal(array.copy_to_host(), expected)


def test_a_refusal_says_what_it_means(library):
    library.refuses = 2
    with pytest.raises(
        CuSolverError, match="cuSOLVER could not do getrf: there is not enough"
    ) as e:
        linalg.inv(cuda.to_device(np.eye(2)))
    assert "cusolverDnXgetrf returned CUSOLVER_STATUS_ALLOC_FAILED (2)" in str(e.value)
    assert e.value.code == 2


def test_options_that_only_the_host_has_and_wrong_ones(library):
    a = cuda.to_device(Arrays().positive)
    with pytest.warns(HostFallbackWarning, match=r"numpy.linalg.svd computes on the host"):
        linalg.svd(a, hermitian=True)
    with pytest.warns(HostFallbackWarning, match=r"scipy.linalg.eigh computes on the host"):
        linalg.scipy.eigh(a, subset_by_index=[0, 1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'full'"):
        linalg.svd(a, full=True)
    assert not library.calls


def scipy_calls():
    for dtype in DTYPES:
        x = Arrays(dtype, 5)
        square, positive, right = x.square, x.positive, x.right
        factors, cholesky = scipy.linalg.lu_factor(square), scipy.linalg.cho_factor(positive)
        yield from (
            ("lu_factor", (square,), {}),
            ("lu_factor", (x.tall,), {"check_finite": False}),
            ("lu_solve", (factors, right), {}),
            ("lu_solve", (factors, x.vector), {"trans": 2}),
            ("cho_solve", (cholesky, right), {}),
            ("cho_solve", (scipy.linalg.cho_factor(positive, lower=True), x.vector), {}),
            ("cholesky", (positive,), {}),
            ("cholesky", (positive, True), {}),
            ("svdvals", (x.wide,), {}),
            ("svd", (x.wide,), {"compute_uv": False}),
            ("eigvalsh", (positive,), {"lower": False}),
            ("eigh", (positive,), {"eigvals_only": True}),
        )


def test_results_are_scipy_s(library):
    for turn, (name, arguments, options) in enumerate(scipy_calls()):
        place = list(LAYOUTS.values())[turn % 4]
        stream = cuda.stream()
        library.calls.clear()
        placed = change(arguments, lambda a, place=place, stream=stream: place(a, stream))
        got = getattr(linalg.scipy, name)(*placed, **options)
        expected = getattr(scipy.linalg, name)(*arguments, **options)
        got = change(got, lambda array, stream=stream: read(array, stream))
        compare(got, expected)
        assert {used for _, used in library.calls} == {stream.handle}


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_scipy(library, dtype):
    x = Arrays(dtype, 5)
    a, wide, stream = x.positive, x.wide, cuda.stream()
    factor, lower = linalg.scipy.cho_factor(cuda.to_device(a, stream), lower=True)
    assert lower is True
    factor = np.tril(read(factor, stream))
    np.testing.assert_allclose(factor @ factor.T.conj(), a, **tolerance(dtype))
    u, s, vh = linalg.scipy.svd(cuda.to_device(wide, stream), full_matrices=False)
    u, s, vh = (read(each, stream) for each in (u, s, vh))
    np.testing.assert_allclose(u * s @ vh, wide, **tolerance(dtype))
    values, vectors = linalg.scipy.eigh(cuda.to_device(a, stream))
    values, vectors = read(values, stream), read(vectors, stream)
    np.testing.assert_allclose(a @ vectors, vectors * values, **tolerance(dtype))


def test_scipy_says_what_is_wrong(library):
    for a, name, kind in (
        (np.full((2, 2), np.nan), "lu_factor", ValueError),
        (np.full((2, 2), np.inf), "svd", ValueError),
        (-np.eye(2), "cho_factor", linalg.LinAlgError),
        (np.ones((2, 3)), "cholesky", ValueError),
    ):
        with pytest.raises(kind) as on_host:
            getattr(scipy.linalg, name)(a)
        with pytest.raises(kind, match=re.escape(str(on_host.value))):
            getattr(linalg.scipy, name)(cuda.to_device(a))
    with pytest.warns((scipy.linalg.LinAlgWarning, HostFallbackWarning)) as caught:
        linalg.scipy.lu_factor(cuda.to_device(np.zeros((2, 2))))
    assert {each.category for each in caught} == {scipy.linalg.LinAlgWarning, HostFallbackWarning}


def test_every_native_function_is_in_the_tables():
    for function, native in NATIVE.items():
        library = inspect.signature(linalg_cases.home_of(function)).parameters
        _, *parameters = inspect.signature(native).parameters.values()
        # An older library may have fewer options.
        required = [each.name for each in parameters if each.default is each.empty]
        assert {name for name in required if name not in ("others", "options")} <= {*library}
