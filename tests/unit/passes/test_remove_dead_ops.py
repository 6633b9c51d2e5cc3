import numpy as np
import pytest
from hypothesis import given

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import Emit, Intrinsic, Signature
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from tests.helpers.ir_kernels import Arrays, block, value
from tests.helpers.ir_programs import Program, assert_same, programs

B8, I32, I64 = dtypes.bool_, dtypes.int32, dtypes.int64
ADD = ir.BinaryKind.ADD


def clean(kernel: Arrays, *arrays: np.ndarray) -> ir.Function:
    """Remove dead operations, and check that the results are the same."""
    function = kernel.function()
    cleaned = remove_dead_ops(function)
    verify(cleaned)
    arguments = arrays or tuple(np.arange(4).astype(dtype.numpy) for dtype in kernel.types)
    verify(function)
    assert_same(Program(function, (1, 1, 1), (4, 1, 1), arguments), cleaned)
    return cleaned


def names(function: ir.Function) -> list[str]:
    return [type(op).__name__ for op in walk(function.body)]


def find(function: ir.Function, op_class: type) -> ir.Op:
    (op,) = (op for op in walk(function.body) if isinstance(op, op_class))
    return op


def test_unused_values_loads_and_allocations_go():
    kernel = Arrays(I32)
    x = kernel.load(0)
    kernel.b.binary(ADD, x, x)
    kernel.b.append(
        ir.Allocate(ir.AddressSpace.LOCAL, 4, 4, value(ir.Pointer(ir.AddressSpace.LOCAL)))
    )
    kernel.b.append(ir.ConstantData(np.zeros(3), value(ir.Pointer())))
    assert names(clean(kernel)) == ["Return"]


def intrinsic(effect: ir.Effect) -> Intrinsic:
    signature = Signature((), (I32,))
    return Intrinsic("test", lambda: 1, lambda _: signature, effect, Emit(""), Emit(""))


@pytest.mark.parametrize(
    ("effect", "is_kept"),
    [
        (ir.Effect.NONE, False),
        (ir.Effect.READ, False),
        (ir.Effect.WRITE, True),
    ],
)
def test_unused_intrinsic_goes_unless_it_has_an_effect(effect, is_kept):
    kernel = Arrays(I32)
    kernel.b.append(ir.Call(intrinsic(effect), (), (value(I32),)))
    assert ("Call" in names(clean(kernel))) == is_kept


def test_effects_stay_although_nobody_reads_their_results():
    kernel = Arrays(I32)
    b = kernel.b
    one = b.constant(1, I32)
    b.append(ir.Barrier(ir.BarrierKind.BLOCK_OR, one, (value(I32),)))
    b.append(ir.Fence(ir.FenceScope.DEVICE))
    zero = b.constant(0, I64)
    b.append(ir.Atomic(ir.AtomicKind.ADD, kernel.params[0], zero, one, None, 4, value(I32)))
    b.append(ir.Print(("x",), ()))
    assert names(clean(kernel)) == [
        "Const",
        "Barrier",
        "Fence",
        "Const",
        "Atomic",
        "Print",
        "Return",
    ]


def two_results(kernel: Arrays) -> tuple[ir.Value, ir.Value]:
    """Append an If of two results over loads of array 1."""
    b = kernel.b
    x, y = kernel.load(1), kernel.load(1)
    results = (value(I32), value(I32))
    condition = b.compare(ir.CompareKind.LT, x, b.constant(2, I32))
    b.append(ir.If(condition, block([ir.Yield((x, y))]), block([ir.Yield((y, x))]), results))
    return results


def test_unused_result_of_an_if_goes_with_its_yielded_values():
    kernel = Arrays(I32, I32)
    _, second = two_results(kernel)
    kernel.store(0, second)
    op = find(clean(kernel), ir.If)
    assert op.results == (second,)
    assert len(op.then_block.terminator.values) == len(op.else_block.terminator.values) == 1


def test_if_without_used_results_and_effects_goes_with_its_condition():
    kernel = Arrays(I32, I32)
    two_results(kernel)
    assert names(clean(kernel)) == ["Return"]


def for_loop(kernel: Arrays, writes: bool = False) -> tuple[ir.Value, ...]:
    """Append a loop of three carried values: a sum, what feeds the sum, and a self-made one."""
    b = kernel.b
    zero, one, limit = b.constant(0, I64), b.constant(1, I64), b.constant(5, I64)
    index, total, feed, lonely = (value(I64) for _ in range(4))
    with b.collect() as ops:
        if writes:
            kernel.store(0, index)
        b.append(
            ir.Continue(
                (b.binary(ADD, total, feed), b.binary(ADD, feed, index), b.binary(ADD, lonely, one))
            )
        )
    results = (value(I64, "total"), value(I64, "feed"), value(I64, "lonely"))
    body = block(ops, (index, total, feed, lonely))
    b.append(ir.For(zero, limit, one, (zero, one, zero), body, results))
    return results


def test_carried_value_that_only_feeds_itself_goes():
    kernel = Arrays(I64)
    total, feed, _ = for_loop(kernel)
    kernel.store(0, total)
    op = find(clean(kernel), ir.For)
    assert op.results == (total, feed)
    assert (len(op.inits), len(op.body.params), len(op.body.ops)) == (2, 3, 3)


