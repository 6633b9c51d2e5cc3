"""Continuous distributions, in the kernel language.

Methods, where they are not inversions of the distribution function or their definitions: normal
numbers are those of Box and Muller (1958), gamma numbers those of Marsaglia and Tsang (2000),
those of von Mises' distribution of Best and Fisher (1979), of the inverse normal (Wald)
distribution of Michael, Schucany and Haas (1976).
"""

from __future__ import annotations

import math

from pygpulib.rand.compiling import Value, device
from pygpulib.rand.discrete import poisson
from pygpulib.rand.gammas import (
    chi_square,
    enlargement,
    gamma,
    log_gamma,
    normal_and_uniform,
)
from pygpulib.rand.samplers import (
    Sampler,
    four_closed_uniforms,
    four_normals,
    four_uniforms,
    two_inner_uniforms,
    two_normals,
    two_uniforms,
    whole_stream,
)
from pygpulib.rand.substreams import inside_from, two_inside, words_of

_PI = math.pi
_TWO_PI = 2.0 * math.pi
# From here on, a noncentrality has more than 53 bits before a degree of freedom.
_ALL_NONCENTRAL = 1e18


# --------------------------------------------------------- one uniform or normal number is enough


@device
def _same(x: Value) -> Value:
    return x


@device
def _exponential(u: Value) -> Value:
    return -math.log(u)


@device
def _exponential_single(u: Value) -> Value:
    # Without the sign of zero.
    return abs(math.log(u))


@device
def _scaled_exponential(u: Value, scale: Value) -> Value:
    return -math.log(u) * scale


@device
def _shifted(x: Value, loc: Value, scale: Value) -> Value:
    return x * scale + loc


@device
def _between(u: Value, low: Value, high: Value) -> Value:
    return low + (high - low) * u


@device
def _lognormal(x: Value, mean: Value, sigma: Value) -> Value:
    return math.exp(x * sigma + mean)


@device
def _cauchy(u: Value) -> Value:
    return math.tan(_PI * (u - 0.5))


@device
def _pareto(u: Value, a: Value) -> Value:
    return math.expm1(-math.log(u) / a)


@device
def _weibull(u: Value, a: Value) -> Value:
    return math.exp(math.log(-math.log(u)) / a) if a != 0.0 else 0.0


@device
def _power(u: Value, a: Value) -> Value:
    return math.exp(math.log(u) / a)


@device
def _laplace(u: Value, loc: Value, scale: Value) -> Value:
    half = min(u, 1.0 - u)
    size = scale * math.log(2.0 * half)
    return loc + size if u < 0.5 else loc - size


@device
def _gumbel(u: Value, loc: Value, scale: Value) -> Value:
    return loc - scale * math.log(-math.log(u))


@device
def _logistic(u: Value, loc: Value, scale: Value) -> Value:
    return loc + scale * math.log(u / (1.0 - u))


@device
def _rayleigh(u: Value, scale: Value) -> Value:
    return scale * math.sqrt(-2.0 * math.log(u))


@device
def _triangular(u: Value, left: Value, mode: Value, right: Value) -> Value:
    base = right - left
    if u * base <= mode - left:
        return left + math.sqrt(u * base * (mode - left))
    return right - math.sqrt((1.0 - u) * base * (right - mode))


# -------------------------------------------------------------------------- what gamma numbers make


@device
def _gamma(stream: Value, shape: Value, scale: Value) -> Value:
    value, _ = gamma(stream, 0, shape)
    return value * scale


@device
def _standard_gamma(stream: Value, shape: Value) -> Value:
    value, _ = gamma(stream, 0, shape)
    return value


@device
def _beta(stream: Value, a: Value, b: Value) -> Value:
    factor = enlargement(max(a, b))
    x, number = log_gamma(stream, 0, a * factor)
    y, _ = log_gamma(stream, number, b * factor)
    return 1.0 / (1.0 + math.exp(y - x))


@device
def _chisquare(stream: Value, df: Value) -> Value:
    value, _ = chi_square(stream, 0, df)
    return value


@device
def _noncentral(stream: Value, number: Value, df: Value, nonc: Value) -> Value:
    # Either a squared normal number and what is left, or a random number of degrees of freedom.
    # Where one degree of freedom makes no difference, it is the former in any case.
    is_shifted = df > 1.0 or nonc > _ALL_NONCENTRAL
    freedom = df - 1.0 if df > 1.0 else df
    if not is_shifted:
        pairs, number = poisson(stream, number, 0.5 * nonc)
        freedom = df + 2.0 * float(pairs)
    value, number = chi_square(stream, number, freedom)
    if is_shifted:
        x, _ = normal_and_uniform(stream, number)
        number += 1
        x += math.sqrt(nonc)
        value += x * x
    return value, number


@device
def _noncentral_chisquare(stream: Value, df: Value, nonc: Value) -> Value:
    if not nonc < math.inf:
        return nonc
    value, _ = _noncentral(stream, 0, df, nonc)
    return value


@device
def _f(stream: Value, dfnum: Value, dfden: Value) -> Value:
    top, number = chi_square(stream, 0, dfnum)
    bottom, _ = chi_square(stream, number, dfden)
    return (top * dfden) / (bottom * dfnum)


