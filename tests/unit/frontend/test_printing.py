"""What ``print`` writes, against CPython printing the same."""

# ruff: noqa: FURB105, T201, UP031, UP032

import contextlib
import enum
import io
from collections import namedtuple

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.printing import format_print
from tests.helpers.kernels import compile_for
from tests.helpers.ways import run_python

Point = namedtuple("Point", "x y")
WIDTH = "6"


def printed(kernel, grid, block, *args):
    """Return what the interpreter prints, after checking that CPython prints the same."""
    with contextlib.redirect_stdout(io.StringIO()) as expected:
        run_python(kernel, grid, block, *args)
    function = compile_for(kernel, *args)
    texts = run(function, grid, block, args).printed
    assert sorted("".join(texts).splitlines()) == sorted(expected.getvalue().splitlines())
    return texts


def printed_by_cpu(kernel, grid, block, *args):
    """Check that the CPU and CPython print the same."""
    with contextlib.redirect_stdout(io.StringIO()) as expected:
        run_python(kernel, grid, block, *args)
    with contextlib.redirect_stdout(io.StringIO()) as found:
        cuda.jit(kernel)[grid, block](*args)
        cuda.synchronize()
    assert sorted(found.getvalue().splitlines()) == sorted(expected.getvalue().splitlines())


def refused(kernel, *args):
    with pytest.raises(KernelTypeError) as caught:
        compile_for(kernel, *args)
    first, *_, last = str(caught.value).splitlines()
    return first.partition(": ")[2], last


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=str)
def test_numbers_of_every_dtype(dtype):
    def kernel(a):
        print(a[cuda.grid(1)])

    values = [0, 1, -1, 0.1, 1 / 3, 1e7, 12345.678, np.inf, -np.inf, np.nan, -0.0]
    if dtype.is_complex:
        values += [complex(0, 1), complex(-0.0, -2.5), complex(np.nan, -np.inf)]
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        values = [0, 1, info.min, info.max]
    with np.errstate(all="ignore"):
        a = np.array(values).astype(dtype.numpy)
    assert printed(kernel, 1, len(a), a) == [str(number) + "\n" for number in a]


def test_float64_has_all_digits():
    def kernel(a):
        print(a[cuda.grid(1)])

    a = np.random.default_rng(1).standard_normal(50)
    assert printed(kernel, 1, 50, a) == [f"{number!r}\n" for number in a.tolist()]


def test_arguments_of_all_kinds():
    def kernel(i, x, t):
        print("text", 1, -2.5, True, None, 1 - 2j, i, x, i > 0, sep=", ")
        print(i, x, sep="")
        print(i, end="; ")
        print(x, sep=None, end=None)
        print(t, (), (i,), ("it's", (x, None)), Point(i, "y"), Point(1, (2,)))
        print(*(i, x), *t)
        print(end="")
        print()

    texts = printed(kernel, 1, 1, 7, 0.25, (1, (2.5, True)))
    assert texts[0] == "text, 1, -2.5, True, None, (1-2j), 7, 0.25, True\n"
    assert texts[4] == (
        "(1, (2.5, True)) () (7,) (\"it's\", (0.25, None)) Point(x=7, y='y') Point(x=1, y=(2,))\n"
    )
    assert texts[2:4] == ["7; ", "0.25\n"]
    assert texts[-1] == "\n"
    assert len(texts) == 7


def test_where_a_thread_is():
    def kernel():
        print("at", cuda.threadIdx, cuda.blockIdx)

    function = compile_for(kernel)
    assert run(function, (1, 2), (2, 1, 1), ()).printed == [
        "at (0, 0, 0) (0, 0, 0)\n",
        "at (1, 0, 0) (0, 0, 0)\n",
        "at (0, 0, 0) (0, 1, 0)\n",
        "at (1, 0, 0) (0, 1, 0)\n",
    ]


def test_f_strings():
    def kernel(i, x, z, truth):
        print(f"{i:5d}|{x:.3f}|{x:e}|{z:.2f}|{truth}|{truth:5}|{{}}")
        print(f"{i=} {x!r} {'a'!r:>6} {'a':^5} {(i, x)} {None}", f"{i:{WIDTH}}")
        print(f"{f'{i}'}", f"ab{1}")
        name = f"n{1 + 1}"
        print(name)

    args = (42, 2.0 / 3, 1.5 - 2j, True)
    assert printed(kernel, 1, 1, *args)[-1] == "n2\n"


