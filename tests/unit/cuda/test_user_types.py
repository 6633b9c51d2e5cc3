"""Types made by programs, on the model of an interval of real numbers."""

import operator
from types import SimpleNamespace

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.cuda.extending import (
    intrinsic,
    lower,
    lower_builtin,
    lower_getattr,
    make_attribute_wrapper,
    models,
    overload,
    overload_attribute,
    overload_method,
    register_model,
    type_callable,
    typeof_impl,
)
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    KernelTypeError,
    LaunchTypeError,
    UnsupportedFeatureError,
    UnsupportedSyntaxError,
)
from pygpulib.jit import extensions
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.signature import interpret
from tests.helpers.kernels import compile_for
from tests.helpers.ways import run_native, run_python


class Interval:
    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi

    @property
    def width(self):
        return self.hi - self.lo

    def holds(self, x, slack=0.0):
        return self.lo - slack <= x <= self.hi + slack

    def __add__(self, other):
        if isinstance(other, Interval):
            return Interval(self.lo + other.lo, self.hi + other.hi)
        return Interval(self.lo + other, self.hi + other)

    def __neg__(self):
        return Interval(-self.hi, -self.lo)

    def __lt__(self, other):
        return self.hi < other.lo

    def __eq__(self, other):
        return self.lo == other.lo and self.hi == other.hi

    def __ne__(self, other):
        return not self == other

    def __bool__(self):
        return self.lo <= self.hi

    def __contains__(self, x):
        return self.lo <= x <= self.hi

    def __abs__(self):
        return max(abs(self.lo), abs(self.hi))

    def __getitem__(self, i):
        return self.hi if i else self.lo

    __hash__ = None


class IntervalType(types.Type):
    def __init__(self):
        super().__init__(name="Interval")


interval_type = IntervalType()


@typeof_impl.register(Interval)
def type_of_interval(value, context):
    return IntervalType()  # equal to the one above


@register_model(IntervalType)
class IntervalModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        members = [("lo", types.float64), ("hi", types.float64)]
        models.StructModel.__init__(self, dmm, fe_type, members)


make_attribute_wrapper(IntervalType, "lo", "lo")
make_attribute_wrapper(IntervalType, "hi", "hi")


@type_callable(Interval)
def type_interval(context):
    def typer(lo, hi):
        if isinstance(lo, (types.Integer, types.Float)) and isinstance(
            hi, (types.Integer, types.Float)
        ):
            return interval_type
        return None

    return typer


@overload_attribute(IntervalType, "width")
def choose_width(interval):
    return lambda interval: interval.hi - interval.lo


@overload_method(IntervalType, "holds")
def choose_holds(interval, x, slack=0.0):
    def implementation(interval, x, slack=0.0):
        return interval.lo - slack <= x and x <= interval.hi + slack

    return implementation


@overload(operator.add)
def choose_add(a, b):
    if isinstance(a, IntervalType) and isinstance(b, IntervalType):
        return lambda a, b: Interval(a.lo + b.lo, a.hi + b.hi)
    if isinstance(a, IntervalType):
        return lambda a, b: Interval(a.lo + b, a.hi + b)
    return None


@overload(operator.neg)
def choose_neg(a):
    return (lambda a: Interval(-a.hi, -a.lo)) if isinstance(a, IntervalType) else None


@overload(operator.lt)
def choose_lt(a, b):
    return (lambda a, b: a.hi < b.lo) if isinstance(a, IntervalType) else None


@overload(operator.eq)
def choose_eq(a, b):
    return (lambda a, b: a.lo == b.lo and a.hi == b.hi) if isinstance(a, IntervalType) else None


@overload(operator.ne)
def choose_ne(a, b):
    return (lambda a, b: a.lo != b.lo or a.hi != b.hi) if isinstance(a, IntervalType) else None


@overload(bool)
def choose_bool(a):
    return (lambda a: a.lo <= a.hi) if isinstance(a, IntervalType) else None


@overload(operator.contains)
def choose_contains(a, x):
    return (lambda a, x: a.lo <= x and x <= a.hi) if isinstance(a, IntervalType) else None


@overload(abs)
def choose_abs(a):
    return (lambda a: max(abs(a.lo), abs(a.hi))) if isinstance(a, IntervalType) else None


