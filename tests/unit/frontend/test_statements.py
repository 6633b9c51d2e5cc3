# The kernels are as strange as users may write them.
# ruff: noqa: B007, E731, F821, F823, N806, RET501, RUF059

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import (
    KernelTypeError,
    SourceUnavailableError,
    UndefinedNameError,
    UnsupportedSyntaxError,
)
from tests.helpers.kernels import Device, check, compile_for, interpret


def out(size=8, dtype="float64"):
    return np.zeros(size, dtype)


def failure(kernel, *args, error=KernelTypeError):
    """Return the message of a kernel that is refused, without the file's path."""
    with pytest.raises(error) as caught:
        compile_for(kernel, *args)
    assert caught.value.span.filename == __file__
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"{__file__}:{caught.value.span.line}: ")
    first = first.partition(": ")[2]
    return [first, *(line for line in rest if not line.startswith("called from"))]


# ------------------------------------------------------------------------------------ assignments


def test_chained_nested_and_annotated_assignments():
    def kernel(a, x):
        p = q = x + 1
        (r, (s, t)), u = (p, (q, 2)), 3
        [v, w] = t, u
        y: float = v * 2
        z: int
        z = w
        a[0] = a[1] = p + q
        a[2], a[3] = r, s
        a[4] = y
        a[5] = z

    check(kernel, out(), 5)


def test_starred_targets_take_what_is_left():
    def kernel(a, t):
        first, *middle, last = t
        *start, _ = t
        x, y, z, *nothing = t[:3]
        a[0], a[1], a[2] = first, last, middle[0] + middle[1]
        a[3] = len(start)
        a[4] = len(nothing) + x + y + z

    check(kernel, out(), (1, 2.5, 3, 4))


def test_swaps_read_before_they_write():
    def kernel(a, x, y):
        x, y = y, x
        a[0], a[1] = a[1], a[0]
        a[2] = x - y

    check(kernel, np.array([1.0, 2.0, 3.0]), 5, 7)


def test_augmented_assignments():
    def kernel(a, b, x):
        x += 3
        x *= 2
        a[0] += x
        a[1] -= x
        a[2] /= x
        a[3] **= 2
        b[0] //= 2
        b[1] %= 3
        b[2] <<= 2
        b[3] >>= 1
        b[4] &= 6
        b[5] |= 9
        b[6] ^= 5

    check(kernel, np.arange(1.0, 9.0), np.arange(3, 11), 5)


def test_augmented_assignment_evaluates_the_index_once():
    @Device
    def count(calls):
        calls[0] += 1
        return calls[0]

    def kernel(a, calls):
        a[count(calls)] += 10

    check(kernel, out(), np.zeros(1, np.int64))


def test_a_variable_may_change_its_type():
    def kernel(a, x):
        y = x
        a[0] = y
        y = y / 2
        a[1] = y
        y = (y, x)
        a[2] = y[1]

    check(kernel, out(), 7)


def test_names_from_outside():
    scale, offsets = 3, (1, 2)

    def kernel(a):
        a[0] = scale * offsets[1] + LIMIT

    check(kernel, out())


LIMIT = 40


def test_expression_statements_and_docstrings_do_nothing():
    def kernel(a):
        """Text."""
        a[0] + 1

    function = compile_for(kernel, out())
    assert len(function.body.ops) <= 8


@pytest.mark.parametrize("size", [1, 4])
def test_wrong_numbers_of_items_are_reported(size):
    def kernel(a, t):
        x, y = t
        a[0] = x + y

    assert "is unpacked into 2 variables" in failure(kernel, out(), (1,) * size)[0]


def test_too_few_items_for_a_starred_target():
    def kernel(a, t):
        x, *y, z = t

    assert failure(kernel, out(), (1,)) == [
        "a tuple of 1 item is unpacked into at least 2 variables",
        f"{kernel.__code__.co_firstlineno + 1:>5} | x, *y, z = t",
        "      | ^^^^^^^^",
        "help: use as many variables as the tuple has items",
    ]


def test_attributes_cannot_be_assigned():
    def kernel(a):
        a.shape = 3

    assert failure(kernel, out(), error=UnsupportedSyntaxError) == [
        "assigning to the attribute 'shape' is not supported in kernels",
        f"{kernel.__code__.co_firstlineno + 1:>5} | a.shape = 3",
        "      | ^^^^^^^",
        "help: assign to a variable, to an element of an array, or to a field of a record",
    ]


def test_attributes_cannot_be_assigned_with_an_operator_either():
    def kernel(a):
        a.shape += 3

    assert (
        "assigning to the attribute 'shape'"
        in failure(kernel, out(), error=UnsupportedSyntaxError)[0]
    )


def test_items_of_tuples_cannot_be_assigned():
    def kernel(a, t):
        t[0] += 3

    assert "does not support item assignment" in failure(kernel, out(), (1, 2))[0]


# ------------------------------------------------------------------------------------------ names


