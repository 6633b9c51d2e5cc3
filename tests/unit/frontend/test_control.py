# The kernels are as strange as users may write them.
# ruff: noqa: B007, B905, E731, F821, PLW0120, PLW2901, RET505, SIM108, SIM113

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, UndefinedNameError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function, resolve_result_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import Device, check, compile_for


def out(size=8, dtype="float64"):
    return np.zeros(size, dtype)


def failure(kernel, *args, error=KernelTypeError):
    with pytest.raises(error) as caught:
        compile_for(kernel, *args)
    return str(caught.value).partition(": ")[2].splitlines()


def count(function, op_class):
    return sum(isinstance(op, op_class) for op in walk(function.body))


# ---------------------------------------------------------------------------------------- branches


@pytest.mark.parametrize("x", [-1, 0, 1, 5])
def test_branches_join_variables_and_types(x):
    def kernel(a, x):
        y = 1
        if x > 3:
            y = 2.5
            z = x
        elif x > 0:
            y = x
            z = y / 2
        else:
            z = True
        a[0], a[1] = y, z

    check(kernel, out(), x)


def test_a_variable_bound_on_one_path_may_be_read_on_that_path():
    def kernel(a, x):
        if x > 0:
            y = x * 2
        a[0] = 1
        if x > 0:
            a[1] = y

    for x in (-1, 3):
        check(kernel, out(), x)


def test_a_variable_bound_on_no_path_is_reported():
    def kernel(a, x):
        if x > 0:
            a[0] = 1
        a[1] = y
        y = 2

    assert (
        "variable 'y' is used before it has a value"
        in failure(kernel, out(), 1, error=UndefinedNameError)[0]
    )


def test_known_conditions_compile_one_side_only():
    flag = False

    def kernel(a, x):
        if flag:
            a[0] = x.no_such_thing
        if not flag:
            y = (1, 2)
        else:
            y = 3
        a[1] = y[1]
        while flag:
            a[0] = x.no_such_thing
        a[2] = x if not flag else x.no_such_thing

    function = compile_for(kernel, out(), 1)
    assert count(function, ir.If) == 0
    check(kernel, out(), 1)


def test_values_that_do_not_go_together_fail_where_they_are_used():
    def kernel(a, x):
        if x > 0:
            y = (1, 2)
        else:
            y = 3
        a[0] = 1
        a[1] = y

    lines = failure(kernel, out(), 1)
    assert lines[0] == "'y' is (int64, int64) on one path and int64 on another"
    assert lines[-1].startswith("help: use one type for one name")


def test_values_that_do_not_go_together_do_no_harm_unused():
    def kernel(a, x):
        if x > 0:
            y = (1, 2)
            a[0] = y[1]
        else:
            y = 3
            a[0] = y

    check(kernel, out(), 1)


def test_different_functions_on_two_paths_are_reported():
    def kernel(a, x):
        f = lambda v: v
        if x > 0:
            f = abs
        a[0] = f(x)

    assert failure(kernel, out(), 1)[0] == (
        "'f' is abs on one path and the inner function lambda on another"
    )


def test_the_same_function_on_two_paths_is_fine():
    def kernel(a, x):
        if x > 0:
            f, r = abs, range(3)
        else:
            f, r = abs, range(1, x + 9, 2)
        for i in r:
            a[i] = f(i - 3)

    for x in (-1, 1):
        check(kernel, out(), x)


def test_arrays_and_tuples_pass_through_branches():
    def kernel(a, b, x):
        if x > 0:
            c, t = a, (1, 2.5)
        else:
            c, t = b[1:], (2.5, x)
        c[0] = t[0]
        c[1] = t[1]

    for x in (-1, 1):
        check(kernel, out(), out(), x)


def test_both_branches_may_leave():
    @Device
    def f(x):
        if x > 0:
            return 1
        else:
            return 2
        return "never compiled"

    def kernel(a, x):
        a[0] = f(x)

    for x in (-1, 1):
        check(kernel, out(), x)


@pytest.mark.parametrize("x", [-1, 1, 4])
def test_conditional_expressions_join_types(x):
    def kernel(a, x):
        a[0] = (1 if x > 3 else 2.5) if x > 0 else x
        t = (x, 1) if x > 0 else (0.5, x)
        a[1], a[2] = t
        a[3] = (x > 0 and x > 3) or x == 1

    check(kernel, out(), x)


def test_conditional_expressions_of_unrelated_types_are_reported():
    def kernel(a, x):
        a[0] = x if x > 0 else (x, x)

    assert failure(kernel, out(), 1)[0] == (
        "the value of this expression is int64 on one path and (int64, int64) on another"
    )


