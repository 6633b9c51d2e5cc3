"""How many threads SciPy's BLAS works with.

OpenBLAS gives work of some microseconds to all processors already. The threads then wait for each
other, and where other programs run, for these. Products below a certain size therefore run on one.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import scipy

from pygpulib.core.locks import Lock

if TYPE_CHECKING:
    from types import TracebackType

# Multiplications: below, OpenBLAS uses one thread anyhow, and from there on, threads are worth it.
SMALLEST = 64**3
LARGEST = 200**3


class OneThread:
    """A context in which SciPy's BLAS works with one thread; contexts of threads may overlap.

    Parameters
    ----------
    library : ctypes.CDLL
        SciPy's BLAS.
    """

    def __init__(self, library: Any) -> None:
        self._set = library.scipy_openblas_set_num_threads
        self._get = library.scipy_openblas_get_num_threads
        self._lock = Lock()
        self._users = 0
        self._before = 1
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_all)

    def _leave_all(self) -> None:
        """Leave the contexts of threads that there are not in the child of a fork."""
        if self._users:
            self._users = 0
            self._set(self._before)

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._before = self._get()
                self._set(1)
            self._users += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._set(self._before)


@cache
def one_thread() -> OneThread | None:
    """Return the context, or None where SciPy's BLAS does not let itself be told."""
    folder = os.path.join(os.path.dirname(os.path.dirname(scipy.__file__)), "scipy.libs")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        if name.startswith("libscipy_openblas"):
            library = ctypes.CDLL(os.path.join(folder, name))
            if hasattr(library, "scipy_openblas_set_num_threads"):
                return OneThread(library)
    return None
