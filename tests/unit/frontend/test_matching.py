"""``match`` and ``del``, against CPython."""

# ruff: noqa: F821, RUF059

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError, UndefinedNameError, UnsupportedSyntaxError
from tests.helpers.kernels import Device, check, compile_for


class Codes:
    STOP = 7


def test_constants_alternatives_and_guards():
    @Device
    def name(n, x):
        match n:
            case 0:
                return 1
            case 1 | 2 | -3:
                return 2
            case Codes.STOP:
                return 3
            case other if other > 100 and x > 0:
                return other
            case k if k > 100:
                k += 1
                return -k
            case _:
                return 5

    def kernel(a, x, out):
        for i in range(a.size):
            out[i] = name(a[i], x[i])

    a = np.array([0, 1, 2, -3, 7, 101, 101, 50])
    check(kernel, a, np.array([1, 1, 1, 1, 1, 1, -1, 1]), np.zeros(8, np.int64))


def test_variables_are_joined_and_loops_left():
    def kernel(a, out):
        total = 0
        for i in range(a.size):
            match a[i] * 2:
                case 4:
                    continue
                case 6 as six:
                    total += six
                case 10:
                    break
                case value:
                    match value:
                        case 0:
                            total += 100
                        case _:
                            total += value
                    total += 0.5
            out[i] = total
        out[7] = total

    check(kernel, np.array([1, 2, 3, 0, 4, 5, 9, 9]), np.zeros(8))


def choose(a, kind, out):
    match kind:
        case "sum":
            out[0] = a[0] + a[1]
        case "first":
            out[0] = a[0]
    match None:
        case True:
            out[2] = 1
        case None:
            out[2] = 2


def take_apart(pair, out):
    match pair:
        case (0, y):
            out[1] = y
        case (1, (y, z)) if z > 2:
            out[1] = y + z
        case (1, _):
            out[1] = -1
        case (x, y, z):
            out[1] = x + y + z


@pytest.mark.parametrize("kind", ["sum", "first", "other"])
@pytest.mark.parametrize("pair", [(0, 5), (1, (2, 3)), (1, (2, 1)), (2, 0), (4, 5, 6)])
def test_what_is_known_now_is_decided_now(kind, pair):
    chosen, taken = Device(choose), Device(take_apart)

    def kernel(a, out):
        # Captured values are known when the kernel is compiled.
        chosen(a, kind, out)
        taken(pair, out)

    check(kernel, np.array([3.0, 4.0]), np.zeros(3))


def test_the_subject_is_evaluated_once():
    def kernel(out):
        n = 0
        match n := n + 1:
            case 2:
                out[0] = 2
            case 1:
                out[0] = 10 + n
            case _:
                pass

    check(kernel, np.zeros(1))


@pytest.mark.parametrize("pattern", ["[1, *rest]", "{'a': 1}", "int()", "(1, x) | (x, 1)"])
def test_other_patterns_are_refused(pattern):
    from tests.helpers.ways import define

    text = f"def kernel(a):\n    match a[0]:\n        case {pattern}:\n            a[0] = 1\n"
    with pytest.raises(UnsupportedSyntaxError) as caught:
        compile_for(define(text, "kernel"), np.zeros(1))
    first, *_, last = str(caught.value).splitlines()
    assert first.endswith("'match' with such patterns is not supported in kernels")
    assert last == "help: use constants, names, alternatives and tuples, or 'if' and 'elif'"


def test_deleted_variables():
    def kernel(a):
        x, y = a[0], 2
        a[1] = x + y
        del x, y
        x = 5
        for i in range(3):
            t = i * x
            a[2] += t
            del t

    check(kernel, np.array([1.0, 0, 0]))


def test_deleted_variables_have_no_value():
    def kernel(a):
        x = 1
        del x
        a[0] = x

    def unknown(a):
        del x

    def element(a):
        del a[0]

    for wrong in (kernel, unknown):
        with pytest.raises(UndefinedNameError, match="variable 'x' is used before it has a value"):
            compile_for(wrong, np.zeros(1))
    with pytest.raises(UnsupportedSyntaxError) as caught:
        compile_for(element, np.zeros(1))
    first, *_, last = str(caught.value).splitlines()
    assert first.endswith("'del' of anything but a variable is not supported in kernels")
    assert last == "help: assign another value instead"


def test_arrays_are_not_unpacked():
    def plain(a):
        x, y = a

    def starred(a):
        x, *y = a[:2]

    for kernel in (plain, starred):
        with pytest.raises(KernelTypeError) as caught:
            compile_for(kernel, np.zeros(2))
        first, *_, last = str(caught.value).splitlines()
        assert first.endswith("array(float64, 1d, C) cannot be unpacked")
        assert last == (
            "help: index the array: its extent is not known when the kernel is compiled"
        )
