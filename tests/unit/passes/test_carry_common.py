"""Loop-carried common subexpressions: what is carried, what is not, and that nothing changes."""

import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.carry_common import carry_common
from pygpulib.jit.passes.share_common import share_common
from tests.helpers.ir_programs import assert_same, programs
from tests.helpers.sample_ir import function_of, mandelbrot

F = dtypes.float64
K = ir.BinaryKind


def loops_of(function):
    return [op for op in walk(function.body) if isinstance(op, ir.For | ir.Loop)]


def kinds_in(function):
    """The kinds of the binary operations in the innermost loop, in order."""
    return [op.kind.value for op in walk(loops_of(function)[-1].body) if isinstance(op, ir.Binary)]


def compute_image(function, limit):
    re, im = np.random.default_rng(5).uniform(-2, 2, (2, 64))
    image = np.zeros(64, np.uint8)
    run(function, 1, 64, [re, im, image, limit])
    return image


def test_the_squares_of_the_mandelbrot_test_are_those_of_the_next_iteration():
    before = mandelbrot()
    after = carry_common(before)
    verify(after)
    assert kinds_in(before).count("mul") == 5
    # What is left: z.real * z.imag, and the two squares of the new z.
    assert kinds_in(after) == ["sub", "mul", "add", "add", "add", "mul", "mul", "add"]
    loop = loops_of(after)[0]
    assert len(loop.inits) == 4
    carried = loop.body.params[3:]
    next_squares = loop.body.terminator.values[2:]
    definitions = {op.result: op for op in walk(loop.body) if isinstance(op, ir.Binary)}
    for new, position in zip(next_squares, (0, 1), strict=True):
        square = definitions[new]
        assert square.kind is K.MULTIPLY
        assert square.left is square.right is loop.body.terminator.values[position]
    difference = next(op for op in walk(loop.body) if isinstance(op, ir.Binary))
    assert (difference.left, difference.right) == carried
    for limit in (0, 1, 20, 300):
        np.testing.assert_array_equal(compute_image(before, limit), compute_image(after, limit))


def iterate(make_body, count=5, numbers=2):
    """Build a kernel that iterates over carried floats; element ``tid`` of arrays in and out."""
    b = Builder()
    source, target = (ir.Value(ir.Pointer(), name) for name in ("source", "target"))
    shapes = [ir.Value(dtypes.int64) for _ in range(4)]
    tid = b.cast(b.register(ir.Register.TID_X), dtypes.int64)
    inits = tuple(b.load(source, b.binary(K.ADD, tid, b.constant(n, dtypes.int64)), 8, F)
                  for n in range(numbers))  # fmt: skip
    start, stop, step = (b.constant(n, dtypes.int64) for n in (0, count, 1))
    params = (ir.Value(dtypes.int64), *(ir.Value(F) for _ in inits))
    with b.collect() as ops:
        b.append(ir.Continue(make_body(b, *params[1:])))
    results = tuple(ir.Value(F) for _ in inits)
    b.append(ir.For(start, stop, step, inits, ir.Block(params, tuple(ops)), results))
    for number, result in enumerate(results):
        index = b.binary(K.ADD, tid, b.constant(8 * number, dtypes.int64))
        b.store(target, index, result, 8)
    return function_of(b, (source, *shapes[:2], target, *shapes[2:]))


def outcome(function):
    source, target = np.random.default_rng(1).normal(size=16), np.zeros(32)
    run(function, 1, 8, [source, target])
    return target


def check_carried(function, count):
    """Check how many values are carried in addition, and that the results are the same."""
    after = carry_common(function)
    verify(after)
    assert len(loops_of(after)[0].inits) - len(loops_of(function)[0].inits) == count
    np.testing.assert_array_equal(outcome(function), outcome(after))
    if count == 0:
        assert after is function
    return after


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_quotient_with_an_invariant_is_carried(count):
    def body(b, x, y):
        two = b.constant(2.0, F)
        half = b.binary(K.DIVIDE, x, two)
        new = b.binary(K.ADD, half, y)
        return new, b.binary(K.DIVIDE, new, two)

    check_carried(iterate(body, count), 1)


def test_operands_of_a_product_may_be_exchanged():
    def body(b, x, y):
        product = b.binary(K.MULTIPLY, x, y)
        new_x = b.binary(K.ADD, product, x)
        b.binary(K.MULTIPLY, y, new_x)
        return new_x, y

    check_carried(iterate(body), 1)


def test_operands_of_a_quotient_may_not():
    def body(b, x, y):
        quotient = b.binary(K.DIVIDE, x, y)
        new_x = b.binary(K.ADD, quotient, x)
        b.binary(K.DIVIDE, y, new_x)
        return new_x, y

    check_carried(iterate(body), 0)


