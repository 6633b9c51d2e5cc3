"""Functions of linear algebra in terms of cuSOLVER's and cuBLAS's routines.

Each takes the stream of its results and the arguments of the function whose name it has, and
returns `NotImplemented` for arguments that the host has to deal with, wrong ones among them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.layout import Layout
from pygpulib.core.ordering import order_after
from pygpulib.core.stream import stream_handle
from pygpulib.linalg.solver import is_offered, real_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib.core.driver import Driver
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.solver import Solver

Result = Any

# Stacks of matrices up to this order go to cuBLAS, which does them at once.
_SMALL_ORDER = 64


class Job:
    """One call: its stream, new arrays that belong to it, and routines.

    Parameters
    ----------
    solver : Solver
        The library.
    driver : Driver
        The back end.
    stream : Stream or 0
        Where the work is queued.
    """

    def __init__(self, solver: Solver, driver: Driver, stream: StreamLike) -> None:
        self._solver = solver
        self._driver = driver
        self.stream = stream
        self._handle = stream_handle(stream)

    def empty(self, shape: Shape, dtype: Any) -> ndarray:  # noqa: ANN401
        """Return a new stack of matrices whose columns are contiguous."""
        made = device_array((*shape[:-2], shape[-1], shape[-2]), dtype, stream=self.stream)
        return transpose(made)

    def vectors(self, shape: Shape, dtype: Any) -> ndarray:  # noqa: ANN401
        """Return a new stack of vectors."""
        return device_array(shape, dtype, stream=self.stream)

    def zeros(self, shape: Shape, dtype: Any) -> ndarray:  # noqa: ANN401
        """Return a new stack of matrices of zeros."""
        made = self.empty(shape, dtype)
        made.setitem(..., np.zeros((), dtype), self.stream)
        return made

    def copy(self, array: ndarray) -> ndarray:
        """Return a copy of a stack of matrices whose columns are contiguous."""
        order_after([array.buffer], self._handle)
        made = self.empty(array.shape, array.dtype)
        made.copy_to_device(array, self.stream)
        return made

    def upload(self, array: Any) -> Any:  # noqa: ANN401
        """Return what the host computed: a number as it is, an array on the device."""
        return to_device(array, self.stream) if isinstance(array, np.ndarray) else array

    def put(self, target: ndarray, source: ndarray) -> None:
        """Copy to an array of the same shape."""
        target.copy_to_device(source, self.stream)

    def put_triangle(self, uplo: str, target: ndarray, source: ndarray) -> None:
        """Copy a triangle of a square matrix to another one, whose other triangle stays."""
        packed = blas.trttp(uplo, source, stream=self.stream)
        blas.tpttr(uplo, packed, target, stream=self.stream)

    def run(self, name: str, **values: object) -> None:
        """Queue a routine of cuSOLVER."""
        self._solver.run(name, self._handle, **values)

    def require(self, info: ndarray, message: str) -> None:
        """Wait, and raise NumPy's error if a routine has left something but zero."""
        if self.read(info).any():
            raise np.linalg.LinAlgError(message)

    def read(self, array: ndarray) -> np.ndarray[Any, Any]:
        """Wait, and return an array's elements."""
        copy = array.copy_to_host(stream=self.stream)
        self._driver.synchronize_stream(self._handle)
        return copy


def transpose(array: ndarray) -> ndarray:
    """Return a stack of matrices with rows and columns exchanged."""
    axes = list(range(array.ndim))
    axes[-2:] = axes[:-3:-1]
    return array.transpose(*axes)


def each(stack: Shape, *arrays: ndarray) -> Iterator[tuple[Any, ...]]:
    """Yield what belongs to each index of a stack: views of arrays that begin with its axes."""
    for index in np.ndindex(*stack):
        # Slices, so that an element stays an array.
        slices = tuple([slice(i, i + 1) for i in index])
        yield tuple(
            [array[(*index, ...)] if array.ndim > len(stack) else array[slices] for array in arrays]
        )


def is_square(array: ndarray) -> bool:
    """Return whether an array is a stack of square matrices that the library computes with."""
    return is_offered(array) and array.ndim >= 2 and array.shape[-1] == array.shape[-2]


# --------------------------------------------------------------------------------- equations


def solve(job: Job, a: ndarray, b: ndarray) -> Result:
    """Factor into triangles, and solve with them."""
    if not is_offered(a, b) or not is_square(a):
        return NotImplemented
    is_vector = b.ndim == 1
    if is_vector and a.ndim == 2:
        b = b.reshape(-1, 1)
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        return NotImplemented
    x = _solve(job, a, job.copy(b))
    return x.reshape(-1) if is_vector else x


