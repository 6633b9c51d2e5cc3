"""Exceptions of kernels, as they arrive on the host."""

# ruff: noqa: T201

import os
import subprocess
import sys

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelFault


class NotReadyError(Exception):
    """A user's exception."""


class PickyError(Exception):
    """Wants more than a message."""

    def __init__(self, code, place):
        super().__init__(code, place)


def line_of(function, text):
    """Return where the line with a text stands in a function's file."""
    import inspect

    lines, first = inspect.getsourcelines(getattr(function, "py_func", function))
    return first + next(number for number, line in enumerate(lines) if text in line)


def raised(kernel, grid, block, *args):
    """Launch a kernel and return the exception that it ends with."""
    try:
        kernel[grid, block](*args)
        cuda.synchronize()
    except Exception as error:  # the caller looks at it
        return error
    pytest.fail("no exception arrived")


@cuda.jit(device=True)
def root(x):
    if x < 0:
        raise ValueError("negative input")
    return x**0.5


@cuda.jit(device=True)
def sum_of_roots(x, y):
    return root(x) + root(y)


@cuda.jit(debug=True)
def roots(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = sum_of_roots(x[i], 1.0)
        assert y[i] < 100, "too large"


def test_an_exception_says_where_and_who():
    x = np.ones(20)
    x[13] = -1.0
    error = raised(roots, 3, 8, x, np.zeros(20))
    assert type(error) is ValueError
    assert str(error) == (
        "negative input\nin the kernel roots, block (1, 0, 0), thread (5, 0, 0), at "
        f"{__file__}:{line_of(root, 'raise')}"
    )
    x[13] = 1e6
    error = raised(roots, 3, 8, x, np.zeros(20))
    assert type(error) is AssertionError
    assert str(error).startswith("too large\nin the kernel roots, block (1, 0, 0), thread (5, 0")
    assert str(error).endswith(f"{__file__}:{line_of(roots, 'assert')}")
    x[13] = 4.0
    roots[3, 8](x, x)
    cuda.synchronize()
    assert x[13] == 3.0


def test_other_threads_go_on():
    @cuda.jit(debug=True)
    def half(a):
        i = cuda.grid(1)
        if i % 2:
            raise RuntimeError
        a[i] = 1

    a = np.zeros(16)
    assert type(raised(half, 1, 16, a)) is RuntimeError
    assert a.tolist() == [1.0, 0.0] * 8


@pytest.mark.parametrize("operator", ["//", "%", "/"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float32, np.float64])
def test_division_by_zero(operator, dtype):
    from tests.helpers.ways import define

    text = f"def kernel(a, b, c):\n    i = cuda.grid(1)\n    c[i] = a[i] {operator} b[i]\n"
    kernel = define(text, "kernel")
    a, b, c = np.arange(4).astype(dtype), np.array([1, 2, 0, 3]).astype(dtype), np.zeros(4)
    error = raised(cuda.jit(debug=True)(kernel), 1, 4, a, b, c)
    assert type(error) is ZeroDivisionError
    assert "division by zero\nin the kernel kernel, block (0, 0, 0), thread (2, 0, 0)" in str(error)
    quiet = cuda.jit(debug=False)(kernel)
    quiet[1, 4](a, b, c)
    cuda.synchronize()


def test_bounds():
    @cuda.jit(debug=True)
    def beyond(table):
        i = cuda.grid(1)
        table[i, i + 1] = 1

    error = raised(beyond, 1, (4, 1), np.zeros((4, 4)))
    assert type(error) is IndexError
    assert str(error).startswith("index (3, 4) is out of bounds for the array 'table'")
    assert "thread (3, 0, 0)" in str(error)


def test_exceptions_of_users():
    @cuda.jit(debug=True)
    def kernel(a):
        if a[0] == 1:
            raise NotReadyError(f"after {a[1]} of {a[2]:.2f}", a[1] > 1)
        if a[0] == 2:
            raise PickyError(7)

    error = raised(kernel, 1, 1, np.array([1.0, 0.5, 2.0]))
    assert type(error) is NotReadyError
    assert str(error).startswith("after 0.5 of 2.00, False\nin the kernel kernel, block")
    error = raised(kernel, 1, 1, np.array([2.0, 0, 0]))
    assert type(error) is KernelFault
    assert str(error).startswith("PickyError: 7\nin the kernel kernel, block")


def test_without_debug_a_raise_only_ends_its_thread():
    @cuda.jit(debug=False)
    def kernel(a):
        i = cuda.grid(1)
        assert i < 0
        if i == 2:
            raise ValueError
        a[i] = 1

    a = np.zeros(4)
    kernel[1, 4](a)
    cuda.synchronize()
    assert a.tolist() == [1, 1, 0, 1]


_PROGRAM = """
import numpy as np

from pygpulib import cuda

@cuda.jit
def kernel(a):
    a[cuda.grid(1)] = 1

@cuda.jit(debug=False)
def unchecked(a):
    if a[0] > 5:
        raise ValueError

unchecked[1, 1](np.array([6]))
try:
    kernel[1, 4](np.zeros(3))
    cuda.synchronize()
except IndexError as error:
    print(error)
"""


def test_the_environment_switches_debug_on(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    monkeypatch.setenv("PYGPULIB_DEBUG", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.startswith("index 3 is out of bounds for the array 'a' with shape (3,)")


def test_prints_come_before_the_exception(capsys):
    @cuda.jit(debug=True)
    def kernel(a):
        i = cuda.grid(1)
        print("thread", i)
        if a[i] < 0:
            raise ValueError("negative")

    assert type(raised(kernel, 2, 2, np.array([1, 1, 1, -1]))) is ValueError
    assert capsys.readouterr().out == "thread 0\nthread 1\nthread 2\nthread 3\n"


def test_lines_are_in_the_order_of_the_blocks(capsys):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i % 3 != 1:
            print(i, x[i], (x[i] > 2, "y"), f"{x[i]:.1f}", sep="; ")

    x = np.linspace(0, 5, 64, dtype=np.float32)
    kernel[16, 4](x)
    cuda.synchronize()
    lines = capsys.readouterr().out.splitlines()
    expected = [f"{i}; {x[i]!s}; ({x[i] > 2}, 'y'); {x[i]:.1f}" for i in range(64) if i % 3 != 1]
    assert [int(line.split(";")[0]) // 4 for line in lines] == sorted(
        int(line.split(";")[0]) // 4 for line in expected
    )
    assert sorted(lines) == sorted(expected)
