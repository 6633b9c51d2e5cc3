"""Cooperation of the 32 threads of a warp: shuffles, votes and matches.

A handful of primitives are intrinsics; what numba calls ``shfl_sync`` and its kind are written with
them in the kernel language. The ``mask`` of the ``_sync`` forms says who is meant to take part; of
these, the lanes that are active where the call stands do. The primitives take it because a GPU has
to wait for these lanes; nothing else follows from it.

Sources
-------
CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Match Functions", "Warp Shuffle Functions".
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.intrinsics.threads import laneid, only_in_kernels
from pygpulib.jit.ir.intrinsic import Emit, Signature, WarpResult, intrinsic
from pygpulib.jit.ir.ops import Effect

WARP_SIZE = 32

Lanes = np.ndarray[Any, np.dtype[Any]]
R = TypeVar("R")


def _called_for(_result: type[R]) -> Callable[[Callable[..., object]], Callable[..., R]]:
    """Give a primitive the type of its calls in kernels; its meaning is on the lanes of a warp."""
    return lambda meaning: cast("Callable[..., R]", meaning)


def _shuffle_rule(operands: tuple[DType, ...]) -> Signature | None:
    if len(operands) != 3 or not (operands[0].is_integer and operands[2].is_integer):
        return None
    return Signature((dtypes.uint32, operands[1], dtypes.int32), (operands[1],))


def _vote_rule(operands: tuple[DType, ...]) -> Signature | None:
    if len(operands) != 2 or not operands[0].is_integer:
        return None
    return Signature((dtypes.uint32, dtypes.bool_), (dtypes.uint32,))


def _match_rule(operands: tuple[DType, ...]) -> Signature | None:
    if len(operands) != 2 or not operands[0].is_integer:
        return None
    return Signature((dtypes.uint32, operands[1]), (dtypes.uint32,))


def _count_rule(operands: tuple[DType, ...]) -> Signature | None:
    return Signature((), (dtypes.uint32,)) if not operands else None


def _take(value: Lanes, source: Lanes) -> Lanes:
    """Read other lanes' values; who asks for a lane that does not exist keeps its own."""
    exists = (source >= 0) & (source < min(value.size, WARP_SIZE))
    lanes = np.arange(value.size)
    return np.asarray(value[np.where(exists, source, lanes)])


def _bits(chosen: Lanes) -> int:
    return int(np.sum(1 << np.flatnonzero(chosen)))


@_called_for(object)
@intrinsic(
    rule=_shuffle_rule,
    effect=Effect.CONVERGE,
    warp_result=WarpResult.AS_LAST_OPERAND,
    cpu=Emit("shuffle"),
    cuda=Emit("shuffle"),
    samples="warp",
)
def shuffle(active: Lanes, mask: Lanes, value: Lanes, source: Lanes) -> Lanes:
    """Return the value of another lane, whose number is taken modulo 32."""
    del active, mask
    return _take(value, source & (WARP_SIZE - 1))


@_called_for(object)
@intrinsic(
    rule=_shuffle_rule,
    effect=Effect.CONVERGE,
    cpu=Emit("shuffle_up"),
    cuda=Emit("shuffle_up"),
    samples="warp",
)
def shuffle_up(active: Lanes, mask: Lanes, value: Lanes, delta: Lanes) -> Lanes:
    """Return the value of the lane ``delta`` below; the lowest ones keep their own."""
    del active, mask
    return _take(value, np.arange(value.size) - delta)


@_called_for(object)
@intrinsic(
    rule=_shuffle_rule,
    effect=Effect.CONVERGE,
    cpu=Emit("shuffle_down"),
    cuda=Emit("shuffle_down"),
    samples="warp",
)
def shuffle_down(active: Lanes, mask: Lanes, value: Lanes, delta: Lanes) -> Lanes:
    """Return the value of the lane ``delta`` above; the highest ones keep their own."""
    del active, mask
    source = np.arange(value.size) + delta
    return _take(value, source)


@_called_for(object)
@intrinsic(
    rule=_shuffle_rule,
    effect=Effect.CONVERGE,
    cpu=Emit("shuffle_xor"),
    cuda=Emit("shuffle_xor"),
    samples="warp",
)
def shuffle_xor(active: Lanes, mask: Lanes, value: Lanes, bits: Lanes) -> Lanes:
    """Return the value of the lane whose number differs in the given bits."""
    del active, mask
    source = np.arange(value.size) ^ bits
    return _take(value, source)


@_called_for(np.uint32)
@intrinsic(
    rule=_vote_rule,
    effect=Effect.CONVERGE,
    warp_result=WarpResult.UNIFORM,
    cpu=Emit("ballot"),
    cuda=Emit("ballot"),
    samples="warp",
)
def ballot(active: Lanes, mask: Lanes, predicate: Lanes) -> int:
    """Return a word with the bits of the active lanes whose predicate holds."""
    del mask
    return _bits(active & predicate)