def test_undefined_names_are_named_with_a_suggestion():
    def kernel(a):
        lenght = 3
        a[0] = length + lenght

    assert failure(kernel, out(), error=UndefinedNameError) == [
        "name 'length' is not defined",
        f"{kernel.__code__.co_firstlineno + 2:>5} | a[0] = length + lenght",
        "      |        ^^^^^^",
        "help: did you mean 'lenght'?",
    ]


def test_functions_of_math_are_suggested():
    def kernel(a):
        a[0] = floor(a[1])

    assert failure(kernel, out(), error=UndefinedNameError)[-1] == (
        "help: write math.floor, with 'import math' at the top of the file"
    )


def test_names_like_nothing_get_general_help():
    def kernel(a):
        a[0] = xqzw

    assert failure(kernel, out(), error=UndefinedNameError)[-1] == (
        "help: define or import it outside the kernel, or pass it as an argument"
    )


def test_reading_a_local_variable_too_early():
    def kernel(a):
        a[0] = LIMIT
        LIMIT = 3

    lines = failure(kernel, out(), error=UndefinedNameError)
    assert lines[0] == "variable 'LIMIT' is used before it has a value"
    assert lines[-1] == (
        "help: assign 'LIMIT' on every path that leads here; a name assigned anywhere in a "
        "function is local to it"
    )


def test_undefined_names_in_device_functions_show_the_call():
    @Device
    def helper(v):
        return missing(v)

    def kernel(a):
        a[0] = helper(1)

    with pytest.raises(UndefinedNameError) as caught:
        compile_for(kernel, out())
    line = kernel.__code__.co_firstlineno + 1
    assert str(caught.value).splitlines()[3] == f"called from {__file__}:{line}"


# --------------------------------------------------------------------------------- device functions


def test_parameters_are_bound_as_in_python():
    @Device
    def f(a, b=10, /, c=100, *rest, d=1000, e):
        return a + b * 2 + c * 3 + d * 4 + e * 5 + len(rest)

    def kernel(a, t):
        a[0] = f(1, e=2)
        a[1] = f(1, 2, e=2)
        a[2] = f(1, 2, 3, e=2)
        a[3] = f(1, 2, 3, 4, 5, e=2, d=7)
        a[4] = f(1, 2, c=4, e=2)
        a[5] = f(*t, e=1)

    check(kernel, out(), (5, 6))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda a: f(), "f() is missing the argument 'x'"),  # type: ignore[call-arg]
        (lambda a: f(1), "f() is missing the argument 'key'"),
        (lambda a: f(1, 2, 3), "f() takes 2 arguments, but 3 were given"),
        (lambda a: f(1, x=2, key=1), "f() got two values for the argument 'x'"),
        (lambda a: f(1, z=2, key=1), "f() has no keyword parameter 'z'"),
        (lambda a: one(1, 2), "one() takes 1 argument, but 2 were given"),
    ],
)
def test_calls_that_do_not_fit_are_reported(call, problem):
    def kernel(a):
        call(a)

    kernel_of_call = Device(call)

    def wrapper(a):
        kernel_of_call(a)

    lines = failure(wrapper, out())
    assert lines[0] == problem
    assert lines[-2] in ("expected f(x, y=1, *, key)", "expected one(x)")
    assert lines[-1] == "help: give every parameter without a default one value"


@Device
def f(x, y=1, *, key):
    return x + y + key


@Device
def one(x):
    return x


def test_keyword_dicts_are_refused():
    @Device
    def g(x, **more):
        return x

    def kernel(a):
        a[0] = g(1)

    lines = failure(kernel, out(), error=UnsupportedSyntaxError)
    assert lines[0].startswith("the parameter '**more' of ")
    assert lines[-1] == "help: list the keyword parameters one by one"


def test_early_returns_in_loops_leave_only_the_function():
    @Device
    def find(a, x):
        for i in range(len(a)):
            for j in range(3):
                if a[i] == x + j:
                    return i
        return -1

    def kernel(a, found):
        for k in range(len(found)):
            found[k] = find(a, k * 2)

    check(kernel, np.array([9.0, 5.0, 2.0, 0.0]), np.zeros(6, np.int64))


def test_results_of_several_types_are_joined():
    @Device
    def f(x):
        if x > 2:
            return x
        if x > 1:
            return x / 2
        return True

    def kernel(a):
        for i in range(4):
            a[i] = f(i)

    check(kernel, out())


def test_several_results():
    @Device
    def split(x):
        if x < 0:
            return -1, -x
        return 1, x

    def kernel(a, x):
        sign, size = split(x)
        a[0], a[1] = sign, size
        a[2] = split(-x)[0]

    check(kernel, out(), -5.5)


def test_functions_that_return_nothing_give_none():
    @Device
    def store(a, i):
        if i < 3:
            a[i] = i
            return
        a[0] = i

    def kernel(a):
        for i in range(5):
            store(a, i)
        if store(a, 1) is None:
            a[5] = 7

    check(kernel, out())


