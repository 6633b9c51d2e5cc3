"""An interpreter of PTX for tests: runs the very text that a GPU would get, on all threads at once.

`parse_module` reads a text, `launch` runs one of its kernels on a `DeviceMemory`.
"""

from __future__ import annotations

from tests.fakecuda.ptx.faults import (
    AssertionFailed,
    Deadlock,
    DivergentBarrier,
    IllegalAddress,
    IllegalInstruction,
    MisalignedAddress,
    PtxFault,
    PtxSyntaxError,
    Runaway,
    SharedRace,
    Trap,
    UninitializedShared,
    UnsupportedPtx,
)
from tests.fakecuda.ptx.launch import launch
from tests.fakecuda.ptx.parser import parse_module
from tests.fakecuda.ptx.syntax import Function, Module, Parameter
from tests.fakecuda.ptx.variables import place_globals

__all__ = [
    "AssertionFailed",
    "Deadlock",
    "DivergentBarrier",
    "Function",
    "IllegalAddress",
    "IllegalInstruction",
    "MisalignedAddress",
    "Module",
    "Parameter",
    "PtxFault",
    "PtxSyntaxError",
    "Runaway",
    "SharedRace",
    "Trap",
    "UninitializedShared",
    "UnsupportedPtx",
    "launch",
    "parse_module",
    "place_globals",
]