def test_only_live_variables_leave_a_branch():
    def kernel(a, x):
        if x > 0:
            temporary = x * 2
            y = temporary + 1
        else:
            temporary = x * 3
            y = temporary - 1
        a[0] = y

    (branch,) = [op for op in walk(compile_for(kernel, out(), 1).body) if isinstance(op, ir.If)]
    assert [result.hint for result in branch.results] == ["y"]


# ------------------------------------------------------------------------------------------ loops


def test_loops_carry_variables():
    def kernel(a, n):
        x, y = 0, 1
        for i in range(n):
            x, y = y, x + y
            a[i] = x
        a[n] = y

    check(kernel, out(), 6)
    check(kernel, out(), 0)


def test_types_grow_around_a_loop():
    def kernel(a, n):
        x, y, z = 0, 0, 0
        for i in range(n):
            z = y
            y = x
            x = x + i * 0.5
        a[0], a[1], a[2] = x, y, z

    check(kernel, out(), 5)


def test_induction_variables_keep_their_last_value():
    def kernel(a):
        for i in range(2, 9, 3):
            a[i] = i
            i = i + 100
        a[0] = i
        for j in range(3):
            pass
        a[1] = j

    check(kernel, out(9))


def test_all_kinds_of_ranges():
    def kernel(a, n):
        k = 0
        for i in range(n):
            a[k] = i
            k += 1
        for i in range(n, -3, -2):
            a[k] = i
            k += 1
        for i in range(3, n):
            a[k] = i
            k += 1
        for _ in range(-1):
            a[0] = 77

    check(kernel, out(20), 5)


def test_break_continue_and_else():
    def kernel(a, stop, skip):
        for i in range(6):
            if i == skip:
                continue
            if i == stop:
                break
            a[i] = i + 1
        else:
            a[7] = 1
        n = 0
        while n < 5:
            n += 1
            if n == skip:
                continue
            if n == stop:
                a[6] = n
                break
        else:
            a[7] += 2
        a[5] = n

    for stop in (0, 3, 9):
        for skip in (1, 3, 9):
            check(kernel, out(), stop, skip)


def test_else_without_break_and_variables_set_there():
    def kernel(a, n):
        x = 5
        for i in range(n):
            if i == 3:
                break
        else:
            x = 2.5
        a[0] = x
        for i in range(n):
            a[1] += i
        else:
            a[2] = n

    for n in (2, 6):
        check(kernel, out(), n)


def test_break_in_else_belongs_to_the_outer_loop():
    def kernel(a):
        for i in range(5):
            for j in range(3):
                if j + i > 4:
                    break
            else:
                if i == 2:
                    break
                continue
            a[i] = 9
        a[7] = i

    check(kernel, out())


def test_while_loops():
    def kernel(a, n):
        k = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            k += 1
        a[0] = k
        while True:
            k -= 3
            if k < 0:
                break
        a[1] = k

    check(kernel, out(), 27)


def test_endless_loops_that_return():
    @Device
    def f(x):
        while True:
            x += 1
            if x % 7 == 0:
                return x

    def kernel(a, x):
        a[0] = f(x)

    check(kernel, out(), 3)


def test_a_variable_bound_later_in_the_body_is_read_in_the_next_iteration():
    def kernel(a, n):
        total = 0
        for i in range(n):
            if i > 0:
                total += previous
                a[1] = twice
            previous = i * 0.5
            twice = previous * 2
        a[0] = total

    check(kernel, out(), 5)


def test_a_variable_of_the_body_is_read_after_the_loop():
    def kernel(a, n):
        for i in range(n):
            square = i * i
            for j in range(i):
                last = j + square
        a[0], a[1] = square, last

    check(kernel, out(), 5)


def test_a_variable_that_no_iteration_binds_is_reported():
    def kernel(a, n):
        for i in range(n):
            a[i] = y
            if n > 100:
                a[i] = y
        y = 3

    assert (
        "variable 'y' is used before it has a value"
        in failure(kernel, out(), 3, error=UndefinedNameError)[0]
    )


def test_undefined_names_are_found_in_loops_that_wait_for_a_type():
    def kernel(a, n):
        for i in range(n):
            if i > 0:
                a[0] = previous
            previous = undefined_name

    with pytest.raises(UndefinedNameError, match=r"is used before it has|is not defined"):
        compile_for(kernel, out(), 3)


def test_types_that_do_not_join_around_a_loop_are_reported():
    def kernel(a, n):
        x = 0
        for i in range(n):
            a[i] = x
            x = (x, x)

    assert failure(kernel, out(), 3)[0] == "'x' is int64 on one path and (int64, int64) on another"


