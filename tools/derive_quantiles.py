"""Derive the rational functions of the quantiles of normal random numbers.

Both give the inverse of the complementary error function as a product with a number that is close
already: ``z * (1 + r(z * z))`` with ``z = 1 - a`` in the middle, ``(1 + r(t)) / t`` with
``t = 1 / sqrt(-log(a))`` in the tail. Weighted least squares (Lawson's iteration, linearized as by
Sanathanan and Koerner) in 50-digit arithmetic makes the largest error of ``1 + r`` small. Powers
count from the end of the interval next to which the function has no singularity, so that the terms
of the denominator have one sign. Writes ``pygpulib/rand/quantile_coefficients.py``; with
``--check`` the exit status tells whether the file is up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import mpmath as mp

TARGET = Path(__file__).parents[1] / "pygpulib/rand/quantile_coefficients.py"
DEGREE = 8
ROUNDS = 25
# Shares from here on are in the middle; the smallest one is 2**-53.
TAIL = 0.1875
CENTER_MIDDLE = (1 - TAIL) ** 2
CENTER_TAIL = 0.1640625

Function = Callable[[mp.mpf], mp.mpf]


def middle(y: mp.mpf) -> mp.mpf:
    """Return what is to be approximated for ``y = (1 - a)**2``."""
    z = mp.sqrt(y)
    return mp.erfinv(z) / z - 1


def tail(t: mp.mpf) -> mp.mpf:
    """Return what is to be approximated for ``t = 1 / sqrt(-log(a))``."""
    a = mp.exp(-1 / t**2)
    x = 1 / t - mp.log(mp.sqrt(mp.pi) / t) * t / 2
    for _ in range(8):
        x += (mp.erfc(x) - a) * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
    return t * x - 1


def fit(
    function: Function, low: mp.mpf, high: mp.mpf, center: float
) -> tuple[list[mp.mpf], list[mp.mpf], mp.mpf]:
    """Return numerator, denominator, lowest power first, and the largest relative error."""
    count, size = 12 * (DEGREE + 1), DEGREE + 1
    points = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count))
        for k in range(count)
    ]
    values = [function(x) for x in points]
    importance, bottoms = [mp.mpf(1)] * count, [mp.mpf(1)] * count
    best = None
    for turn in range(ROUNDS):
        matrix, right = mp.matrix(count, 2 * DEGREE + 1), mp.matrix(count, 1)
        for row, (x, value) in enumerate(zip(points, values, strict=True)):
            scale = importance[row] / (1 + value) / bottoms[row]
            for power in range(size):
                matrix[row, power] = scale * (x - center) ** power
            for power in range(1, size):
                matrix[row, DEGREE + power] = -scale * value * (x - center) ** power
            right[row] = scale * value
        solution = list(mp.lu_solve(matrix, right))
        top, bottom = solution[:size], [mp.mpf(1), *solution[size:]]
        bottoms = [abs(evaluate(bottom, x - center)) for x in points]
        errors = [
            abs(evaluate(top, x - center) / evaluate(bottom, x - center) - value) / (1 + value)
            for x, value in zip(points, values, strict=True)
        ]
        worst = max(errors)
        if best is None or worst < best[2]:
            best = top, bottom, worst
        if turn > 2:
            importance = [
                old * mp.sqrt(error / worst + mp.mpf("1e-3"))
                for old, error in zip(importance, errors, strict=True)
            ]
            largest = max(importance)
            importance = [weight / largest for weight in importance]
    assert best is not None
    return best


def evaluate(coefficients: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    """Return the polynomial, lowest power first, at a point."""
    result = mp.mpf(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def module_text() -> str:
    """Return the module of coefficients."""
    with mp.workdps(50):
        return _module_text()


def _module_text() -> str:
    end = 1 / mp.sqrt(-mp.log(TAIL)) * (1 + mp.mpf(2) ** -40)
    fits = [
        fit(middle, mp.mpf(0), mp.mpf(CENTER_MIDDLE), CENTER_MIDDLE),
        fit(tail, mp.mpf("0.1647"), end, CENTER_TAIL),
    ]
    errors = " and ".join(f"2**{mp.nstr(mp.log(error, 2), 3)}" for _, _, error in fits)
    lines = [
        '"""Coefficients of the quantiles, for the middle and the tail, highest power first.',
        "",
        "Written by ``tools/derive_quantiles.py``; change that, not this file. The errors, before",
        f"coefficients are rounded, are {errors}.",
        '"""',
        "",
        f"TAIL = {TAIL!r}",
        f"CENTERS = ({CENTER_MIDDLE!r}, {CENTER_TAIL!r})",
    ]
    for name, part in (("TOP", 0), ("BOTTOM", 1)):
        pairs = zip(*(reversed(each[part]) for each in fits), strict=True)
        lines += [f"{name} = (", *(f"    ({float(m)!r}, {float(t)!r})," for m, t in pairs), ")"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    text = module_text()
    if is_check:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
