"""How exact products in single precision have to be."""

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


_thread = _ThreadState()


def current_math_mode() -> str:
    """Return what `math_mode` says in the calling thread."""
    return _thread.mode


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
