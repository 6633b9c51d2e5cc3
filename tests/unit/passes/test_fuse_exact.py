"""Doubling and adding in one rounding."""

import numpy as np
import pytest

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.intrinsics import floating  # noqa: F401 - files the intrinsic
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.fuse_exact import fuse_exact
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from tests.helpers.sample_ir import array_params, function_of

K = ir.BinaryKind


def kernel(make, dtype, contract=True):
    """A kernel ``out[tid] = make(b, x[tid], y[tid])``."""
    b = Builder()
    arrays = [array_params(name) for name in ("x", "y", "out")]
    tid = b.cast(b.register(ir.Register.TID_X), dtypes.int64)
    size = dtype.size_bytes
    x, y = (b.load(array[0], tid, size, dtype) for array in arrays[:2])
    b.store(arrays[2][0], tid, make(b, x, y), size)
    function = function_of(b, tuple(param for params in arrays for param in params))
    return replace(function, numeric=ir.NumericOptions(contract=contract))


def fused(function, **options):
    after = fuse_exact(function, **options)
    verify(after)
    return remove_dead_ops(after)


def names(function):
    return [
        op.intrinsic.name if isinstance(op, ir.Call) else op.kind.value
        for op in walk(function.body)
        if isinstance(op, ir.Call | ir.Binary)
    ]


def evaluate(function, dtype):
    numbers = np.random.default_rng(8).normal(0, 1, (2, 300)) * 10.0 ** np.arange(-3, 3).repeat(50)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
    x = np.concatenate([numbers[0], np.repeat(special, 7)]).astype(dtype.numpy)
    y = np.concatenate([numbers[1], np.tile(special, 7)]).astype(dtype.numpy)
    out = np.zeros_like(x)
    run(function, 1, len(x), [x, y, out])
    return out


def double_plus(b, x, y):
    return b.binary(K.ADD, b.binary(K.ADD, x, x), y)


def plus_double(b, x, y):
    return b.binary(K.ADD, y, b.binary(K.ADD, x, x))


def minus_double(b, x, y):
    return b.binary(K.SUBTRACT, y, b.binary(K.ADD, x, x))


def double_minus(b, x, y):
    return b.binary(K.SUBTRACT, b.binary(K.ADD, x, x), y)


def strict_double(b, x, y):
    return b.binary(K.ADD, b.binary(K.ADD, x, x, strict=True), y)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("make", [double_plus, plus_double, minus_double])
def test_doubling_and_adding_are_one_operation_with_the_same_bits(make, dtype):
    before = kernel(make, dtype)
    after = fused(before)
    assert names(after) == ["fma"]
    want, have = evaluate(before, dtype), evaluate(after, dtype)
    np.testing.assert_array_equal(want, have)
    signs = np.signbit(want) == np.signbit(have)
    assert np.all(signs | np.isnan(want))


@pytest.mark.parametrize("make", [double_minus, strict_double])
def test_other_forms_stay(make):
    before = kernel(make, dtypes.float64)
    assert fuse_exact(before) is before


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.int64])
def test_other_types_stay(dtype):
    before = kernel(double_plus, dtype)
    assert fuse_exact(before) is before


def test_without_permission_it_takes_an_explicit_wish():
    before = kernel(double_plus, dtypes.float64, contract=False)
    assert fuse_exact(before) is before
    assert names(fused(before, even_if_overflow=True)) == ["fma"]


def test_a_doubling_with_other_uses_stays_for_them():
    def make(b, x, y):
        twice = b.binary(K.ADD, x, x)
        return b.binary(K.MULTIPLY, b.binary(K.ADD, twice, y), twice)

    before = kernel(make, dtypes.float64)
    after = fused(before)
    assert names(after) == ["add", "fma", "mul"]
    np.testing.assert_array_equal(evaluate(before, dtypes.float64), evaluate(after, dtypes.float64))


def test_only_overflow_of_the_doubling_makes_a_difference():
    before = kernel(double_plus, dtypes.float64, contract=False)
    after = fused(before, even_if_overflow=True)
    big = np.array([1.5e308, 1.5e308])
    results = []
    for function in (before, after):
        out = np.zeros(2)
        run(function, 1, 2, [big, np.array([-1.5e308, 1.0]), out])
        results.append(out.tolist())
    assert results == [[np.inf, np.inf], [1.5e308, np.inf]]
