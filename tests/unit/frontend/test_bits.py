"""Bits of integers, and the choice between two values."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.options import CompileOptions
from tests.helpers.cooperation import run_both
from tests.helpers.evaluation import over, result_type

WORDS = [0, 1, 2, 6, 127, 128, 255, 0xF0F0, 0x80000000, 0xFFFFFFFF, 2**63, 2**64 - 1, -1, -6]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", "iu")
def test_counting_bits(kind, bits):
    def kernel(words, out):
        i = cuda.grid(1)
        if i < words.size:
            out[i, 0] = cuda.popc(words[i])
            out[i, 1] = cuda.clz(words[i])
            out[i, 2] = cuda.ffs(words[i])
            out[i, 3] = words[i].bit_count()

    mask = (1 << bits) - 1
    words = np.array([word & mask for word in WORDS], np.uint64).astype(f"u{bits // 8}")
    words = words.view(f"{kind}{bits // 8}")
    _, out = run_both(kernel, 1, 16, words, np.zeros((len(words), 4), np.int64))
    for word, row in zip(words.tolist(), out.tolist(), strict=True):
        raw = word & mask
        expected = [raw.bit_count(), bits - raw.bit_length(), (raw & -raw).bit_length()]
        assert row == [*expected, word.bit_count()]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_reversing_bits(dtype):
    def kernel(words, out):
        i = cuda.grid(1)
        if i < words.size:
            out[i] = cuda.brev(words[i])

    bits = dtype().itemsize * 8
    words = np.array([word & ((1 << bits) - 1) for word in WORDS], np.uint64).astype(dtype)
    _, out = run_both(kernel, 1, 16, words, np.zeros(len(words), dtype))
    assert out.tolist() == [int(f"{word:0{bits}b}"[::-1], 2) for word in words.tolist()]


def test_literals_count_too():
    assert over(lambda x: (6).bit_count() + True.bit_count() + x, np.array([1]))[0] == 4


def test_fused_multiply_add():
    def kernel(x, y, out):
        i = cuda.grid(1)
        out[i] = cuda.fma(x[i], y[i], -1.0)

    x, y = np.array([1 + 2.0**-30, 10]), np.array([1 - 2.0**-30, 8])
    *_, out = run_both(kernel, 1, 2, x, y, np.zeros(2))
    assert out.tolist() == [-(2.0**-60), 79]


def test_cube_root():
    found = over(lambda x: cuda.cbrt(x), np.array([-27.0, 8.0, 0.0]))
    np.testing.assert_allclose(found, [-3, 2, 0], rtol=1e-15)


@pytest.mark.parametrize("select", [cuda.selp, np.where])
def test_selections(select):
    def kernel(a, out, z):
        i = cuda.grid(1)
        out[i] = select(a[i] > 2, a[i], 0.5)
        z[i] = select(a[i], 1j, a[i])

    a = np.arange(5)
    _, out, z = run_both(kernel, 1, 5, a, np.zeros(5), np.zeros(5, complex))
    assert out.tolist() == [0.5, 0.5, 0.5, 3, 4]
    assert z.tolist() == [0, 1j, 1j, 1j, 1j]
    assert result_type(lambda c: select(c, 1, 2.5), types.boolean) == types.float64
    assert result_type(lambda c, x: select(c, x, x), types.int8, types.uint8) == types.uint8


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda a: cuda.selp(a, 1, 2), "cuda.selp does not take (array(float64, 1d, C), int64"),
        (lambda a: cuda.selp(True, a, 2), "cuda.selp does not take (bool, array(float64"),
        (lambda a: cuda.selp(True, 1), "cuda.selp"),
        (lambda a: cuda.popc(1.5), "popc does not take (float64)"),
        (lambda a: a[0].bit_count(), "float64 has no attribute 'bit_count'"),
    ],
)
def test_what_is_refused(function, words):
    with pytest.raises(KernelTypeError) as caught:
        compile_function(function, (types.float64[::1],), CompileOptions(), is_kernel=False)
    assert words in caught.value.problem


def test_the_host_has_no_selection():
    with pytest.raises(PyGpuLibError, match=r"cuda\.selp has a value only inside a kernel"):
        cuda.selp(True, 1, 2)
