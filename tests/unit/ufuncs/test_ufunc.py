import itertools
import pickle

import numpy as np
import pytest

import pygpulib
from pygpulib import cuda, types
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from pygpulib.ufuncs import UFunc, vectorize

SIGNATURES = [
    "int32(int32, int32)",
    "float32(float32, float32)",
    "float64(float64, float64)",
    "complex128(complex128, complex128)",
]


@vectorize(SIGNATURES)
def combine(a, b):
    """Combine two numbers."""
    return a * 2 - b


def arrays_of(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    return (rng.random(shape) * 100).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((), (7,)),
        ((1,), (1,)),
        ((7,), (7,)),
        ((3, 4), (4,)),
        ((3, 1, 5), (4, 1)),
        ((2, 3, 4, 5), (3, 4, 5)),
        ((2, 1, 2, 1, 2, 1, 3), (2, 1, 2, 1, 2, 3)),
        ((0,), (1,)),
        ((3, 0), (1, 1)),
    ],
)
def test_broadcasting_and_dtype(dtype, left, right):
    a, b = arrays_of(left, dtype, 1), arrays_of(right, dtype, 2)
    expected = a * dtype(2) - b
    for order in "CF":
        found = combine(np.array(a, order=order), np.array(b, order=order))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_strided_views():
    base = np.arange(24.0).reshape(4, 6)
    views = [base[::2], base[:, ::-1], base.T, base[1:, 1:], np.broadcast_to(base[0], (4, 6))]
    for view in views:
        np.testing.assert_array_equal(combine(view, 1.0), view * 2 - 1)
        np.testing.assert_array_equal(combine(view, view[::-1]), view * 2 - view[::-1])


def test_numbers_alone_give_a_number():
    found = combine(1.25, 2.5)
    assert isinstance(found, np.float64)
    assert found == 0.0
    assert isinstance(combine(np.float32(1), np.float32(2)), np.float32)


def test_python_numbers_adapt_to_the_arrays():
    assert combine(np.ones(3, np.float32), 2.5).dtype == np.float32
    assert combine(np.ones(3, np.int32), 2).dtype == np.int32
    assert combine(np.ones(3, np.int32), 2.5).dtype == np.float64
    assert combine(np.ones(3, np.float32), 1j).dtype == np.complex128


def test_what_is_not_exact_takes_the_first_loop_that_loses_nothing():
    assert combine(np.ones(3, np.int16), np.ones(3, np.int32)).dtype == np.int32
    assert combine(np.ones(3, np.int16), np.ones(3, np.float32)).dtype == np.float32
    assert combine(np.ones(3, np.int64), np.ones(3, np.float32)).dtype == np.float64


def test_sequences_are_arrays():
    np.testing.assert_array_equal(combine([1.0, 2.0], ((3.0,), (4.0,))), [[-1, 1], [-2, 0]])


def test_device_arrays_give_device_arrays():
    host = arrays_of((5, 4), np.float64, 3)
    device = cuda.to_device(host)
    stream = cuda.stream()
    for left, right in itertools.product([host, device], [host, device]):
        if left is right is host:
            continue
        found = combine(left, right, stream=stream)
        assert cuda.is_cuda_array(found)
        np.testing.assert_array_equal(found.copy_to_host(stream=stream), host)


def test_outputs():
    a = np.arange(6.0).reshape(2, 3)
    for out in (np.zeros((2, 3)), np.zeros((3, 2)).T, cuda.device_array((2, 3))):
        assert combine(a, 1.0, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), a * 2 - 1)
        assert combine(a, 2.0, out) is out
        np.testing.assert_array_equal(np.asarray(out), a * 2 - 2)
    wide = np.zeros((4, 2, 3))
    combine(a, 1.0, out=wide)
    np.testing.assert_array_equal(wide, np.broadcast_to(a * 2 - 1, (4, 2, 3)))
    combine(a, a, out=a)
    np.testing.assert_array_equal(a, np.arange(6.0).reshape(2, 3))


def test_results_convert_to_the_output_within_their_kind():
    out = np.zeros(3, np.float32)
    combine(np.ones(3), np.ones(3), out=out)
    np.testing.assert_array_equal(out, 1)
    with pytest.raises(DTypeError, match=r"results of combine are float64.*int32"):
        combine(np.ones(3), np.ones(3), out=np.zeros(3, np.int32))


