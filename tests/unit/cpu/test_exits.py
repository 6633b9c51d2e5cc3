"""Lanes that leave from both sides of conditionals keep what they took along."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.jit.backends.cpu.target import CpuVariant
from tests.helpers.cpu_programs import runner
from tests.helpers.ir_programs import assert_same, build_program

COUNT = 96


def cheap(a, b, c, table):
    for i in range(6):
        if a > i:
            if b > i:
                return 100 + i
            if c == i:
                continue
        else:
            if c > 3:
                return 200 + i
            return 300 + i
        if b == c:
            break
    return 400 + c


def costly(a, b, c, table):
    total = 0
    for i in range(6):
        if a > i:
            for k in range(b):
                total += table[(a + k) % 8]
                if total > 9:
                    return 100 + total
        else:
            for k in range(c):
                total -= table[k]
                if total < -9:
                    return 200 - total
            if c > 2:
                break
    return 1000 + total


@pytest.mark.parametrize("body", [cheap, costly], ids=lambda body: body.__name__)
@pytest.mark.parametrize("block", [(1, 1), (32, 1), (7, 2), (96, 1)])
def test_returns_from_both_sides(body, block):
    device = cuda.jit(device=True)(body)

    @cuda.jit
    def kernel(a, b, c, table, out):
        i = cuda.grid(1) if cuda.blockDim.y == 1 else cuda.threadIdx.y + 2 * cuda.grid(1)
        if i < out.size:
            out[i] = device(a[i], b[i], c[i], table)

    rng = np.random.default_rng(block)
    a, b, c = rng.integers(0, 7, (3, COUNT))
    table = rng.integers(0, 5, 8)
    out = np.zeros(COUNT, np.int64)
    kernel[COUNT, block](a, b, c, table, out)
    wanted = [
        body(*args, table.tolist()) for args in zip(*np.stack([a, b, c]).tolist(), strict=True)
    ]
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("seed", [13059, 19420])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("width", [1, 4, 16])
def test_breaks_from_both_sides(seed, axis, width):
    program = build_program(random.Random(seed))
    variant = CpuVariant(axis, width, program.block[axis] % width == 0)
    assert_same(program, program.function, runner(variant))
