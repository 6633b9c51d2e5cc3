"""Functions that call themselves, against CPython."""

import copy
import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError, UnsupportedFeatureError
from pygpulib.jit import types
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.passes.pipeline import optimize
from tests.helpers.evaluation import result_type
from tests.helpers.kernels import Device, compare, compile_for, interpret
from tests.helpers.ways import check_everywhere, run_python

int64, float64 = types.int64, types.float64


def failure(kernel, *args, error=KernelTypeError):
    with pytest.raises(error) as caught:
        compile_for(kernel, *args)
    first, *rest = str(caught.value).splitlines()
    return [first.partition(": ")[2], *rest]


def check_in_interpreter(kernel, block, *args):
    """Compare what CPython leaves in all arrays with the IR before and after the passes."""
    expected = copy.deepcopy(args)
    run_python(kernel, 1, block, *expected)
    function = compile_for(kernel, *args)
    for version in (function, optimize(function)):
        actual = copy.deepcopy(args)
        assert run(version, 1, block, actual).fault is None
        compare(expected, actual)


@Device
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@Device
def is_even(n):
    return n == 0 or is_odd(n - 1)


@Device
def is_odd(n):
    return n != 0 and is_even(n - 1)


@Device
def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


@Device
def halve(n):
    """The type of the result grows from int64 to float64."""
    return halve(n - 1) * 0.5 if n > 0 else 1


def test_numbers():
    def kernel(a, b):
        i = cuda.grid(1)
        a[i, 0] = fibonacci(i)
        a[i, 1] = is_even(i)
        a[i, 2] = is_odd(i) + is_even(3)
        a[i, 3] = ackermann(i % 3, 2)
        b[i] = halve(i)

    arguments = np.zeros((10, 4), np.int64), np.zeros(10)
    check_in_interpreter(kernel, 10, *arguments)
    check_everywhere(kernel, 2, 5, *arguments)


def test_types_of_results():
    assert result_type(lambda n: fibonacci(n), int64) == int64
    assert result_type(lambda n: fibonacci(n), float64) == float64
    assert result_type(lambda n: is_even(n), int64) == types.boolean
    assert result_type(lambda n: halve(n), int64) == float64


def test_one_function_per_list_of_types():
    def kernel(a):
        a[0] = fibonacci(3) + fibonacci(5) + fibonacci(2.0)
        a[1] = is_even(4) + is_odd(4)

    names = [callee.name for callee in compile_for(kernel, np.zeros(2)).callees]
    assert len(names) == 4
    assert len([name for name in names if name.startswith("fibonacci.")]) == 2


@Device
def sort(a, low, high):
    """Sort with arrays, loops and calls as statements."""
    if low >= high:
        return
    last = low
    for k in range(low + 1, high + 1):
        if a[k] < a[low]:
            last += 1
            a[last], a[k] = a[k], a[last]
    a[low], a[last] = a[last], a[low]
    sort(a, low, last - 1)
    sort(a, last + 1, high)


@Device
def walk(tree, node, depth):
    """Return (sum, deepest level) below a node."""
    if node < 0:
        return (0.0, depth)
    left = walk(tree, tree[node, 0], depth + 1)
    right = walk(tree, tree[node, 1], depth + 1)
    return (left[0] + right[0] + node, max(left[1], right[1]))


def test_arrays_and_tuples():
    def kernel(rows, tree, out):
        i = cuda.grid(1)
        sort(rows[i], 0, rows.shape[1] - 1)
        total, depth = walk(tree, i, 0)
        out[i, 0] = total
        out[i, 1] = depth

    rng = np.random.default_rng(3)
    tree = np.array([[1, 2], [3, -1], [4, 5], [-1, -1], [6, -1], [-1, -1], [-1, -1]])
    arguments = rng.integers(0, 50, (7, 12)), tree, np.zeros((7, 2))
    check_in_interpreter(kernel, 7, *arguments)
    check_everywhere(kernel, 1, 7, *arguments)


@Device
def outer(n):
    """Calls itself and a function that calls both."""
    if n <= 0:
        return 1
    return inner(n - 1) + outer(n - 2)


@Device
def inner(n):
    if n <= 0:
        return 0.5
    total = 0
    for k in range(2):
        total += outer(n - 1 - k)
    return total * inner(n - 2)


@Device
def branches(n):
    while n > 0 and not is_even(n):
        n -= 1
    value = 2
    if n > 3:
        value = branches(n - 2) if branches(n - 3) > 1 else branches(n - 4)
    return value + 1


def test_functions_that_depend_on_each_other():
    def kernel(a):
        i = cuda.grid(1)
        a[i, 0] = outer(i)
        a[i, 1] = inner(i)
        a[i, 2] = branches(i)

    check_in_interpreter(kernel, 8, np.zeros((8, 3)))
    check_everywhere(kernel, 1, 8, np.zeros((8, 3)))
    assert result_type(lambda n: outer(n), int64) == float64


