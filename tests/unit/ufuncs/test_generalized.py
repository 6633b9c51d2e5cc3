import pickle

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from pygpulib.ufuncs import GUFunc, guvectorize
from pygpulib.ufuncs.generalized import CoreLayout


@guvectorize(
    ["(float32[:,:], float32[:,:], float32[:,:])", "(float64[:,:], float64[:,:], float64[:,:])"],
    "(m,n),(n,p)->(m,p)",
)
def multiply(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@guvectorize(["(float64[:], float64[:], float64[:])"], "(n)->(),()", nopython=True, target="cuda")
def extremes(row, low, high):
    low[0] = high[0] = row[0]
    for value in row:
        low[0] = min(low[0], value)
        high[0] = max(high[0], value)


@guvectorize(["void(float32, float32[:], float32[:])"], "(),(t)->(t)")
def scale(factor, x, out):
    for i in range(x.shape[0]):
        out[i] = factor * x[i]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (3, 4)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((2, 1, 2, 1, 3), (3, 2, 3, 1)),
        ((0, 2, 3), (3, 4)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_products(left, right, dtype):
    rng = np.random.default_rng(4)
    a, b = rng.random(left).astype(dtype), rng.random(right).astype(dtype)
    found = multiply(a, b)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, a @ b, rtol=1e-5)
    found = multiply(cuda.to_device(a), b)
    assert cuda.is_cuda_array(found)
    np.testing.assert_allclose(found.copy_to_host(), a @ b, rtol=1e-5)


def test_views_of_arrays():
    a = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal(multiply(a.T, a), a.T @ a)
    flipped = a[::2, ::-1]
    np.testing.assert_array_equal(multiply(flipped, flipped.T), flipped @ flipped.T)


def test_several_outputs():
    rows = np.random.default_rng(5).random((3, 4, 5))
    low, high = extremes(rows)
    np.testing.assert_array_equal(low, rows.min(-1))
    np.testing.assert_array_equal(high, rows.max(-1))
    one = extremes(rows[0, 0])
    assert one == (rows[0, 0].min(), rows[0, 0].max())
    assert isinstance(one[0], np.float64)
    given = np.zeros((3, 4)), cuda.device_array((3, 4))
    assert extremes(rows, out=given) == given
    np.testing.assert_array_equal(given[1].copy_to_host(), rows.max(-1))
    low[...] = 0
    extremes(rows, low, high)
    np.testing.assert_array_equal(low, rows.min(-1))


def test_numbers_among_the_inputs():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(scale(np.float32(2), x), x * 2)
    np.testing.assert_array_equal(scale(2, x), x * 2)
    np.testing.assert_array_equal(scale(np.arange(3.0), x), x * np.arange(3)[:, None])
    np.testing.assert_array_equal(
        scale(cuda.to_device(np.arange(3.0)), x).copy_to_host(), x * np.arange(3)[:, None]
    )
    np.testing.assert_array_equal(scale(2, [1, 2]), [2, 4])


def test_numbers_declared_as_arrays():
    @guvectorize(["(int32[:], int32[:], int32[:])"], "(n),()->(n)")
    def shift(x, offset, out):
        for i in range(x.size):
            out[i] = x[i] + offset[0]

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(
        shift(x, np.array([10, 20], np.int32)), x + np.array([[10], [20]])
    )
    out = np.zeros(3, np.int32)
    assert shift(x[0], np.array([5], np.int32), out=out) is out
    np.testing.assert_array_equal(out, [5, 6, 7])


def test_inputs_that_are_written():
    @guvectorize(["(float64[:], float64[:])"], "(n)->()", writable_args=("values",))
    def take_sum(values, out):
        out[0] = 0
        for i in range(values.size):
            out[0] += values[i]
            values[i] = 0

    values = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(take_sum(values), [3, 12])
    assert not values.any()
    with pytest.raises(ArgumentTypeError, match="argument that take_sum writes holds float32"):
        take_sum(np.zeros(3, np.float32))


def test_refuses_wrong_calls():
    with pytest.raises(TypeError, match=r"2 positional arguments.*or 3 .*Got 1 positional arg"):
        multiply(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="both positional and keyword"):
        scale(1, np.zeros(2), np.zeros(2), out=np.zeros(2))
    with pytest.raises(ShapeError, match=r"input of multiply has the shape \(3,\)"):
        multiply(np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(ShapeError, match="axis n of multiply has the lengths 3 and 4"):
        multiply(np.zeros((2, 3)), np.zeros((4, 2)))
    with pytest.raises(ShapeError, match="arguments of multiply have shapes"):
        multiply(np.zeros((2, 3, 3)), np.zeros((4, 3, 3)))
    with pytest.raises(ShapeError, match="output array of scale has the shape"):
        scale(1, np.zeros(2, np.float32), out=np.zeros(3, np.float32))
    with pytest.raises(DTypeError, match="results of scale are float32"):
        scale(1, np.zeros(2, np.float32), out=np.zeros(2, np.int32))
    with pytest.raises(ArgumentTypeError, match="extremes was given 1 output arrays"):
        extremes(np.zeros(2), out=np.zeros(1))


def test_refuses_wrong_declarations():
    with pytest.raises(TypeError, match=r"cannot return values: .* specifies int32 return type"):
        guvectorize(["int32(int32[:], int32[:])"], "(n)->(n)")
    with pytest.raises(TypeError, match="options are not supported: 'colour', 'size'"):
        guvectorize(["(f8[:], f8[:])"], "(n)->(n)", colour=1, size=2)
    with pytest.raises(TypeError, match="nopython flag must be True"):
        guvectorize(["(f8[:], f8[:])"], "(n)->(n)", nopython=False)
    with pytest.raises(ArgumentTypeError, match="cannot be vectorized"):
        guvectorize(["(f8[:], f8[:])"], "(n)->(n)")(3)


@pytest.mark.parametrize("text", ["", "(n)", "(n)->", "(n->(n)", "(n,)->(n)", "n->n"])
def test_refuses_malformed_layouts(text):
    with pytest.raises(ArgumentError, match="is not well formed"):
        CoreLayout.parse(text)


def test_layouts():
    layout = CoreLayout.parse(" ( m, n ),() -> (n , m),(m)")
    assert layout.inputs == (("m", "n"), ())
    assert layout.outputs == (("n", "m"), ("m",))
    with pytest.raises(ArgumentError, match="output axis 'p', which no input has"):
        CoreLayout.parse("(n)->(p)")


def test_names_and_pickles():
    assert multiply.__name__ == "multiply"
    assert multiply.types == ["ff->f", "dd->d"]
    assert (multiply.nin, multiply.nout, multiply.nargs) == (2, 1, 3)
    assert repr(scale) == "<gufunc scale (),(t)->(t)>"
    assert pickle.loads(pickle.dumps(scale)) is scale

    @guvectorize(["(float64[:], float64[:])"], "(n)->()")
    def first(x, out):
        out[0] = x[0]

    copy = pickle.loads(pickle.dumps(first))
    assert isinstance(copy, GUFunc)
    assert copy([4.0, 5.0]) == 4
