"""What the functions of a warp refuse."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from tests.helpers.kernels import compile_for

VOTES = (cuda.all_sync, cuda.any_sync, cuda.eq_sync, cuda.ballot_sync)
MATCHES = (cuda.match_any_sync, cuda.match_all_sync)


def refused(function, mask, value):
    def kernel(a, masks, values):
        a[0] = function(masks[0], values[0]) == 0

    def pairs(a, masks, values):
        a[0] = function(masks[0], values[0])[0]

    body = pairs if function is cuda.match_all_sync else kernel
    try:
        compile_for(body, np.zeros(1), np.zeros(1, mask), np.zeros(1, value))
    except KernelTypeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("function", VOTES, ids=repr)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_predicates_are_integers_or_truth_values(function, dtype):
    message = refused(function, np.uint32, dtype)
    name = np.dtype(dtype).name
    assert f"the predicate of {function!r} is {name}\n" in message
    assert "Predicate must be an integer or boolean" in message
    assert message.endswith("help: compare it with something, as in x != 0")


@pytest.mark.parametrize("function", VOTES + MATCHES, ids=repr)
@pytest.mark.parametrize("dtype", ["?", "f4", "f8"])
def test_masks_are_integers(function, dtype):
    message = refused(function, dtype, np.int32)
    assert f"the mask of {function!r} is {np.dtype(dtype).name}\n" in message
    assert "Mask type must be an integer" in message
    assert message.endswith("help: pass a word with one bit per lane, such as 0xffffffff")


@pytest.mark.parametrize("function", VOTES, ids=repr)
@pytest.mark.parametrize("mask", ["i4", "u4", "i8"])
@pytest.mark.parametrize("predicate", ["?", "i1", "u4", "i8"])
def test_what_is_taken(function, mask, predicate):
    assert refused(function, mask, predicate) is None


def test_arguments_by_name():
    def kernel(a):
        cuda.any_sync(0xFFFFFFFF, predicate=a[0])

    with pytest.raises(KernelTypeError, match=r"the predicate of cuda\.any_sync is float64"):
        compile_for(kernel, np.zeros(1))


@pytest.mark.parametrize("dtype", ["c8", "c16", "M8[s]", "m8[D]"])
def test_values_of_several_numbers_are_shuffled(dtype):
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = cuda.shfl_sync(0xFFFFFFFF, a[i], (7 * i) % 32)
        out[1, i] = cuda.shfl_up_sync(0xFFFFFFFF, value=a[i], delta=3)
        out[2, i] = cuda.shfl_down_sync(0xFFFFFFFF, a[i], delta=5)
        out[3, i] = cuda.shfl_xor_sync(0xFFFFFFFF, a[i], 9)

    lanes = np.arange(32)
    a = (lanes * (2 + 3j)).astype(dtype) if dtype[0] == "c" else lanes.astype(dtype)
    out = np.zeros((4, 32), dtype)
    kernel[1, 32](a, out)
    sources = [
        (7 * lanes) % 32,
        np.where(lanes < 3, lanes, lanes - 3),
        np.where(lanes + 5 > 31, lanes, lanes + 5),
        lanes ^ 9,
    ]
    assert (out == a[np.array(sources)]).all()


def test_wrong_arguments_of_shuffles():
    def twice(a):
        a[0] = cuda.shfl_sync(1, a[0] * 1j, 0, value=1j)

    def missing(a):
        a[0] = cuda.shfl_xor_sync(1, a[0] * 1j)

    for kernel, words in ((twice, "got two values for the argument 'value'"), (missing, "missing")):
        with pytest.raises(KernelTypeError, match=words):
            compile_for(kernel, np.zeros(1))
