"""What LLVM's code generator for GPUs can translate.

It ends the process where it cannot translate something, so that must be found out before. Names of
intrinsics are listed that every supported generation has instructions for, and the few for which a
newer one is needed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pygpulib.errors import InternalError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pygpulib.jit.backends.cuda.target import ComputeCapability, CudaTarget

# Intrinsics of LLVM that are the same on all machines, without ``llvm.`` and types.
_COMMON = (
    r"abs|assume|bitreverse|bswap|canonicalize|ceil|copysign|ctlz|ctpop|cttz|dbg\.declare",
    r"dbg\.value|expect|experimental\.noalias\.scope\.decl|fabs|floor|fma|fmuladd",
    r"fptosi\.sat|fptoui\.sat|fshl|fshr|is\.fpclass|lifetime\.end|lifetime\.start|maximum",
    r"maxnum|memcpy|memmove|memset|minimum|minnum|nearbyint|rint|round|roundeven|sadd\.sat",
    r"sadd\.with\.overflow|smax|smin|smul\.with\.overflow|sqrt|ssub\.sat",
    r"ssub\.with\.overflow|trap|trunc|uadd\.sat|uadd\.with\.overflow|umax|umin",
    r"umul\.with\.overflow|usub\.sat|usub\.with\.overflow|convert\.from\.fp16",
    r"convert\.to\.fp16",
)

# Patterns of intrinsics of GPUs, without ``llvm.nvvm.``.
_OF_GPUS = (
    r"activemask|bar\.warp\.sync|barrier\.cta\.\w[\w.]*|barrier0(\.\w+)?|exit|membar\.(cta|gl|sys)",
    r"match\.(all|any)\.sync\.\w+|nanosleep|prmt|read\.ptx\.sreg\.[\w.]+",
    r"shfl\.sync\.(bfly|down|idx|up)\.(i32|f32)p?|vote\.(all|any|uni|ballot)(\.sync)?",
    # Arithmetic with a rounding mode, approximations and conversions, as libdevice calls them.
    r"(add|div|fma|mul|rcp|sqrt)\.r[nzmp]\.(ftz\.)?[fd]",
    r"(cos|div|lg2|rcp|rsqrt|sin|sqrt)\.approx\.(ftz\.)?[fd]|ex2\.approx\.(ftz\.)?f32",
    r"(ceil|floor|fmax|fmin|round|saturate|trunc)\.(ftz\.)?[fd]|fabs\.(ftz\.)?f(32|64)",
    r"(d|f|i|ll|ui|ull)2(d|f|h|i|ll|ui|ull)\.r[nzmp](\.ftz)?|d2i\.(hi|lo)|lohi\.i2d",
    r"mulhi\.u?(i|ll)|sad\.u?i",
)

# The oldest generation that has an instruction for an intrinsic in its oldest PTX version.
_SINCE: tuple[tuple[str, ComputeCapability], ...] = (
    (r"llvm\.nvvm\.redux\.sync\.\w+", (8, 0)),
    (r"llvm\.tanh\.f32|llvm\.nvvm\.tanh\.approx\.f(32)?", (8, 0)),
)

_TYPES = r"(\.(v\d+)?(bf16|f16|f32|f64|i\d+|p\d+))*"
_PLAIN = re.compile(rf"llvm\.(?:(?:{'|'.join(_COMMON)}){_TYPES}|nvvm\.(?:{'|'.join(_OF_GPUS)}))")
_NEWER = tuple((re.compile(pattern), since) for pattern, since in _SINCE)

# Functions that drivers provide.
_SYSTEM_CALLS = frozenset({"vprintf", "__assertfail", "malloc", "free"})


def check_declarations(names: Iterable[str], target: CudaTarget) -> None:
    """Refuse functions that are declared and cannot be translated.

    Parameters
    ----------
    names : iterable of str
        Names of functions without a body.
    target : CudaTarget
        What is compiled for.

    Raises
    ------
    UnsupportedFeatureError
        If a newer GPU is needed.
    InternalError
        If there is no such function.
    """
    for name in names:
        if name in _SYSTEM_CALLS or _PLAIN.fullmatch(name):
            continue
        since = next((since for pattern, since in _NEWER if pattern.fullmatch(name)), None)
        if since is None:
            raise InternalError(
                f"the code of a kernel calls {name}, which GPUs do not have",
                help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
            )
        if target.compute_capability < since:
            have, need = (f"{major}.{minor}" for major, minor in (target.compute_capability, since))
            raise UnsupportedFeatureError(
                f"the kernel uses an instruction that GPUs of compute capability {have} do not "
                "have",
                detail=f"{name} needs {need} or newer",
            )
