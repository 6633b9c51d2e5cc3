"""What leaves a loop, and how far it goes."""

from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.printer import format_function
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.hoist_invariants import hoist_invariants
from tests.helpers.ir_programs import assert_same, programs
from tests.helpers.sample_ir import array_params, function_of

K = ir.BinaryKind
I64 = dtypes.int64


def loop(b, make_body):
    """Append ``for i in range(3)``."""
    zero, three, one = (b.constant(number, I64) for number in (0, 3, 1))
    i = ir.Value(I64, "i")
    with b.collect() as ops:
        make_body(i)
        b.append(ir.Continue(()))
    b.append(ir.For(zero, three, one, (), ir.Block((i,), tuple(ops)), ()))


def branch(b, condition, make_then):
    with b.collect() as ops:
        make_then()
        b.append(ir.Yield(()))
    b.append(ir.If(condition, ir.Block((), tuple(ops)), ir.Block((), (ir.Yield(()),)), ()))


def build(make_body):
    """A kernel with two loops around ``make_body(b, array, n, i, j)``."""
    b = Builder()
    array, n = array_params("array"), ir.Value(I64, "n")
    loop(b, lambda i: loop(b, lambda j: make_body(b, array[0], n, i, j)))
    return function_of(b, (*array, n))


def positions(function):
    """By the hint of each result: around how many loops it is computed."""
    found = {}

    def visit(block, depth):
        for op in block.ops:
            for value in getattr(op, "results", None) or [getattr(op, "result", None)]:
                if value is not None and value.hint:
                    found[value.hint] = depth
            for name in ("body", "then_block", "else_block"):
                inner = getattr(op, name, None)
                if inner is not None:
                    visit(inner, depth + (name == "body"))

    visit(function.body, 0)
    return found


def named(b, kind, left, right, hint):
    result = ir.Value(left.type, hint)
    b.append(ir.Binary(kind, left, right, result))
    return result


def test_operations_go_as_far_out_as_their_operands_allow():
    def body(b, array, n, i, j):
        far = named(b, K.MULTIPLY, n, n, "far")
        near = named(b, K.ADD, far, i, "near")
        stays = named(b, K.ADD, near, j, "stays")
        b.store(array, b.constant(0, I64), stays, 8)

    before = build(body)
    after = hoist_invariants(before)
    verify(after)
    assert positions(before) == {"far": 2, "near": 2, "stays": 2}
    assert positions(after) == {"far": 0, "near": 1, "stays": 2}
    # The constants have left too: the inner loop is down to what depends on it.
    text = format_function(after)
    assert text.count("const") == 3 + 3 + 1
    assert "const" not in text[text.index("for") :]


def test_memory_is_accessed_where_it_was():
    def body(b, array, n, i, j):
        first = ir.Value(I64, "first")
        b.append(ir.Load(array, n, 8, first, invariant=True))
        b.store(array, b.constant(0, I64), first, 8)

    assert positions(hoist_invariants(build(body))) == {"first": 2}


def test_a_guarded_operation_moves_only_if_it_is_cheap():
    def body(b, array, n, i, j):
        condition = b.compare(ir.CompareKind.LT, j, n)

        def guarded():
            cheap = named(b, K.MULTIPLY, n, n, "cheap")
            dear = named(b, K.FLOOR_DIVIDE, n, cheap, "dear")
            b.store(array, b.constant(0, I64), dear, 8)

        named(b, K.FLOOR_DIVIDE, n, n, "unguarded")
        branch(b, condition, guarded)

    assert positions(hoist_invariants(build(body))) == {"cheap": 0, "dear": 2, "unguarded": 0}


def test_nothing_moves_out_of_a_branch_without_a_loop():
    b = Builder()
    array, n = array_params("array"), ir.Value(I64, "n")
    branch(b, b.cast(n, dtypes.bool_), lambda: named(b, K.ADD, n, n, "sum"))
    function = function_of(b, (*array, n))
    assert hoist_invariants(function) is function


@given(programs())
@settings(max_examples=30, deadline=None)
def test_random_programs_stay_the_same(program):
    after = hoist_invariants(program.function)
    verify(after)
    assert_same(program, after)
