"""Functions without source are read back from their instructions."""

import itertools
import textwrap
from types import FunctionType

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend.decompile import decompile

FUNCTIONS = """
def straight(a, b):
    c = a * 2 - b // 3
    d, e = c, -a
    c += d % 5
    c **= 2
    return c, d, e, a is None, not b, b is not None
---
def slices(a, b):
    x = (a, b, a + b, 4, 5, 6)
    y = x[1:4]
    return y[0], x[::2], x[a:], x[-1], x[:2]
---
def branches(a, b):
    '''Documented.'''
    if a > 3 and b > 2 and a != b:
        return 1
    if a < 1 or b < 1:
        c = 2
    elif not a - 2:
        c = 3 if b > 3 else 4
    else:
        if b == 4:
            return 5
        c = 6
    return c
---
def loops(a, b):
    total = 0
    for i in range(a + 3):
        if i == b:
            continue
        for j in range(i):
            if j > 3:
                break
            total += i * j
            if total > 60:
                return total
        total -= 1
    while a > 0:
        a -= 1
        total += 10
    return total
---
def search(a, b):
    for i in range(10):
        if i * i > a + b:
            return i
    return -1
---
def calls(a, b, *, c=3):
    return max(a, b), pow(a, exp=b), divmod(b + 1, c), (a, b).count(a), abs(complex(a, b).imag)
---
def pairs(a, b):
    total = 0
    for i, (x) in enumerate((a, b, 7)):
        total += i * x
    return total
---
lambdas = lambda a, b: a * b if a > b else b << a
---
def outside():
    k = 4
    def captured(a, b):
        return a * k + b
    return captured
captured = outside()
---
def nothing(a, b):
    if a > b and b < 4:
        a += 1
    else:
        b += 1
---
def last_loop(a, b):
    for i in range(a):
        if i < b:
            b -= 1
"""


def made(text):
    scope = {}
    exec(textwrap.dedent(text), scope)
    return [value for value in scope.values() if isinstance(value, FunctionType)][-1]


@pytest.mark.parametrize("text", FUNCTIONS.split("---\n"), ids=lambda text: text.split("(")[0][-9:])
def test_the_lines_do_the_same(text):
    function = made(text)
    lines = decompile(function.__code__)
    assert lines
    scope = dict(zip(function.__code__.co_freevars, [4], strict=False))
    exec("".join(lines), scope)
    again = scope["function" if function.__name__ == "<lambda>" else function.__name__]
    again.__kwdefaults__ = function.__kwdefaults__
    for a, b in itertools.product(range(6), repeat=2):
        assert again(a, b) == function(a, b)


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    return [x for x in a]",
        "def f(a):\n    try:\n        return a\n    except ValueError:\n        return 1",
        "def f(a):\n    with a:\n        pass",
        "def f(a):\n    yield a",
        "def f(a):\n    b = c = a\n    return b",
        "def f(a):\n    return lambda: a",
        "def f(a):\n    return f'{a}'",
        "def f(a):\n    del a",
    ],
)
def test_what_is_not_understood_gives_nothing(text):
    assert decompile(made(text).__code__) == ()


def test_kernels_made_by_exec():
    text = """
def kernel(a, out):
    i = cuda.grid(1)
    shared = cuda.shared.array(32, float64)
    shared[cuda.threadIdx.x] = a[i]
    cuda.syncthreads()
    if i < out.size:
        total = 0.0
        for j in range(4):
            if j == i % 4:
                continue
            total += shared[j] * {factor}
        out[i] = total
"""
    for factor in (2, 5):
        scope = {"cuda": cuda, "float64": cuda.float64}
        exec(text.format(factor=factor), scope)
        out = np.zeros(8)
        cuda.jit(scope["kernel"])[1, 8](np.arange(8.0), out)
        assert out.tolist() == [factor * (6 - i % 4) for i in range(8)]


def test_messages_show_the_lines_that_were_read_back():
    scope = {}
    exec("def kernel(a):\n    b = a[0]\n    a[0] = b.nothing", scope)
    with pytest.raises(KernelTypeError, match=r"<string>:3: .*\n *3 \| a\[0\] = b\.nothing"):
        cuda.jit(scope["kernel"])[1, 1](np.zeros(1))