def test_text_is_laid_out_when_it_is_printed():
    def kernel(i, x, single, truth):
        print(f"{x!r:>24}|{i!s:<8}|{single!s:^14}|{truth!r:>7}|{(i, x)!s:>30}|{None!r:6}|")
        print(f"{single!s:.3}|{x!s:*^30}|{'a':3}|{i!r:1}")

    for x in (2.0 / 3, -1e300, float("nan")):
        printed(kernel, 1, 1, 42, x, np.float32(0.1), True)
        printed_by_cpu(kernel, 1, 1, -7, x, np.float32(1e-10), False)


def test_format():
    def kernel(i, x, truth):
        print("{} {} {}".format(i, x, truth), "{1:>6}|{0:.3f}|{0!r:>20}".format(x, i))
        print("{n:05d} {{}} {x:e} {}".format("a", n=i, x=x))
        print("{0} {0} {2}".format(*(i, x, truth)), "".format())

    printed(kernel, 1, 1, 42, 1234.5678, True)
    printed_by_cpu(kernel, 1, 1, -3, 0.1, False)


def test_repeated_text():
    def kernel(i):
        print("-" * 5, "ab" * 0 + "c", i)

    printed(kernel, 1, 1, 3)


def test_f_strings_stand_in_print_only():
    def kernel(i):
        print(f"{i}" + "")

    assert refused(kernel, 1) == (
        "an f-string with values of run time can only stand in print() and in exceptions",
        "help: pass it to print() directly",
    )


def test_percent():
    def kernel(i, x, truth):
        print("%d %i %5d|%-5d|%05d|%+d|% d|%x|%#X|%o" % (i, i, i, i, i, i, i, i, i, i))
        print("%f %.2f %8.3f|%-9.1e|%g|%G|%+.1f" % (x, x, x, x, x, x, x))
        print("%s %r %s %d%%" % (i, x, truth, x), "100%% %s" % "a", "%s" % (i,))
        print("%d" % truth)

    printed(kernel, 1, 1, 42, 1234.5678, True)


def test_device_functions_and_loops_print():
    @cuda.jit(device=True)
    def show(label, x):
        print(label, x)
        return x

    def kernel(a):
        for k in range(3):
            if a[k] > 1:
                show("big", show("first", a[k]))

    texts = printed(kernel, 1, 1, np.array([1, 2, 3]))
    assert texts == ["first 2\n", "big 2\n", "first 3\n", "big 3\n"]


def test_unsigned_numbers_may_come_as_signed_ones():
    types = [dtypes.uint8, dtypes.uint64, dtypes.bool_, dtypes.float16]
    assert format_print((None, " ", None, " ", None, None), types, [-1, -1, 1, 0.1]) == (
        "255 18446744073709551615 True0.1"
    )


def test_format_of_complex_numbers():
    parts = (ir.Format("", True), ir.Format(".1f", True))
    types = [dtypes.float32] * 2 + [dtypes.float64] * 2
    tenth = float(np.float32(0.1))
    assert format_print(parts, types, [tenth, -tenth, 0.25, 1.0]) == "(0.1-0.1j)0.2+1.0j"


# -------------------------------------------------------------------------- more than one number


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 7


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


BOTH = Access.READ | Access.WRITE


FIELDS = [
    ("i", "i2"),
    ("u", "u8"),
    ("x", "f4"),
    ("z", "c16"),
    ("pair", "f8", (2,)),
    ("day", "M8[D]"),
    ("span", "m8[s]"),
    ("name", "U3"),
    ("raw", "S2"),
    ("inner", [("flag", "?"), ("small", "f2")]),
]


def records(dtype):
    a = np.zeros(3, dtype)
    a["i"], a["u"], a["x"] = [0, -1, 7], [0, 1, 2**64 - 1], [0.1, np.nan, -1e30]
    a["z"] = [1 + 2j, complex(np.inf, -0.0), 0.1]
    a["pair"], a["day"] = [[1, 0.1], [2, 3], [np.inf, 0]], ["2001-02-03", "NaT", "1969-12-31"]
    a["span"], a["name"], a["raw"] = [1, "NaT", -7], ["", "é€", "abc"], [b"", b"x", b"\xff\n"]
    a["inner"]["flag"], a["inner"]["small"] = [True, False, True], [0.1, 2, 3]
    return a


