"""Loads and stores with hints for caches are loads and stores."""

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import KernelTypeError

LOADS = [cuda.ldca, cuda.ldcg, cuda.ldcs, cuda.ldcv, cuda.ldlu]
STORES = [cuda.stcg, cuda.stcs, cuda.stwb, cuda.stwt]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("load", LOADS)
def test_elements(load, store):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            store(out, i, load(a, -1 - i) + load(b, (i % 2, i)))

    a, b, out = np.arange(40), np.arange(80.0).reshape(2, 40), np.zeros(40)
    kernel[2, 32](a, b, out)
    i = np.arange(40)
    assert (out == a[::-1] + b[i % 2, i]).all()


@pytest.mark.parametrize("dtype", ["u1", "f2", "i8", "c16"])
def test_types(dtype):
    @cuda.jit
    def kernel(a, out):
        cuda.stcs(out, 0, cuda.ldcg(a, 1))

    out = np.zeros(1, dtype)
    kernel[1, 1](np.array([1, 2], dtype), out)
    assert out[0] == 2


def test_addresses():
    @cuda.jit((types.CPointer(types.float32), types.float32[::1]))
    def kernel(p, out):
        cuda.stwt(out, 0, cuda.ldca(p, 2))
        cuda.stwb(p, 1, 7)

    a, out = cuda.to_device(np.arange(4, dtype=np.float32)), np.zeros(1, np.float32)
    kernel[1, 1](a.address, out)
    assert out[0] == 2
    assert a.copy_to_host().tolist() == [0, 7, 2, 3]


def test_an_index_outside_is_reported_where_the_call_stands():
    @cuda.jit(debug=True)
    def kernel(a):
        cuda.stcs(a, 5, 1)

    line = kernel.py_func.__code__.co_firstlineno + 2
    with pytest.raises(IndexError, match=rf"at {__file__}:{line}$"):
        kernel[1, 1](np.zeros(5))


def test_what_is_no_memory_is_refused():
    @cuda.jit
    def kernel(a):
        a[0] = cuda.ldcs(1.5, 0)

    with pytest.raises(KernelTypeError, match=r"ldcs does not take \(float64, int64\)"):
        kernel[1, 1](np.zeros(1))
