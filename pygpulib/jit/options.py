"""The options of one compilation."""

from __future__ import annotations

from pygpulib._record import record


@record(eq=True)
class CompileOptions:
    """What ``cuda.jit`` was asked for; part of the key of a specialization.

    Attributes
    ----------
    debug : bool
        Check bounds and report exceptions of kernels.
    fastmath : bool
        Allow approximate floating-point arithmetic.
    fma : bool
        Allow multiply and add to be contracted into one rounding.
    cache : bool
        Keep the machine code on disk.
    weak_literals : bool
        Let numbers that are written down take the type of those that they meet.
    """

    debug: bool = False
    fastmath: bool = False
    fma: bool = True
    cache: bool = True
    weak_literals: bool = False
