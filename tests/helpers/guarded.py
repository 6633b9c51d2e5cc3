"""Arrays of every layout that are parts of larger ones, whose other elements nobody may touch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pygpulib import cuda

Shape = tuple[int, ...]
Layout = Callable[[Any, Shape], Any]

_MARGIN = 32


def _packed(base: Any, shape: Shape) -> Any:
    return base[_MARGIN : _MARGIN + math.prod(shape)].reshape(shape)


def _fortran(base: Any, shape: Shape) -> Any:
    return _packed(base, shape[::-1]).transpose()


def _spread(base: Any, shape: Shape, extra: int) -> Any:
    """Return an array of the shape, with as many more elements along every axis."""
    return _packed(base, tuple(length + extra for length in shape))


def _inner(base: Any, shape: Shape) -> Any:
    return _spread(base, shape, 2)[(*(slice(1, 1 + length) for length in shape), ...)]


def _stepped(base: Any, shape: Shape) -> Any:
    longer = _packed(base, tuple(2 * length + 3 for length in shape))
    return longer[(*(slice(2, 2 + 2 * length, 2) for length in shape), ...)]


def _backward(base: Any, shape: Shape) -> Any:
    return _spread(base, shape, 1)[(*(slice(length, 0, -1) for length in shape), ...)]


def _permuted(base: Any, shape: Shape) -> Any:
    """Move the first axis to the end in memory, and skip every second element of it."""
    axes = (*range(1, len(shape)), 0)
    longer = _packed(base, (*shape[1:], 2 * shape[0]))
    return longer[..., ::2].transpose(tuple(axes.index(axis) for axis in range(len(shape))))


LAYOUTS: dict[str, Layout] = {
    "packed": _packed,
    "fortran": _fortran,
    "inner": _inner,
    "stepped": _stepped,
    "backward": _backward,
    "permuted": lambda base, shape: _permuted(base, shape) if shape else _packed(base, shape),
}
"""How to take an array of a shape out of a one-dimensional base of NumPy or of the device."""


@dataclass
class Guarded:
    """An array, the base that it is a part of, and what the base should hold in the end.

    Attributes
    ----------
    array : numpy.ndarray or pygpulib.ndarray
        What to pass to a kernel.
    base : numpy.ndarray or pygpulib.ndarray
        All of its memory.
    expected : numpy.ndarray
        The part of a copy of the base in host memory; write to it what the kernel should.
    """

    array: Any
    base: Any
    expected: np.ndarray[Any, Any]
    _expected_base: np.ndarray[Any, Any]

    def check(self) -> None:
        """Check that the array holds what it should, and that nothing around it has changed."""
        actual = self.base if isinstance(self.base, np.ndarray) else self.base.copy_to_host()
        np.testing.assert_array_equal(actual, self._expected_base)


def guarded(
    layout: str, shape: Shape, dtype: np.dtype[Any], *, on_device: bool = False, first: int = 1
) -> Guarded:
    """Make an array of a layout, of distinct values where the dtype has as many."""
    count = math.prod(2 * length + 3 for length in shape) + 2 * _MARGIN
    values = np.arange(first, first + count)
    with np.errstate(all="ignore"):
        host = (values % 2 == 0) if dtype.kind == "b" else values.astype(dtype)
    if dtype.kind == "c":
        host.imag = -values
    base = cuda.to_device(host) if on_device else host
    copy = host.copy()
    take = LAYOUTS[layout]
    return Guarded(take(base, shape), base, take(copy, shape), copy)
