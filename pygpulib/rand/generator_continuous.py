"""The continuous distributions of `Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib.errors import ArgumentError
from pygpulib.rand import continuous
from pygpulib.rand.drawing import draw
from pygpulib.rand.generator_base import DrawsNumbers, read_float_dtype
from pygpulib.rand.operands import (
    ANY,
    NOT_NEGATIVE,
    POSITIVE,
    Operand,
    broadcast_shape,
    read_operand,
)
from pygpulib.rand.samplers import Sampler

_SINGLE = np.dtype(np.float32)


def _choose(dtype: np.dtype[Any], double: Sampler, single: Sampler) -> Sampler:
    """Return the sampler for a precision."""
    return single if dtype == _SINGLE else double


def _check_interval(low: Operand, high: Operand) -> None:
    broadcast_shape((low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    if not np.all(np.isfinite(width)):
        raise ArgumentError(
            "the interval from low to high is not finite", detail="expected finite numbers"
        )
    if np.any(width < 0):
        raise ArgumentError(
            "the argument high is below the argument low", detail="expected low <= high"
        )


def _check_triangle(left: Operand, mode: Operand, right: Operand) -> None:
    broadcast_shape((left, mode, right))
    # NaN is neither above nor below anything.
    if np.any(left > mode) or np.any(mode > right) or np.any(left == right):
        raise ArgumentError(
            "the corners of a triangular distribution are not in order",
            detail="expected left <= mode <= right and left < right",
        )


class DrawsContinuous(DrawsNumbers):
    """The continuous distributions."""

    def random(self, size: object = None, dtype: object = np.float64, out: object = None) -> Any:
        """Return numbers that are uniform on [0, 1): 0 is possible, 1 is not.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; default: one number.
        dtype : dtype-like
            float32 or float64: multiples of 2**-24 or 2**-53.
        out : array, optional
            Where to write to: a device array, or a NumPy array.
        """
        found = read_float_dtype("random", dtype)
        sampler = _choose(found, continuous.RANDOM, continuous.RANDOM_SINGLE)
        return draw(self._bit_generator, sampler, found, (), size, out)

    def standard_normal(
        self, size: object = None, dtype: object = np.float64, out: object = None
    ) -> Any:
        """Return normal numbers of mean 0 and variance 1, by the transform of Box and Muller.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; default: one number.
        dtype : dtype-like
            float32 or float64.
        out : array, optional
            Where to write to: a device array, or a NumPy array.
        """
        found = read_float_dtype("standard_normal", dtype)
        sampler = _choose(found, continuous.STANDARD_NORMAL, continuous.STANDARD_NORMAL_SINGLE)
        return draw(self._bit_generator, sampler, found, (), size, out)

    def standard_exponential(
        self,
        size: object = None,
        dtype: object = np.float64,
        method: str = "zig",
        out: object = None,
    ) -> Any:
        """Return exponential numbers of mean 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; default: one number.
        dtype : dtype-like
            float32 or float64.
        method : str
            ``"zig"`` or ``"inv"``, as in NumPy; numbers are always made by inversion.
        out : array, optional
            Where to write to: a device array, or a NumPy array.
        """
        if method not in ("zig", "inv"):
            raise ArgumentError(
                f"the argument method is {method!r}", detail="expected 'zig' or 'inv'"
            )
        found = read_float_dtype("standard_exponential", dtype)
        double, single = continuous.STANDARD_EXPONENTIAL, continuous.STANDARD_EXPONENTIAL_SINGLE
        sampler = _choose(found, double, single)
        return draw(self._bit_generator, sampler, found, (), size, out)

    def standard_gamma(
        self, shape: object, size: object = None, dtype: object = np.float64, out: object = None
    ) -> Any:
        """Return gamma numbers of scale 1; see :meth:`gamma`.

        Parameters
        ----------
        shape : float or array_like
            Shape, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameter.
        dtype : dtype-like
            float32 or float64; numbers of float32 are rounded from float64.
        out : array, optional
            Where to write to: a device array, or a NumPy array.
        """
        found = read_float_dtype("standard_gamma", dtype)
        operands = (read_operand("shape", shape, NOT_NEGATIVE),)
        sampler = continuous.STANDARD_GAMMA
        return draw(self._bit_generator, sampler, found, operands, size, out)

    def uniform(self, low: object = 0.0, high: object = 1.0, size: object = None) -> Any:
        """Return numbers that are uniform on [low, high).

        Parameters
        ----------
        low, high : float or array_like
            The interval; `high` must not be below `low`.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        begin, end = read_operand("low", low, ANY), read_operand("high", high, ANY)
        _check_interval(begin, end)
        return self._floats(continuous.UNIFORM, (begin, end), size)

    def normal(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        """Return normal (Gaussian) numbers.

        Parameters
        ----------
        loc : float or array_like
            Mean.
        scale : float or array_like
            Standard deviation, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("loc", loc, ANY), read_operand("scale", scale, NOT_NEGATIVE))
        return self._floats(continuous.NORMAL, operands, size)

    def lognormal(self, mean: object = 0.0, sigma: object = 1.0, size: object = None) -> Any:
        """Return numbers whose logarithms are normal.

        Parameters
        ----------
        mean, sigma : float or array_like
            Mean and standard deviation of the logarithms.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("mean", mean, ANY), read_operand("sigma", sigma, NOT_NEGATIVE))
        return self._floats(continuous.LOGNORMAL, operands, size)

    def exponential(self, scale: object = 1.0, size: object = None) -> Any:
        """Return exponential numbers.

        Parameters
        ----------
        scale : float or array_like
            Mean, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("scale", scale, NOT_NEGATIVE),)
        return self._floats(continuous.EXPONENTIAL, operands, size)

    def gamma(self, shape: object, scale: object = 1.0, size: object = None) -> Any:
        """Return gamma numbers, by the method of Marsaglia and Tsang (2000).

        Parameters
        ----------
        shape : float or array_like
            Shape, not negative.
        scale : float or array_like
            Scale, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (
            read_operand("shape", shape, NOT_NEGATIVE),
            read_operand("scale", scale, NOT_NEGATIVE),
        )
        return self._floats(continuous.GAMMA, operands, size)

    def beta(self, a: object, b: object, size: object = None) -> Any:
        """Return beta numbers, from two gamma numbers.

        Parameters
        ----------
        a, b : float or array_like
            The shapes, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("a", a, POSITIVE), read_operand("b", b, POSITIVE))
        return self._floats(continuous.BETA, operands, size)

    def chisquare(self, df: object, size: object = None) -> Any:
        """Return chi-squared numbers.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("df", df, POSITIVE),)
        return self._floats(continuous.CHISQUARE, operands, size)

    def noncentral_chisquare(self, df: object, nonc: object, size: object = None) -> Any:
        """Return noncentral chi-squared numbers.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        nonc : float or array_like
            Noncentrality, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("df", df, POSITIVE), read_operand("nonc", nonc, NOT_NEGATIVE))
        return self._floats(continuous.NONCENTRAL_CHISQUARE, operands, size)

    def f(self, dfnum: object, dfden: object, size: object = None) -> Any:
        """Return numbers of Fisher's F distribution.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            Degrees of freedom of numerator and denominator, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("dfnum", dfnum, POSITIVE), read_operand("dfden", dfden, POSITIVE))
        return self._floats(continuous.F, operands, size)

    def noncentral_f(self, dfnum: object, dfden: object, nonc: object, size: object = None) -> Any:
        """Return numbers of the noncentral F distribution.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            Degrees of freedom of numerator and denominator, above 0.
        nonc : float or array_like
            Noncentrality of the numerator, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (
            read_operand("dfnum", dfnum, POSITIVE),
            read_operand("dfden", dfden, POSITIVE),
            read_operand("nonc", nonc, NOT_NEGATIVE),
        )
        return self._floats(continuous.NONCENTRAL_F, operands, size)

    def standard_t(self, df: object, size: object = None) -> Any:
        """Return numbers of Student's t distribution.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("df", df, POSITIVE),)
        return self._floats(continuous.STANDARD_T, operands, size)

    def standard_cauchy(self, size: object = None) -> Any:
        """Return numbers of the standard Cauchy distribution.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        return self._floats(continuous.STANDARD_CAUCHY, (), size)

    def pareto(self, a: object, size: object = None) -> Any:
        """Return numbers of the Pareto II (Lomax) distribution.

        Parameters
        ----------
        a : float or array_like
            Shape, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("a", a, POSITIVE),)
        return self._floats(continuous.PARETO, operands, size)

    def weibull(self, a: object, size: object = None) -> Any:
        """Return numbers of Weibull's distribution of scale 1.

        Parameters
        ----------
        a : float or array_like
            Shape, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("a", a, NOT_NEGATIVE),)
        return self._floats(continuous.WEIBULL, operands, size)

    def power(self, a: object, size: object = None) -> Any:
        """Return numbers of [0, 1] whose density is a power.

        Parameters
        ----------
        a : float or array_like
            The density is ``a * x**(a - 1)``; above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("a", a, POSITIVE),)
        return self._floats(continuous.POWER, operands, size)

    def laplace(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        """Return numbers of Laplace's distribution.

        Parameters
        ----------
        loc : float or array_like
            Mean.
        scale : float or array_like
            Decay, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("loc", loc, ANY), read_operand("scale", scale, NOT_NEGATIVE))
        return self._floats(continuous.LAPLACE, operands, size)

    def gumbel(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        """Return numbers of Gumbel's distribution.

        Parameters
        ----------
        loc : float or array_like
            Mode.
        scale : float or array_like
            Scale, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("loc", loc, ANY), read_operand("scale", scale, NOT_NEGATIVE))
        return self._floats(continuous.GUMBEL, operands, size)

    def logistic(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        """Return numbers of the logistic distribution.

        Parameters
        ----------
        loc : float or array_like
            Mean.
        scale : float or array_like
            Scale, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("loc", loc, ANY), read_operand("scale", scale, NOT_NEGATIVE))
        return self._floats(continuous.LOGISTIC, operands, size)

    def rayleigh(self, scale: object = 1.0, size: object = None) -> Any:
        """Return numbers of Rayleigh's distribution.

        Parameters
        ----------
        scale : float or array_like
            Mode, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("scale", scale, NOT_NEGATIVE),)
        return self._floats(continuous.RAYLEIGH, operands, size)

    def wald(self, mean: object, scale: object, size: object = None) -> Any:
        """Return numbers of the inverse normal (Wald) distribution.

        Parameters
        ----------
        mean, scale : float or array_like
            Mean and scale, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("mean", mean, POSITIVE), read_operand("scale", scale, POSITIVE))
        return self._floats(continuous.WALD, operands, size)

    def triangular(self, left: object, mode: object, right: object, size: object = None) -> Any:
        """Return numbers of a triangular distribution.

        Parameters
        ----------
        left, mode, right : float or array_like
            Where the density begins, is largest and ends, in this order.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        corners = (
            read_operand("left", left, ANY),
            read_operand("mode", mode, ANY),
            read_operand("right", right, ANY),
        )
        _check_triangle(*corners)
        return self._floats(continuous.TRIANGULAR, corners, size)

    def vonmises(self, mu: object, kappa: object, size: object = None) -> Any:
        """Return angles of von Mises' distribution, between -pi and pi.

        Parameters
        ----------
        mu : float or array_like
            Mode, in radians.
        kappa : float or array_like
            Concentration, not negative.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("mu", mu, ANY), read_operand("kappa", kappa, NOT_NEGATIVE))
        return self._floats(continuous.VONMISES, operands, size)
