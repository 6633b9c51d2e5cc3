import pickle
from collections import namedtuple

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentTypeError, LaunchTypeError
from pygpulib.jit.transfers import wrap_arg


@cuda.jit
def add_one(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


def test_in_keeps_what_the_host_has():
    values = np.arange(3.0)
    for _ in range(4):  # the short cut of later launches too
        add_one[1, 3](cuda.In(values))
    assert values.tolist() == [0, 1, 2]


def test_out_brings_results_back():
    @cuda.jit
    def fill(a, start):
        a[cuda.grid(1)] = start + cuda.grid(1)

    values = np.zeros(3)
    for start in range(4):
        fill[1, 3](cuda.Out(values), start)
        assert values.tolist() == [start, start + 1, start + 2]


@pytest.mark.parametrize("wrapper", [cuda.InOut, lambda values: values])
def test_others_bring_results_back(wrapper):
    values = np.arange(3.0)
    for _ in range(4):
        add_one[1, 3](wrapper(values))
    assert values.tolist() == [4, 5, 6]


def test_device_arrays_are_worked_on_in_place():
    device = cuda.to_device(np.arange(3.0))
    add_one[1, 3](cuda.In(device))
    add_one[1, 3](cuda.InOut(device))
    assert device.copy_to_host().tolist() == [2, 3, 4]


def test_sequences_are_copied():
    values = [1.0, 2.0]
    add_one[1, 2](cuda.InOut(values))
    assert values == [1.0, 2.0]


def test_repr():
    assert repr(cuda.In(3)) == "In(3)"


def test_wrap_arg():
    values = np.zeros(2)
    assert type(wrap_arg(values, default=cuda.In)) is cuda.In
    assert type(wrap_arg(values)) is cuda.InOut
    out = cuda.Out(values)
    assert wrap_arg(out, default=cuda.In) is out
    device = cuda.to_device(values)
    assert wrap_arg(device, default=cuda.In) is device


class Polar:
    """A point that kernels see as two numbers."""

    def __init__(self, radius, angle):
        self.radius = radius
        self.angle = angle


def test_extensions_change_arguments_last_one_first():
    log = []

    class Double:
        def prepare_args(self, ty, val, stream, retr):
            log.append((str(ty), val))
            retr.append(lambda: log.append("after"))
            return cuda.float64, val * 2

    class Negate:
        def prepare_args(self, ty, val, **kwargs):
            return ty, -val

    @cuda.jit
    def store(out, value):
        out[0] = value

    store.extensions.extend([Double(), Negate()])
    out = np.zeros(1)
    store[1, 1](out, 3)
    store[1, 1](out, 4)
    assert log[1] == ("int64", -3)
    assert log[2:4] == ["after", "after"]


Range = namedtuple("Range", "low high")


class Interval:
    """Something that kernels do not take."""

    def __init__(self, low, high):
        self.low, self.high = low, high


class Intervals:
    """Passes intervals as named tuples, and notes which objects were passed."""

    def prepare_args(self, ty, val, stream, retr):
        if isinstance(val, Interval):
            assert ty is None
            return None, Range(val.low, val.high)
        return ty, val


@cuda.jit(extensions=[Intervals()])
def clip(values, interval, scale=1):
    i = cuda.grid(1)
    if i < values.size:
        values[i] = min(max(values[i], interval.low), interval.high) * scale


def test_extensions_pass_objects_of_programs():
    for kernel in (clip, pickle.loads(pickle.dumps(clip))):
        values = np.arange(10.0)
        for _ in range(3):
            kernel[1, 32](values, interval=Interval(2, 7.5))
        assert values.tolist() == [2, 2, 2, 3, 4, 5, 6, 7, 7.5, 7.5]
    with pytest.raises(LaunchTypeError, match=r"the argument 'interval' .* is of type list"):
        clip[1, 32](np.zeros(2), [1, 2])


def test_extensions_have_to_be_objects_with_the_method():
    with pytest.raises(ArgumentTypeError) as caught:
        cuda.jit(extensions=[3])
    assert str(caught.value) == (
        "an item of the option extensions of cuda.jit is 3\n"
        "expected an object with a method prepare_args(ty, val, stream, retr)\n"
        "help: pass an object, not its class"
    )


def test_extensions_can_keep_arrays_from_coming_back():
    class DefaultIn:
        def prepare_args(self, ty, val, **kwargs):
            return ty, wrap_arg(val, default=cuda.In)

    @cuda.jit
    def clear(a):
        a[0] = 0

    clear.extensions.append(DefaultIn())
    values = np.ones(1)
    for _ in range(3):
        clear[1, 1](values)
    assert values[0] == 1
    clear[1, 1](cuda.InOut(values))
    assert values[0] == 0


def unaligned(count):
    """Return an array of floats that begins at the second byte of its memory."""
    values = np.zeros(8 * count + 1, np.uint8)[1:].view(np.float64)
    assert not values.flags.aligned
    return values


@pytest.mark.parametrize("wrapper", [cuda.InOut, lambda values: values])
def test_unaligned_arrays_of_the_host_are_copied_and_brought_back(wrapper):
    values = unaligned(5)
    for _ in range(4):
        add_one[1, 5](wrapper(values[::2]))
    assert values.tolist() == [4, 0, 4, 0, 4]


def test_fields_of_packed_records_are_worked_on():
    records = np.zeros(3, [("tag", np.int8), ("mass", np.float64)])
    add_one[1, 3](records["mass"])
    assert records["mass"].tolist() == [1, 1, 1]
    assert records["tag"].tolist() == [0, 0, 0]


def test_unaligned_arrays_may_be_read_only_and_stand_in_tuples():
    @cuda.jit
    def add(pair, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = pair[0][i] + pair[1]

    values, out = unaligned(3), unaligned(3)
    values[:] = [1, 2, 3]
    values.flags.writeable = False
    for _ in range(3):
        add[1, 3]((values, 10), out)
    assert out.tolist() == [11, 12, 13]


def test_an_unaligned_array_given_twice_is_one_array():
    @cuda.jit
    def shift(source, target):
        target[1] = source[0]
        source[0] = 5

    values = unaligned(2)
    values[0] = 3
    shift[1, 1](values, values)
    assert values.tolist() == [5, 3]


def test_ufuncs_take_unaligned_arrays():
    values, out = unaligned(3), unaligned(3)
    values[:] = [1, 2, 3]
    double = cuda.vectorize(["f8(f8)"])(lambda x: 2 * x)
    assert double(values).tolist() == [2, 4, 6]
    double(values, out=out)
    assert out.tolist() == [2, 4, 6]
