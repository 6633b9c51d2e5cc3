"""Random programs and every operation give the same as PTX as in the IR's interpreter."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cuda.assemble import assemble
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.typing_rules import RuleError, check_types
from tests.helpers.cuda_programs import GENERATIONS, ptx_of, run_cuda
from tests.helpers.ir_kernels import Arrays
from tests.helpers.ir_programs import Program, assert_same, build_program, programs

SCALARS = tuple(row for row in dtypes.ALL_DTYPES if not row.is_complex)
SIDES = ("left", "right")


def run_shuffled(function: ir.Function, program: Program, arguments: tuple[Any, ...]) -> None:
    run_cuda(function, program.grid, program.block, arguments, schedule="shuffled", seed=7)


@given(programs(barriers=True, atomics=True), st.sampled_from(GENERATIONS))
def test_random_programs(program: Program, generation: tuple[int, int]) -> None:
    def runner(function: ir.Function, program: Program, arguments: tuple[Any, ...]) -> None:
        run_cuda(
            function,
            program.grid,
            program.block,
            arguments,
            compute_capability=generation,
            race_check=True,
        )

    assert_same(program, program.function, runner)


@pytest.mark.parametrize("seed", range(12))
def test_seeds_with_shuffled_warps(seed: int) -> None:
    program = build_program(random.Random(seed), barriers=True, atomics=True)
    assert_same(program, program.function, run_shuffled)


@pytest.mark.fuzz
@given(st.integers(0, 1 << 32))
def test_many_random_programs(seed: int) -> None:
    program = build_program(random.Random(seed), barriers=True, atomics=True)
    assert_same(program, program.function, run_shuffled)


# --------------------------------------------------------------------- operation by operation


def is_legal(op: ir.Op) -> bool:
    try:
        check_types(op)
    except RuleError:
        return False
    return True


def operations_on(dtype: DType) -> dict[str, ir.Op]:
    """Return all operations on numbers of a type, by name, of operands called left and right."""
    left, right = (ir.Value(dtype, side) for side in SIDES)
    found: dict[str, ir.Op] = {}
    for kind in ir.BinaryKind:
        for strict in (False, True):
            found[f"{kind.value}{'!' * strict}"] = ir.Binary(
                kind, left, right, ir.Value(dtype), strict
            )
    for unary in ir.UnaryKind:
        found[f"unary {unary.value}"] = ir.Unary(unary, left, ir.Value(dtype))
    for comparison in ir.CompareKind:
        found[comparison.value] = ir.Compare(comparison, left, right, ir.Value(dtypes.bool_))
    for target in SCALARS:
        found[f"to {target}"] = ir.Cast(left, ir.Value(target))
    return {name: op for name, op in found.items() if is_legal(op)}


def kernel_of(dtype: DType, operations: dict[str, ir.Op]) -> ir.Function:
    """Return a kernel of two operand arrays, and one result array per operation."""
    results = [op.result.type for op in operations.values()]
    kernel = Arrays(dtype, dtype, *results)
    values = {side: kernel.load(number) for number, side in enumerate(SIDES)}
    for number, op in enumerate(operations.values(), start=2):
        fields = {name: values[getattr(op, name).hint] for name in SIDES if hasattr(op, name)}
        if hasattr(op, "operand"):
            fields["operand"] = values[op.operand.hint]
        kernel.b.append(replace(op, **fields))
        kernel.store(number, op.result)
    return kernel.function()


def edge_values(dtype: DType) -> np.ndarray:
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_float:
        limits = np.finfo(dtype.numpy)
        sizes = (0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 255.7, 65504.0, 2.0**31, 2.0**63, 2.0**64)
        special = (limits.max, limits.tiny, limits.smallest_subnormal, np.inf, np.nan)
        with np.errstate(over="ignore"):
            positive = np.array((*sizes, *special)).astype(dtype.numpy)
        return np.concatenate([positive, -positive])
    limits = np.iinfo(dtype.numpy)
    small = [0, 1, 2, 3, 7, 31, 32, 63, 64, 100]
    ends = [limits.max, limits.max - 1, limits.min, limits.min + 1]
    negative = [-1, -2, -3, -7] if dtype.is_signed else []
    return np.array([*small, *ends, *negative], object).astype(dtype.numpy)


def operand_arrays(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of edge values, and some random ones."""
    edges = edge_values(dtype)
    generator = np.random.default_rng(5)
    count = 1024 - edges.size**2 if edges.size <= 31 else 0
    assert edges.size <= 36
    raw = generator.integers(0, 256, (2, max(count, 8), dtype.size_bytes), np.uint8)
    extra = (raw % 2 == 1)[..., 0] if dtype.is_bool else raw.view(dtype.numpy)[..., 0]
    pairs = np.meshgrid(edges, edges)
    left, right = (
        np.concatenate([pair.ravel(), more])[:1024].copy()
        for pair, more in zip(pairs, extra, strict=True)
    )
    return left, right


def differences(name: str, expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    if expected.dtype.kind != "f":
        return np.flatnonzero(expected != found)
    bits = f"u{expected.itemsize}"
    is_same = expected.view(bits) == found.view(bits)
    is_same |= np.isnan(expected) & np.isnan(found)
    if name.startswith(("min", "max")):
        is_same |= expected == found  # which zero it is, is not promised
    return np.flatnonzero(~is_same)


@pytest.mark.parametrize("generation", [(7, 5), (9, 0)])
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_every_operation(dtype: DType, generation: tuple[int, int]) -> None:
    operations = operations_on(dtype)
    left, right = operand_arrays(dtype)
    results = [np.zeros(left.size, op.result.type.numpy) for op in operations.values()]
    function = kernel_of(dtype, operations)
    expected = (left, right, *(array.copy() for array in results))
    found = (left, right, *results)
    run(function, 1, left.size, expected)
    run_cuda(function, 1, left.size, found, compute_capability=generation)
    for name, want, have in zip(operations, expected[2:], found[2:], strict=True):
        wrong = differences(name, want, have)
        where = wrong[:3]
        assert not wrong.size, (name, left[where], right[where], want[where], have[where])


@pytest.mark.parametrize("generation", GENERATIONS[::2])
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_every_operation_becomes_machine_code(dtype: DType, generation: tuple[int, int]) -> None:
    function = kernel_of(dtype, operations_on(dtype))
    sm = f"sm_{generation[0]}{generation[1]}"
    assert assemble(ptx_of(function, generation), sm)[:4] == b"\x7fELF"
