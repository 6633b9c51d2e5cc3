"""Random numbers: every generator of cuRAND, with the same numbers, on GPUs and on the CPU."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygpulib.rand import binding, qmc
    from pygpulib.rand.bit_generators import XORWOW, BitGenerator, MRG32k3a, Philox4x3210
    from pygpulib.rand.compat import PRNG, QRNG, lognormal, normal, poisson, quasi, uniform
    from pygpulib.rand.generator import Generator, default_rng
    from pygpulib.rand.kinds import Ordering
    from pygpulib.rand.qmc import Sobol

__all__ = [
    "PRNG",
    "QRNG",
    "XORWOW",
    "BitGenerator",
    "Generator",
    "MRG32k3a",
    "Ordering",
    "Philox4x3210",
    "Sobol",
    "binding",
    "default_rng",
    "lognormal",
    "normal",
    "poisson",
    "qmc",
    "quasi",
    "uniform",
]

_SUBMODULES = ("binding", "qmc")
_HOMES = {
    **dict.fromkeys(("BitGenerator", "MRG32k3a", "Philox4x3210", "XORWOW"), "bit_generators"),
    **dict.fromkeys(("Generator", "default_rng"), "generator"),
    "Ordering": "kinds",
    "Sobol": "qmc",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that importing the package stays cheap."""
    if name in _SUBMODULES:
        return import_module(f"pygpulib.rand.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'pygpulib.rand' has no attribute {name!r}")
    home = _HOMES.get(name, "compat")
    found: object = getattr(import_module(f"pygpulib.rand.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
