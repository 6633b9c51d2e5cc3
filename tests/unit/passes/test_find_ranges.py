"""Ranges hold in every run, and say what a reader of the program would say."""

import numpy as np
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.rewrite import rebuild_function, results_of, walk
from pygpulib.jit.passes.find_ranges import find_ranges
from pygpulib.jit.passes.intervals import binary_interval
from tests.helpers.ir_programs import programs
from tests.helpers.sample_ir import array_params, function_of

K, C, R = ir.BinaryKind, ir.CompareKind, ir.Register
I32, I64, U8 = dtypes.int32, dtypes.int64, dtypes.uint8
MAX64 = (1 << 63) - 1


def with_checks(function):
    """Return the function with an exception behind every result that is outside its range."""
    ranges = find_ranges(function)
    count = 0

    def check(op):
        nonlocal count
        b = Builder()
        with b.collect() as ops:
            b.append(op)
            for value in results_of(op):
                if value not in ranges or value.type == dtypes.bool_:
                    continue
                count += 1
                low, high = (b.constant(bound, value.type) for bound in ranges[value])
                bad = b.binary(K.OR, b.compare(C.LT, value, low), b.compare(C.GT, value, high))
                fail = ir.Block((), (ir.Raise(0),))
                b.append(ir.If(bad, fail, ir.Block((), (ir.Yield(()),)), ()))
        return ops if len(ops) > 1 else None

    checked = rebuild_function(function, check)
    error = ir.ErrorEntry(ValueError, "outside its range", None)
    return ir.Function(function.name, function.params, checked.body, errors=(error,)), count


@given(programs())
@settings(max_examples=25, deadline=None)
def test_ranges_of_random_programs_hold(program):
    checked, count = with_checks(program.function)
    result = run(checked, program.grid, program.block, program.copy_arguments())
    assert result.fault is None, program
    assert count > 0


def test_a_wrong_range_would_be_noticed():
    b = Builder()
    n = ir.Value(I64, "n")
    b.binary(K.ADD, n, b.constant(1, I64))
    function = function_of(b, (n,))
    lying = ir.Function("kernel", (n,), function.body, param_ranges={n: (0, 9)})
    checked, _ = with_checks(lying)
    assert run(checked, 1, 1, [5]).fault is None
    assert run(checked, 1, 1, [50]).fault is not None


class Program:
    """A program under construction whose loads and stores go to two arrays."""

    def __init__(self):
        self.b = Builder()
        self.source, self.target = array_params("source"), array_params("target")
        self.n = ir.Value(I64, "n")

    def number(self, number):
        return self.b.constant(number, I64)

    def grid(self):
        """``cuda.grid(1)`` as the front end computes it."""
        ctaid, ntid, tid = (
            self.b.cast(self.b.register(register), I64)
            for register in (R.CTAID_X, R.NTID_X, R.TID_X)
        )
        return self.b.binary(K.ADD, self.b.binary(K.MULTIPLY, ctaid, ntid), tid)

    def load(self, dtype=I64):
        return self.b.load(self.source[0], self.number(0), dtype.size_bytes, dtype)

    def store(self, value):
        self.b.store(self.target[0], self.number(0), value, 8)

    def branch(self, condition, then=None, otherwise=None):
        """Append an ``If``; what a branch leaves by is its last operation."""
        blocks = []
        for make in (then, otherwise):
            with self.b.collect() as ops:
                if make:
                    make()
                if not self.b.is_terminated:
                    self.b.append(ir.Yield(()))
            blocks.append(ir.Block((), tuple(ops)))
        self.b.append(ir.If(condition, blocks[0], blocks[1], ()))

    def ranges(self, **known):
        function = function_of(self.b, (*self.source, *self.target, self.n))
        params = {param.hint: param for param in function.params}
        facts = {params[name]: bounds for name, bounds in known.items()}
        return find_ranges(
            ir.Function(function.name, function.params, function.body, param_ranges=facts)
        )


