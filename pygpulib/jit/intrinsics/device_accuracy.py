"""How exact the functions of CUDA's mathematical library are that intrinsics become on GPUs."""

from __future__ import annotations

from typing import Final

LIBDEVICE_ULP: Final[dict[str, tuple[float, float]]] = {
    "acos": (2, 2),
    "acosh": (4, 3),
    "asin": (2, 2),
    "asinh": (3, 3),
    "atan": (2, 2),
    "atan2": (3, 2),
    "atanh": (3, 2),
    "cbrt": (1, 1),
    "cos": (2, 2),
    "cosh": (2, 1),
    "cospi": (2, 2),
    "erf": (2, 2),
    "erfc": (4, 5),
    "exp": (2, 1),
    "exp10": (2, 1),
    "exp2": (2, 1),
    "expm1": (1, 1),
    "fmod": (0, 0),
    "gamma": (5, 10),
    "hypot": (3, 2),
    "ldexp": (0.5, 0.5),
    "lgamma": (6, 4),
    "log": (1, 1),
    "log10": (2, 2),
    "log1p": (1, 2),
    "log2": (1, 2),
    "nextafter": (0, 0),
    "pow": (4, 2),
    "remainder": (0, 0),
    "rint": (0, 0),
    "rsqrt": (2, 1),
    "sin": (2, 2),
    "sinh": (3, 2),
    "sinpi": (2, 2),
    "tan": (4, 2),
    "tanh": (2, 1),
}
"""Largest error in units in the last place, of the single and of the double precision.

``lgamma`` is less exact between -11 and -2, where its results are near zero.
"""
