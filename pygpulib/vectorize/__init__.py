"""Functions of numbers made into functions of arrays, as NumPy's ufuncs and generalized ufuncs."""

from __future__ import annotations

from pygpulib.vectorize.decorators import guvectorize, vectorize
from pygpulib.vectorize.generalized import GUFunc
from pygpulib.vectorize.reduction import Reduce
from pygpulib.vectorize.ufunc import UFunc

__all__ = ["GUFunc", "Reduce", "UFunc", "guvectorize", "vectorize"]