def test_arrays_are_carried():
    def kernel(a, b, n):
        source, target = a, b
        for step in range(n):
            for i in range(1, 5):
                target[i] = source[i - 1] + source[i + 1] + step
            source, target = target, source
        a[7] = source[3]

    check(kernel, np.arange(8.0), out(), 5)


def test_only_what_is_needed_is_carried():
    def kernel(a, n):
        total = 0.0
        for i in range(n):
            square = i * i
            total += square
        a[0] = total

    (loop,) = [op for op in walk(compile_for(kernel, out(), 1).body) if isinstance(op, ir.For)]
    assert [result.hint for result in loop.results] == ["total"]


def test_deep_nests_compile_in_reasonable_time():
    def kernel(a, n):
        p = q = r = s = 0
        for i in range(n):
            p = p + q
            for j in range(n):
                q = q + r
                for k in range(n):
                    r = r + s
                    for m in range(n):
                        s = s + (i + j + k + m) * 0.5
        a[0], a[1], a[2], a[3] = p, q, r, s

    check(kernel, out(), 2)


def test_walrus_targets_pass_through_branches_and_conditions():
    def kernel(a, n):
        while (n := n - 1) > 0:
            if (m := n * 2) > 4 or (k := n) == 2:
                a[n] = m
        a[0] = n
        y = (z := 3) if n > 0 else (z := 2.5)
        a[1], a[2] = y, z

    check(kernel, out(), 5)


# -------------------------------------------------------------------------------------- iterables


def test_tuples_are_unrolled():
    def kernel(a, t):
        k = 0
        for v in t:
            a[k] = v if k < 3 else v[0]
            k += 1
        for x, (y, z) in ((1, (2, 3)), (4.5, (5, 6))):
            a[5] += x * y - z
        for _ in ():
            a[0] = 99

    def mixed(a, t):
        k = 0
        for v in t:
            a[k] = v * 2
            k += 1

    check(mixed, out(), (1, 2.5, True))
    check(kernel, out(), (1, 2, 3))


def test_jumps_in_unrolled_loops():
    def kernel(a, x, y):
        k = 0
        for v in (1, 2.5, 3, 4):
            if v == x:
                continue
            for _ in range(3):
                if k == 2:
                    break
                k += 1
            if v == y:
                a[6] = v
                break
            a[k] += v
            k += 1
        else:
            a[7] = 1
        a[5] = k

    for x in (1, 3, 9):
        for y in (1, 2.5, 4, 9):
            check(kernel, out(20), x, y)


def test_continue_alone_in_an_unrolled_loop():
    def kernel(a, x):
        s = 0
        for v in (1, 2.5, 3):
            if v > x:
                continue
            s += v
        s += 100
        a[0] = s

    for x in (0, 2, 3):
        check(kernel, out(), x)


def test_returns_in_unrolled_loops():
    @Device
    def f(x):
        for v in (1, 2.5, 3):
            if v > x:
                return v
            for w in (v, v + 1):
                if w == x:
                    break
        return -1

    def kernel(a):
        for k in range(5):
            a[k] = f(k)

    check(kernel, out())


def test_long_tuples_of_one_type_become_loops():
    table = tuple(range(3, 60, 2))

    def kernel(a):
        for v in table:
            if v == 41:
                break
            a[0] += v

    check(kernel, out())


def test_arrays_and_their_rows():
    def kernel(a, b, c):
        k = 0
        for v in b:
            a[k] = v
            k += 1
        for row in c:
            for v in row:
                a[k] += v
            row[0] = 5

    check(kernel, out(), np.arange(3), np.arange(6.0).reshape(2, 3))


def test_enumerate_zip_and_reversed():
    def kernel(a, b, n):
        for i, v in enumerate(b):
            a[i] = v
        for i, (v, w) in enumerate(zip(b, (1, -2, 3)), start=2):
            a[i] += v * w
        for i, v in zip(range(n, 0, -1), reversed(b)):
            a[i] += v
        for i in reversed(range(0, n, 2)):
            a[i] = a[i + 1] - i
        for i, v in enumerate((1, 2.5, 3), 1):
            a[i] -= v
        for v, w in zip((1, 2), (2.5, 3.5, 4)):
            a[0] += v * w
        for v in reversed((1, 2.5)):
            a[1] = v + a[1] * 2

    check(kernel, np.zeros(12), np.arange(1.0, 5.0), 5)
    check(kernel, np.zeros(12), np.arange(0.0), 0)


def test_numbers_cannot_be_iterated_over():
    def kernel(a, x):
        for v in x:
            a[0] = v

    lines = failure(kernel, out(), 3)
    assert lines[0] == "cannot iterate over int64"
    assert lines[-1] == "help: iterate over range(...), a tuple or an array"