def test_carried_values_go_although_the_loop_has_an_effect():
    kernel = Arrays(I64)
    for_loop(kernel, writes=True)
    op = find(clean(kernel), ir.For)
    assert op.results == op.inits == ()
    assert [type(inner) for inner in op.body.ops] == [ir.Store, ir.Continue]


def test_loop_that_surely_ends_goes_if_nothing_needs_it():
    kernel = Arrays(I64)
    for_loop(kernel)
    assert names(clean(kernel)) == ["Return"]


def test_value_that_only_a_break_brings_stays():
    kernel = Arrays(I64)
    b = kernel.b
    zero, one, limit = b.constant(0, I64), b.constant(1, I64), b.constant(9, I64)
    index, carried, result = value(I64), value(I64), value(I64)
    with b.collect() as ops:
        is_found = b.compare(ir.CompareKind.EQ, index, kernel.load(0))
        seven = b.constant(7, I64)
        kernel.when(is_found, lambda: b.append(ir.Break((b.binary(ADD, index, seven),))))
        b.append(ir.Continue((carried,)))
    b.append(ir.For(zero, limit, one, (zero,), block(ops, (index, carried)), (result,)))
    kernel.store(0, result)
    assert "Binary" in names(clean(kernel))


def loop(kernel: Arrays) -> tuple[ir.Value, ir.Value]:
    """Append ``while`` count up to the thread's number; results are the count and the double."""
    b = kernel.b
    zero, one = b.constant(0, I64), b.constant(1, I64)
    count, unused = value(I64), value(I64)
    with b.collect() as ops:
        is_over = b.compare(ir.CompareKind.GE, count, kernel.tid)
        double = b.binary(ADD, count, count)
        kernel.when(is_over, lambda: b.append(ir.Break((count, double))))
        b.append(ir.Continue((b.binary(ADD, count, one), b.binary(ADD, unused, one))))
    results = (value(I64), value(I64))
    b.append(ir.Loop((zero, zero), block(ops, (count, unused)), results))
    return results


def test_loop_of_unknown_length_stays_but_shrinks():
    kernel = Arrays(I64)
    loop(kernel)
    op = find(clean(kernel), ir.Loop)
    assert (len(op.inits), op.results) == (1, ())


def test_result_of_a_loop_and_its_carried_values_are_apart():
    kernel = Arrays(I64)
    _, double = loop(kernel)
    kernel.store(0, double)
    op = find(clean(kernel), ir.Loop)
    assert (len(op.inits), op.results) == (1, (double,))


def test_unused_result_of_a_scope_goes_with_the_returned_values():
    kernel = Arrays(I64, I64)
    b = kernel.b
    with b.collect() as ops:
        x = kernel.load(1)
        kernel.when(
            b.compare(ir.CompareKind.EQ, x, b.constant(2, I64)),
            lambda: b.append(ir.Return((x, b.constant(7, I64)))),
        )
        b.append(ir.Return((b.binary(ADD, x, x), b.constant(8, I64))))
    results = (value(I64), value(I64))
    b.append(ir.Scope(block(ops), results))
    kernel.store(0, results[1])
    cleaned = clean(kernel)
    assert find(cleaned, ir.Scope).results == (results[1],)
    assert "Binary" not in names(cleaned)


def test_what_decides_whether_a_scope_is_left_stays():
    kernel = Arrays(I64)
    b = kernel.b
    with b.collect() as ops:
        is_small = b.compare(ir.CompareKind.LT, kernel.tid, b.constant(2, I64))
        kernel.when(is_small, lambda: b.append(ir.Return(())))
        kernel.store(0, b.constant(9, I64))
        b.append(ir.Return(()))
    b.append(ir.Scope(block(ops), ()))
    assert "If" in names(clean(kernel))


def test_code_after_a_terminator_is_cut_off():
    kernel = Arrays(I64)
    kernel.store(0, kernel.tid)
    function = kernel.function()
    extra = (*function.body.ops, *function.body.ops[-2:])
    cleaned = remove_dead_ops(replace(function, body=block(extra)))
    verify(cleaned)
    assert names(cleaned) == names(function)


def leave_if(kernel: Arrays) -> None:
    leave = [block([ir.Return(())]), block([ir.Return(())])]
    kernel.b.append(ir.If(kernel.b.constant(True, B8), *leave, ()))


def leave_loop(kernel: Arrays) -> None:
    kernel.b.append(ir.Loop((), block([ir.Return(())]), ()))


def leave_scope(kernel: Arrays) -> None:
    kernel.b.append(ir.Scope(block([ir.Raise(0)]), (value(I64),)))


@pytest.mark.parametrize("leave", [leave_if, leave_loop, leave_scope])
def test_code_behind_a_construct_that_control_never_leaves_is_cut_off(leave):
    kernel = Arrays(I64)
    leave(kernel)
    kernel.store(0, kernel.tid)
    entry = ir.ErrorEntry(ValueError, "", None)
    cleaned = remove_dead_ops(kernel.function((entry,)))
    verify(cleaned)
    assert "Store" not in names(cleaned)
    assert isinstance(cleaned.body.terminator, ir.Unreachable)
    assert remove_dead_ops(cleaned) is cleaned


@given(programs())
def test_removal_changes_no_result_and_leaves_nothing_for_a_second_time(program):
    cleaned = remove_dead_ops(program.function)
    verify(cleaned)
    assert_same(program, cleaned)
    assert remove_dead_ops(cleaned) is cleaned
