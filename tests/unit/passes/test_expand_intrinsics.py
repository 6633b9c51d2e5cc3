"""Composed intrinsics are replaced by the code of the functions that compose them."""

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.jit import types
from pygpulib.jit.backends.interp import run
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.intrinsic import LLVM, Compose, Intrinsic, Signature
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.passes.expand_intrinsics import expand_intrinsics
from tests.helpers.sample_ir import array_params, function_of

F32, F64, I32, I64 = dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64


def record(name, function, result=None, lowering=None):
    """Make an intrinsic of two operands of one type that a function composes."""

    def rule(operands):
        return Signature(operands, (result or operands[0],))

    how = lowering or Compose(dict.fromkeys((F32, F64, I32, I64), function))
    return Intrinsic(name, function, rule, ir.Effect.NONE, how, how)


def mix(x, y):
    return x * y + x


def pick(x, y):
    if x < y:
        return x
    return y - x


def add_up(x, y):
    total = x
    for _ in range(3):
        if total > y:
            return total
        total = total + y
    return total


MIX, PICK, ADD_UP = (record(f.__name__, f) for f in (mix, pick, add_up))


class Compiler:
    """The front end, counting its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, function, parameters):
        self.calls.append((function, parameters))
        return compile_function(function, parameters, CompileOptions(), is_kernel=False)


def kernel(*chain, dtype=F64, result=None):
    """A kernel ``out[tid] = chain[-1](... chain[0](x[tid], y[tid]) ..., y[tid])``."""
    b = Builder()
    arrays = [array_params(name) for name in ("x", "y", "out")]
    tid = b.cast(b.register(ir.Register.TID_X), I64)
    size = dtype.size_bytes
    value, y = (b.load(array[0], tid, size, dtype) for array in arrays[:2])
    for intrinsic in chain:
        new = ir.Value(result or dtype)
        b.append(ir.Call(intrinsic, (value, y), (new,)))
        value = new
    b.store(arrays[2][0], tid, value, value.type.size_bytes)
    return function_of(b, tuple(param for params in arrays for param in params))


def expand(function, compiler=None, **keywords):
    after = expand_intrinsics(
        function, lambda intrinsic: intrinsic.cpu, compiler or Compiler(), **keywords
    )
    verify(after)
    return after


def evaluate(function, dtype=F64, result=None):
    x, y = (np.random.default_rng(3).normal(0, 9, (2, 20))).astype(dtype.numpy)
    out = np.zeros(20, (result or dtype).numpy)
    run(function, 1, 20, [x, y, out])
    return x, y, out


def has(function, kind):
    return any(isinstance(op, kind) for op in walk(function.body))


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_a_straight_function_leaves_no_scope_and_computes_the_same(dtype):
    after = expand(kernel(MIX, dtype=dtype))
    assert not has(after, ir.Call)
    assert not has(after, ir.Scope)
    x, y, out = evaluate(after, dtype)
    np.testing.assert_array_equal(out, mix(x, y))


@pytest.mark.parametrize(("intrinsic", "scopes"), [(PICK, []), (ADD_UP, ["add_up"])])
def test_only_a_return_from_inside_a_loop_needs_a_scope(intrinsic, scopes):
    after = expand(kernel(intrinsic))
    assert [op.name for op in walk(after.body) if isinstance(op, ir.Scope)] == scopes
    x, y, out = evaluate(after)
    expected = [intrinsic.reference(*pair) for pair in zip(x, y, strict=True)]
    np.testing.assert_array_equal(out, expected)


def test_several_calls_in_a_row():
    after = expand(kernel(MIX, PICK, ADD_UP, MIX, PICK))
    x, y, out = evaluate(after)
    expected = []
    for value, second in zip(x, y, strict=True):
        for function in (mix, pick, add_up, mix, pick):
            value = function(value, second)  # noqa: PLW2901
        expected.append(value)
    np.testing.assert_array_equal(out, expected)


def test_all_arithmetic_is_strict():
    before = kernel(MIX, PICK)
    inserted = {id(op) for op in walk(before.body)}
    after = expand(before)
    strict = [op.strict for op in walk(after.body)
              if isinstance(op, ir.Binary) and id(op) not in inserted]  # fmt: skip
    assert len(strict) > 2
    assert all(strict)


def test_each_function_is_compiled_once_for_its_types():
    compiler, bodies = Compiler(), {}
    expand(kernel(MIX, MIX, PICK), compiler, bodies=bodies)
    expand(kernel(MIX), compiler, bodies=bodies)
    assert [function.__name__ for function, _ in compiler.calls] == ["mix", "pick"]
    expand(kernel(MIX, dtype=F32), compiler, bodies=bodies)
    assert compiler.calls[-1] == (mix, (types.float32, types.float32))


def test_other_lowerings_are_left_alone():
    before = kernel(record("fused", mix, lowering=LLVM("fused")))
    assert expand(before) is before


def test_composed_functions_may_use_composed_intrinsics():
    def compile_nested(function, parameters):
        if function is not outer:
            return compile_function(function, parameters, CompileOptions(), is_kernel=False)
        operands = tuple(ir.Value(F64) for _ in range(2))
        first, second = ir.Value(F64), ir.Value(F64)
        ops = (
            ir.Call(MIX, operands, (first,)),
            ir.Call(PICK, (first, operands[1]), (second,)),
            ir.Return((second,)),
        )
        return ir.Function("outer", operands, ir.Block((), ops), (F64,))

    def outer(x, y):
        return pick(mix(x, y), y)

    after = expand(kernel(record("outer", outer)), compile_nested)
    assert not has(after, ir.Call)
    x, y, out = evaluate(after)
    np.testing.assert_array_equal(out, [outer(*pair) for pair in zip(x, y, strict=True)])


@pytest.mark.parametrize("function", [mix, pick])
def test_results_get_the_type_that_the_intrinsic_has(function):
    narrow = record("narrow", function, result=I32)
    after = expand(kernel(narrow, dtype=I64, result=I32))
    x, y, out = evaluate(after, I64, I32)
    assert list(out) == [function(*pair) for pair in zip(x, y, strict=True)]
