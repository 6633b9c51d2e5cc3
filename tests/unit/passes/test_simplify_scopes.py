"""Dissolving scopes."""

import re

import numpy as np
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.printer import format_function
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.simplify_scopes import simplify_scopes
from tests.helpers.ir_programs import assert_same, programs
from tests.helpers.sample_ir import array_params, function_of, mandelbrot

I64 = dtypes.int64


def nested_scopes(early: bool):
    """Store what an inlined function returns that calls another one, which may return early."""
    b = Builder()
    target = array_params("target")
    tid = b.cast(b.register(ir.Register.TID_X), I64)
    with b.collect() as outer:
        with b.collect() as inner:
            if early:
                odd = b.cast(tid, dtypes.bool_)
                leave = ir.Block((), (ir.Return((tid,)),))
                b.append(ir.If(odd, leave, ir.Block((), (ir.Yield(()),)), ()))
            b.append(ir.Return((b.binary(ir.BinaryKind.MULTIPLY, tid, tid),)))
        square = ir.Value(I64)
        b.append(ir.Scope(ir.Block((), tuple(inner)), (square,), "square"))
        b.append(ir.Return((square, b.binary(ir.BinaryKind.ADD, square, tid))))
    results = (ir.Value(I64), ir.Value(I64))
    b.append(ir.Scope(ir.Block((), tuple(outer)), results, "sums"))
    b.store(target[0], tid, b.binary(ir.BinaryKind.SUBTRACT, *results), 8)
    return function_of(b, target)


def scope_names(function):
    return [op.name for op in walk(function.body) if isinstance(op, ir.Scope)]


def test_scopes_that_only_end_in_return_dissolve():
    after = simplify_scopes(nested_scopes(early=False))
    verify(after)
    assert scope_names(after) == []
    assert [type(op).__name__ for op in after.body.ops] == [
        "ReadRegister", "Cast", "Binary", "Binary", "Binary", "Store", "Return",
    ]  # fmt: skip
    square, total, difference, store = after.body.ops[2:6]
    assert total.left is square.result
    assert (difference.left, difference.right) == (square.result, total.result)
    assert store.value is difference.result


EARLY_RETURN = """
  %: int64 = if %.tid.x then {
    yield (%.tid.x)
  } else {
    %: int64 = binary %.tid.x %.tid.x kind=mul
    yield (%)
  }
"""


def test_an_early_return_becomes_a_branch():
    before = nested_scopes(early=True)
    after = simplify_scopes(before)
    verify(after)
    assert scope_names(after) == []
    text = re.sub(r"%\d+", "%", format_function(after))
    assert EARLY_RETURN in text
    targets = [np.zeros(9, np.int64) for _ in range(2)]
    for function, target in zip((before, after), targets, strict=True):
        run(function, 1, 9, [target])
    np.testing.assert_array_equal(*targets)


def leave(condition, *values):
    """Return early under a condition."""
    return ir.If(condition, ir.Block((), (ir.Return(values),)), ir.Block((), (ir.Yield(()),)), ())


def scope_function(make_ops, result_count=0):
    """A kernel whose body is a scope of ``make_ops(p, q)``, two truth values."""
    p, q = ir.Value(dtypes.bool_, "p"), ir.Value(dtypes.bool_, "q")
    results = tuple(ir.Value(dtypes.bool_) for _ in range(result_count))
    scope = ir.Scope(ir.Block((), tuple(make_ops(p, q))), results, "inlined")
    function = ir.Function("kernel", (p, q), ir.Block((), (scope, ir.Return(()))))
    verify(function)
    return function


def test_several_returns_nest():
    before = scope_function(
        lambda p, q: (leave(p, q), leave(q, p), ir.Return((p,))), result_count=1
    )
    after = simplify_scopes(before)
    verify(after)
    assert scope_names(after) == []
    assert sum(isinstance(op, ir.If) for op in walk(after.body)) == 2


def test_two_returning_branches_merge():
    def make(p, q):
        blocks = [ir.Block((), (ir.Return((value,)),)) for value in (p, q)]
        return ir.If(p, *blocks, ()), ir.Unreachable()

    after = simplify_scopes(scope_function(make, result_count=1))
    verify(after)
    branch = after.body.ops[0]
    assert [block.terminator.values for block in (branch.then_block, branch.else_block)] == [
        (after.params[0],),
        (after.params[1],),
    ]


def test_the_rest_of_a_scope_is_not_doubled():
    def make(p, q):
        both = [ir.Block((), (leave(q), ir.Yield(()))) for _ in range(2)]
        return ir.If(p, *both, ()), ir.Return(())

    before = scope_function(make)
    assert simplify_scopes(before) is before


def test_a_barrier_stays_outside_of_branches():
    barrier = ir.Barrier(ir.BarrierKind.BLOCK)
    before = scope_function(lambda p, q: (leave(p), barrier, ir.Return(())))
    assert simplify_scopes(before) is before
    after = simplify_scopes(scope_function(lambda p, q: (barrier, leave(p), ir.Return(()))))
    verify(after)
    assert scope_names(after) == []


def test_a_loop_may_return_early():
    before = mandelbrot()
    assert simplify_scopes(before) is before


@given(programs())
@settings(max_examples=20, deadline=None)
def test_random_programs_stay_the_same(program):
    after = simplify_scopes(program.function)
    verify(after)
    assert_same(program, after)