@pytest.mark.parametrize("is_aligned", [True, False])
def test_records(is_aligned):
    def kernel(a):
        i = cuda.grid(1)
        print(i, a[i], a[i]["inner"])
        print(f"{a[i]}", "%s" % a[i]["name"])

    printed(kernel, 1, 3, records(np.dtype(FIELDS, align=is_aligned)))


def test_dates_and_strings():
    def kernel(days, spans, texts, bytes_):
        i = cuda.grid(1)
        print(days[i], spans[i], days[i] + spans[i], texts[i], bytes_[i], sep="|")
        print((days[i], spans[i], texts[i], bytes_[i]))

    days = np.array(["2001-02-03T04", "NaT", "1960-01-01T00"], "M8[h]")
    spans = np.array([5, -7, "NaT"], "m8[15m]")
    printed(kernel, 1, 3, days, spans, np.array(["abc", "", "é"]), np.array([b"a", b"bc", b""]))


def test_members():
    def kernel(color, level, i):
        print(color, level, Color.RED, Level.HIGH, Access.READ, BOTH)
        print((color, Color.BLUE), f"{color} {color!r} {level!s}")
        chosen = Color.RED if i > 0 else color
        print(chosen, (chosen,))

    printed_by_cpu(kernel, 1, 1, Color.BLUE, Level.LOW, 1)
    printed_by_cpu(kernel, 1, 1, Color.BLUE, Level.HIGH, 0)


def test_values_that_may_be_none():
    def kernel(x, day, color):
        i = cuda.grid(1)
        a = x if i > 0 else None
        b = None if i > 1 else day
        c = color if i == 1 else None
        d = (i, x) if i != 1 else None
        print(a, b, c, d, a, sep=" ")
        print((a, b), f"{c}|{a!r}")

    printed_by_cpu(kernel, 1, 3, 0.5, np.datetime64("2001-01-01"), Color.RED)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]"])
def test_arrays_of_known_shape(dtype):
    a = np.arange(6).astype(np.dtype(dtype)).reshape(2, 3)
    inner = np.zeros(2, [("a", dtype, (2, 3)), ("b", dtype, (1,))])
    inner["a"] = a

    def kernel(inner):
        i = cuda.grid(1)
        print(inner[i]["a"], inner[i]["b"])
        print(inner[i]["a"][1], inner[i]["a"].T, (inner[i]["b"], 1))

    printed(kernel, 1, 2, inner)


def test_local_shared_and_constant_arrays():
    table = np.array([[0.1, 1e300], [np.nan, -np.inf]])

    @cuda.jit
    def kernel(out):
        mine = cuda.local.array((2, 2), np.float32)
        ours = cuda.shared.array(3, np.int64)
        i = cuda.grid(1)
        mine[:] = i
        ours[0], ours[1], ours[2] = 7, 8, 9
        cuda.syncthreads()
        print(mine, ours, table)
        out[i] = 1

    with contextlib.redirect_stdout(io.StringIO()) as found:
        kernel[1, 2](np.zeros(2))
    ours = np.array([7, 8, 9])
    expected = [f"{np.full((2, 2), i, np.float32)} {ours} {table}\n" for i in range(2)]
    assert found.getvalue() == "".join(expected)


def test_vectors():
    def kernel(x):
        v = cuda.float32x2(0.1, x)
        print(v, cuda.int32x3(1, 2, 3), (v, cuda.uint8x1(4)))

    assert run(compile_for(kernel, 0.5), 1, 1, (0.5,)).printed == [
        "float32x2(0.1, 0.5) int32x3(1, 2, 3) (float32x2(0.1, 0.5), uint8x1(4,))\n"
    ]


def test_on_the_cpu():
    def kernel(a, color):
        i = cuda.grid(1)
        print(a[i], color, a[i]["x"] if i > 0 else None)

    printed_by_cpu(kernel, 1, 3, records(np.dtype(FIELDS)), Color.BLUE)


def test_exceptions_show_numbers_only():
    def kernel(a):
        raise ValueError(f"bad {a[0]}")

    with pytest.raises(KernelTypeError, match="can only show numbers, strings and tuples of these"):
        compile_for(kernel, np.zeros(1, "M8[s]"), options=CompileOptions(debug=True))