def test_the_position_in_the_grid_is_not_negative():
    p = Program()
    i = p.grid()
    assert p.ranges()[i] == (0, ((1 << 31) - 2) * 1024 + 1023)


def test_narrow_loads_and_arithmetic():
    p = Program()
    byte = p.b.cast(p.load(U8), I64)
    weighted = p.b.binary(K.MULTIPLY, byte, p.number(77))
    shifted = p.b.binary(K.SHIFT_RIGHT, weighted, p.number(8))
    ranges = p.ranges()
    assert ranges[byte] == (0, 255)
    assert ranges[weighted] == (0, 255 * 77)
    assert ranges[shifted] == (0, 76)


def test_a_condition_narrows_both_branches():
    p = Program()
    x = p.load()
    found = {}

    def remember(name, offset):
        def make():
            found[name] = p.b.binary(K.ADD, x, p.number(offset))

        return make

    p.branch(p.b.compare(C.LT, p.number(0), x), remember("then", -1), remember("else", 0))
    ranges = p.ranges()
    assert ranges[found["then"]] == (0, MAX64 - 1)
    assert ranges[found["else"]] == (-MAX64 - 1, 0)
    assert ranges[x] == (-MAX64 - 1, MAX64)


def test_behind_an_early_return_its_condition_does_not_hold():
    p = Program()
    x = p.load()
    outside = p.b.binary(
        K.OR, p.b.compare(C.LT, x, p.number(0)), p.b.compare(C.GE, x, p.number(10))
    )
    p.branch(outside, lambda: p.b.append(ir.Return(())))
    twice = p.b.binary(K.ADD, x, x)
    assert p.ranges()[twice] == (0, 18)


def test_a_short_circuit_holds_both_conditions():
    p = Program()
    x = p.load()
    both = ir.Value(dtypes.bool_)
    with p.b.collect() as then_ops:
        p.b.append(ir.Yield((p.b.compare(C.LE, x, p.number(5)),)))
    with p.b.collect() as else_ops:
        p.b.append(ir.Yield((p.b.constant(False, dtypes.bool_),)))
    first = p.b.compare(C.GE, x, p.number(3))
    blocks = [ir.Block((), tuple(ops)) for ops in (then_ops, else_ops)]
    p.b.append(ir.If(first, *blocks, (both,)))
    found = []
    p.branch(both, lambda: found.append(p.b.unary(ir.UnaryKind.NEGATE, x)))
    assert p.ranges()[found[0]] == (-5, -3)


def test_a_condition_on_a_cast_is_one_on_its_operand():
    p = Program()
    x = p.load(I32)
    found = []
    condition = p.b.compare(C.GE, p.b.cast(x, I64), p.number(7))
    p.branch(condition, lambda: found.append(p.b.cast(x, dtypes.float64)))
    p.branch(condition, lambda: found.append(p.b.binary(K.MINIMUM, x, p.b.constant(9, I32))))
    assert p.ranges()[found[1]] == (7, 9)


def test_a_selection_knows_its_condition():
    p = Program()
    x = p.load()
    positive = p.b.select(p.b.compare(C.GT, x, p.number(0)), x, p.number(0))
    assert p.ranges()[positive] == (0, MAX64)


def loop(p, bounds, inits, make_body):
    """Append a ``For`` over carried int64 values; return what the body computes and results."""
    params = (ir.Value(I64, "i"), *(ir.Value(I64) for _ in inits))
    with p.b.collect() as ops:
        nexts = make_body(*params)
        p.b.append(ir.Continue(tuple(nexts)))
    results = tuple(ir.Value(I64) for _ in inits)
    start, stop, step = bounds
    p.b.append(ir.For(start, stop, step, tuple(inits), ir.Block(params, tuple(ops)), results))
    return params, results


