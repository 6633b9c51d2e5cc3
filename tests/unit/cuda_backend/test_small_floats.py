"""bfloat16 and 8-bit floats in PTX, run by the tests' interpreter of it."""

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.jit.backends.cuda.compiler import prepare
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.dispatcher import compile_composed
from tests.fakecuda.ptx_programs import Device
from tests.helpers.kernels import compile_for
from tests.helpers.small_floats import FORMS, nearest

BF16 = ml_dtypes.bfloat16
GENERATIONS = [(7, 5), (8, 0)]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def run(kernel, generation, *arrays, grid=1, block=128):
    """Compile a kernel for arrays of one axis, run it and return the PTX; arrays change."""
    target = known_target(generation)
    function = prepare(compile_for(kernel, *arrays), compile_composed)
    ptx = compile_ptx(emit_kernel(function, target, "k"), target)
    device = Device()
    addresses = [device.put(array) for array in arrays]
    words = [
        np.uint64(number)
        for array, address in zip(arrays, addresses, strict=True)
        for number in (address, array.size, array.itemsize)
    ]
    device.run(ptx, *words, grid=grid, block=block)
    for array, address in zip(arrays, addresses, strict=True):
        array[...] = device.get(address)
    return ptx


def assert_same(found, expected):
    np.testing.assert_array_equal(found.astype(float), np.asarray(expected).astype(float))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_arithmetic(generation):
    def kernel(x, y, total, quotient, least):
        i = cuda.grid(1)
        total[i] = x[i] * y[i] + x[i]
        quotient[i] = x[i] / y[i]
        least[i] = x[i] if x[i] < y[i] else -y[i]

    x, y = np.random.default_rng(8).integers(0, 65536, (2, 512)).astype(np.uint16).view(BF16)
    total, quotient, least = np.zeros((3, 512), BF16)
    ptx = run(kernel, generation, x, y, total, quotient, least, grid=4)
    assert_same(total, x * y + x)
    assert_same(quotient, x / y)
    assert_same(least, np.where(x < y, x, -y))
    assert ("cvt.rn.bf16.f32" in ptx) == (generation >= (8, 0))


@pytest.mark.parametrize("dtype", FORMS, ids=str)
@pytest.mark.parametrize("source", [np.float64, np.float32, np.int64])
def test_conversions(source, dtype):
    def kernel(x, small, back):
        i = cuda.grid(1)
        small[i] = x[i]
        back[i] = small[i]

    rng = np.random.default_rng(9)
    x = (rng.normal(size=256) * 2.0 ** rng.integers(-20, 60, 256)).astype(source)
    x[:4] = [0, 1, 257, (1 << 40) + (1 << 32) + 1]
    for generation in GENERATIONS:
        small, back = np.zeros(256, dtype.numpy), np.zeros(256, np.float32)
        run(kernel, generation, x, small, back, grid=2)
        assert_same(small, [nearest(number, dtype) for number in x.tolist()])
        assert_same(back, small)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_cooperation(generation):
    def kernel(x, out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(32, "bfloat16")
        shared[i] = x[i]
        cuda.syncthreads()
        cuda.atomic.add(out, 32, x[i])
        cuda.atomic.max(out, 33, x[i])
        out[i] = shared[31 - i] + cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)

    x, out = (np.arange(32) % 8).astype(BF16), np.zeros(34, BF16)
    run(kernel, generation, x, out, block=32)
    at = np.arange(32)
    assert_same(out[:32], x[::-1] + x[at ^ 1])
    assert (out[32], out[33]) == (112, 7)


def test_all_numbers_of_eight_bits():
    def kernel(x, y, out):
        i = cuda.grid(1)
        out[i] = y[i]
        y[i] = x[i]

    codes = np.arange(256).astype(np.uint8)
    for row in (dtypes.float8_e4m3fn, dtypes.float8_e5m2, dtypes.float8_e8m0fnu):
        x, out = codes.view(row.numpy).copy(), np.zeros(256, np.float32)
        y = x.copy()
        run(kernel, (9, 0), x, y, out, grid=2)
        assert_same(out, x)
        assert (y.view(np.uint8) == codes).all()