def test_cheap_operations_are_computed_anew_but_lead_to_dear_ones():
    def sum_only(b, x, y):
        total = b.binary(K.ADD, x, y)
        new = b.binary(K.MULTIPLY, total, total)
        b.binary(K.ADD, new, y)
        return new, y

    check_carried(iterate(sum_only), 0)

    def norm(b, x, y, ahead):
        square = b.binary(K.ADD, b.binary(K.MULTIPLY, x, x), b.binary(K.MULTIPLY, y, y))
        return b.binary(K.DIVIDE, ahead, square)

    def scaled(b, x, y):
        one = b.constant(1.0, F)
        length = norm(b, x, y, one)
        new_x, new_y = b.binary(K.ADD, x, length), b.binary(K.SUBTRACT, y, length)
        norm(b, new_x, new_y, one)
        return new_x, new_y

    after = check_carried(iterate(scaled), 1)
    # Carrying the quotient leaves nobody who would need the squares of the old values.
    assert kinds_in(share_common(after)).count("div") == 1


def test_strictness_must_agree():
    def body(b, x, y):
        square = b.binary(K.MULTIPLY, x, x, strict=True)
        new = b.binary(K.ADD, square, y)
        b.binary(K.MULTIPLY, new, new)
        return new, y

    check_carried(iterate(body), 0)


def test_what_only_one_way_to_the_next_iteration_computes_is_not_carried():
    def build(both):
        def body(b, x, y):
            square = b.binary(K.MULTIPLY, x, x)
            new = b.binary(K.ADD, square, y)
            if both:
                b.binary(K.MULTIPLY, new, new)
            condition = b.compare(ir.CompareKind.LT, new, y)
            with b.collect() as early:
                other = b.binary(K.SUBTRACT, new, y)
                b.binary(K.MULTIPLY, other, other)
                b.append(ir.Continue((other, y)))
            rest = ir.Block((), (ir.Yield(()),))
            b.append(ir.If(condition, ir.Block((), tuple(early)), rest, ()))
            return new, y

        return iterate(body)

    check_carried(build(both=False), 0)
    after = check_carried(build(both=True), 1)
    continues = [op for op in walk(loops_of(after)[0].body) if isinstance(op, ir.Continue)]
    assert [len(op.values) for op in continues] == [3, 3]
    assert continues[0].values[2] is not continues[1].values[2]


def test_a_break_passes_something_for_the_new_result():
    def body(b, x, y):
        square = b.binary(K.MULTIPLY, x, x)
        new = b.binary(K.ADD, square, y)
        big = b.compare(ir.CompareKind.GT, b.binary(K.MULTIPLY, new, new), b.constant(9.0, F))
        out = ir.Block((), (ir.Break((y, x)),))
        b.append(ir.If(big, out, ir.Block((), (ir.Yield(()),)), ()))
        return new, y

    check_carried(iterate(body), 1)


def test_a_constant_of_the_body_is_repeated_before_the_loop():
    def body(b, x, y):
        scaled = b.binary(K.MULTIPLY, x, b.constant(0.3, F))
        new = b.binary(K.ADD, scaled, y)
        b.binary(K.MULTIPLY, new, b.constant(0.3, F))
        return new, y

    check_carried(share_common(iterate(body)), 1)


def test_a_product_of_the_inner_loop_is_not_available_outside():
    def body(b, x, y):
        square = b.binary(K.MULTIPLY, x, x)
        new = b.binary(K.ADD, square, y)
        bounds = [b.constant(n, dtypes.int64) for n in (0, 2, 1)]
        carried = ir.Value(F)
        with b.collect() as ops:
            b.binary(K.MULTIPLY, new, new)
            b.append(ir.Continue((b.binary(K.ADD, carried, new),)))
        inner = ir.Block((ir.Value(dtypes.int64), carried), tuple(ops))
        b.append(ir.For(*bounds, (y,), inner, (ir.Value(F),)))
        return new, y

    check_carried(iterate(body), 0)


def recurrence(source: random.Random):
    """A loop of random recurrences in which steps are repeated on the next values."""

    def body(b, *old):
        steps = [
            (source.choice((K.ADD, K.MULTIPLY, K.DIVIDE)), source.randrange(9), source.randrange(9))
            for _ in range(source.randint(1, 4))
        ]
        constants = [b.constant(number, F) for number in (0.5, 1.5)]

        def apply(values):
            pool = [*values, *constants]
            for kind, left, right in steps:
                pool.append(b.binary(kind, pool[left % len(pool)], pool[right % len(pool)]))
            return pool

        pool = apply(old)
        new = tuple(source.choice(pool) for _ in old)
        apply(new)
        return new

    return iterate(body, source.randrange(4))


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_recurrences_stay_the_same(seed):
    function = share_common(recurrence(random.Random(seed)))
    after = carry_common(function)
    verify(after)
    np.testing.assert_array_equal(outcome(function), outcome(after))


def test_recurrences_are_carried_often():
    changed = 0
    for seed in range(40):
        function = share_common(recurrence(random.Random(seed)))
        changed += carry_common(function) is not function
    assert changed > 5


@given(programs())
@settings(max_examples=20, deadline=None)
def test_random_programs_stay_the_same(program):
    after = carry_common(share_common(program.function))
    verify(after)
    assert_same(program, after)