def test_induction_variables_lie_between_start_and_stop():
    p = Program()
    up, _ = loop(p, [p.grid(), p.n, p.b.cast(p.b.register(R.NTID_X), I64)], [], lambda i: ())
    down, _ = loop(p, [p.number(9), p.number(-1), p.number(-2)], [], lambda i: ())
    either, _ = loop(p, [p.number(0), p.number(10), p.load()], [], lambda i: ())
    never, _ = loop(p, [p.number(5), p.number(0), p.number(1)], [], lambda i: ())
    ranges = p.ranges(n=(0, 1000))
    assert ranges[up[0]] == (0, 999)
    assert ranges[down[0]] == (0, 9)
    assert ranges[either[0]] == (0, 11 - 2)
    assert ranges[never[0]] == (5, 5)


def test_carried_values_widen_only_where_they_grow():
    p = Program()

    def body(i, counter, remainder, copy):
        mixed = p.b.binary(K.MULTIPLY, p.b.binary(K.ADD, remainder, i), p.number(31))
        return [
            p.b.binary(K.ADD, counter, p.number(1)),
            p.b.binary(K.MODULO, mixed, p.number(100)),
            copy,
        ]

    bounds = [p.number(0), p.n, p.number(1)]
    params, results = loop(p, bounds, [p.number(n) for n in (0, 7, 4)], body)
    ranges = p.ranges()
    assert ranges[params[1]] == (0, MAX64)
    assert ranges[params[2]] == ranges[results[1]] == (0, 99)
    assert ranges[params[3]] == ranges[results[2]] == (4, 4)


def test_a_guard_bounds_the_counter_of_a_while_loop():
    p = Program()
    i = ir.Value(I64, "i")
    found = []
    with p.b.collect() as ops:
        leave = ir.Block((), (ir.Break((i,)),))
        inside = p.b.compare(C.LT, i, p.n)
        p.b.append(ir.If(inside, ir.Block((), (ir.Yield(()),)), leave, ()))
        found.append(p.b.binary(K.SHIFT_LEFT, i, p.number(0)))
        p.b.append(ir.Continue((p.b.binary(K.ADD, i, p.number(16)),)))
    last = ir.Value(I64)
    p.b.append(ir.Loop((p.grid(),), ir.Block((i,), tuple(ops)), (last,)))
    ranges = p.ranges(n=(0, 1 << 40))
    assert ranges[found[0]] == (0, (1 << 40) - 1)
    assert ranges[last].low == 0


def test_a_counter_is_bounded_by_its_limit_not_by_its_type():
    p = Program()
    count = ir.Value(I64, "count")
    with p.b.collect() as ops:
        leave = ir.Block((), (ir.Break(()),))
        goes_on = p.b.binary(
            K.AND,
            p.b.compare(C.NE, p.load(), p.number(1)),
            p.b.compare(C.LT, count, p.number(200)),
        )
        p.b.append(ir.If(goes_on, ir.Block((), (ir.Yield(()),)), leave, ()))
        p.b.append(ir.Continue((p.b.binary(K.ADD, count, p.number(1)),)))
    p.b.append(ir.Loop((p.number(0),), ir.Block((count,), tuple(ops)), ()))
    assert p.ranges()[count] == (0, 200)


def small_loop(p, inits, make_body, count=3):
    bounds = [p.number(-1), p.number(count - 1), p.number(1)]
    return loop(p, bounds, inits, make_body)


def test_sums_in_short_loops_are_bounded():
    p = Program()
    byte = p.b.cast(p.load(U8), I64)

    def conditionally(total):
        result = ir.Value(I64)
        with p.b.collect() as then_ops:
            p.b.append(ir.Yield((p.b.binary(K.ADD, byte, total),)))
        blocks = [ir.Block((), tuple(then_ops)), ir.Block((), (ir.Yield((total,)),))]
        p.b.append(ir.If(p.b.compare(C.GT, byte, p.number(9)), *blocks, (result,)))
        return result

    def outer(i, total):
        _, results = small_loop(p, [total], lambda j, inner: [conditionally(inner)])
        return results

    _, results = small_loop(p, [p.number(7)], outer, count=4)
    assert p.ranges()[results[0]] == (7, 7 + 4 * 3 * 255)


