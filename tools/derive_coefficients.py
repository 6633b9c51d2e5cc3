"""Derive the polynomials of the composed mathematical functions.

For each row of the table, Remez's exchange algorithm finds the polynomial whose weighted error is
smallest, in 60-digit arithmetic; its coefficients, rounded to the precision of the row, are written
to ``pygpulib/jit/intrinsics/composed/coefficients.py``. With ``--check`` nothing is written, and
the exit status tells whether the file is up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np

TARGET = Path(__file__).parents[1] / "pygpulib/jit/intrinsics/composed/coefficients.py"

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """One polynomial: degree, interval, what it approximates, and how errors count."""

    name: str
    meaning: str
    degree: int
    low: float
    high: float
    function: Function
    weight: Function
    single: bool = False


def remez(fit: Fit, rounds: int = 8) -> tuple[list[mp.mpf], mp.mpf]:
    """Return coefficients, lowest power first, and the largest weighted error."""
    count = fit.degree + 2
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    middle, half = (low + high) / 2, (high - low) / 2
    grid = [middle - half * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / 600) for k in range(600)]
    values = [fit.function(x) for x in grid]
    weights = [fit.weight(x) for x in grid]
    picks = [min(int((1 - mp.cos(mp.pi * k / (count - 1))) / 2 * 599), 599) for k in range(count)]
    picks = (
        sorted({*picks}) if len({*picks}) == count else list(range(0, 600, 600 // count))[:count]
    )
    coefficients: list[mp.mpf] = []
    worst = mp.mpf(0)
    for _ in range(rounds):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, pick in enumerate(picks):
            scaled = (grid[pick] - middle) / half
            for power in range(count - 1):
                matrix[row, power] = scaled**power
            matrix[row, count - 1] = (-1) ** row / weights[pick]
            right[row] = values[pick]
        solution = mp.lu_solve(matrix, right)
        scaled_coefficients = [solution[power] for power in range(count - 1)]
        coefficients = _unscale(scaled_coefficients, middle, half)
        errors = [weights[k] * (evaluate(coefficients, grid[k]) - values[k]) for k in range(600)]
        worst = max(abs(error) for error in errors)
        picks = _alternation(errors, count, picks)
    return coefficients, worst


def evaluate(coefficients: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    """Return the polynomial, lowest power first, at a point."""
    result = mp.mpf(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _unscale(scaled: list[mp.mpf], middle: mp.mpf, half: mp.mpf) -> list[mp.mpf]:
    """Turn powers of ``(x - middle) / half`` into powers of x."""
    result = [mp.mpf(0)]
    for coefficient in reversed(scaled):
        shifted = [mp.mpf(0), *result]
        result = [
            (shifted[k] - middle * (result[k] if k < len(result) else 0)) / half
            for k in range(len(shifted))
        ]
        result[0] += coefficient
    return result[: len(scaled)]


def _alternation(errors: list[mp.mpf], count: int, before: list[int]) -> list[int]:
    """Return the places of ``count`` extreme errors of alternating sign."""
    extremes: list[int] = []
    for k, error in enumerate(errors):
        if extremes and (error > 0) == (errors[extremes[-1]] > 0):
            if abs(error) > abs(errors[extremes[-1]]):
                extremes[-1] = k
        else:
            extremes.append(k)
    while len(extremes) > count:
        first = abs(errors[extremes[0]]) < abs(errors[extremes[-1]])
        extremes.pop(0 if first else -1)
    return extremes if len(extremes) == count else before


def _one(_x: mp.mpf) -> mp.mpf:
    return mp.mpf(1)


def _expm1_tail(r: mp.mpf) -> mp.mpf:
    return (mp.expm1(r) - r) / r**2


def _exp_weight(r: mp.mpf) -> mp.mpf:
    return r**2 / mp.exp(r)


def _sine(z: mp.mpf) -> mp.mpf:
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def _sine_weight(z: mp.mpf) -> mp.mpf:
    r = mp.sqrt(z)
    return z * r / mp.sin(r)


def _cosine(z: mp.mpf) -> mp.mpf:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def _cosine_weight(z: mp.mpf) -> mp.mpf:
    return z**2 / mp.cos(mp.sqrt(z))


def _log_series(z: mp.mpf) -> mp.mpf:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def _log_series_tail(z: mp.mpf) -> mp.mpf:
    return (_log_series(z) - mp.mpf(2) / 3) / z


def _log_tail(f: mp.mpf) -> mp.mpf:
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def _log_tail_weight(f: mp.mpf) -> mp.mpf:
    return abs(f**3 / mp.log1p(f))


def odd_tail(function: Function) -> Function:
    """Return g(z) with ``function(x) = x + x * z * g(z)``, ``z = x * x``."""

    def tail(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z

    return tail


def odd_weight(function: Function) -> Function:
    """Return the weight of :func:`odd_tail` for relative errors of the function."""

    def weight(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        return abs(z * x / function(x))

    return weight


def odd_fit(
    name: str, function: Function, degree: int, high: float, *, single: bool = False
) -> Fit:
    """Return the row of an odd function with slope 1 at zero, for ``|x| <= high``."""
    meaning = f"({name.split('_', maxsplit=1)[0].lower()}(x) / x - 1) / z, z = x**2, |x| <= {high}"
    return Fit(
        name, meaning, degree, 1e-12, high**2, odd_tail(function), odd_weight(function), single
    )


def _erf_ratio(z: mp.mpf) -> mp.mpf:
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def _erf_weight(z: mp.mpf) -> mp.mpf:
    x = mp.sqrt(z)
    return x / mp.erf(x)


ERFC_CENTER = 4


def _erfc_scaled(q: mp.mpf) -> mp.mpf:
    """(1 + 2x) exp(x**2) erfc(x) in q = (x - c) / (x + c), for x >= 0."""
    x = ERFC_CENTER * (1 + q) / (1 - q)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def _erfc_weight(q: mp.mpf) -> mp.mpf:
    return 1 / _erfc_scaled(q)


def _erfc_limit(x: float) -> float:
    return (x - ERFC_CENTER) / (x + ERFC_CENTER)


def _cbrt_weight(t: mp.mpf) -> mp.mpf:
    return 1 / mp.cbrt(t)


_R = 0.34666
_Q = 0.7864**2
FITS = (
    Fit("EXP_DOUBLE", "(exp(r) - 1 - r) / r**2", 9, -_R, _R, _expm1_tail, _exp_weight),
    Fit("EXP_SINGLE", "(exp(r) - 1 - r) / r**2", 4, -_R, _R, _expm1_tail, _exp_weight, True),
    Fit("EXP_MEDIUM", "(exp(r) - 1 - r) / r**2", 6, -_R, _R, _expm1_tail, _exp_weight),
    Fit("SIN_DOUBLE", "(sin(r) / r - 1) / z", 5, 1e-12, _Q, _sine, _sine_weight),
    Fit("SIN_SINGLE", "(sin(r) / r - 1) / z", 2, 1e-12, _Q, _sine, _sine_weight, True),
    Fit("COS_DOUBLE", "(cos(r) - 1 + z / 2) / z**2", 5, 1e-12, _Q, _cosine, _cosine_weight),
    Fit("COS_SINGLE", "(cos(r) - 1 + z / 2) / z**2", 2, 1e-12, _Q, _cosine, _cosine_weight, True),
    Fit("LOG_DOUBLE", "(2 atanh(s) / s - 2) / z", 6, 1e-12, 0.02946, _log_series, lambda z: z),
    Fit("LOG_MEDIUM", "(2 atanh(s) / s - 2) / z", 3, 1e-12, 0.02946, _log_series, lambda z: z),
    Fit(
        "LOG_TAIL_DOUBLE",
        "(2 atanh(s) / s - 2 - 2/3 z) / z**2",
        6,
        1e-12,
        0.02946,
        _log_series_tail,
        lambda z: z**2,
    ),
    Fit(
        "LOG_SINGLE",
        "(log(1 + f) - f + f**2 / 2) / f**3",
        8,
        -0.29292,
        0.41425,
        _log_tail,
        _log_tail_weight,
        True,
    ),
    odd_fit("ATAN_DOUBLE", mp.atan, 12, 0.5),
    odd_fit("ATAN_SINGLE", mp.atan, 5, 0.5, single=True),
    odd_fit("ASIN_DOUBLE", mp.asin, 12, 0.5),
    odd_fit("ASIN_SINGLE", mp.asin, 5, 0.5, single=True),
    odd_fit("SINH_DOUBLE", mp.sinh, 6, 1.0),
    odd_fit("SINH_SINGLE", mp.sinh, 3, 1.0, single=True),
    odd_fit("TANH_DOUBLE", mp.tanh, 10, 0.625),
    odd_fit("TANH_SINGLE", mp.tanh, 5, 0.625, single=True),
    Fit("ERF_DOUBLE", "erf(x) / x - 1, z = x**2", 12, 1e-12, 1.0, _erf_ratio, _erf_weight),
    Fit("ERF_SINGLE", "erf(x) / x - 1, z = x**2", 6, 1e-12, 1.0, _erf_ratio, _erf_weight, True),
    Fit(
        "ERFC_DOUBLE",
        "(1 + 2x) exp(x**2) erfc(x), q = (x - 4) / (x + 4)",
        22,
        _erfc_limit(0.4),
        _erfc_limit(27.3),
        _erfc_scaled,
        _erfc_weight,
    ),
    Fit(
        "ERFC_SINGLE",
        "(1 + 2x) exp(x**2) erfc(x), q = (x - 4) / (x + 4)",
        10,
        _erfc_limit(0.4),
        _erfc_limit(10.1),
        _erfc_scaled,
        _erfc_weight,
        True,
    ),
    Fit(
        "ERFC_MEDIUM",
        "(1 + 2x) exp(x**2) erfc(x), q = (x - 4) / (x + 4)",
        11,
        _erfc_limit(0.4),
        _erfc_limit(10.1),
        _erfc_scaled,
        _erfc_weight,
    ),
    Fit("CBRT_SEED", "cbrt(t) on [1, 2]", 4, 1.0, 2.0, mp.cbrt, _cbrt_weight),
)


def render(fit: Fit, *, verbose: bool = False) -> str:
    """Return the lines of one tuple, highest power first."""
    coefficients, worst = remez(fit)
    error = f"2**{float(mp.log(worst, 2)):.1f}"
    if verbose:
        print(fit.name, error, file=sys.stderr)
    lines = [f"# {fit.meaning}; error {error}", f"{fit.name} = ("]
    for coefficient in reversed(coefficients):
        if fit.single:
            lines.append(f"    np.float32({np.float32(float(coefficient))!s}),")
        else:
            lines.append(f"    {float(coefficient)!r},")
    return "\n".join([*lines, ")"])


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    mp.mp.dps = 60
    parts = [
        '"""Coefficients of polynomials, highest power first.\n\n'
        "Written by ``tools/derive_coefficients.py``; change its table, not this file. The error\n"
        'is relative to the whole function, before the coefficients are rounded.\n"""',
        "from __future__ import annotations",
        "import numpy as np",
    ]
    parts += [render(fit, verbose=not arguments.check) for fit in FITS]
    text = "\n\n".join(parts) + "\n"
    if arguments.check:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
