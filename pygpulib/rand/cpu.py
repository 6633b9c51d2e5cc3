"""The generators of the CPU back end."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from pygpulib.rand.engine import foreign_state
from pygpulib.rand.history import History
from pygpulib.rand.kinds import Kind

if TYPE_CHECKING:
    from pygpulib.rand.engine import AnyArray, BaseEngine, Engine, EngineState
    from pygpulib.rand.request import Request

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


class _Noting:
    """What is put before an engine, so that the other back end can go on from its states."""

    has_history = True
    history: History

    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:
        """Write the next numbers, and note it."""
        super().fill(request, out, stream)  # type: ignore[misc]
        self.note_numbers(request, out.size)  # type: ignore[attr-defined]

    def set_state(self, state: EngineState) -> None:
        """Go on from a state, and from what it tells about how it came about."""
        if not state.position:
            raise foreign_state(state)
        super().set_state(state)  # type: ignore[misc]
        self.history = History(state.history)


@cache
def _class_of(kind: Kind) -> type[BaseEngine]:
    module, name = _ENGINES[kind]
    engine = getattr(import_module(f"pygpulib.rand.{module}"), name)
    return type(name, (_Noting, engine), {})


def create(kind: Kind) -> Engine:
    """Return a new generator that fills arrays in host memory.

    Parameters
    ----------
    kind : Kind
        Which one; its module is imported when it is first asked for.
    """
    return _class_of(kind)(kind)