# ---------------------------------------------------------------------------------------- refused


def test_what_cannot_be_printed():
    a = np.zeros((2, 2))

    def whole(a):
        print("a:", a)

    def inside(a):
        print((1, a))

    def function(a):
        print(np)

    def optional(a, i):
        view = None
        if i > 0:
            view = a
        print(view)

    def large():
        print(cuda.local.array((30, 20), np.float32))

    reason = ", because its shape is not known when the kernel is compiled"
    assert refused(whole, a) == (
        f"the array 'a' cannot be printed in a kernel{reason}",
        "help: print its elements, such as a[0, 0]",
    )
    assert refused(inside, a)[0] == f"the array 'a' cannot be printed in a kernel{reason}"
    assert refused(function, a) == (
        "the module numpy cannot be printed in a kernel",
        "help: print numbers, strings, tuples, records and arrays of known shape",
    )
    assert refused(optional, a, 1)[0] == (
        "optional(array(float64, 2d, C)) cannot be printed in a kernel"
    )
    assert refused(large) == (
        "array(float32, 2d, C) is made of 600 numbers, and print() takes 512 at most in a kernel",
        "help: print a part of it",
    )


def test_keywords():
    def unknown():
        print(1, file=None)

    def not_text(i):
        print(i, sep=i)

    assert refused(unknown) == (
        "print() takes no keyword argument 'file' in a kernel",
        "help: its keyword arguments are sep and end",
    )
    assert refused(not_text, 1) == (
        "the argument sep of print() is int64",
        "help: pass a string literal",
    )


def test_specifications_are_checked():
    def unknown(x):
        print(f"{x:d}")

    def text():
        print(f"{'a':d}")

    def converted(x):
        print(f"{x!r:d}")

    def in_tuple(x):
        print(f"{(x, x):>9}")

    def varying(x, w):
        print(f"{x:{w}}")

    assert refused(unknown, 1.5) == (
        "float64 cannot be formatted with 'd': Unknown format code 'd' for object of type 'float'",
        "help: use a format specification that Python has for such values",
    )
    assert refused(text)[0].startswith("the string 'a' cannot be formatted with 'd': ")
    assert refused(converted, 1.5)[0].startswith("float64 cannot be formatted with 'd': ")
    assert refused(in_tuple, 1.5) == (
        "a tuple (float64, float64) cannot be formatted with '>9' in a kernel",
        "help: format numbers one by one, or the text, as in {x!s:>10}",
    )
    assert refused(varying, 1.5, 3)[0].startswith("an f-string with values of run time")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("'{} {}'.format(1)", "asks for {1}, which is not given"),
        ("'{n}'.format(m=1)", "asks for {n}, which is not given"),
        ("'{0.x}'.format(1)", "asks for {0.x}, which is not given"),
        ("'{'.format(1)", "is not well formed: "),
    ],
)
def test_wrong_calls_of_format(call, problem):
    from tests.helpers.ways import define

    first, last = refused(define(f"def kernel():\n    print({call})\n", "kernel"))
    assert first.startswith(f"the format {call.partition('.format')[0]} {problem}")
    assert last == "help: write an f-string"


@pytest.mark.parametrize(
    ("template", "value", "problem"),
    [
        ("%d %d", 1, "needs more values than are given"),
        ("%d", (1, 2), "has fewer places than values are given"),
        ("%d %", 1, "has a '%' that nothing follows that is known"),
        ("%d", "a", "does not take the string 'a' at '%d'"),
        ("%x", 1.5, "does not take float64 at '%x'"),
        ("%5s", 1, "does not take int64 at '%5s'"),
        ("%.3d", 1, "does not take int64 at '%.3d'"),
        ("%c", 1, "does not take int64 at '%c'"),
    ],
)
def test_wrong_percent_formats(template, value, problem):
    from tests.helpers.ways import define

    text = f"def kernel():\n    print({template!r} % VALUE)\n"
    kernel = define(text, "kernel", VALUE=value)
    first, last = refused(kernel)
    assert first == f"the format {template!r} {problem}"
    assert last == "help: write an f-string"


def test_unpacked_keywords_are_refused():
    def kernel(a):
        print(**a)

    assert refused(kernel, 1)[0] == "print() takes no keyword argument '**' in a kernel"