def test_a_sum_of_what_depends_on_the_sum_is_not_bounded():
    p = Program()
    byte = p.b.cast(p.load(U8), I64)

    def doubled(i, total):
        return [p.b.binary(K.ADD, total, total)]

    def coupled(i, first, second):
        return [p.b.binary(K.ADD, first, second), p.b.binary(K.ADD, second, byte)]

    def guarded(i, total):
        """Add ``byte`` where it is less than the sum: the guard must not count as a bound."""
        result = ir.Value(I64)
        with p.b.collect() as then_ops:
            p.b.append(ir.Yield((p.b.binary(K.ADD, total, byte),)))
        blocks = [ir.Block((), tuple(then_ops)), ir.Block((), (ir.Yield((total,)),))]
        p.b.append(ir.If(p.b.compare(C.LT, byte, total), *blocks, (result,)))
        return [result]

    _, one = small_loop(p, [p.number(1)], doubled)
    _, two = small_loop(p, [p.number(1), p.number(1)], coupled)
    _, three = small_loop(p, [p.number(5)], guarded)
    ranges = p.ranges()
    assert ranges[one[0]] == (-MAX64 - 1, MAX64)
    assert ranges[two[0]].high == MAX64
    assert ranges[two[1]] == (1, 1 + 3 * 255)
    assert ranges[three[0]] == (5, 5 + 3 * 255)


def test_results_of_scopes_join_their_returns():
    p = Program()
    with p.b.collect() as ops:
        odd = p.b.cast(p.load(), dtypes.bool_)
        p.branch(odd, lambda: p.b.append(ir.Return((p.number(-3),))))
        p.b.append(ir.Return((p.number(12),)))
    result = ir.Value(I64)
    p.b.append(ir.Scope(ir.Block((), tuple(ops)), (result,)))
    assert p.ranges()[result] == (-3, 12)


def test_every_register_has_a_range():
    b = Builder()
    values = [b.register(register) for register in R]
    ranges = find_ranges(function_of(b, ()))
    for value in values:
        assert 0 <= ranges[value].low <= ranges[value].high < 1 << 31


def test_where_nothing_is_known_the_type_says_it():
    p = Program()
    x = p.load(dtypes.int16)
    ranges = p.ranges()
    assert x not in ranges
    assert ranges[x] == (-(1 << 15), (1 << 15) - 1)


def test_nested_loops_are_not_walked_again_and_again(monkeypatch):
    p = Program()

    def nest(depth, value):
        if depth == 0:
            return p.b.binary(K.ADD, value, p.number(1))
        bounds = [p.number(0), p.n, p.number(1)]
        _, results = loop(p, bounds, [value], lambda i, x: [nest(depth - 1, x)])
        return results[0]

    p.store(nest(6, p.number(0)))
    function = function_of(p.b, (*p.source, *p.target, p.n))
    adds = [op for op in walk(function.body) if isinstance(op, ir.Binary)]
    visits = 0

    def count_visits(*arguments):
        nonlocal visits
        visits += 1
        return binary_interval(*arguments)

    monkeypatch.setattr("pygpulib.jit.passes.find_ranges.binary_interval", count_visits)
    assert find_ranges(function)[adds[0].result] == (-MAX64 - 1, MAX64)
    # With every level from scratch it would be more than 3 ** 6.
    assert visits < 30


def test_checks_are_not_vacuous():
    """The interpreter runs the checks that ``with_checks`` adds."""
    b = Builder()
    array = array_params("array")
    value = b.cast(b.load(array[0], b.constant(0, I64), 1, U8), I64)
    b.store(array[0], b.constant(1, I64), b.cast(value, U8), 1)
    checked, count = with_checks(function_of(b, array))
    data = np.array([200, 0], np.uint8)
    assert run(checked, 1, 1, [data]).fault is None
    assert data[1] == 200
    assert count == 4
