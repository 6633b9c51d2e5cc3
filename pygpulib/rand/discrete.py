"""Discrete distributions, in the kernel language.

Methods: Poisson numbers by search, and by transformed rejection (PTRS) of Hörmann (1993) from a
mean of 10 on; binomial ones by search, and by transformed rejection (BTRS) of Hörmann (1993);
hypergeometric ones urn by urn, and by ratio of uniforms (HRUA) of Stadlober (1990); logarithmic
ones of Kemp (1981, LK); Zipf's of Devroye (1986). Rejections compare with probabilities in the
saddle-point form of Loader (2000), which stays exact for large numbers.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.rand.compiling import Value, device
from pygpulib.rand.gammas import gamma
from pygpulib.rand.samplers import (
    Sampler,
    four_words,
    two_inner_uniforms,
    two_long_words,
    whole_stream,
)
from pygpulib.rand.substreams import (
    join_words,
    two_inside,
    upper_half_of_product,
    words_of,
)

_HALF_LOG_TWO_PI = 0.9189385332046727
_LARGEST = 9223372036854774784.0
"""The largest float64 that an int64 holds."""
_WORD = np.uint64(0xFFFFFFFF)
_NONE = np.uint64(0)
_SEARCHED = 10.0
"""Means below are searched for from zero on."""
_NEVER = 1e-18
"""Probabilities below end a search."""

# ----------------------------------------------------------------------------------- probabilities


@device
def excess(k: Value) -> Value:
    """Return ``log(k!) - k*log(k) + k`` for a whole number."""
    if k < 10.0:
        return math.lgamma(k + 1.0) - (k * math.log(k) if k > 0.0 else 0.0) + k
    r = 1.0 / k
    r2 = r * r
    series = ((r2 * (-1.0 / 1680.0) + 1.0 / 1260.0) * r2 - 1.0 / 360.0) * r2 + 1.0 / 12.0
    return _HALF_LOG_TWO_PI + 0.5 * math.log(k) + series * r


@device
def deviance(k: Value, mean: Value) -> Value:
    """Return ``k*log(k/mean) + mean - k``, which is small where both are close."""
    difference = k - mean
    v = difference / (k + mean)
    if abs(v) < 0.1:
        v2 = v * v
        series = 1.0 / 15.0 + v2 * (1.0 / 17.0)
        series = 1.0 / 13.0 + v2 * series
        series = 1.0 / 11.0 + v2 * series
        series = 1.0 / 9.0 + v2 * series
        series = 1.0 / 7.0 + v2 * series
        series = 1.0 / 5.0 + v2 * series
        series = 1.0 / 3.0 + v2 * series
        return difference * v + 2.0 * k * v * v2 * series
    return (k * math.log(k / mean) if k > 0.0 else 0.0) - difference


@device
def log_binomial(k: Value, n: Value, p: Value) -> Value:
    """Return the logarithm of a binomial probability."""
    rest = n - k
    close = deviance(k, n * p) + deviance(rest, n * (1.0 - p))
    return excess(n) - excess(k) - excess(rest) - close


# ----------------------------------------------------------------------------------------- Poisson


@device
def _search_poisson(stream: Value, number: Value, mean: Value) -> Value:
    u, _ = two_inside(stream, number)
    chance = math.exp(-mean)
    k = 0.0
    while u > chance and (chance > _NEVER or k < mean):
        u -= chance
        k += 1.0
        chance *= mean / k
    return np.int64(k), number + 1


@device
def _reject_poisson(stream: Value, number: Value, mean: Value) -> Value:
    root = math.sqrt(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)
    inner = 0.9277 - 3.6224 / (b - 2.0)
    k = _LARGEST
    # An infinite mean must not keep anybody here.
    is_searching = mean <= _LARGEST
    while is_searching:
        u, v = two_inside(stream, number)
        number += 1
        u -= 0.5
        distance = 0.5 - abs(u)
        k = math.floor((2.0 * a / distance + b) * u + mean + 0.43)
        is_searching = not (distance >= 0.07 and v <= inner)
        if is_searching and 0.0 <= k <= _LARGEST and not (distance < 0.013 and v > distance):
            chance = -excess(k) - deviance(k, mean)
            is_searching = math.log(v * scale / (a / (distance * distance) + b)) > chance
    return np.int64(k), number


@device
def poisson(stream: Value, number: Value, mean: Value) -> Value:
    """Return a Poisson number, and the next block."""
    if mean >= _SEARCHED:
        return _reject_poisson(stream, number, mean)
    return _search_poisson(stream, number, mean)


@device
def _poisson(stream: Value, mean: Value) -> Value:
    value, _ = poisson(stream, 0, mean)
    return value


@device
def _negative_binomial(stream: Value, n: Value, p: Value) -> Value:
    mean, number = gamma(stream, 0, n)
    value, _ = poisson(stream, number, mean * (1.0 - p) / p)
    return value


# ---------------------------------------------------------------------------------------- binomial


@device
def _search_binomial(stream: Value, number: Value, n: Value, p: Value) -> Value:
    u, _ = two_inside(stream, number)
    odds = p / (1.0 - p)
    chance = math.exp(n * math.log1p(-p))
    k = 0.0
    while u > chance and k < n and (chance > _NEVER or k < n * p):
        u -= chance
        k += 1.0
        chance *= odds * (n - k + 1.0) / k
    return k, number + 1


@device
def _reject_binomial(stream: Value, number: Value, n: Value, p: Value) -> Value:
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    middle = n * p + 0.5
    scale = (2.83 + 5.1 / b) * deviation
    inner = 0.92 - 4.2 / b
    top = log_binomial(math.floor((n + 1.0) * p), n, p)
    k = -1.0
    is_searching = True
    while is_searching:
        u, v = two_inside(stream, number)
        number += 1
        u -= 0.5
        distance = 0.5 - abs(u)
        k = math.floor((2.0 * a / distance + b) * u + middle)
        is_searching = not (distance >= 0.07 and v <= inner)
        if is_searching and 0.0 <= k <= n:
            chance = log_binomial(k, n, p) - top
            is_searching = math.log(v * scale / (a / (distance * distance) + b)) > chance
    return k, number


@device
def binomial(stream: Value, number: Value, n: Value, p: Value) -> Value:
    """Return a binomial number, and the next block."""
    trials = float(n)
    rarer = min(p, 1.0 - p)
    if trials * rarer >= _SEARCHED:
        k, number = _reject_binomial(stream, number, trials, rarer)
    else:
        k, number = _search_binomial(stream, number, trials, rarer)
    count = np.int64(k)
    return (count if p <= 0.5 else n - count), number


@device
def _binomial(stream: Value, n: Value, p: Value) -> Value:
    value, _ = binomial(stream, 0, n, p)
    return value


# ---------------------------------------------------------------------------------- hypergeometric


@device
def _draw_from_urn(stream: Value, number: Value, good: Value, bad: Value, sample: Value) -> Value:
    """Return how many of a few draws are good."""
    left, total = good, good + bad
    drawn = 0
    while drawn < sample:
        u, _ = two_inside(stream, number)
        number += 1
        drawn += 1
        if u * float(total) < float(left):
            left -= 1
        total -= 1
    return good - left, number


@device
def log_hypergeometric(k: Value, good: Value, bad: Value, sample: Value) -> Value:
    """Return the logarithm of a hypergeometric probability, up to a constant."""
    p = sample / (good + bad)
    return log_binomial(k, good, p) + log_binomial(sample - k, bad, p)


@device
def _reject_hypergeometric(
    stream: Value, number: Value, fewer: Value, more: Value, sample: Value
) -> Value:
    """Return how many of the kind with `fewer` members are drawn; `sample` is half or less."""
    total = fewer + more
    p = fewer / total
    middle = sample * p + 0.5
    variance = (total - sample) * sample * p * (1.0 - p) / (total - 1.0)
    deviation = math.sqrt(variance + 0.5)
    width = 1.7155277699214135 * deviation + 0.8989161620588988
    mode = math.floor((sample + 1.0) * (fewer + 1.0) / (total + 2.0))
    top = log_hypergeometric(mode, fewer, more, sample)
    end = min(min(sample, fewer) + 1.0, math.floor(middle + 16.0 * deviation))
    k = 0.0
    is_searching = True
    while is_searching:
        u, v = two_inside(stream, number)
        number += 1
        x = middle + width * (v - 0.5) / u
        if 0.0 <= x < end:
            k = math.floor(x)
            chance = log_hypergeometric(k, fewer, more, sample) - top
            is_searching = 2.0 * math.log(u) > chance
    return np.int64(k), number


@device
def hypergeometric(stream: Value, number: Value, good: Value, bad: Value, sample: Value) -> Value:
    """Return a hypergeometric number, and the next block."""
    total = good + bad
    few = min(sample, total - sample)
    if few >= 10:
        fewer, more = min(good, bad), max(good, bad)
        k, number = _reject_hypergeometric(stream, number, float(fewer), float(more), float(few))
        if good > bad:
            k = few - k
    else:
        k, number = _draw_from_urn(stream, number, good, bad, few)
    return (k if few == sample else good - k), number


@device
def _hypergeometric(stream: Value, good: Value, bad: Value, sample: Value) -> Value:
    value, _ = hypergeometric(stream, 0, good, bad, sample)
    return value


# ------------------------------------------------------------------------------------------ others


@device
def _geometric(u: Value, p: Value) -> Value:
    number = math.ceil(math.log(u) / math.log1p(-p))
    if number >= _LARGEST:
        return np.int64(0x7FFFFFFFFFFFFFFF)
    return np.int64(max(number, 1.0))


@device
def _zipf(stream: Value, a: Value) -> Value:
    if a >= 1025.0:
        return np.int64(1)
    less = a - 1.0
    b = 2.0**less
    lowest = math.exp(-less * math.log(_LARGEST))
    number = 0
    x = 0.0
    is_searching = True
    while is_searching:
        u, v = two_inside(stream, number)
        number += 1
        x = math.floor(math.exp(-math.log(u * lowest + (1.0 - u)) / less))
        if 1.0 <= x <= _LARGEST:
            t = math.exp(less * math.log1p(1.0 / x))
            is_searching = v * x * (t - 1.0) / (b - 1.0) > t / b
    return np.int64(x)


@device
def _logseries(stream: Value, p: Value) -> Value:
    number = 0
    rate = math.log1p(-p)
    result = 0.0
    while result < 1.0:
        v, u = two_inside(stream, number)
        number += 1
        if v >= p:
            result = 1.0
        else:
            q = -math.expm1(rate * u)
            if v <= q * q:
                result = math.floor(1.0 + math.log(v) / math.log(q))
            else:
                result = 1.0 if v >= q else 2.0
    return np.int64(min(result, _LARGEST))


# ---------------------------------------------------------------------------------------- integers


@device
def _integer(start: Value, low: Value, count: Value, bound: Value) -> Value:
    """Return ``low`` and a number below ``count``, less than 2**32 of them (Lemire, 2019).

    ``bound`` is 2**32 modulo ``count``: so many of the products must not count.
    """
    word, stream, number = start
    count &= _WORD
    product = np.uint64(word) * count
    while product & _WORD < bound:
        again, _, _, _ = words_of(stream, number)
        number += 4
        product = np.uint64(again) * count
    return low + (product >> np.uint64(32))


@device
def _word(start: Value, low: Value) -> Value:
    """Return ``low`` and a number below 2**32."""
    word, _, _ = start
    return low + np.uint64(word)


@device
def _long_integer(start: Value, low: Value, count: Value) -> Value:
    """Return ``low`` and a number below ``count``; 0 stands for 2**64."""
    bits, stream, number = start
    if count == _NONE:
        return low + bits
    part = bits * count
    if part < count:
        bound = (_NONE - count) % count
        while part < bound:
            w0, w1, _, _ = words_of(stream, number)
            number += 2
            bits = join_words(w0, w1)
            part = bits * count
    return low + upper_half_of_product(bits, count)


INTEGERS = Sampler(4, four_words, _integer)
WORDS = Sampler(4, four_words, _word)
LONG_INTEGERS = Sampler(2, two_long_words, _long_integer)
GEOMETRIC = Sampler(2, two_inner_uniforms, _geometric)
POISSON = Sampler(1, whole_stream, _poisson)
BINOMIAL = Sampler(1, whole_stream, _binomial)
NEGATIVE_BINOMIAL = Sampler(1, whole_stream, _negative_binomial)
HYPERGEOMETRIC = Sampler(1, whole_stream, _hypergeometric)
ZIPF = Sampler(1, whole_stream, _zipf)
LOGSERIES = Sampler(1, whole_stream, _logseries)
