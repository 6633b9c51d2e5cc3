"""How exact products in single precision have to be, and whether sums may be in any order."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

MODES = ("default", "pedantic", "tf32")


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.mode = "default"
        self.is_deterministic = True


_thread = _ThreadState()


def current_math_mode() -> str:
    """Return what `math_mode` says in the calling thread."""
    return _thread.mode


def is_deterministic() -> bool:
    """Return what `deterministic` says in the calling thread."""
    return _thread.is_deterministic


@contextmanager
def math_mode(mode: str) -> Iterator[None]:
    """Let the routines of the calling thread be less exact, or more, inside a block.

    Parameters
    ----------
    mode : str
        ``"default"`` is full single precision. ``"tf32"`` lets GPUs that can do so round the
        factors of products to ten bits, which is several times as fast; it says what is allowed,
        and the CPU back end stays exact. ``"pedantic"`` forbids all that is not the standard's
        arithmetic.

    Raises
    ------
    ArgumentError
        If there is no such mode.

    Examples
    --------
    >>> with math_mode("tf32"):
    ...     current_math_mode()
    'tf32'
    """
    if mode not in MODES:
        raise ArgumentError(
            f"the argument mode is {mode!r}", detail=f"expected {', '.join(map(repr, MODES))}"
        )
    before, _thread.mode = _thread.mode, mode
    try:
        yield
    finally:
        _thread.mode = before


@contextmanager
def deterministic(is_required: bool = True) -> Iterator[None]:
    """Say whether a call has to give the same bits every time, inside a block.

    By default it has to: on one model of GPU, with one version of cuBLAS, the numbers depend on
    the arguments only. Each stream has its own workspace, so that work on others changes nothing.

    Parameters
    ----------
    is_required : bool
        If false, cuBLAS may add with atomic operations, whose order is left to chance. Some
        routines, among them `symv` and `hemv`, are faster then. The CPU back end does the same
        in any case.

    Examples
    --------
    >>> with deterministic(False):
    ...     is_deterministic()
    False
    """
    before, _thread.is_deterministic = _thread.is_deterministic, bool(is_required)
    try:
        yield
    finally:
        _thread.is_deterministic = before
