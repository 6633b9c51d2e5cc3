"""The discrete distributions of `Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib.core.creation import device_array
from pygpulib.errors import ArgumentError
from pygpulib.rand import discrete
from pygpulib.rand.drawing import draw, fill, read_size
from pygpulib.rand.generator_base import DrawsNumbers
from pygpulib.rand.integer_ranges import read_integer_dtype, read_range
from pygpulib.rand.operands import (
    ABOVE_1,
    COUNT,
    MAX_MEAN,
    MEAN,
    POSITIVE_NUMBER,
    PROBABILITY,
    PROBABILITY_ABOVE_0,
    PROBABILITY_BELOW_1,
    Operand,
    broadcast_shape,
    read_operand,
)
from pygpulib.rand.request import read_integer

_MAX_URN = 10**9


def _check_failures(n: Operand, p: Operand) -> None:
    broadcast_shape((n, p))
    with np.errstate(over="ignore", invalid="ignore"):
        most = (1.0 - p) / p * (n + 10.0 * np.sqrt(n))
    if not np.all(most <= MAX_MEAN):
        raise ArgumentError(
            "the arguments n and p make numbers that do not fit into 64 bits",
            detail="expected n * (1 - p) / p well below 2**63",
        )


def _check_urn(good: Operand, bad: Operand, sample: Operand) -> None:
    broadcast_shape((good, bad, sample))
    if np.any(good >= _MAX_URN) or np.any(bad >= _MAX_URN):
        raise ArgumentError(
            "the arguments ngood and nbad are too large", detail=f"expected less than {_MAX_URN}"
        )
    if np.any(good + bad < sample):
        raise ArgumentError(
            "the argument nsample is larger than ngood + nbad",
            detail="expected no more than there are",
        )


class DrawsDiscrete(DrawsNumbers):
    """The discrete distributions."""

    def integers(
        self,
        low: object,
        high: object = None,
        size: object = None,
        dtype: object = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Return integers that are uniform on [low, high), without bias (Lemire, 2019).

        Parameters
        ----------
        low : int or array_like
            The smallest number; the interval is [0, low) if `high` is not given.
        high : int or array_like, optional
            The end of the interval.
        size : int or tuple of int, optional
            Shape of the result; default: that of the bounds.
        dtype : dtype-like
            Any integer type, or bool.
        endpoint : bool
            Whether the end belongs to the interval.
        """
        if size is not None and 0 in read_size(size):
            # As in NumPy: where nothing is drawn, there may be nothing to draw from.
            return device_array(read_size(size), read_integer_dtype(dtype))
        found = read_range(low, high, read_integer_dtype(dtype), endpoint)
        result = draw(self._bit_generator, found.sampler, found.dtype, found.operands, size)
        is_single = isinstance(result, int | bool) and dtype not in (int, bool)
        return found.dtype.type(result) if is_single else result

    def bytes(self, length: int) -> bytes:
        """Return random bytes.

        Parameters
        ----------
        length : int
            How many.
        """
        count = read_integer("length", length, 0, 2**63 - 1)
        words: np.ndarray[Any, np.dtype[np.uint32]] = np.empty(-(-count // 4), np.uint32)
        if count:
            fill(self._bit_generator, discrete.WORDS, words, (np.array(0, np.uint64),))
        # The lower bytes first, whatever the processor's order.
        return words.astype("<u4", copy=False).tobytes()[:count]

    def binomial(self, n: object, p: object, size: object = None) -> Any:
        """Return binomial numbers, as int64.

        Parameters
        ----------
        n : int or array_like
            Number of trials.
        p : float or array_like
            Probability of success in each.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("n", n, COUNT), read_operand("p", p, PROBABILITY))
        return self._integers(discrete.BINOMIAL, operands, size)

    def negative_binomial(self, n: object, p: object, size: object = None) -> Any:
        """Return numbers of failures before the n-th success, as int64.

        Parameters
        ----------
        n : float or array_like
            Number of successes, above 0; need not be whole.
        p : float or array_like
            Probability of success in each trial, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        count = read_operand("n", n, POSITIVE_NUMBER)
        chance = read_operand("p", p, PROBABILITY_ABOVE_0)
        _check_failures(count, chance)
        return self._integers(discrete.NEGATIVE_BINOMIAL, (count, chance), size)

    def poisson(self, lam: object = 1.0, size: object = None) -> Any:
        """Return Poisson numbers, as int64.

        Parameters
        ----------
        lam : float or array_like
            Mean.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("lam", lam, MEAN),)
        return self._integers(discrete.POISSON, operands, size)

    def zipf(self, a: object, size: object = None) -> Any:
        """Return numbers of Zipf's (the zeta) distribution, as int64.

        Parameters
        ----------
        a : float or array_like
            Exponent, above 1.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("a", a, ABOVE_1),)
        return self._integers(discrete.ZIPF, operands, size)

    def geometric(self, p: object, size: object = None) -> Any:
        """Return numbers of trials until the first success, as int64.

        Parameters
        ----------
        p : float or array_like
            Probability of success in each trial, above 0.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("p", p, PROBABILITY_ABOVE_0),)
        return self._integers(discrete.GEOMETRIC, operands, size)

    def hypergeometric(
        self, ngood: object, nbad: object, nsample: object, size: object = None
    ) -> Any:
        """Return how many of a sample are good, as int64.

        Parameters
        ----------
        ngood, nbad : int or array_like
            How many good and bad ones there are, each below 10**9.
        nsample : int or array_like
            How many are drawn, without putting them back.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        good, bad = read_operand("ngood", ngood, COUNT), read_operand("nbad", nbad, COUNT)
        sample = read_operand("nsample", nsample, COUNT)
        _check_urn(good, bad, sample)
        return self._integers(discrete.HYPERGEOMETRIC, (good, bad, sample), size)

    def logseries(self, p: object, size: object = None) -> Any:
        """Return numbers of the logarithmic distribution, as int64.

        Parameters
        ----------
        p : float or array_like
            Its parameter, from 0 on and below 1.
        size : int or tuple of int, optional
            Shape of the result; default: that of the parameters.
        """
        operands = (read_operand("p", p, PROBABILITY_BELOW_1),)
        return self._integers(discrete.LOGSERIES, operands, size)
