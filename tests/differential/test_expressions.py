"""Random expressions of mixed dtypes: NumPy by contract, the interpreter, the back end."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import contract
from tests.helpers.expressions import Writer, random_column
from tests.helpers.ways import define, run_interpreted, run_native

ROWS = 24
SEEDS = st.integers(0, 2**32)


def check_program(seed: int) -> None:
    """Compare all ways to compute a few expressions of the same variables."""
    random = Random(seed)
    columns = {name: random_column(random, ROWS) for name in "wxyz"}
    writer = Writer(random, columns)
    expressions = [writer.write(random.randint(1, 4)) for _ in range(5)]
    lines = [
        "def kernel(ws, xs, ys, zs, outs):",
        "    i = cuda.grid(1)",
        "    w, x, y, z = ws[i], xs[i], ys[i], zs[i]",
        *(f"    outs[{at}][i] = {each.text}" for at, each in enumerate(expressions)),
    ]
    kernel = define("\n".join(lines) + "\n", "kernel")
    for run in (run_interpreted, run_native):
        outs = tuple(np.zeros(ROWS, each.value.dtype) for each in expressions)
        run(kernel, 1, ROWS, *columns.values(), outs)
        for each, out in zip(expressions, outs, strict=True):
            same = contract.same_bits(out, each.value)
            contract.assert_all(
                same, f"{run.__name__}: {each.text}", actual=out, expected=each.value, **columns
            )


@given(SEEDS)
def test_expressions(seed):
    check_program(seed)


@pytest.mark.fuzz
@given(SEEDS)
def test_many_expressions(seed):
    check_program(seed)
