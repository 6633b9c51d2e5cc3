"""Host arrays as arguments of kernels on a simulated GPU."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.settings import settings
from pygpulib.errors import DeviceLostError, PerformanceWarning

pytestmark = pytest.mark.fake_gpus(use_assembler=False)


POINT = np.dtype([("x", np.float64), ("n", np.int32)], align=True)


def make_add():
    @cuda.jit
    def add(a, b):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += b[i]

    return add


def copies(fake):
    """Return the directions of all copies since the first launch was prepared."""
    names = [call.name for call in fake.calls if "Memcpy" in call.name]
    return ["in" if "HtoD" in name else "out" for name in names]


def test_arrays_go_to_the_device_and_back(fake_cuda):
    add = make_add()
    a, b = np.arange(10.0), np.full(10, 3.0)
    for _ in range(3):
        add[1, 16](a, b)
    assert a.tolist() == (np.arange(10.0) + 9).tolist()
    assert b.tolist() == [3.0] * 10


def test_host_and_device_arrays_mix(fake_cuda):
    add = make_add()
    a, b = cuda.to_device(np.zeros(4)), np.ones(4)
    add[1, 4](a, b)
    add[1, 4](b, a)
    assert a.copy_to_host().tolist() == [1.0] * 4
    assert b.tolist() == [2.0] * 4


def test_read_only_arrays_are_not_copied_back(fake_cuda):
    add = make_add()
    a, b = np.zeros(4), np.ones(4)
    b.flags.writeable = False
    add[1, 4](a, b)
    assert copies(fake_cuda) == ["in", "in", "out"]
    assert a.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        (cuda.In, ["in", "in", "out"]),
        (cuda.InOut, ["in", "in", "out", "out"]),
        (cuda.Out, ["in", "out", "out"]),
    ],
)
def test_what_an_argument_says_about_its_use(fake_cuda, wrap, expected):
    @cuda.jit
    def fill(out, a):
        out[cuda.grid(1)] = 5
        a[cuda.grid(1)] = 2

    a, out = np.ones(4), np.zeros(4)
    fill[1, 4](wrap(out), a)
    assert out.tolist() == ([0.0] if wrap is cuda.In else [5.0]) * 4
    assert a.tolist() == [2.0] * 4
    assert copies(fake_cuda) == expected


def test_an_array_that_comes_twice_is_one_array(fake_cuda):
    add = make_add()
    a = np.arange(4.0)
    add[1, 4](a, a)
    assert a.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert copies(fake_cuda) == ["in", "out"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[3:], np.s_[:-3]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[::2], np.s_[1::2]),
        (np.s_[:8], np.s_[8:]),
    ],
)
def test_views_that_overlap_are_the_same_memory(fake_cuda, first, second):
    @cuda.jit
    def pass_on(a, b):
        for i in range(min(a.size, b.size)):
            a[i] = 2 * b[i] + 1

    whole, expected = np.arange(17.0)[1:], np.arange(17.0)[1:]
    a, b = expected[first], expected[second]
    for i in range(min(a.size, b.size)):
        a[i] = 2 * b[i] + 1
    pass_on[1, 1](whole[first], whole[second])
    assert whole.tolist() == expected.tolist()


def test_a_record_and_the_array_that_it_lies_in(fake_cuda):
    @cuda.jit
    def add(record, array):
        record["x"] = 5.0
        array[0]["x"] = array[1]["x"] + 1

    array = np.zeros(3, POINT)
    add[1, 1](array[1], array)
    assert array["x"].tolist() == [6.0, 5.0, 0.0]


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[3:17:5]])
def test_strided_views(fake_cuda, view):
    add = make_add()
    whole = np.arange(20.0)
    expected = whole.copy()
    expected[view] += 1
    add[1, 32](whole[view], np.ones(20))
    assert (whole == expected).all()


def test_matrices_in_both_orders_and_parts_of_them(fake_cuda):
    @cuda.jit
    def number(a):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] = 10 * i + j

    expected = np.add.outer(10 * np.arange(4), np.arange(5))
    for order in "CF":
        a = np.zeros((4, 5), np.int16, order)
        number[(1, 1), (8, 8)](a)
        assert (a == expected).all()
    large = np.zeros((9, 9), np.int16)
    number[(1, 1), (8, 8)](large[1:9:2, 2:7])
    assert (large[1:9:2, 2:7] == expected).all()
    assert np.count_nonzero(large) == np.count_nonzero(expected)


def test_arrays_without_elements_or_axes(fake_cuda):
    @cuda.jit
    def fill(empty, single):
        single[()] = empty.size + 7

    single = np.zeros(())
    fill[1, 1](np.zeros((0, 3)), single)
    assert single[()] == 7


def test_arrays_in_tuples(fake_cuda):
    @cuda.jit
    def add(pair, nested):
        i = cuda.grid(1)
        pair[0][i] += pair[1][i] * nested[1][0][i]

    a, b, c = np.zeros(4), np.arange(4.0), np.full(4, 2.0)
    add[1, 4]((a, b), (1, (c,)))
    assert a.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_records(fake_cuda):
    @cuda.jit
    def move(record, others):
        record["x"] += 1.5
        record["n"] = others[1]["n"]

    array = np.zeros(3, POINT)
    others = np.zeros(2, POINT)
    others["n"] = 4, 5
    for _ in range(2):
        move[1, 1](array[1], others)
    assert array.tolist() == [(0.0, 0), (3.0, 5), (0.0, 0)]


def test_a_record_that_is_read_only(fake_cuda):
    @cuda.jit
    def take(out, record):
        out[0] = record["x"]

    array = np.array([(2.5, 1)], POINT)
    array.flags.writeable = False
    out = np.zeros(1)
    take[1, 1](out, array[0])
    assert out[0] == 2.5
    assert copies(fake_cuda).count("out") == 1


INNER = np.dtype([("p", np.int16), ("q", np.float64)])
OUTER = np.dtype([("first", np.int8), ("inner", INNER)])


def test_records_in_records_that_are_not_aligned(fake_cuda):
    @cuda.jit
    def change(a):
        inner = a[cuda.grid(1)]["inner"]
        inner["q"] = inner["p"] + 0.5
        inner["p"] += 1

    a = np.zeros(3, OUTER)
    a["inner"]["p"] = 1, 2, 3
    change[1, 3](a)
    assert a["inner"].tolist() == [(2, 1.5), (3, 2.5), (4, 3.5)]


def test_what_was_done_before_an_error_is_seen(fake_cuda):
    @cuda.jit(debug=True)
    def fill(a, limit):
        i = cuda.grid(1)
        if i >= limit:
            raise ValueError("too far")
        a[i] = 1

    a = np.zeros(4)
    with pytest.raises(ValueError, match="too far"):
        fill[1, 4](a, 2)
    assert a.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_lost_device_is_reported_as_it_is(fake_cuda):
    @cuda.jit
    def jump(a, i):
        a[i] = 1

    with pytest.raises(DeviceLostError, match="read or wrote memory that it may not"):
        jump[1, 1](np.zeros(4), 1 << 40)


def test_streams(fake_cuda):
    add = make_add()
    stream = cuda.stream()
    a = np.zeros(4)
    add[1, 4, stream](a, np.ones(4))
    assert a.tolist() == [1.0] * 4


def test_extensions_may_give_host_arrays(fake_cuda):
    class Negating:
        def prepare_args(self, ty, val, stream, retr):
            negated = -val
            retr.append(lambda: np.copyto(val, negated))
            return ty, negated

    @cuda.jit
    def add_one(a):
        a[cuda.grid(1)] += 1

    add_one.extensions.append(Negating())
    a = np.array([1.0, 2.0])
    add_one[1, 2](a)
    assert a.tolist() == [0.0, -1.0]


def test_foreign_device_arrays_are_used_in_place(fake_cuda):
    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    add = make_add()
    a = cuda.to_device(np.zeros(4))
    ones = cuda.to_device(np.ones(4))
    before = len(copies(fake_cuda))
    add[1, 4](Foreign(a), Foreign(ones))
    assert len(copies(fake_cuda)) == before
    assert a.copy_to_host().tolist() == [1.0] * 4


def test_copies_warn_where_that_is_wanted(fake_cuda, monkeypatch):
    monkeypatch.setattr(settings, "CUDA_WARN_ON_IMPLICIT_COPY", True)
    add = make_add()
    a, b = cuda.to_device(np.zeros(4)), np.ones(4)
    with pytest.warns(PerformanceWarning) as caught:
        add[1, 4](a, b)
    assert str(caught[0].message) == (
        "an array of the host is copied to the device and back for this launch\n"
        "help: copy it once with cuda.to_device(...), or wrap it in cuda.In, cuda.Out or "
        "cuda.InOut"
    )
    assert caught[0].filename == __file__
    add[1, 4](a, cuda.In(b))
    add[1, 4](cuda.mapped_array(4), cuda.managed_array(4))


def test_nothing_changes_on_the_processor():
    add = make_add()
    a = np.zeros(4)
    for _ in range(3):
        add[1, 4](a, np.ones(4))
    assert a.tolist() == [3.0] * 4