def test_values_that_do_not_go_together_are_not_returned():
    @Device
    def f(x):
        if x > 0:
            return x
        return (x, x)

    def kernel(a):
        a[0] = f(1.5 + a[0])

    lines = failure(kernel, out())
    assert lines[0].endswith("f returns float64 on one path and (float64, float64) on another")
    assert lines[-1] == "help: return values of one type on every path"


def test_kernels_return_nothing():
    def kernel(a):
        return a[0]

    lines = failure(kernel, out())
    assert lines[0].endswith("kernel returns float64, but kernels return nothing")
    assert lines[-1] == (
        "help: write the result into an element of an array argument, and use a plain 'return'"
    )


def test_kernels_may_return_early():
    def kernel(a, x):
        if x > 3:
            return
        a[0] = x
        if x > 2:
            return None
        a[1] = x

    for x in range(2, 5):
        check(kernel, out(), x)


def test_inner_functions_and_lambdas_see_variables_as_they_are_at_the_call():
    def kernel(a, x):
        def shift(v, by=x):
            return v + by + x

        twice = lambda v: shift(shift(v))
        a[0] = twice(1)
        x = 100
        a[1] = twice(1)
        a[2] = shift(1, by=5)
        for x in range(3):
            a[3] += shift(0.5)

    check(kernel, out(), 3)


def test_functions_are_arguments_and_results():
    @Device
    def apply(function, v):
        return function(v)

    @Device
    def make(k):
        return lambda v: v * k

    def kernel(a, x):
        a[0] = apply(lambda v: v + x, 2)
        a[1] = apply(make(3), 2)

    check(kernel, out(), 3)


def test_functions_chosen_by_known_values():
    @Device
    def pick(flag):
        if flag:
            return lambda v: v + 1
        return lambda v: v + 2

    def kernel(a):
        a[0] = pick(True)(1)
        a[1] = pick(False)(1)

    check(kernel, out())


def test_recursion_over_shorter_tuples_ends():
    @Device
    def total(t):
        if len(t) == 0:
            return 0
        return t[0] + total(t[1:])

    def kernel(a, t):
        a[0] = total(t)

    check(kernel, out(), (1, 2.5, 3))


def test_decorated_inner_functions_are_refused():
    def kernel(a):
        @Device
        def g(x):
            return x

        a[0] = g(1)

    lines = failure(kernel, out(), error=UnsupportedSyntaxError)
    assert lines[0] == "decorators on functions inside a kernel are not supported"
    assert lines[-1].startswith("help: leave the decorator out")


def test_device_functions_are_defined_inside_kernels():
    def kernel(a):
        @cuda.jit(device=True, inline=True)
        def g(x):
            return x * a[1]

        shift = lambda x: g(x) + a[2]
        a[0] = shift(a[1])

    a = np.array([0.0, 3.0, 1.0])
    interpret(kernel, a)
    assert a[0] == 10


def test_kernels_and_signatures_inside_kernels_are_refused():
    def plain(a):
        @cuda.jit
        def g(x):
            return x

    def not_device(a):
        @cuda.jit(fastmath=True)
        def g(x):
            return x

    def signature(a):
        @cuda.jit("f4(f4)", device=True)
        def g(x):
            return x

    for kernel in (plain, not_device, signature):
        lines = failure(kernel, out(), error=UnsupportedSyntaxError)
        assert lines[0] == "decorators on functions inside a kernel are not supported"


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@cuda.jit(device=True)
def plus(x, y=1):
    return x + y


FUNCTIONS = (twice, plus)


def test_functions_in_tuples():
    def kernel(a):
        local = (twice, lambda x: x - 0.5, plus)
        a[0] = FUNCTIONS[0](a[0]) + FUNCTIONS[1](a[1]) + local[1](1) + local[-1](2)
        for f in FUNCTIONS:
            a[2] += f(a[1])
        for f in cuda.literal_unroll((*local, *FUNCTIONS)):
            a[3] += f(2.0)
        for x in cuda.literal_unroll((1, 2.5, True)):
            a[4] += x

    check(kernel, np.arange(5.0))


def test_functions_without_source_are_reported_at_the_call():
    scope = {}
    exec("def made(x):\n    return [y for y in x if y]\n", scope)
    made = Device(scope["made"])

    def kernel(a):
        a[0] = made(1)

    lines = failure(kernel, out(), error=SourceUnavailableError)
    assert lines[0] == "the source of made is not available"
    assert lines[1].endswith("| a[0] = made(1)")


def test_many_levels_of_calls():
    @Device
    def level(t):
        if len(t) == 0:
            return 1
        for _ in range(2):
            if t[0] > 0:
                return level(t[1:]) + t[0]
        return 0

    def kernel(a, t):
        a[0] = level(t)

    check(kernel, out(), tuple(range(1, 31)))
