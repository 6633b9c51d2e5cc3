"""Locks that the child of a fork finds free."""

from __future__ import annotations

import os
import threading
import weakref


class Lock:
    """A reentrant lock, free in the child of a fork even if another thread held it there.

    That thread does not exist in the child and would never release it. What such a lock protects
    must therefore be of use after any step: a cache that lacks an entry, say.
    """

    __slots__ = ("__weakref__", "_inner")

    def __init__(self) -> None:
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        """Start over, free."""
        self._inner = threading.RLock()

    def acquire(self, *, blocking: bool = True) -> bool:
        """Take the lock; return whether that was possible.

        Parameters
        ----------
        blocking : bool
            Whether to wait until it is.
        """
        return self._inner.acquire(blocking)

    def release(self) -> None:
        """Give the lock back."""
        self._inner.release()

    def __enter__(self) -> None:
        self._inner.acquire()

    def __exit__(self, *_error: object) -> None:
        self._inner.release()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
