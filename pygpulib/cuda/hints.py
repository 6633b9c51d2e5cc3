"""The options of ``cuda.jit`` and its kin: their names, their values, and what is advice."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.errors import ArgumentError, ArgumentTypeError, ConfigurationWarning
from pygpulib.jit.options import CompileHints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_BOUNDS = 3
_CARVEOUTS = ("default", "maxl1", "maxshared")

# Options that are true or false, and what they say.
_FLAGS = {
    "cache": "whether the machine code is kept on disk",
    "debug": "whether kernels check bounds and raise exceptions",
    "device": "whether it is a function that kernels call",
    "fastmath": "whether floating-point arithmetic may be approximate",
    "fma": "whether multiply and add may be contracted into one rounding",
    "forceinline": "whether the function is always inlined",
    "lineinfo": "whether the code tells which lines it comes from",
    "lto": "whether code is optimized when it is linked",
    "opt": "whether the code is optimized",
}


def unknown_option(function: str, name: str, known: Sequence[str]) -> ArgumentTypeError:
    """Return the error for a keyword argument that a function does not have."""
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=1)
    return ArgumentTypeError(
        f"{function} has no option {name!r}",
        detail=f"its options are: {', '.join(known)}",
        help=f"did you mean {nearest[0]!r}?" if nearest else "leave it out",
    )


def check_flags(function: str, options: Mapping[str, object]) -> None:
    """Check the options that are true or false; others are passed over."""
    for name, meaning in _FLAGS.items():
        value = options.get(name)
        # numba takes the names of single liberties for fastmath.
        is_set = name == "fastmath" and isinstance(value, set | frozenset | dict)
        if not (value is None or is_set or _is_flag(value)):
            raise ArgumentError(
                f"the option {name} of {function} is {value!r}",
                detail=f"expected True or False: {meaning}",
            )


def check_inline(inline: object) -> None:
    """Check ``inline``: true or false, one of two names, or numba's function that decides."""
    is_name = isinstance(inline, str) and inline in ("always", "never")
    if not (inline is None or is_name or callable(inline) or _is_flag(inline)):
        raise ArgumentError(
            f"the option inline of cuda.jit is {inline!r}",
            detail="expected 'always', 'never', True or False",
        )


def check_launch_bounds(bounds: object) -> None:
    """Check ``launch_bounds``: a positive integer, or a tuple of one to three."""
    parts = bounds if isinstance(bounds, tuple | list) else () if bounds is None else (bounds,)
    is_empty = bounds is not None and not parts
    if is_empty or len(parts) > _MAX_BOUNDS or not all(map(_is_positive, parts)):
        too_many = f"Got {len(parts)} launch bounds: at most {_MAX_BOUNDS} are possible\n"
        raise ArgumentError(
            f"the option launch_bounds of cuda.jit is {bounds!r}",
            detail=f"{too_many if len(parts) > _MAX_BOUNDS else ''}"
            "expected a positive integer or a tuple of one to three: threads per block, "
            "blocks per multiprocessor, blocks per cluster",
        )


def check_carveout(carveout: object) -> None:
    """Check ``shared_memory_carveout``: a percentage, -1, or one of three names."""
    if isinstance(carveout, str):
        is_known = carveout.lower() in _CARVEOUTS
    else:
        is_integer = isinstance(carveout, int) and not isinstance(carveout, bool)
        is_known = carveout is None or (is_integer and carveout in range(-1, 101))
    if not is_known:
        raise ArgumentError(
            f"the option shared_memory_carveout of cuda.jit is {carveout!r}",
            detail="Invalid carveout value: an integer must be between -1 and 100, a name "
            "'MaxL1', 'MaxShared' or 'default'",
        )


def check_max_registers(count: object) -> None:
    """Check ``max_registers``: a positive integer."""
    if count is not None and not _is_positive(count):
        raise ArgumentError(
            f"the option max_registers of cuda.jit is {count!r}",
            detail="expected a positive integer: registers per thread",
        )


def check_literals(literals: object) -> None:
    """Check ``literals``: one of two names."""
    if literals not in ("numba", "weak"):
        raise ArgumentError(
            f"the option literals of cuda.jit is {literals!r}",
            detail="expected 'numba' (int64 and float64) or 'weak' (the types that they meet)",
        )


def read_hints(options: Mapping[str, Any], *, debug: bool) -> CompileHints:
    """Check the options that are advice for GPUs, and return them.

    Parameters
    ----------
    options : mapping of str to object
        Options of ``cuda.jit`` or ``cuda.compile``; others are passed over.
    debug : bool
        Whether the code is for debugging, and tells which lines it comes from.
    """
    bounds = options.get("launch_bounds") or 0
    check_launch_bounds(options.get("launch_bounds"))
    check_carveout(options.get("shared_memory_carveout"))
    check_max_registers(options.get("max_registers"))
    check_inline(options.get("inline"))
    threads, blocks = (*bounds, 0)[:2] if isinstance(bounds, tuple | list) else (bounds, 0)
    return CompileHints(
        max_registers=options.get("max_registers") or 0,
        max_threads_per_block=threads,
        min_blocks=blocks,
        optimize=options.get("opt") is None or bool(options["opt"]),
        lineinfo=debug or bool(options.get("lineinfo")),
    )


def warn_of_conflicts(debug: bool, options: Mapping[str, object]) -> None:
    """Warn of options that have no effect together with ``debug``."""
    effects = {
        "opt": "code for debugging that is optimized is not supported by CUDA",
        "lineinfo": "debug and lineinfo are mutually exclusive, because code for debugging is "
        "full of line information",
    }
    for name, effect in effects.items():
        if debug and options.get(name):
            warnings.warn(
                f"cuda.jit was given debug=True and {name}=True: {effect}\n"
                f"help: leave {name} out, or set debug=False",
                ConfigurationWarning,
                stacklevel=3,
            )


def _is_flag(value: object) -> bool:
    return isinstance(value, int | np.bool_) and value in (0, 1)


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