def inv(job: Job, a: ndarray) -> Result:
    """Solve for the columns of the unit matrix."""
    if not is_square(a):
        return NotImplemented
    x = job.empty(a.shape, a.dtype)
    x.setitem(..., np.eye(a.shape[-1], dtype=a.dtype), job.stream)
    return _solve(job, a, x)


def _solve(job: Job, a: ndarray, x: ndarray) -> ndarray:
    """Solve for right sides, which are lost."""
    if a.ndim > 2 and a.shape[-1] <= _SMALL_ORDER:
        return _solve_at_once(job, a, x)
    n, stack = a.shape[-1], a.shape[:-2]
    factors, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    pivots = job.vectors((n,), np.int32)
    spare = job.vectors((1,), np.int32)
    for lu, right, status in each(stack, factors, x, info):
        job.run("getrf", m=n, n=n, a=lu, lda=n, ipiv=pivots, info=status)
        job.run(
            "getrs",
            trans="N",
            n=n,
            nrhs=right.shape[1],
            a=lu,
            lda=n,
            ipiv=pivots,
            b=right,
            ldb=n,
            info=spare,
        )
    job.require(info, "Singular matrix")
    return x


def _solve_at_once(job: Job, a: ndarray, x: ndarray) -> ndarray:
    """Solve a stack of small systems in one call."""
    stack, (rows, columns) = x.shape[:-2], x.shape[-2:]
    factors, pivots, info = blas.getrf_batched(_flatten(job.copy(a)), stream=job.stream)
    job.require(info, "Singular matrix")
    found = blas.getrs_batched("N", factors, pivots, _flatten(x), stream=job.stream)
    return transpose(transpose(found).reshape(*stack, columns, rows)).bind(job.stream)


def _flatten(array: ndarray) -> ndarray:
    """Return a stack of matrices with contiguous columns as one with one axis."""
    rows, columns = array.shape[-2:]
    return transpose(transpose(array).reshape(-1, columns, rows))


def det(job: Job, a: ndarray) -> Result:
    """Multiply the diagonal of a triangle."""
    found = _sign_and_logarithm(job, a)
    if found is NotImplemented:
        return NotImplemented
    sign, logarithm = found
    with np.errstate(over="ignore"):
        return job.upload((sign * np.exp(logarithm)).astype(a.dtype))


def slogdet(job: Job, a: ndarray) -> Result:
    """Multiply the signs and add the logarithms of the diagonal of a triangle."""
    found = _sign_and_logarithm(job, a)
    return found if found is NotImplemented else _named("slogdet", *map(job.upload, found))