def test_refuses_wrong_calls():
    with pytest.raises(ArgumentTypeError, match="combine was called with 1 argument"):
        combine(1.0)
    with pytest.raises(ArgumentError, match="both positional and keyword"):
        combine(1.0, 2.0, np.zeros(1), out=np.zeros(1))
    with pytest.raises(ShapeError, match=r"arguments of combine have shapes"):
        combine(np.zeros(3), np.zeros(4))
    with pytest.raises(ShapeError, match=r"output array of combine has the shape \(2,\)"):
        combine(np.zeros((3, 2)), np.zeros(2), out=np.zeros(2))
    with pytest.raises(ArgumentTypeError, match="No matching signature"):
        combine(np.zeros(3, "m8[s]"), np.zeros(3))
    with pytest.raises(ArgumentTypeError, match="an output of combine is a list"):
        combine(1.0, 2.0, out=[0.0])
    locked = np.zeros(3)
    locked.flags.writeable = False
    with pytest.raises(ArgumentError, match="output array of combine is read-only"):
        combine(np.zeros(3), np.zeros(3), out=locked)


def test_refuses_wrong_declarations():
    with pytest.raises(ArgumentTypeError, match=r"Unrecognized options of vectorize: 'colour'"):
        vectorize(["float64(float64)"], colour=1)
    with pytest.raises(ArgumentTypeError, match="does not fit the function f"):

        @vectorize(["float64(float64)"])
        def f(a, b):
            return a + b

    with pytest.raises(ArgumentTypeError, match="vectorize needs signatures"):
        vectorize(lambda a: a)
    with pytest.raises(ArgumentTypeError, match="cannot be vectorized over"):
        vectorize(["float64(UniTuple(float64, 2))"])(lambda a: a)


def test_looks_like_a_ufunc():
    assert combine.__name__ == "combine"
    assert combine.__doc__ == "Combine two numbers."
    assert (combine.nin, combine.nout, combine.nargs, combine.ntypes) == (2, 1, 3, 4)
    assert combine.types == ["ii->i", "ff->f", "dd->d", "DD->D"]
    assert combine.signature is None
    assert repr(combine) == "<ufunc combine>"


def test_pickles_by_reference_and_with_its_code():
    assert pickle.loads(pickle.dumps(combine)) is combine

    @vectorize(["float64(float64)"])
    def triple(x):
        return x * 3

    copy = pickle.loads(pickle.dumps(triple))
    assert isinstance(copy, UFunc)
    np.testing.assert_array_equal(copy(np.arange(3.0)), [0, 3, 6])


def test_kernels_call_it_like_a_device_function():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = combine(a[i], 1)

    out = np.zeros(4)
    kernel[1, 4](np.arange(4.0), out)
    np.testing.assert_array_equal(out, np.arange(4.0) * 2 - 1)


def test_reduce():
    @vectorize(["int32(int32, int32)", "float64(float64, float64)"])
    def add(a, b):
        return a + b

    for count in (1, 2, 127, 128, 129, 5000):
        values = np.arange(count, dtype=np.int32)
        assert add.reduce(values) == values.sum()
        assert add.reduce(values).dtype == np.int32
    assert add.reduce(cuda.to_device(np.arange(9.0)), stream=cuda.stream()) == 36

    @vectorize(["float64(float64, float64)"], identity=1)
    def multiply(a, b):
        return a * b

    assert multiply.reduce(np.arange(1.0, 6.0)) == 120
    assert multiply.reduce(np.zeros(0)) == 1


def test_reduce_refuses():
    @vectorize(["float64(float64)"])
    def negate(a):
        return -a

    with pytest.raises(ArgumentTypeError, match="only supported for binary functions"):
        negate.reduce(np.zeros(3))
    with pytest.raises(ArgumentError, match="the argument axis is 1"):
        combine.reduce(np.zeros((3, 3)), axis=1)
    with pytest.raises(ArgumentTypeError, match="array of 2 axes"):
        combine.reduce(np.zeros((3, 3)))
    with pytest.raises(ArgumentTypeError, match=r"reduce was called on the number 3\.0"):
        combine.reduce(3.0)


def test_inputs_of_other_types_convert_element_by_element():
    @vectorize(["float32(float32)"])
    def same(x):
        return x

    device = cuda.to_device(np.arange(5))
    found = same(cuda.to_device(np.arange(5, dtype=np.int16)))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.copy_to_host(), np.arange(5))
    np.testing.assert_array_equal(same(device).copy_to_host(), np.arange(5))


def test_results_of_signatures_without_one_are_inferred():
    @vectorize(["(int32, float32)", (cuda.int64, cuda.int64)])
    def divide(a, b):
        return a / b

    assert divide.types == ["if->d", "ll->d"]
    np.testing.assert_array_equal(divide([6, 7], 2), [3, 3.5])


def test_dates():
    @vectorize([(types.NPDatetime("D"), types.NPDatetime("D"))])
    def elapsed(start, end):
        return end - start

    days = np.arange("2024-02-27", "2024-03-03", dtype="M8[D]")
    found = elapsed(days[:-1], days[1:])
    assert found.dtype == np.dtype("m8[D]")
    np.testing.assert_array_equal(found, days[1:] - days[:-1])


def test_the_decorators_have_one_home_under_both_names():
    assert pygpulib.vectorize is vectorize is cuda.vectorize
    assert pygpulib.guvectorize is cuda.guvectorize