@Device
def integrate(function, a, b, n):
    if n == 0:
        return (b - a) * (function(a) + function(b)) / 2
    middle = (a + b) / 2
    return integrate(function, a, middle, n - 1) + integrate(function, middle, b, n - 1)


@Device
def square(x):
    return x * x


def test_functions_as_arguments():
    def kernel(a):
        a[0] = integrate(square, 0.0, 3.0, 6)
        a[1] = integrate(math.sqrt, 0.0, 4.0, 5)

    a = np.zeros(2)
    interpret(kernel, a)
    np.testing.assert_allclose(a, [integrate(square, 0, 3, 6), integrate(math.sqrt, 0, 4, 5)])


def test_errors_in_recursive_functions_are_reported():
    @Device
    def descend(n):
        if n == 3:
            raise ValueError(f"reached {n}")
        return descend(n - 1) if n > 0 else 0

    def kernel(a):
        a[0] = descend(a[0])

    a = np.array([2])
    assert interpret(kernel, a, debug=True) is None
    function = compile_for(kernel, a, options=CompileOptions(debug=True))
    fault = run(function, 1, 1, [np.array([5])]).fault
    assert function.errors[fault.code].message.format(*fault.details) == "reached 3"


def descending(step):
    @Device
    def descend(n):
        return descend(n - step) + 1 if n > 0 else 0

    return descend


by_one, by_two = descending(1), descending(2)


def test_functions_of_one_code_are_told_apart():
    @Device
    def both(n):
        return by_one(n) * 100 + by_two(n)

    def kernel(a):
        a[0] = both(6) + by_two(4) * 10000

    assert len(compile_for(kernel, np.zeros(1)).callees) == 2
    check_in_interpreter(kernel, 1, np.zeros(1))


# ---------------------------------------------------------------------------------------- refused


def test_results_that_cannot_be_inferred():
    @Device
    def endless(n):
        return endless(n + 1)

    def kernel(a):
        a[0] = endless(1)

    lines = failure(kernel, np.zeros(1))
    assert lines[0] == (
        f"the type of what {endless.py_func.__qualname__} returns cannot be inferred: every way "
        f"through it calls {endless.py_func.__qualname__} again"
    )
    assert lines[-1] == "help: return a value of the wanted type where the recursion ends"


def test_results_that_do_not_converge():
    @Device
    def wrapped(n):
        if n == 0:
            return (0, 1)
        return (wrapped(n - 1), 1)

    def kernel(a):
        wrapped(3)

    lines = failure(kernel, np.zeros(1))
    assert lines[0] == (
        f"{wrapped.py_func.__qualname__} returns (int64, int64) on one path and "
        "((int64, int64), int64) on another"
    )
    assert lines[-1] == "help: return values of one type on every path"


def test_results_that_grow_are_refused():
    @Device
    def pairs(n):
        if n <= 0:
            return None
        return (n, pairs(n - 1))

    def kernel(a):
        pairs(3)

    lines = failure(kernel, np.zeros(1))
    name = pairs.py_func.__qualname__
    assert lines[0] == f"the return type of the recursive function {name} does not converge"
    assert lines[-1].startswith("help: return values of one type at every depth")


def test_ever_new_types_are_refused():
    @Device
    def grow(t):
        return grow((*t, 1)) if len(t) < 100 else 0

    def kernel(a):
        a[0] = grow((1,))

    lines = failure(kernel, np.zeros(1), error=UnsupportedFeatureError)
    assert lines[0] == f"the calls do not end: {' -> '.join([grow.py_func.__qualname__] * 4)}"
    assert lines[-1] == "help: recursive calls need arguments of the same types each time"


def test_types_that_double_are_refused():
    @Device
    def double(t):
        return double((t, t))

    def kernel(a):
        a[0] = double(1)

    lines = failure(kernel, np.zeros(1), error=UnsupportedFeatureError)
    assert lines[0].startswith("the calls do not end: ")


def test_inner_functions_cannot_call_themselves():
    def direct(a):
        def count(n):
            return count(n - 1) + 1 if n > 0 else 0

        a[0] = count(3)

    def as_argument(a):
        a[0] = integrate(lambda x: x * a[1], 0.0, 1.0, 2)

    for kernel, name in ((direct, "direct.<locals>.count"), (as_argument, "integrate")):
        lines = failure(kernel, np.zeros(2), error=UnsupportedFeatureError)
        assert lines[0].endswith(
            f"{name} calls itself and depends on a function defined in a kernel"
        )
        assert lines[-1] == "help: define it outside the kernel, with @cuda.jit(device=True)"
