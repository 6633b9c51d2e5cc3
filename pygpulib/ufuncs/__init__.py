"""Functions of numbers made into functions of arrays, as NumPy's ufuncs and generalized ufuncs."""

from __future__ import annotations

from pygpulib.ufuncs.decorators import guvectorize, vectorize
from pygpulib.ufuncs.generalized import GUFunc
from pygpulib.ufuncs.reduction import Reduce
from pygpulib.ufuncs.ufunc import UFunc

__all__ = ["GUFunc", "Reduce", "UFunc", "guvectorize", "vectorize"]