@overload(operator.getitem)
def choose_getitem(a, i):
    return (lambda a, i: a.hi if i else a.lo) if isinstance(a, IntervalType) else None


@cuda.jit(device=True)
def hull(a, b):
    return Interval(min(a.lo, b.lo), max(a.hi, b.hi))


def hull_kernel(out, first, points):
    whole = first
    best = Interval(0, 0)
    for i in range(points.size):
        point = Interval(hi=points[i] + 1, lo=points[i])
        whole = hull(whole, point)
        if point.width > best.width or points[i] < 0:
            best = point
    chosen = best if best.lo < whole.lo + 0.5 else whole
    out[0] = whole.lo
    out[1] = whole.hi
    out[2] = chosen.lo
    out[3] = chosen.width
    out[4] = whole.holds(3.0) + 10 * whole.holds(9.0, slack=10.0)


def operators_kernel(out, a, b):
    c = a + b
    c += 1
    d = -c
    out[0] = c.lo
    out[1] = d.lo
    out[2] = (a < c) + 10 * (a == b) + 100 * (a != b)
    out[3] = (2.0 in a) + 10 * (9.0 not in a)
    if not Interval(2, 1) and a:
        out[4] = abs(d) + a[0] + 100 * a[1]


CAPTURED = Interval(5, 7.5)


def captured_kernel(out):
    pair = (CAPTURED, Interval(1, 2))
    for i in range(2):
        out[i] = pair[i].hi
    out[2] = pair[0].lo


def hull_python(a, b):
    return Interval(min(a.lo, b.lo), max(a.hi, b.hi))


CASES = [
    (hull_kernel, (Interval(1.0, 2.0), np.array([3.0, -2.5, 0.25]))),
    (hull_kernel, (Interval(1, np.float32(2)), np.empty(0))),
    (operators_kernel, (Interval(1.0, 2.0), Interval(3.0, 4.5))),
    (operators_kernel, (Interval(1.0, 2.0), Interval(1.0, 2.0))),
    (captured_kernel, ()),
]


@pytest.mark.parametrize(("kernel", "args"), CASES)
def test_python_the_interpreter_and_the_device_agree(kernel, args, monkeypatch):
    outs = np.full((3, 5), -1.0)
    run_native(kernel, 1, 1, outs[0], *args)
    given = [interpret(each).value for each in (outs[1], *args)]
    assert run(compile_for(kernel, outs[1], *args), 1, 1, given).fault is None
    monkeypatch.setitem(globals(), "hull", hull_python)
    run_python(kernel, 1, 1, outs[2], *args)
    assert outs[0].tolist() == outs[1].tolist() == outs[2].tolist()


def test_a_signature_names_the_type():
    assert IntervalType() == interval_type
    assert hash(IntervalType()) == hash(interval_type)
    assert str(interval_type) == "Interval"

    @cuda.jit(types.void(types.float64[:], interval_type))
    def kernel(out, interval):
        out[0] = interval.width

    out = np.zeros(1)
    kernel[1, 1](out, Interval(2, 5))
    assert out[0] == 3


class Pair:
    def __init__(self, values, inner):
        self.values = values
        self.inner = inner


class PairType(types.Type):
    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Pair({dtype})")


@typeof_impl.register(Pair)
def type_of_pair(value, context):
    return PairType(types.from_dtype(value.values.dtype))


@register_model(PairType)
class PairModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        members = [("values", types.Array(fe_type.dtype, 1, "C")), ("inner", interval_type)]
        super().__init__(dmm, fe_type, members)


make_attribute_wrapper(PairType, "values", "data")
make_attribute_wrapper(PairType, "inner", "inner")
make_attribute_wrapper(PairType, "missing", "missing")


class Derived(Pair):
    pass


@pytest.mark.parametrize("cls", [Pair, Derived])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_members_may_be_arrays_and_other_types_of_programs(cls, dtype):
    @cuda.jit
    def kernel(pair):
        i = cuda.grid(1)
        if i < pair.data.size:
            pair.data[i] += pair.inner.hi

    values = np.arange(5, dtype=dtype)
    kernel[1, 8](cls(values, Interval(0, 3)))
    assert values.tolist() == [3, 4, 5, 6, 7]
    on_device = cuda.to_device(values)
    kernel[1, 8](cls(on_device, Interval(0, 1)))
    assert on_device.copy_to_host().tolist() == [4, 5, 6, 7, 8]


