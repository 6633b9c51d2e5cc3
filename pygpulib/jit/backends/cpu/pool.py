"""A pool of native threads that runs the blocks of a launch.

The pool is machine code of our own, so that starting a launch costs about a microsecond and never
takes the interpreter's lock. Whoever launches works too, and workers *join* a launch only while it
is open: on a busy machine, where no worker gets to run, a launch is as fast as a serial one.
"""

from __future__ import annotations

import atexit
import ctypes
import operator
import os
import signal
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.core.locks import Lock
from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.objects import find_object
from pygpulib.jit.backends.cpu.pool_code import SYMBOLS, pool_text
from pygpulib.jit.backends.cpu.target import plain_target

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_THREADS = 1024

KERNEL_TYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
"""A compiled kernel: argument words, first block, end block, worker, and the address of a word that
is not zero once no more blocks are to be begun."""

_RUN_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_GROW_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32)
_OPEN_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_LISTEN_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint64)
_PLAIN_TYPE = ctypes.CFUNCTYPE(None)


class Pool:
    """The threads of one process, started when a launch first needs them.

    Attributes
    ----------
    run_address : int
        Address of the native function that runs a launch: kernel, words, number of blocks.
    ready_address : int
        Address of a word: the second, as C's ``time`` counts, in which the native function may be
        called directly. Once a second Python looks who handles interrupts.
    """

    def __init__(self) -> None:
        # Nothing here is hot but the atomic operations: compile it as fast as possible.
        target = plain_target()
        addresses = engine.load_all(find_object(pool_text(target), target, 0).code, SYMBOLS)
        self.run_address = addresses["run"]
        self.ready_address = addresses["ready"]
        self._run = _RUN_TYPE(addresses["run"])
        self._reset = _PLAIN_TYPE(addresses["reset"])
        self._grow = _GROW_TYPE(addresses["grow"])
        self._open_to = _OPEN_TYPE(addresses["open_to"])
        self._listen = _LISTEN_TYPE(addresses["listen"])
        self._stop = _PLAIN_TYPE(addresses["stop"])
        self._ready = ctypes.c_int64.from_address(addresses["ready"])
        self._lock = Lock()
        self.forget()
        atexit.register(self._stop)
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Start over without threads, as in the child of a fork."""
        self._alive = 0
        self._reset()

    def invalidate(self) -> None:
        """Look at the number of threads again before the next launch."""
        self._ready.value = 0

    def run(self, kernel_address: int, words_address: int, blocks: int) -> None:
        """Run a launch on the caller and on every worker that gets to it in time.

        Parameters
        ----------
        kernel_address : int
            Address of the kernel.
        words_address : int
            Address of its argument words.
        blocks : int
            Number of blocks.

        Raises
        ------
        KeyboardInterrupt
            If an interrupt ended the launch before all blocks were run.
        """
        self._prepare()
        if self._run(kernel_address, words_address, blocks):
            ctypes.pythonapi.PyErr_CheckSignals()  # raises what Python's handler does
            raise KeyboardInterrupt

    def _prepare(self) -> None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Another handler may not want launches to end.
            self._listen(signal.SIGINT, threading.main_thread().ident)
        with self._lock:
            wanted = get_num_threads() - 1
            if self._alive < wanted:
                with _signals_blocked():
                    # A system that gives no more threads leaves a pool that is smaller, and right.
                    while self._alive < wanted and self._grow() == 0:
                        self._alive += 1
            self._open_to(min(wanted, self._alive))


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Keep signals from outside away from the threads started meanwhile.

    They belong to threads that know what to do: a worker that took an interrupt would leave the
    main thread asleep in its system call.
    """
    faults = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}
    outside = {number for number in signal.valid_signals() if _signal_name(number) not in faults}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, outside)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _signal_name(number: int) -> str:
    return number.name if isinstance(number, signal.Signals) else ""


def has_native_threads() -> bool:
    """Return whether this system has the functions that the pool is made of."""
    return os.name == "posix" and hasattr(ctypes.CDLL(None), "pthread_create")


_pool_lock = Lock()


@cache
def _pool_once() -> Pool | None:
    return Pool() if has_native_threads() else None


def shared_pool() -> Pool | None:
    """Return the pool of this process, or None where launches run on the caller alone."""
    with _pool_lock:
        return _pool_once()


_num_threads = config.num_threads


def get_num_threads() -> int:
    """Return how many threads a launch on the CPU uses at most."""
    return _num_threads


def set_num_threads(count: int) -> None:
    """Set how many threads a launch on the CPU uses at most.

    Parameters
    ----------
    count : int
        The number, with the thread that launches; 1 runs kernels on it alone.

    Raises
    ------
    ArgumentError
        If the number is not from 1 to 1024.
    ArgumentTypeError
        If it is not an integer.
    """
    global _num_threads  # noqa: PLW0603
    try:
        count = operator.index(count)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the number of threads is {count!r}", detail="expected an integer"
        ) from cause
    if not 1 <= count <= MAX_THREADS:
        raise ArgumentError(
            f"the number of threads is {count}", detail=f"expected 1 to {MAX_THREADS}"
        )
    _num_threads = count
    with _pool_lock:
        pool = _pool_once() if _pool_once.cache_info().currsize else None
    if pool is not None:
        pool.invalidate()
