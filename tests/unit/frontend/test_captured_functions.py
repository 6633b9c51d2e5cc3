"""Functions that share their code and differ in what they captured."""

import numpy as np

from pygpulib import cuda


def make_chain(length):
    """Return a function that adds up ``10**k`` times the k-th item, each item in its own level."""
    if length == 0:
        return cuda.jit(device=True)(lambda items: 0)
    last = length - 1
    before = make_chain(last)

    @cuda.jit(device=True)
    def add_up(items):
        return before(items) + items[last] * 10**last

    return add_up


def test_functions_of_one_code_call_each_other():
    add_up = make_chain(4)

    @cuda.jit
    def kernel(a, out):
        out[0] = add_up((a[0], a[1], a[2], a[3]))

    out = np.zeros(1, np.int64)
    kernel[1, 1](np.array([1, 2, 3, 4]), out)
    assert out[0] == 4321


def test_functions_of_one_code_have_results_of_their_own_types():
    def make(value):
        @cuda.jit(device=True)
        def pick(flag):
            if flag:
                return value
            return value + value

        return pick

    whole, half = make(3), make(0.5)

    @cuda.jit
    def kernel(flag, out):
        out[0] = whole(flag) // 2
        out[1] = half(flag)
        out[2] = half(not flag)

    out = np.zeros(3)
    kernel[1, 1](True, out)
    assert out.tolist() == [1, 0.5, 1]
