"""A call of every function of linear algebra, and its comparison with NumPy's or SciPy's."""

from __future__ import annotations

import functools
import importlib
import warnings

import numpy as np
import scipy.linalg

from pygpulib.core.array import ndarray

N = 4
DTYPES = ("f4", "f8", "c8", "c16")


class Arrays:
    """Arrays to compute with, of one dtype, and of a batch if there is one.

    Parameters
    ----------
    dtype
        Their dtype.
    n
        The order of the square ones.
    batch
        The axes before those of the matrices.
    """

    def __init__(self, dtype="f8", n=N, batch=()):
        self.dtype = np.dtype(dtype)
        self.n = n
        self.batch = batch
        self._rng = np.random.default_rng(7)

    def matrix(self, rows, columns):
        shape = (*self.batch, rows, columns)
        values = self._rng.uniform(-1, 1, shape)
        if self.dtype.kind == "c":
            values = values + 1j * self._rng.uniform(-1, 1, shape)
        return values.astype(self.dtype)

    @property
    def square(self):
        return self.matrix(self.n, self.n) + 3 * np.eye(self.n, dtype=self.dtype)

    @property
    def positive(self):
        """Hermitian and positive definite."""
        half = self.matrix(self.n, self.n)
        return half @ half.swapaxes(-1, -2).conj() + self.n * np.eye(self.n, dtype=self.dtype)

    @property
    def tall(self):
        return self.matrix(self.n + 2, self.n)

    @property
    def wide(self):
        return self.matrix(max(self.n - 1, 0), self.n)

    @property
    def right(self):
        return self.matrix(self.n, 2)

    @property
    def vector(self):
        return self.matrix(1, self.n)[..., 0, :] + self.dtype.type(2)

    @property
    def unitary(self):
        return np.linalg.qr(self.square)[0].astype(self.dtype)

    @property
    def band(self):
        """The diagonals of a positive definite matrix."""
        diagonals = self.matrix(2, self.n)
        diagonals[..., 1, :] = 4 + diagonals[..., 1, :].real
        return diagonals

    def flat(self, *shape):
        """An array without the batch."""
        batch, self.batch = self.batch, ()
        made = self.matrix(1, int(np.prod(shape))).reshape(shape)
        self.batch = batch
        return made