def launch(function, *args):
    out = np.zeros(1)
    cuda.jit(function)[1, 1](out, *args)
    return out[0]


class Centred:
    def __init__(self, middle):
        self.middle = middle


class Underivable:
    pass


class Typeless:
    pass


@overload(Centred)
def choose_centred(middle):
    return lambda middle: interval_type(middle - 1, hi=middle + 1)


@type_callable(Underivable)
def type_underivable(context):
    return lambda middle: interval_type


@type_callable(Typeless)
def type_typeless(context):
    return lambda: types.float64


def test_an_overload_makes_a_value_of_its_members():
    def kernel(out):
        out[0] = Centred(5).lo + 100 * Centred(5).hi

    assert launch(kernel) == 604


WRONG_KERNELS = [
    (lambda out, a: Interval(1), KernelTypeError, "Interval is called with the wrong arguments"),
    (lambda out, a: Interval(1, mid=2), KernelTypeError, "expected lo, hi"),
    (lambda out, a: interval_type(1, 2, 3), KernelTypeError, "Interval is called with the wrong"),
    (lambda out, a: Interval(out, 1), KernelTypeError, "Interval does not take"),
    (lambda out, a: a.middle, KernelTypeError, "Interval has no attribute 'middle' in kernels"),
    (lambda out, a: a * a, KernelTypeError, r"operator \* does not take Interval and Interval"),
    (lambda out, a: a + None, KernelTypeError, "no overload|does not take"),
    (lambda out, a: ~a, KernelTypeError, "operator ~ does not take Interval"),
    (lambda out, a: a > a, KernelTypeError, "comparison > does not take Interval and Interval"),
    (lambda out, a: Underivable(1), UnsupportedFeatureError, r"write @overload\(Underivable\)"),
    (lambda out, a: Typeless(), UnsupportedFeatureError, "it makes float64, which has no model"),
]


@pytest.mark.parametrize(("kernel", "error", "message"), WRONG_KERNELS)
def test_what_kernels_refuse(kernel, error, message):
    with pytest.raises(error, match=message):
        launch(kernel, Interval(1, 2))


INCOMPLETE = Interval(1, 2)
del INCOMPLETE.hi


def incomplete_kernel(out):
    out[0] = INCOMPLETE.lo


def two_types_kernel(out, a):
    x = a
    if out[0] > 0:
        x = 3
    out[0] = x.lo


def assigning_kernel(out, a):
    a.lo = 3.0


def class_kernel(out, a):
    out[0] = isinstance(a, Interval)


def test_what_kernels_refuse_of_values_that_exist():
    with pytest.raises(KernelTypeError, match="INCOMPLETE is a Interval without the attribute"):
        launch(incomplete_kernel)
    with pytest.raises(KernelTypeError, match="int64 on one path and Interval on another"):
        launch(two_types_kernel, Interval(1, 2))
    with pytest.raises(KernelTypeError, match="name its type in place of the class"):
        launch(class_kernel, Interval(1, 2))
    with pytest.raises(UnsupportedSyntaxError, match="assigning to the attribute 'lo'"):
        launch(assigning_kernel, Interval(1, 2))
    assert launch(lambda out, a: store(out, isinstance(a, interval_type)), Interval(1, 2)) == 1


@cuda.jit(device=True)
def store(out, value):
    out[0] = value


@cuda.jit(device=True)
def perhaps(interval, is_there):
    if is_there:
        return interval
    return None


@cuda.jit(device=True)
def grow(interval, times):
    if times == 0:
        return interval
    return grow(interval + 1.0, times - 1)


def test_values_go_through_device_functions_and_tuples():
    def optional(out, pair):
        there, absent = perhaps(pair[1], out.size == 1), perhaps(pair[1], out.size == 2)
        if absent is None and there is not None:
            out[0] = there.hi

    def recursive(out, pair):
        out[0] = grow(pair[out.size], 5).hi

    def inner(out, pair):
        def add(b):
            return b + pair[0]

        out[0] = (add(pair[1]) if out[0] == 0 else pair[0]).hi

    pair = (Interval(1, 2), Interval(3, 4))
    assert launch(optional, pair) == 4
    assert launch(recursive, pair) == 9
    assert launch(inner, pair) == 6