@_called_for(np.uint32)
@intrinsic(
    rule=_count_rule,
    effect=Effect.CONVERGE,
    warp_result=WarpResult.UNIFORM,
    cpu=Emit("active_lanes"),
    cuda=Emit("active_lanes"),
    samples="warp",
)
def active_lanes(active: Lanes) -> int:
    """Return a word with the bits of the active lanes."""
    return _bits(active)


@_called_for(np.uint32)
@intrinsic(
    rule=_match_rule,
    effect=Effect.CONVERGE,
    cpu=Emit("match"),
    cuda=Emit("match"),
    samples="warp",
)
def match(active: Lanes, mask: Lanes, value: Lanes) -> Lanes:
    """Return, per lane, a word with the bits of the active lanes that hold the same bits."""
    del mask
    raw = value.view(f"u{value.dtype.itemsize}")
    return np.array([_bits(active & (raw == own)) for own in raw], np.uint32)


class WarpFunction:
    """A function of a warp, known to kernels by identity; an error on the host."""

    def __init__(self, body: Callable[..., object]) -> None:
        assert isinstance(body, FunctionType)
        self.body = body
        self.parameters = body.__code__.co_varnames[: body.__code__.co_argcount]
        self.__name__ = body.__name__
        self.__doc__ = body.__doc__

    def __repr__(self) -> str:
        return f"cuda.{self.__name__}"

    def __call__(self, *_: object) -> NoReturn:
        """Refuse to be called on the host."""
        only_in_kernels(self.__name__)


@WarpFunction
def shfl_sync(mask: Any, value: Any, src_lane: Any) -> Any:
    """Return the value of lane ``src_lane``, taken modulo 32."""
    return shuffle(mask, value, src_lane)


@WarpFunction
def shfl_up_sync(mask: Any, value: Any, delta: Any) -> Any:
    """Return the value of the lane ``delta`` below; the lowest lanes keep their own."""
    return shuffle_up(mask, value, delta)


@WarpFunction
def shfl_down_sync(mask: Any, value: Any, delta: Any) -> Any:
    """Return the value of the lane ``delta`` above; the highest lanes keep their own."""
    return shuffle_down(mask, value, delta)


@WarpFunction
def shfl_xor_sync(mask: Any, value: Any, lane_mask: Any) -> Any:
    """Return the value of the lane whose number differs in the bits of ``lane_mask``."""
    return shuffle_xor(mask, value, lane_mask)


@WarpFunction
def all_sync(mask: Any, predicate: Any) -> Any:
    """Return whether the predicate holds in all lanes of the mask."""
    return (ballot(mask, not predicate) & np.uint32(mask)) == 0


@WarpFunction
def any_sync(mask: Any, predicate: Any) -> Any:
    """Return whether the predicate holds in any lane of the mask."""
    return (ballot(mask, predicate) & np.uint32(mask)) != 0


@WarpFunction
def eq_sync(mask: Any, predicate: Any) -> Any:
    """Return whether the predicate is the same in all lanes of the mask."""
    for_ = ballot(mask, predicate) & np.uint32(mask)
    against = ballot(mask, not predicate) & np.uint32(mask)
    return for_ == 0 or against == 0


@WarpFunction
def ballot_sync(mask: Any, predicate: Any) -> Any:
    """Return a word with the bits of the lanes of the mask whose predicate holds."""
    return np.int32(ballot(mask, predicate) & np.uint32(mask))


@WarpFunction
def match_any_sync(mask: Any, value: Any) -> Any:
    """Return a word with the bits of the lanes of the mask that hold the same value."""
    return np.int32(match(mask, value) & np.uint32(mask))


@WarpFunction
def match_all_sync(mask: Any, value: Any) -> Any:
    """Return the mask if all its lanes hold the same value, else 0; and whether they do."""
    meant = ballot(mask, True) & np.uint32(mask)
    same = (match(mask, value) & np.uint32(mask)) == meant
    everybody = (ballot(mask, not same) & np.uint32(mask)) == 0
    return np.int32(meant) if everybody else np.int32(0), everybody


@WarpFunction
def activemask() -> Any:
    """Return a word with the bits of the lanes that are active here."""
    return active_lanes()


@WarpFunction
def lanemask_lt() -> Any:
    """Return a word with the bits of the lanes below this one."""
    return np.uint32((1 << laneid) - 1)  # type: ignore[operator]


FUNCTIONS = (
    shfl_sync,
    shfl_up_sync,
    shfl_down_sync,
    shfl_xor_sync,
    all_sync,
    any_sync,
    eq_sync,
    ballot_sync,
    match_any_sync,
    match_all_sync,
    activemask,
    lanemask_lt,
)
