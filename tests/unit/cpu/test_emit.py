"""Random programs give the same on the CPU back end as in the interpreter, for every variant."""

from __future__ import annotations

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pygpulib.jit.backends.cpu.target import CpuVariant
from tests.helpers.cpu_programs import runner
from tests.helpers.ir_programs import Program, assert_same, build_program, programs

WIDTHS = (1, 2, 4, 8, 16, 32)


def variant_for(program: Program, axis: int, width: int) -> CpuVariant:
    return CpuVariant(axis, width, program.block[axis] % width == 0)


@given(programs(barriers=True, atomics=True), st.sampled_from(range(3)), st.sampled_from(WIDTHS))
def test_random_programs(program: Program, axis: int, width: int) -> None:
    assert_same(program, program.function, runner(variant_for(program, axis, width)))


@pytest.mark.parametrize("width", WIDTHS)
def test_seeds_at_every_width(width: int) -> None:
    for seed in range(8):
        program = build_program(random.Random(seed), barriers=True, atomics=True)
        assert_same(program, program.function, runner(variant_for(program, 0, width)))


@pytest.mark.fuzz
@given(st.integers(0, 1 << 32), st.sampled_from(range(3)), st.sampled_from(WIDTHS))
def test_many_random_programs(seed: int, axis: int, width: int) -> None:
    program = build_program(random.Random(seed), barriers=True, atomics=True)
    assert_same(program, program.function, runner(variant_for(program, axis, width)))
