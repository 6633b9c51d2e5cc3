"""Dissolving scopes."""

from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
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


def test_a_scope_with_an_early_return_stays_but_the_one_around_it_dissolves():
    after = simplify_scopes(nested_scopes(early=True))
    verify(after)
    assert scope_names(after) == ["square"]


def test_a_loop_may_return_early():
    before = mandelbrot()
    assert simplify_scopes(before) is before


@given(programs())
@settings(max_examples=20, deadline=None)
def test_random_programs_stay_the_same(program):
    after = simplify_scopes(program.function)
    verify(after)
    assert_same(program, after)
