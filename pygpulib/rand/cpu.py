"""The generators of the CPU back end."""

from __future__ import annotations

from importlib import import_module

from pygpulib.rand.engine import Engine
from pygpulib.rand.kinds import Kind

_ENGINES = {
    Kind.XORWOW: ("xorwow", "XorwowEngine"),
    Kind.MRG32K3A: ("mrg32k3a", "Mrg32k3aEngine"),
    Kind.MTGP32: ("mtgp32", "Mtgp32Engine"),
    Kind.MT19937: ("mt19937", "Mt19937Engine"),
    Kind.PHILOX4_32_10: ("philox", "PhiloxEngine"),
    Kind.SOBOL32: ("sobol", "SobolEngine"),
    Kind.SCRAMBLED_SOBOL32: ("sobol", "SobolEngine"),
    Kind.SOBOL64: ("sobol", "SobolEngine"),
    Kind.SCRAMBLED_SOBOL64: ("sobol", "SobolEngine"),
}


def create(kind: Kind) -> Engine:
    """Return a new generator that fills arrays in host memory.

    Parameters
    ----------
    kind : Kind
        Which one; its module is imported when it is first asked for.
    """
    module, name = _ENGINES[kind]
    engine: Engine = getattr(import_module(f"pygpulib.rand.{module}"), name)(kind)
    return engine
