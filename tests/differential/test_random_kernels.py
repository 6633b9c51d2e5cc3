"""Random structured kernels by CPython, by the interpreter and by the back end."""

import copy
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pygpulib.errors import UndefinedNameError
from tests.helpers.kernel_programs import KernelProgram, make_program
from tests.helpers.ways import each_thread, run_interpreted, run_native

SEEDS = st.integers(0, 2**32)


def run_python(program: KernelProgram, rows: np.ndarray, xs: object, ys: object, u: object):
    """Run all threads; return which of them read no variable that has no value."""
    is_defined = np.ones(len(rows), bool)
    # Python's own numbers, because those of NumPy know fewer operators.
    columns = np.asarray(xs).tolist(), np.asarray(ys).tolist()
    for number, thread in enumerate(each_thread(program.grid, program.block)):
        with thread:
            try:
                program.kernel(rows, *columns, u)
            except NameError:
                is_defined[number] = False
    return is_defined


run_checked = partial(run_native, debug=True)


def check_program(seed: int) -> None:
    program = make_program(Random(seed))
    expected = copy.deepcopy(program.arguments)
    is_defined = run_python(program, *expected)
    for run in (run_interpreted, run_native, run_checked):
        actual = copy.deepcopy(program.arguments)
        try:
            run(program.kernel, program.grid, program.block, *actual)
        except UndefinedNameError:
            return  # refused when compiled, even if only a path that is not taken reads the name
        message = f"{run} {program.grid} {program.block} {actual[1:]}\n{program.text}"
        np.testing.assert_array_equal(
            actual[0][is_defined], expected[0][is_defined], err_msg=message
        )


@given(SEEDS)
@example(100303)  # once brought LLVM down
def test_kernels(seed):
    check_program(seed)


@pytest.mark.fuzz
@given(SEEDS)
def test_many_kernels(seed):
    check_program(seed)