WITHOUT_OVERLOADS = [
    (lambda out, a: a[0], "Interval cannot be indexed in a kernel"),
    (lambda out, a: 1.0 in a, "comparison in does not take float64.* and Interval"),
    (lambda out, a: not a, "Interval has no truth value"),
    (lambda out, a: a == a, "comparison == does not take Interval and Interval"),
    (lambda out, a: -a, "operator - does not take Interval"),
    (lambda out, a: abs(a) + 1, "abs does not take"),
]


@pytest.mark.parametrize(("kernel", "message"), WITHOUT_OVERLOADS)
def test_operators_without_overloads(kernel, message, monkeypatch):
    monkeypatch.setattr(extensions, "find_function", lambda function: [])
    with pytest.raises(KernelTypeError, match=message):
        launch(kernel, Interval(1, 2))


def test_an_attribute_that_is_no_member():
    def kernel(out, pair):
        out[0] = pair.missing

    with pytest.raises(KernelTypeError, match="its member 'missing', which there is not"):
        launch(kernel, Pair(np.zeros(1), Interval(1, 2)))

    def other(out, pair):
        out[0] = pair[0]

    with pytest.raises(KernelTypeError, match="no overload"):
        launch(other, Pair(np.zeros(1), Interval(1, 2)))


def ignore(out, value):
    pass


def test_arguments_that_do_not_fit_the_model():
    interval = Interval(1, 2)
    del interval.hi
    with pytest.raises(LaunchTypeError, match=r"'value'.* is a Interval without the attribute"):
        launch(ignore, interval)
    with pytest.raises(LaunchTypeError, match="member 'lo' is of type array"):
        launch(ignore, Interval(np.zeros(3), 2))
    with pytest.raises(LaunchTypeError, match=r"'value\.lo'.* is of type SimpleNamespace"):
        launch(ignore, Interval(SimpleNamespace(), 2))


class Bare(types.Type):
    pass


class Untyped:
    pass


def test_a_type_without_a_model():
    typeof_impl.register(Untyped)(lambda value, context: Bare("bare"))
    with pytest.raises(ArgumentTypeError, match="said to be bare"):
        launch(ignore, Untyped())
    typeof_impl.register(Untyped)(lambda value, context: None)
    with pytest.raises(LaunchTypeError, match="is of type Untyped"):
        launch(ignore, Untyped())
    with pytest.raises(UnsupportedFeatureError, match="values of the type bare consist of"):
        cuda.jit(types.void(types.float64[:], Bare("bare")))(ignore)


def test_what_registering_refuses():
    with pytest.raises(ArgumentTypeError, match="3 has no values"):
        typeof_impl.register(3)
    with pytest.raises(ArgumentError, match="values of int is not for programs to say"):
        typeof_impl.register(int)
    with pytest.raises(ArgumentTypeError, match="no class of types"):
        register_model(Interval)
    with pytest.raises(ArgumentTypeError, match="cannot be the model of Bare"):
        register_model(Bare)(Interval)
    with pytest.raises(ArgumentTypeError, match=r"a member of the model of bare is \('a', 3\)"):
        models.StructModel(None, Bare("bare"), [("a", 3)])
    with pytest.raises(ArgumentTypeError, match="no class of types"):
        make_attribute_wrapper(interval_type, "lo", "lo")
    with pytest.raises(ArgumentError, match="the target of an attribute is 'hsa'"):
        make_attribute_wrapper(IntervalType, "lo", "lo", "hsa")
    with pytest.raises(ArgumentTypeError, match="type_callable does not take"):
        type_callable("Interval")


def test_there_is_no_builder_of_instructions():
    with pytest.raises(UnsupportedFeatureError, match=r"@overload\(Interval\)"):
        lower(Interval, types.Float, types.Float)
    with pytest.raises(UnsupportedFeatureError, match=r"@overload\(Interval\)"):
        lower_builtin(Interval, types.Float, types.Float)
    with pytest.raises(UnsupportedFeatureError, match="make_attribute_wrapper"):
        lower_getattr(IntervalType, "width")
    with pytest.raises(UnsupportedFeatureError, match="intrinsic cannot make ignore part"):
        intrinsic(ignore)
    with pytest.raises(UnsupportedFeatureError, match="intrinsic cannot make a function part"):
        intrinsic(prefer_literal=True)
