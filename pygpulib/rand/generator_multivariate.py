"""The distributions of vectors of `Generator`."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.errors import ArgumentError, ShapeError
from pygpulib.rand import continuous
from pygpulib.rand.drawing import Shape, fill, find_shape, read_size
from pygpulib.rand.generator_base import DrawsNumbers
from pygpulib.rand.operands import (
    ANY,
    COUNT,
    FINITE,
    NOT_NEGATIVE,
    PROBABILITY,
    Operand,
    read_operand,
)
from pygpulib.rand.request import read_integer
from pygpulib.rand.rows import (
    dirichlet_kernel,
    hypergeometric_kernel,
    multinomial_kernel,
    transform_rows,
)
from pygpulib.rand.samplers import launch

_MAX_URN = 10**9
_ROUNDING = 1e-12


class DrawsVectors(DrawsNumbers):
    """The distributions of vectors."""

    def multinomial(self, n: object, pvals: object, size: object = None) -> ndarray:
        """Return how often each of some outcomes occurs, as int64.

        Parameters
        ----------
        n : int or array_like
            Number of trials.
        pvals : array_like
            Probabilities of the outcomes along the last axis; the last outcome gets what the
            others leave.
        size : int or tuple of int, optional
            How many vectors; default: as `n` and `pvals` say.
        """
        trials = read_operand("n", n, COUNT)
        chances = read_operand("pvals", pvals, PROBABILITY)
        if chances.ndim == 0 or not chances.shape[-1]:
            raise ShapeError(
                "the argument pvals has no outcomes", detail="expected at least one probability"
            )
        sums = chances[..., :-1].sum(axis=-1)
        if np.any(sums > 1.0 + _ROUNDING):
            raise ArgumentError(
                f"the probabilities in pvals without the last one have the sum {sums.max():g}",
                detail="expected at most 1",
            )
        shape = find_shape((trials, sums), size, None)
        outcomes = chances.shape[-1]
        out = device_array((*shape, outcomes), np.int64)
        rows = out.size // outcomes
        if rows:
            all_trials = _rows_of(trials, shape)
            all_chances = _rows_of(chances, (*shape, outcomes), outcomes)
            source = self._bit_generator.take(rows)
            launch(
                multinomial_kernel(source.open_stream),
                rows,
                out.reshape(rows, outcomes),
                to_device(all_trials),
                to_device(all_chances),
                source.arguments,
            )
        return out

    def multivariate_hypergeometric(
        self, colors: object, nsample: object, size: object = None, method: str = "marginals"
    ) -> ndarray:
        """Return how many of each color a sample has, as int64.

        Parameters
        ----------
        colors : array_like of int
            How many there are of each color, less than 10**9 in all.
        nsample : int
            How many are drawn, without putting them back.
        size : int or tuple of int, optional
            How many vectors; default: one.
        method : str
            ``"marginals"`` or ``"count"``, as in NumPy; both draw one color after the other.
        """
        if method not in ("count", "marginals"):
            raise ArgumentError(
                f"the argument method is {method!r}", detail="expected 'count' or 'marginals'"
            )
        counts = read_operand("colors", colors, COUNT)
        _check_is_vector("colors", counts)
        total = sum(counts.tolist())
        sample = read_integer("nsample", nsample, 0, 2**63 - 1)
        if total >= _MAX_URN:
            raise ArgumentError(
                f"the argument colors has the sum {total}", detail=f"expected less than {_MAX_URN}"
            )
        if sample > total:
            raise ArgumentError(
                f"the argument nsample is {sample}, and colors has the sum {total}",
                detail="expected no more than there are",
            )
        shape = () if size is None else read_size(size)
        out = device_array((*shape, counts.size), np.int64)
        if out.size:
            rows = out.size // counts.size
            source = self._bit_generator.take(rows)
            launch(
                hypergeometric_kernel(source.open_stream),
                rows,
                out.reshape(rows, counts.size),
                to_device(counts),
                total,
                sample,
                source.arguments,
            )
        return out

    def dirichlet(self, alpha: object, size: object = None) -> ndarray:
        """Return vectors of Dirichlet's distribution: numbers that are not negative, of sum 1.

        Parameters
        ----------
        alpha : array_like
            One shape for each item, not negative.
        size : int or tuple of int, optional
            How many vectors; default: one.
        """
        shapes = read_operand("alpha", alpha, NOT_NEGATIVE)
        _check_is_vector("alpha", shapes)
        shape = () if size is None else read_size(size)
        out = device_array((*shape, shapes.size), np.float64)
        if out.size:
            rows = out.size // shapes.size
            source = self._bit_generator.take(rows)
            launch(
                dirichlet_kernel(source.open_stream),
                rows,
                out.reshape(rows, shapes.size),
                to_device(shapes),
                source.arguments,
            )
        return out

    def multivariate_normal(
        self,
        mean: object,
        cov: object,
        size: object = None,
        check_valid: str = "warn",
        tol: float = 1e-08,
        *,
        method: str = "svd",
    ) -> ndarray:
        """Return normal vectors.

        Parameters
        ----------
        mean : array_like
            Mean of each item.
        cov : array_like
            The covariances, a symmetric matrix without negative eigenvalues.
        size : int or tuple of int, optional
            How many vectors; default: one.
        check_valid : str
            What happens if it is no such matrix: ``"warn"``, ``"raise"`` or ``"ignore"``.
        tol : float
            How far it may be from one.
        method : str
            How the matrix is taken apart, by NumPy on the host: ``"svd"``, ``"eigh"`` or
            ``"cholesky"``.
        """
        center = read_operand("mean", mean, ANY)
        _check_is_vector("mean", center)
        matrix = read_operand("cov", cov, FINITE)
        if matrix.shape != (center.size, center.size):
            raise ShapeError(
                f"the argument cov has the shape {matrix.shape}",
                detail=f"expected {(center.size, center.size)}, as mean has {center.size} items",
            )
        allowed = read_operand("tol", tol, NOT_NEGATIVE)
        if allowed.ndim:
            raise ShapeError(
                f"the argument tol has {allowed.ndim} axes", detail="expected a number"
            )
        factor = _find_factor(matrix, method, check_valid, float(allowed))
        shape = () if size is None else read_size(size)
        out = device_array((*shape, center.size), np.float64)
        if out.size:
            flat = out.reshape(out.size // center.size, center.size)
            normals = device_array(out.size, np.float64)
            fill(self._bit_generator, continuous.STANDARD_NORMAL, normals, ())
            launch(
                transform_rows,
                out.size,
                flat,
                normals.reshape(flat.shape),
                to_device(center),
                to_device(factor),
            )
        return out


def _rows_of(operand: Operand, shape: Shape, *length: int) -> Operand:
    """Return a parameter with one item for each row, or a single one for all."""
    if operand.ndim == len(length):
        return operand.reshape(1, *length)
    return np.ascontiguousarray(np.broadcast_to(operand, shape)).reshape(-1, *length)


def _check_is_vector(name: str, operand: Operand) -> None:
    if operand.ndim != 1:
        raise ShapeError(f"the argument {name} has {operand.ndim} axes", detail="expected one axis")


def _find_factor(matrix: Operand, method: str, check_valid: str, tol: float) -> NDArray[np.float64]:
    """Return a matrix whose transpose times itself is a matrix of covariances."""
    if method not in ("svd", "eigh", "cholesky"):
        raise ArgumentError(
            f"the argument method is {method!r}", detail="expected 'svd', 'eigh' or 'cholesky'"
        )
    if check_valid not in ("warn", "raise", "ignore"):
        raise ArgumentError(
            f"the argument check_valid is {check_valid!r}",
            detail="expected 'warn', 'raise' or 'ignore'",
        )
    if method == "cholesky":
        try:
            return np.ascontiguousarray(np.linalg.cholesky(matrix).T)
        except np.linalg.LinAlgError as cause:
            raise ArgumentError(
                "the argument cov is not positive definite",
                detail="expected a matrix that the method 'cholesky' can take apart",
                help="use the method 'eigh'",
            ) from cause
    if method == "eigh":
        values, vectors = np.linalg.eigh(matrix)
        rows = vectors.T
        is_valid = bool(values.min(initial=0.0) >= -tol)
    else:
        left, values, rows = np.linalg.svd(matrix)
        # Of a symmetric matrix without negative eigenvalues, both sides are the same.
        is_valid = np.allclose(rows.T * values @ rows, matrix, rtol=tol, atol=tol)
        del left
    if not is_valid:
        _complain(check_valid)
    return np.ascontiguousarray(np.sqrt(np.maximum(values, 0.0))[:, None] * rows)


def _complain(check_valid: str) -> None:
    problem = "the argument cov is not a matrix of covariances"
    detail = "expected a symmetric matrix without negative eigenvalues"
    if check_valid == "raise":
        raise ArgumentError(problem, detail=detail)
    if check_valid == "warn":
        warnings.warn(f"{problem}: {detail}", RuntimeWarning, stacklevel=4)