OF_NUMPY = {
    "cholesky": [lambda x: ((x.positive,), {}), lambda x: ((x.positive,), {"upper": True})],
    "cond": [
        lambda x, order=order: ((x.square, order), {})
        for order in (None, -2, 1, -np.inf, "fro", "nuc")
    ],
    "cross": [lambda x: ((x.matrix(2, 3), x.matrix(2, 3)), {})],
    "det": [lambda x: ((x.square,), {})],
    "diagonal": [lambda x: ((x.square,), {}), lambda x: ((x.tall,), {"offset": -1})],
    "eig": [lambda x: ((x.square,), {})],
    "eigh": [lambda x: ((x.positive,), {}), lambda x: ((x.positive, "U"), {})],
    "eigvals": [lambda x: ((x.square,), {})],
    "eigvalsh": [lambda x: ((x.positive,), {"UPLO": "U"})],
    "inv": [lambda x: ((x.square,), {})],
    "kron": [lambda x: ((x.square, x.right), {})],
    "lstsq": [
        lambda x: ((x.tall, x.matrix(x.n + 2, 2)), {"rcond": 1e-5}),
        lambda x: ((x.tall, x.flat(x.n + 2)), {}),
        lambda x: ((x.wide, x.matrix(x.n - 1, 2)), {}),
        lambda x: ((x.tall, x.matrix(x.n + 2, 2)), {"rcond": -1}),
    ],
    "matmul": [
        lambda x: ((x.tall, x.square), {}),
        lambda x: ((x.tall, x.flat(x.n)), {}),
        lambda x: ((x.flat(x.n), x.square), {}),
    ],
    "matrix_norm": [
        lambda x, order=order: ((x.tall,), {"ord": order})
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    "matrix_power": [lambda x: ((x.square, 3), {}), lambda x: ((x.square, -2), {})],
    "matrix_rank": [lambda x: ((x.tall,), {})],
    "matrix_transpose": [lambda x: ((x.tall,), {})],
    "multi_dot": [lambda x: (([x.tall, x.square, x.right],), {})],
    "norm": [lambda x: ((x.tall,), {}), lambda x: ((x.tall,), {"axis": -1, "keepdims": True})],
    "outer": [lambda x: ((x.vector, x.vector), {})],
    "pinv": [
        lambda x: ((x.tall,), {}),
        lambda x: ((x.wide,), {"rtol": 1e-3}),
        lambda x: ((x.positive,), {"hermitian": True}),
    ],
    "qr": [
        *(
            lambda x, mode=mode: ((x.tall, mode), {})
            for mode in ("reduced", "complete", "r", "raw")
        ),
        lambda x: ((x.wide,), {}),
    ],
    "slogdet": [lambda x: ((x.square,), {})],
    "solve": [lambda x: ((x.square, x.right), {}), lambda x: ((x.square, x.flat(x.n)), {})],
    "svd": [
        lambda x: ((x.tall,), {}),
        lambda x: ((x.wide,), {"full_matrices": False}),
        lambda x: ((x.tall,), {"compute_uv": False}),
        lambda x: ((x.positive,), {"hermitian": True}),
    ],
    "svdvals": [lambda x: ((x.tall,), {})],
    "tensordot": [lambda x: ((x.tall, x.square), {"axes": 1})],
    "tensorinv": [lambda x: ((x.flat(2, 3, 6),), {"ind": 2})],
    "tensorsolve": [lambda x: ((x.flat(2, 3, 6), x.flat(2, 3)), {})],
    "trace": [lambda x: ((x.square,), {}), lambda x: ((x.tall,), {"offset": -1})],
    "vecdot": [lambda x: ((x.tall, x.tall), {})],
    "vector_norm": [
        lambda x: ((x.tall,), {}),
        lambda x: ((x.tall,), {"axis": (0, 1), "keepdims": True}),
        *(
            lambda x, order=order: ((x.tall,), {"axis": 0, "ord": order})
            for order in (0, 1, 2.5, -1, np.inf, -np.inf)
        ),
    ],
}

OF_SCIPY = {
    "bandwidth": [lambda x: ((x.square,), {})],
    "block_diag": [lambda x: ((x.square, x.tall, x.right), {})],
    "cdf2rdf": [lambda x: (np.linalg.eig(x.square.real), {})],
    "cho_factor": [lambda x: ((x.positive,), {"lower": True})],
    "cho_solve": [lambda x: (((scipy.linalg.cholesky(x.positive), False), x.right), {})],
    "cho_solve_banded": [lambda x: (((scipy.linalg.cholesky_banded(x.band), False), x.vector), {})],
    "cholesky": [lambda x: ((x.positive,), {}), lambda x: ((x.positive,), {"lower": True})],
    "cholesky_banded": [lambda x: ((x.band,), {})],
    "circulant": [lambda x: ((x.vector,), {})],
    "clarkson_woodruff_transform": [lambda x: ((x.tall, 3), {"rng": 0})],
    "companion": [lambda x: ((x.vector,), {})],
    "convolution_matrix": [lambda x: ((x.vector, 5), {"mode": "same"})],
    "coshm": [lambda x: ((x.square,), {})],
    "cosm": [lambda x: ((x.square,), {})],
    "cossin": [lambda x: ((x.unitary,), {"p": 2, "q": 2})],
    "det": [lambda x: ((x.square,), {"overwrite_a": True})],
    "dft": [lambda x: ((x.n,), {})],
    "diagsvd": [lambda x: ((x.vector, x.n + 2, x.n), {})],
    "eig": [
        lambda x: ((x.square,), {}),
        lambda x: ((x.square,), {"left": True}),
        lambda x: ((x.square, x.positive), {}),
    ],
    "eig_banded": [lambda x: ((x.band,), {})],
    "eigh": [
        lambda x: ((x.positive,), {"lower": False}),
        lambda x: ((x.positive,), {"subset_by_index": [0, 1]}),
        lambda x: ((x.positive, x.positive), {"overwrite_a": True}),
    ],
    "eigh_tridiagonal": [lambda x: ((x.vector.real, x.flat(x.n - 1).real), {})],
    "eigvals": [
        lambda x: ((x.square,), {}),
        lambda x: ((x.square, x.positive), {"homogeneous_eigvals": True}),
    ],
    "eigvals_banded": [lambda x: ((x.band,), {})],
    "eigvalsh": [lambda x: ((x.positive, x.positive), {})],
    "eigvalsh_tridiagonal": [lambda x: ((x.vector.real, x.flat(x.n - 1).real), {})],
    "expm": [lambda x: ((x.square,), {})],
    "expm_cond": [lambda x: ((x.flat(2, 2),), {})],
    "expm_frechet": [lambda x: ((x.square, x.square), {})],
    "fiedler": [lambda x: ((x.vector,), {})],
    "fiedler_companion": [lambda x: ((x.vector,), {})],
    "fractional_matrix_power": [lambda x: ((x.square, 0.5), {})],
    "funm": [lambda x: ((x.positive, np.exp), {})],
    "hadamard": [lambda x: ((4,), {"dtype": x.dtype})],
    "hankel": [lambda x: ((x.vector, x.vector), {})],
    "helmert": [lambda x: ((x.n,), {})],
    "hessenberg": [lambda x: ((x.square,), {"calc_q": True})],
    "hilbert": [lambda x: ((x.n,), {})],
    "inv": [lambda x: ((x.square,), {"overwrite_a": True, "check_finite": False})],
    "invhilbert": [lambda x: ((x.n,), {})],
    "invpascal": [lambda x: ((x.n,), {})],
    "ishermitian": [lambda x: ((x.positive,), {"atol": 1e-3})],
    "issymmetric": [lambda x: ((x.square,), {})],
    "khatri_rao": [lambda x: ((x.square, x.tall), {})],
    "ldl": [lambda x: ((x.positive,), {"lower": False})],
    "leslie": [lambda x: ((x.vector, x.flat(x.n - 1)), {})],
    "logm": [lambda x: ((x.positive,), {})],
    "lstsq": [
        lambda x: ((x.tall, x.matrix(x.n + 2, 2)), {}),
        lambda x: ((x.tall, x.flat(x.n + 2)), {}),
        lambda x: ((x.tall, x.matrix(x.n + 2, 2)), {"lapack_driver": "gelsy"}),
    ],
    "lu": [
        lambda x: ((x.tall,), {}),
        lambda x: ((x.square,), {"permute_l": True}),
        lambda x: ((x.square,), {"p_indices": True}),
    ],
    "lu_factor": [lambda x: ((x.square,), {"overwrite_a": True})],
    "lu_solve": [lambda x: ((scipy.linalg.lu_factor(x.square), x.right, 1), {})],
    "matmul_toeplitz": [lambda x: ((x.vector, x.right), {})],
    "matrix_balance": [lambda x: ((x.square,), {"separate": True})],
    "norm": [
        lambda x: ((x.tall,), {"ord": 1, "keepdims": True}),
        lambda x: ((x.tall, "fro"), {}),
        lambda x: ((x.flat(x.n),), {}),
    ],
    "null_space": [lambda x: ((x.wide,), {})],
    "ordqz": [lambda x: ((x.square, x.positive), {"sort": "rhp"})],
    "orth": [lambda x: ((x.tall,), {})],
    "orthogonal_procrustes": [lambda x: ((x.tall, x.tall), {})],
    "pascal": [lambda x: ((x.n,), {})],
    "pinv": [lambda x: ((x.tall,), {"return_rank": True})],
    "pinvh": [lambda x: ((x.positive,), {})],
    "polar": [lambda x: ((x.tall,), {"side": "right"})],
    "qr": [
        lambda x: ((x.tall,), {}),
        lambda x: ((x.tall,), {"mode": "r"}),
        lambda x: ((x.tall,), {"pivoting": True}),
        lambda x: ((x.tall,), {"mode": "economic"}),
        lambda x: ((x.wide,), {"mode": "raw"}),
    ],
    "qr_delete": [lambda x: ((*np.linalg.qr(x.square), 1), {})],
    "qr_insert": [lambda x: ((*np.linalg.qr(x.square), x.vector, 1), {})],
    "qr_multiply": [lambda x: ((x.square, x.matrix(3, x.n)), {})],
    "qr_update": [lambda x: ((*np.linalg.qr(x.square), x.vector, x.vector), {})],
    "qz": [lambda x: ((x.square, x.positive), {})],
    "rq": [lambda x: ((x.square,), {})],
    "rsf2csf": [lambda x: (scipy.linalg.schur(x.square), {})],
    "schur": [
        lambda x: ((x.square,), {"output": "complex"}),
        lambda x: ((x.square,), {"sort": "rhp"}),
    ],
    "signm": [lambda x: ((x.square,), {})],
    "sinhm": [lambda x: ((x.square,), {})],
    "sinm": [lambda x: ((x.square,), {})],
    "solve": [
        *(
            lambda x, kind=kind: ((x.positive, x.right), {"assume_a": kind})
            for kind in ("pos", "sym", "her", "gen")
        ),
        lambda x: ((x.square, x.right), {"transposed": True}),
    ],
    "solve_banded": [lambda x: (((1, 1), x.matrix(3, x.n), x.vector), {})],
    "solve_circulant": [lambda x: ((x.vector, x.vector), {})],
    "solve_continuous_are": [lambda x: ((x.square, x.square, x.positive, x.positive), {})],
    "solve_continuous_lyapunov": [lambda x: ((x.square, x.positive), {})],
    "solve_discrete_are": [lambda x: ((x.square, x.square, x.positive, x.positive), {})],
    "solve_discrete_lyapunov": [lambda x: ((x.square / 8, x.positive), {})],
    "solve_lyapunov": [lambda x: ((x.square, x.positive), {})],
    "solve_sylvester": [lambda x: ((x.square, x.positive, x.square), {})],
    "solve_toeplitz": [lambda x: ((x.vector, x.vector), {})],
    "solve_triangular": [
        lambda x: ((x.square, x.right), {"lower": True}),
        lambda x: ((x.square, x.right), {"trans": "C", "unit_diagonal": True}),
    ],
    "solveh_banded": [lambda x: ((x.band, x.vector), {})],
    "sqrtm": [lambda x: ((x.positive,), {})],
    "subspace_angles": [lambda x: ((x.tall, x.tall), {})],
    "svd": [
        lambda x: ((x.tall,), {"full_matrices": False}),
        lambda x: ((x.wide,), {"lapack_driver": "gesvd"}),
    ],
    "svdvals": [lambda x: ((x.tall,), {})],
    "tanhm": [lambda x: ((x.square,), {})],
    "tanm": [lambda x: ((x.square,), {})],
    "toeplitz": [lambda x: ((x.vector, x.vector), {})],
}


def _product(*factors):
    """Multiply what may be stacks of matrices."""
    return functools.reduce(np.matmul, factors)


def _adjoint(a):
    return a.swapaxes(-1, -2).conj()


def _of_values(w):
    """Return what tells of eigenvalues in any order: the sums of their powers."""
    return [(w**power).sum(-1) for power in range(1, w.shape[-1] + 1)]


def _of_eigenvectors(found):
    """Return the matrix that was given: its values and vectors are in any order."""
    w, v = found
    return [*_of_values(w), _product(v * w[..., None, :], np.linalg.inv(v)) if v.size else v]


def _of_hermitian_eigenvectors(found):
    w, v = found
    return [w, _product(v * w[..., None, :], _adjoint(v)), _product(v, _adjoint(v))]


def _of_singular_vectors(found):
    u, s, vh = found
    k = s.shape[-1]
    rebuilt = _product(u[..., :k] * s[..., None, :], vh[..., :k, :])
    return [s, rebuilt, _product(_adjoint(u), u), _product(vh, _adjoint(vh))]


def _of_orthonormal_factor(found):
    q, r = found
    if q.ndim != r.ndim:  # reflections and their factors
        return found
    return [_product(q, r), _product(_adjoint(q), q), np.abs(r[..., : r.shape[-1], :])]


def _of_basis(q):
    return [_product(q, _adjoint(q)), _product(_adjoint(q), q)]


# What is the same for all right results of functions that have more than one, and which of their
# results it is computed from: arrays, or tuples of so many of them.
INVARIANTS = {
    "eig": (2, _of_eigenvectors),
    "eigh": (2, _of_hermitian_eigenvectors),
    "eigvals": (None, _of_values),
    "null_space": (None, _of_basis),
    "orth": (None, _of_basis),
    "qr": (2, _of_orthonormal_factor),
    "svd": (3, _of_singular_vectors),
}


def change(value, function):
    """Return a value with every array in it changed."""
    if isinstance(value, (np.ndarray, ndarray)):
        return function(value)
    if isinstance(value, dict):
        return {name: change(item, function) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [change(item, function) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def count_arrays(value, kind):
    found = []
    change(value, found.append)
    return sum(isinstance(each, kind) for each in found)


def count_objects(value):
    """Return how many arrays hold Python objects, as stacks of ``None`` do."""
    found = []
    change(value, found.append)
    return sum(each.dtype.hasobject for each in found)


def home_of(function):
    return getattr(importlib.import_module(function.home), function.name)


def outcome(function, arguments, options):
    """Return what a function returns and None, or None and what it raises."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=scipy.linalg.LinAlgWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", "divide by zero|invalid value|overflow|logm result")
        try:
            return function(*arguments, **options), None
        except Exception as error:
            return None, error


def expect_same(function, ours, given, place, on_device, to_host=np.asarray):
    """Check that a function does with arrays somewhere what the library does on the host.

    Parameters
    ----------
    function
        The function, as the table has it.
    ours
        The function, as it is offered.
    given
        Arguments and options with host arrays.
    place
        Makes of a host array what is given to our function.
    on_device
        Whether that is a device array.
    to_host
        Copies a result.
    """
    arguments, options = given
    # The library may overwrite what it is given.
    expected, complaint = outcome(home_of(function), *change(given, np.copy))
    placed = change((arguments, options), place)
    got, error = outcome(ours, *placed)
    assert type(error) is type(complaint), (error, complaint)
    if complaint is not None:
        assert str(error) == str(complaint)
        return
    if on_device and count_arrays(given, np.ndarray):
        assert count_arrays(got, np.ndarray) == count_objects(got)
    else:
        assert not count_arrays(got, ndarray)
    compare_results(function.name, change(got, to_host), expected, _tolerance(given))


def _tolerance(given):
    """Return how much results may differ, from the dtypes that they were computed from."""
    dtypes = []
    change(given, lambda array: dtypes.append(array.dtype))
    return 5e-4 if {"float32", "complex64"} & {dtype.name for dtype in dtypes} else 1e-10


def compare_results(name, got, expected, eps=1e-10):
    """Compare what a function returned, where there is a choice by what does not depend on it."""
    count, invariant = INVARIANTS.get(name, (None, None))
    if invariant is not None and count == (len(got) if isinstance(got, tuple) else None):
        compare(change(got, describe), change(expected, describe))
        if all(isinstance(each, np.ndarray) for each in (got if count else [got])):
            got, expected = invariant(got), invariant(expected)
    compare(got, expected, eps)


def describe(array):
    return str(array.dtype), array.shape


def compare(got, expected, eps=1e-10):
    assert type(got) is type(expected), (got, expected)
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            compare(one, other, eps)
        return
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert got == expected or np.isclose(got, expected)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if expected.dtype.hasobject:
        assert (got == expected).all()
        return
    if expected.dtype.name in ("float32", "complex64"):
        eps = max(eps, 5e-4)
    scale = np.max(np.abs(expected), initial=1) if np.isfinite(expected).all() else 1
    np.testing.assert_allclose(got, expected, rtol=eps, atol=eps * scale)