def _sign_and_logarithm(job: Job, a: ndarray) -> Result:
    """Return what `slogdet` does, on the host: a few numbers for each matrix."""
    if not is_square(a):
        return NotImplemented
    n, stack = a.shape[-1], a.shape[:-2]
    factors, pivots = job.copy(a), job.vectors((*stack, n), np.int32)
    info = job.vectors((1,), np.int32)
    for lu, rows in each(stack, factors, pivots):
        job.run("getrf", m=n, n=n, a=lu, lda=n, ipiv=rows, info=info)
    steps = (*factors.strides[:-2], factors.strides[-2] + factors.strides[-1])
    diagonal = job.read(factors.with_layout(Layout((*stack, n), steps)))
    exchanges = (job.read(pivots) != np.arange(1, n + 1)).sum(-1)
    absolute = np.abs(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(absolute).sum(-1, dtype=absolute.dtype)
        signs = np.where(absolute == 0, diagonal, diagonal / absolute)
    sign = signs.prod(-1) * np.where(exchanges % 2, -1, 1).astype(a.dtype)
    return sign, logarithm


# ----------------------------------------------------------------------------- factorizations


def cholesky(job: Job, a: ndarray, /, *, upper: bool = False) -> Result:
    """Factor, and clear the other triangle."""
    if not is_square(a):
        return NotImplemented
    n, stack, uplo = a.shape[-1], a.shape[:-2], "U" if upper else "L"
    factors, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    result = job.zeros(a.shape, a.dtype)
    for factor, target, status in each(stack, factors, result, info):
        job.run("potrf", uplo=uplo, n=n, a=factor, lda=n, info=status)
        job.put_triangle(uplo, target, factor)
    job.require(info, "Matrix is not positive definite")
    return result


def qr(job: Job, a: ndarray, mode: str = "reduced") -> Result:
    """Factor with Householder's reflections, and multiply these."""
    if not is_offered(a) or a.ndim < 2 or mode not in ("reduced", "r"):
        return NotImplemented
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    k = min(m, n)
    factors, r = job.copy(a), job.zeros((*stack, k, n), a.dtype)
    q = job.empty((*stack, m, k), a.dtype)
    tau, info = job.vectors((k,), a.dtype), job.vectors((1,), np.int32)
    for factor, upper, basis in each(stack, factors, r, q):
        job.run("geqrf", m=m, n=n, a=factor, lda=m, tau=tau, info=info)
        job.put_triangle("U", upper[:, :k], factor[:k, :k])
        if n > k:
            job.put(upper[:, k:], factor[:k, k:])
        if mode == "reduced":
            job.put(basis, factor[:, :k])
            job.run("orgqr", m=m, n=k, k=k, a=basis, lda=m, tau=tau, info=info)
    return r if mode == "r" else _named("qr", q, r)


def eigh(job: Job, a: ndarray, UPLO: str = "L") -> Result:  # noqa: N803
    """Find eigenvalues and eigenvectors."""
    found = _eigen(job, a, UPLO, "V")
    return found if found is NotImplemented else _named("eigh", *found)


def eigvalsh(job: Job, a: ndarray, UPLO: str = "L") -> Result:  # noqa: N803
    """Find eigenvalues."""
    found = _eigen(job, a, UPLO, "N")
    return found if found is NotImplemented else found[0]


def _eigen(job: Job, a: ndarray, uplo: str, mode: str) -> Result:
    if not is_square(a) or uplo not in ("L", "U"):
        return NotImplemented
    n, stack = a.shape[-1], a.shape[:-2]
    vectors, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    values = job.vectors((*stack, n), real_dtype(a.dtype))
    for matrix, row, status in each(stack, vectors, values, info):
        job.run("syevd", jobz=mode, uplo=uplo, n=n, a=matrix, lda=n, w=row, info=status)
    job.require(info, "Eigenvalues did not converge")
    return values, vectors


def svd(
    job: Job,
    a: ndarray,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Result:
    """Factor a matrix, or the transpose of a wide one."""
    if not is_offered(a) or a.ndim < 2 or hermitian:
        return NotImplemented
    if not compute_uv:
        return _decompose(job, a, "N")[1]
    return _named("svd", *_decompose(job, a, "A" if full_matrices else "S"))


def svdvals(job: Job, x: ndarray, /) -> Result:
    """Find singular values."""
    if not is_offered(x) or x.ndim < 2:
        return NotImplemented
    return _decompose(job, x, "N")[1]


def _decompose(job: Job, a: ndarray, mode: str) -> tuple[ndarray, ndarray, ndarray]:
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    if m < n:  # the library wants tall ones
        u, s, vh = _decompose(job, transpose(a), mode)
        return transpose(vh), s, transpose(u)
    columns = {"A": m, "S": n, "N": 1}[mode]
    work, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    s = job.vectors((*stack, n), real_dtype(a.dtype))
    u, vh = job.empty((*stack, m, columns), a.dtype), job.empty((*stack, n, n), a.dtype)
    for matrix, row, left, right, status in each(stack, work, s, u, vh, info):
        job.run(
            "gesvd",
            jobu=mode,
            jobvt=mode,
            m=m,
            n=n,
            a=matrix,
            lda=m,
            s=row,
            u=left,
            ldu=m,
            vt=right,
            ldvt=n,
            info=status,
        )
    job.require(info, "SVD did not converge")
    return u, s, vh


def _named(name: str, *items: object) -> Result:
    """Return arrays in the named tuple that a function of NumPy returns."""
    return _result_type(name)(*items)


@cache
def _result_type(name: str) -> Any:  # noqa: ANN401
    return type(getattr(np.linalg, name)(np.eye(1)))


# ----------------------------------------------------------------------------------- products


def matmul(job: Job, x1: ndarray, x2: ndarray, /) -> Result:
    """Multiply two matrices, or two stacks with one axis."""
    if not is_offered(x1, x2) or x1.ndim != x2.ndim or x1.shape[-1] != x2.shape[-2:][0]:
        return NotImplemented
    if x1.ndim == 2:
        return blas.gemm("N", "N", 1, x1, x2, stream=job.stream)
    if x1.ndim == 3 and x1.shape[0] == x2.shape[0]:
        return blas.gemm_strided_batched("N", "N", 1, x1, x2, stream=job.stream)
    return NotImplemented


def matrix_transpose(job: Job, x: ndarray, /) -> Result:  # noqa: ARG001
    """Return a view."""
    return transpose(x) if x.ndim >= 2 else NotImplemented


NATIVE: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.linalg", function.__name__): function
    for function in (
        cholesky,
        det,
        eigh,
        eigvalsh,
        inv,
        matmul,
        matrix_transpose,
        qr,
        slogdet,
        solve,
        svd,
        svdvals,
    )
}
"""What there is, by the module and the name of the function."""
