"""Short ways to write the lowerings that come in a single and a double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

import numpy as np

from pygpulib.core.dtypes import ALL_DTYPES, DType, float32, float64
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import Compose, Extern

_PRECISIONS = {float32: "single", float64: "double"}


def libm(name: str) -> Extern:
    """Call a function of C's mathematical library for each lane."""
    return Extern({float32: f"{name}f", float64: name})


def libdevice(name: str) -> Extern:
    """Call a function of CUDA's device library."""
    return Extern({float32: f"__nv_{name}f", float64: f"__nv_{name}"})


def composed(single: Callable[..., object], double: Callable[..., object]) -> Compose:
    """Expand to functions of the kernel language for float32 and float64."""
    return Compose({float32: single, float64: double})


class _Later(Mapping[DType, Callable[..., object]]):
    """The functions of a pair of modules of ``composed``, imported when they are needed.

    ``exp_single.log_single`` and ``exp_double.log_double`` for the family ``exp`` and the name
    ``log``.
    """

    __slots__ = ("family", "name")

    def __init__(self, family: str, name: str) -> None:
        self.family = family
        self.name = name

    def __getitem__(self, dtype: DType) -> Callable[..., object]:
        precision = _PRECISIONS[dtype]
        module = import_module(f"pygpulib.jit.intrinsics.composed.{self.family}_{precision}")
        function: Callable[..., object] = getattr(module, f"{self.name}_{precision}")
        return function

    def __iter__(self) -> Iterator[DType]:
        return iter(_PRECISIONS)

    def __len__(self) -> int:
        return len(_PRECISIONS)


def composed_in(family: str, name: str) -> Compose:
    """Expand to the functions of this name in two modules of ``composed``."""
    return Compose(_Later(family, name))


def generic(function: Callable[..., object]) -> Compose:
    """Expand to one function of the kernel language for every real type."""
    return Compose({dtype: function for dtype in ALL_DTYPES if not dtype.is_complex})


def evaluate(function: Callable[..., Real], *operands: Real) -> Real:
    """Apply a function of float64 as IEEE arithmetic does: no exceptions and no warnings.

    The result has the type of the first operand.
    """
    kind = type(operands[0]) if isinstance(operands[0], np.floating) else float
    with np.errstate(all="ignore"):
        return kind(function(*(np.float64(operand) for operand in operands)))


def python_spelling(name: str) -> tuple[object, ...]:
    """Return the function of ``math``, in versions of Python that have it."""
    return (getattr(math, name),) if hasattr(math, name) else ()