@device
def _noncentral_f(stream: Value, dfnum: Value, dfden: Value, nonc: Value) -> Value:
    if not nonc < math.inf:
        return nonc
    top, number = _noncentral(stream, 0, dfnum, nonc)
    bottom, _ = chi_square(stream, number, dfden)
    return (top * dfden) / (bottom * dfnum)


@device
def _student(stream: Value, df: Value) -> Value:
    x, _ = normal_and_uniform(stream, 0)
    half, _ = gamma(stream, 1, 0.5 * df)
    return x * math.sqrt(0.5 * df / half)


# ----------------------------------------------------------------------------------- other methods


@device
def _wald(stream: Value, mean: Value, scale: Value) -> Value:
    x, u = normal_and_uniform(stream, 0)
    y = mean * x * x / (2.0 * scale)
    # The two numbers that belong to y are mean * ratio and mean / ratio.
    ratio = 1.0 + y + math.sqrt(y * (2.0 + y))
    return mean / ratio if u * (1.0 + ratio) <= ratio else mean * ratio


@device
def _wrap(angle: Value) -> Value:
    """Return an angle between -pi and pi."""
    size = math.fmod(abs(angle) + _PI, _TWO_PI) - _PI
    return -size if angle < 0.0 else size


@device
def _concentrated_angle(stream: Value, kappa: Value) -> Value:
    """Return an angle of von Mises' distribution around 0."""
    if kappa < 1e-5:
        s = 1.0 / kappa + kappa
    else:
        r = 1.0 + math.sqrt(1.0 + 4.0 * kappa * kappa)
        rho = (r - math.sqrt(2.0 * r)) / (2.0 * kappa)
        s = (1.0 + rho * rho) / (2.0 * rho)
    number = 0
    cosine = 1.0
    sign = 1.0
    is_searching = True
    while is_searching:
        w0, w1, w2, w3 = words_of(stream, number)
        number += 1
        z = math.cos(_PI * inside_from(w0, w1))
        cosine = (1.0 + s * z) / (s + z)
        y = kappa * (s - cosine)
        v = inside_from(w2, w3)
        # A bit that the numbers of 52 bits do not use.
        sign = 1.0 if (w2 & 1) == 1 else -1.0
        is_searching = y * (2.0 - y) - v < 0.0 and math.log(y / v) + 1.0 - y < 0.0
    return sign * math.acos(max(-1.0, min(1.0, cosine)))


@device
def _vonmises(stream: Value, mu: Value, kappa: Value) -> Value:
    if kappa != kappa:
        return kappa
    if kappa < 1e-8:
        u, _ = two_inside(stream, 0)
        return _PI * (2.0 * u - 1.0)
    if kappa > 1e6:
        x, _ = normal_and_uniform(stream, 0)
        return _wrap(mu + x / math.sqrt(kappa))
    return _wrap(mu + _concentrated_angle(stream, kappa))


RANDOM = Sampler(2, two_uniforms, _same)
RANDOM_SINGLE = Sampler(4, four_uniforms, _same)
STANDARD_NORMAL = Sampler(2, two_normals, _same)
STANDARD_NORMAL_SINGLE = Sampler(4, four_normals, _same)
STANDARD_EXPONENTIAL = Sampler(2, two_inner_uniforms, _exponential)
STANDARD_EXPONENTIAL_SINGLE = Sampler(4, four_closed_uniforms, _exponential_single)
STANDARD_GAMMA = Sampler(1, whole_stream, _standard_gamma)
STANDARD_CAUCHY = Sampler(2, two_inner_uniforms, _cauchy)
UNIFORM = Sampler(2, two_uniforms, _between)
NORMAL = Sampler(2, two_normals, _shifted)
LOGNORMAL = Sampler(2, two_normals, _lognormal)
EXPONENTIAL = Sampler(2, two_inner_uniforms, _scaled_exponential)
PARETO = Sampler(2, two_inner_uniforms, _pareto)
WEIBULL = Sampler(2, two_inner_uniforms, _weibull)
POWER = Sampler(2, two_inner_uniforms, _power)
LAPLACE = Sampler(2, two_inner_uniforms, _laplace)
GUMBEL = Sampler(2, two_inner_uniforms, _gumbel)
LOGISTIC = Sampler(2, two_inner_uniforms, _logistic)
RAYLEIGH = Sampler(2, two_inner_uniforms, _rayleigh)
TRIANGULAR = Sampler(2, two_inner_uniforms, _triangular)
GAMMA = Sampler(1, whole_stream, _gamma)
BETA = Sampler(1, whole_stream, _beta)
CHISQUARE = Sampler(1, whole_stream, _chisquare)
NONCENTRAL_CHISQUARE = Sampler(1, whole_stream, _noncentral_chisquare)
F = Sampler(1, whole_stream, _f)
NONCENTRAL_F = Sampler(1, whole_stream, _noncentral_f)
STANDARD_T = Sampler(1, whole_stream, _student)
WALD = Sampler(1, whole_stream, _wald)
VONMISES = Sampler(1, whole_stream, _vonmises)
