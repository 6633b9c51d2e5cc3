"""Random vectors, one thread for each, in the kernel language."""

from __future__ import annotations

import math
from functools import cache

from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.rand.compiling import Function, Value, kernel
from pygpulib.rand.discrete import binomial, hypergeometric
from pygpulib.rand.gammas import enlargement, log_gamma


@cache
def dirichlet_kernel(open_stream: Function) -> Kernel:
    """Return a kernel that writes vectors of gamma numbers with sum 1.

    Parameters
    ----------
    open_stream : Function
        What gives the sub-streams of a source their numbers.

    Returns
    -------
    Kernel
        Takes the output with one row for each vector, the shapes, and the source.
    """

    def dirichlet(out: Value, alpha: Value, source: Value) -> None:
        row = grid(1)
        if row < out.shape[0]:
            stream = open_stream(*source, row)
            largest = 0.0
            for j in range(alpha.size):
                largest = max(largest, alpha[j])
            factor = enlargement(largest)
            number = 0
            top = -math.inf
            for j in range(alpha.size):
                logarithm, number = log_gamma(stream, number, alpha[j] * factor)
                out[row, j] = logarithm
                top = max(top, logarithm)
            total = 0.0
            for j in range(alpha.size):
                part = math.exp(out[row, j] - top)
                out[row, j] = part
                total += part
            for j in range(alpha.size):
                out[row, j] /= total

    return kernel(dirichlet)


@cache
def multinomial_kernel(open_stream: Function) -> Kernel:
    """Return a kernel that writes vectors of counts, one binomial number after the other.

    Parameters
    ----------
    open_stream : Function
        What gives the sub-streams of a source their numbers.

    Returns
    -------
    Kernel
        Takes the output with one row for each vector, the numbers of trials (one, or one for each
        row), the probabilities (one row, or as many), and the source.
    """

    def multinomial(out: Value, trials: Value, chances: Value, source: Value) -> None:
        row = grid(1)
        if row < out.shape[0]:
            stream = open_stream(*source, row)
            number = 0
            left = trials[row if trials.size > 1 else 0]
            given = row if chances.shape[0] > 1 else 0
            rest = 1.0
            last = out.shape[1] - 1
            for j in range(last):
                chance = chances[given, j]
                count = 0
                if left > 0 and chance > 0.0:
                    share = chance / rest if chance < rest else 1.0
                    count, number = binomial(stream, number, left, share)
                    left -= count
                rest -= chance
                out[row, j] = count
            out[row, last] = left

    return kernel(multinomial)


@cache
def hypergeometric_kernel(open_stream: Function) -> Kernel:
    """Return a kernel that writes vectors of counts, one hypergeometric number after the other.

    Parameters
    ----------
    open_stream : Function
        What gives the sub-streams of a source their numbers.

    Returns
    -------
    Kernel
        Takes the output with one row for each vector, how many there are of each color and in all,
        the size of the samples, and the source.
    """

    def multivariate(out: Value, colors: Value, total: Value, sample: Value, source: Value) -> None:
        row = grid(1)
        if row < out.shape[0]:
            stream = open_stream(*source, row)
            number = 0
            left, rest = sample, total
            last = out.shape[1] - 1
            for j in range(last):
                rest -= colors[j]
                count = 0
                if left > 0:
                    count, number = hypergeometric(stream, number, colors[j], rest, left)
                    left -= count
                out[row, j] = count
            out[row, last] = left

    return kernel(multivariate)


@kernel
def transform_rows(out: Value, normals: Value, mean: Value, factor: Value) -> None:
    """Write ``mean + normals @ factor``, one thread for each element."""
    number = grid(1)
    if number < out.size:
        row, column = number // out.shape[1], number % out.shape[1]
        total = mean[column]
        for k in range(factor.shape[0]):
            total += normals[row, k] * factor[k, column]
        out[row, column] = total