def test_mixed_tuples_with_unknown_lengths_are_refused():
    def kernel(a, b):
        for v, w in zip(b, (1, 2.5)):
            a[0] = v * w

    assert failure(kernel, out(), out())[0].startswith(
        "cannot iterate over a tuple whose items are of different types together with"
    )


def test_wrong_arguments_of_the_iterators():
    def enumerate_nothing(a):
        for _ in enumerate():
            pass

    def zip_nothing(a):
        for _ in zip():
            pass

    def reverse_two(a):
        for _ in reversed(a, a):
            pass

    def enumerate_from_float(a):
        for _ in enumerate(a, 1.5):
            pass

    assert failure(enumerate_nothing, out())[0].startswith("enumerate() takes something to iterate")
    assert failure(zip_nothing, out())[0].startswith("zip() takes one or more things")
    assert failure(reverse_two, out())[0].startswith("reversed() takes one thing")
    assert failure(enumerate_from_float, out())[0] == "the start of enumerate() must be an integer"


# -------------------------------------------------------------------------------------- functions


def test_parameters_are_the_flat_values_in_order():
    def kernel(x, z, a, t):
        a[0, 0] = x + z.real + t[0]

    argument_types = (
        types.int32,
        types.complex64,
        types.float32[:, ::1],
        types.TupleType((types.int64, types.float64[:])),
    )
    function = compile_function(kernel, argument_types, CompileOptions(), name="k")
    assert function.name == "k"
    assert [param.hint for param in function.params] == [
        "x", "z.real", "z.imag",
        "a", "a.shape0", "a.shape1", "a.stride0", "a.stride1",
        "t.0", "t.1", "t.1.shape0", "t.1.stride0",
    ]  # fmt: skip
    flat = [part for type_ in argument_types for part in type_.flat()]
    assert [param.type for param in function.params] == flat
    assert function.result_types == ()


def test_default_values_of_kernels_are_constants():
    def kernel(a, scale=2.0, flag=True):
        a[0] = scale if flag else 1

    check(kernel, out())
    assert len(compile_for(kernel, out()).params) == 3


def test_functions_of_numbers_give_flat_results():
    def f(x, y):
        if x > y:
            return x, 1
        return y, 2.5

    function = compile_function(f, (types.float32,) * 2, CompileOptions(), is_kernel=False)
    assert function.result_types == (dtypes.float32, dtypes.float64)
    result = resolve_result_type(f, (types.float32,) * 2, CompileOptions())
    assert str(result) == "(float32, float64)"


def test_functions_that_return_functions_have_no_type():
    def f(x):
        return lambda y: x + y

    with pytest.raises(KernelTypeError, match="returns the inner function lambda, which exists"):
        resolve_result_type(f, (types.int64,), CompileOptions())


def test_options_reach_the_function():
    def kernel(a):
        a[0] = 1

    options = CompileOptions(fastmath=True, fma=False)
    function = compile_function(kernel, (types.float64[:],), options)
    assert function.numeric == ir.NumericOptions(contract=False, fastmath=True)
    assert function.span.line == kernel.__code__.co_firstlineno


def test_compiling_twice_gives_the_same_text():
    from pygpulib.jit.ir.printer import format_function

    def kernel(a, n):
        x, y, z = 0, 1, 2
        for i in range(n):
            x, y, z = y, z, x + i
        if n > 3:
            y, x = x, y
        a[0], a[1], a[2] = x, y, z

    first, second = (format_function(compile_for(kernel, out(), 3)) for _ in range(2))
    assert first == second


# ------------------------------------------------------------------------------------------ facts


def test_counters_that_only_grow_need_no_wrapping_as_indices():
    def kernel(a, n):
        k = 0
        while k < n:
            a[k] = k
            k += 2
        for i in range(n):
            m = i // 2
            for j in range(m):
                m = m + j
                a[m] = 1

    function = compile_for(kernel, out(), 5)
    assert count(function, ir.Select) == 0


def test_counters_that_become_negative_wrap():
    def kernel(a, n):
        k, m = n, n
        while k > -n:
            k -= 1
            a[k] += k
        for i in range(n):
            for j in range(2):
                a[m] += 1
                m = m - j * 2 if i > 1 else m + j - 1

    check(kernel, out(), 4)


def test_facts_hold_where_they_hold_on_every_path():
    def kernel(a, n, x):
        k = 1 if x > 0 else 2
        if x > 5:
            k = k + 3
        a[k] = 1
        if x > 6:
            k = k - 7
        a[k] = 2

    assert count(compile_for(kernel, out(), 1, 1), ir.Select) == 1
    for x in (0, 1, 6, 7):
        check(kernel, out(), 1, x)
