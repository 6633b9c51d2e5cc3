"""Random numbers in kernels.

The functions ``xoroshiro128p_...`` give the numbers of numba's functions of these names. The
functions ``philox_...`` need no states: a number depends on a seed, an index and a position.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.cuda.decorators import jit
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.jit.elements import element_of
from pygpulib.jit.intrinsics.random.jumps import first_states, jump_tables
from pygpulib.jit.intrinsics.random.philox import (
    philox_block,
    philox_normal,
    philox_normal_float32,
    philox_randint,
    philox_uint32,
    philox_uint64,
    philox_uniform,
    philox_uniform_float32,
)
from pygpulib.jit.intrinsics.random.xoroshiro import (
    STATE,
    init_xoroshiro128p_state,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.jit.types import element_type

if TYPE_CHECKING:
    from typing import Any

    from pygpulib.core.stream import StreamLike

xoroshiro128p_dtype = STATE
xoroshiro128p_type = element_type(element_of(STATE))

_STRIDE_EXPONENT = 12
_STRIDE = 1 << _STRIDE_EXPONENT
"""So many states are made here; kernels go on from there, each thread with steps of this size."""
_BLOCK = 64


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: StreamLike = 0
) -> ndarray:
    """Return a new device array of states for ``n`` independent sequences.

    Parameters
    ----------
    n : int
        How many, usually the number of threads.
    seed : int
        Any number; 64 bits count.
    subsequence_start : int
        Which sequence of the seed is the first; so several calls can share a seed.
    stream : Stream or 0
        Where the work is queued.

    Returns
    -------
    ndarray
        A 1-d device array of dtype `xoroshiro128p_dtype`.

    Raises
    ------
    ArgumentTypeError
        If a number is no integer.
    ArgumentError
        If a number is negative.

    Examples
    --------
    >>> create_xoroshiro128p_states(2, seed=1).copy_to_host()["s0"]
    array([10451216379200822465,  8341117667364343960], dtype=uint64)
    """
    n = _whole("n", n)
    if n < 0:
        raise ArgumentError(f"the argument n is {n}", detail="expected a number of states")
    states = device_array(n, xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


def init_xoroshiro128p_states(
    states: ndarray, seed: int, subsequence_start: int = 0, stream: StreamLike = 0
) -> None:
    """Set the states in a device array; see :func:`create_xoroshiro128p_states`.

    Parameters
    ----------
    states : ndarray
        A 1-d device array of dtype `xoroshiro128p_dtype`.
    seed : int
        Any number; 64 bits count.
    subsequence_start : int
        Which sequence of the seed is the first.
    stream : Stream or 0
        Where the work is queued.

    Raises
    ------
    ArgumentTypeError
        If a number is no integer.
    DTypeError
        If the array is of another dtype.
    ArgumentError
        If the array has not one axis, or the start is negative.
    """
    if states.dtype != xoroshiro128p_dtype:
        raise DTypeError(
            f"the argument states is an array of dtype {states.dtype}",
            detail=f"expected xoroshiro128p_dtype, which is {xoroshiro128p_dtype}",
        )
    seed, subsequence_start = _whole("seed", seed), _whole("subsequence_start", subsequence_start)
    if states.ndim != 1 or subsequence_start < 0:
        raise ArgumentError(
            f"states of {states.ndim} axes are to start with the sequence {subsequence_start}",
            detail="expected one axis, and a number that is not negative",
        )
    count = min(states.size, _STRIDE)
    if not count:
        return
    words = first_states(count, seed % (1 << 64), subsequence_start)
    states.setitem(slice(count), words.view(xoroshiro128p_dtype).reshape(count), stream)
    if states.size > count:
        tables = to_device(jump_tables(_STRIDE_EXPONENT), stream=stream)
        _go_on[_STRIDE // _BLOCK, _BLOCK, stream](states, tables)


def _whole(name: str, value: int) -> int:
    """Return an argument as an integer."""
    try:
        return index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"the argument {name} is {value!r}",
            detail="expected an integer",
            help="convert it with int(...)",
        ) from None


@jit
def _go_on(states: Any, tables: Any) -> None:  # noqa: ANN401
    """Compute every state from the one that lies a stride before it."""
    i = grid(1)
    s0 = states[i].s0
    s1 = states[i].s1
    for j in range(i + _STRIDE, states.size, _STRIDE):
        low, high = s0, s1
        s0 = np.uint64(0)
        s1 = np.uint64(0)
        for position in range(8):
            byte = np.int64((low >> (8 * position)) & np.uint64(255))
            s0 ^= tables[position, byte, 0]
            s1 ^= tables[position, byte, 1]
            byte = np.int64((high >> (8 * position)) & np.uint64(255))
            s0 ^= tables[position + 8, byte, 0]
            s1 ^= tables[position + 8, byte, 1]
        states[j].s0 = s0
        states[j].s1 = s1


__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_state",
    "init_xoroshiro128p_states",
    "philox_block",
    "philox_normal",
    "philox_normal_float32",
    "philox_randint",
    "philox_uint32",
    "philox_uint64",
    "philox_uniform",
    "philox_uniform_float32",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]
