"""What a kernel tells the host: errors and printed lines, in the launch record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.errors import KernelFault
from pygpulib.jit.backends.cuda.launch_record import split_lines
from pygpulib.jit.backends.cuda.module import needs_record, waits_for_grid
from pygpulib.jit.backends.cuda.record import LOST_WORD, RECORD_WORDS, USED_WORD
from pygpulib.jit.backends.messages import detail_types, find_prints, format_line, read_fault
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.options import CompileOptions
from tests.helpers.cuda_programs import compile_prepared, ptx_of, run_cuda
from tests.helpers.ir_kernels import Arrays

DEBUG = CompileOptions(debug=True)


def fault_of(function: ir.Function, record: list[int]) -> Exception:
    return read_fault(record, "kernel", function.errors, detail_types(function))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_first_thread_to_fail_reports(seed: int | None) -> None:
    def kernel(a):
        i = cuda.grid(1)
        if i == 35:
            raise ValueError("no")
        if i > 37:
            raise KeyError("neither")
        a[i] = 1

    a = np.zeros(64, np.int32)
    function = compile_prepared(kernel, a, options=DEBUG)
    schedule = "lockstep" if seed is None else "shuffled"
    record, _ = run_cuda(function, 2, 32, (a,), schedule=schedule, seed=seed or 0)
    assert record[0] == 1
    error = fault_of(function, record)
    assert isinstance(error, ValueError | KeyError)
    thread = 35 if isinstance(error, ValueError) else record[5] + 32
    assert record[2:8] == [1, 0, 0, thread - 32, 0, 0]
    assert f"block (1, 0, 0), thread ({thread - 32}, 0, 0)" in str(error)
    # A thread that raises ends; the others go on.
    np.testing.assert_array_equal(a, [1] * 35 + [0, 1, 1] + [0] * 26)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_later_errors_are_not_reported(seed: int | None) -> None:
    def kernel(a):
        i = cuda.grid(1)
        if i == 3:
            raise ValueError("first")
        cuda.syncthreads()
        if i > 30:
            raise KeyError("later")
        a[i] = 1

    a = np.zeros(64, np.int32)
    function = compile_prepared(kernel, a, options=DEBUG)
    schedule = "lockstep" if seed is None else "shuffled"
    record, _ = run_cuda(function, 1, 64, (a,), schedule=schedule, seed=seed or 0)
    assert isinstance(fault_of(function, record), ValueError)
    assert record[5:8] == [3, 0, 0]


def test_details_of_an_error() -> None:
    def kernel(a, n):
        a[cuda.threadIdx.x + n] = 1

    a = np.zeros(5, np.int32)
    function = compile_prepared(kernel, a, -9, options=DEBUG)
    record, _ = run_cuda(function, 1, 1, (a, -9))
    with pytest.raises(IndexError, match=r"-9.*5"):
        raise fault_of(function, record)


def test_details_of_every_type() -> None:
    types = [
        *(dtypes.bool_, dtypes.int8, dtypes.uint16, dtypes.uint64),
        *(dtypes.float16, dtypes.float32, dtypes.float64),
    ]
    kernel = Arrays(*types)
    details = tuple(kernel.load(number) for number in range(len(types)))
    kernel.b.append(ir.Raise(0, details))
    function = kernel.function((ir.ErrorEntry(KernelFault, "{} {} {} {} {} {} {}", None),))
    values = (True, -5, 65535, (1 << 64) - 1, 0.5, -1.5, 1e300)
    arrays = [np.array([v], t.numpy) for v, t in zip(values, types, strict=True)]
    record, _ = run_cuda(function, 1, 1, tuple(arrays))
    assert record[8] == 7
    message = str(fault_of(function, record)).split("\n")[0]
    assert message == "True -5 65535 18446744073709551615 0.5 -1.5 1e+300"


def test_a_thread_may_end_without_an_error() -> None:
    def kernel(a):
        i = cuda.threadIdx.x
        if i == 1:
            raise ValueError("no")
        a[i] = 1

    a = np.zeros(3, np.int32)
    function = compile_prepared(kernel, a)
    assert not needs_record(function)
    run_cuda(function, 1, 3, (a,))
    assert a.tolist() == [1, 0, 1]


# ----------------------------------------------------------------------------------------- prints


def show(a, n):
    i = cuda.grid(1)
    if i < n:
        print("at", i, "value", a[i], a[i] > 2)  # noqa: T201
    if i == n - 1:
        print(1.5, np.float32(0.1), -7)  # noqa: T201


def lines_of(function: ir.Function, record: list[int], buffer: list[int]) -> list[str]:
    used = min(record[USED_WORD], len(buffer))
    lines = split_lines(buffer[:used], find_prints(function))
    return [format_line(op, words) for op, words in lines]


@pytest.mark.parametrize("seed", [None, 5])
def test_printed_lines(seed: int | None) -> None:
    a = np.arange(40, dtype=np.float64) / 2
    function = compile_prepared(show, a, 20)
    schedule = "lockstep" if seed is None else "shuffled"
    record, buffer = run_cuda(function, 3, 8, (a, 20), schedule=schedule, seed=seed or 0)
    assert record[LOST_WORD] == 0
    lines = lines_of(function, record, buffer)
    expected = [f"at {i} value {i / 2} {i / 2 > 2}\n" for i in range(20)]
    assert sorted(lines) == sorted([*expected, "1.5 0.1 -7\n"])
    # The lines of one block stand together.
    blocks = [int(line.split()[1]) // 8 for line in lines if line.startswith("at")]
    assert blocks == sorted(blocks)


@pytest.mark.parametrize("print_words", [0, 5, 6, 13, 20, 24, 41])
def test_lines_that_do_not_fit_are_counted(print_words: int) -> None:
    a = np.arange(40, dtype=np.float64)
    function = compile_prepared(show, a, 4)
    record, buffer = run_cuda(function, 1, 8, (a, 4), print_words=print_words)
    lines = lines_of(function, record, buffer)
    assert len(lines) + record[LOST_WORD] == 5
    assert len(lines) == min(print_words // 6, 5)


def test_prints_in_blocks_of_three_dimensions() -> None:
    def kernel():
        if cuda.threadIdx.x == 0:
            x, y, z = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
            print(x + cuda.gridDim.x * (y + cuda.gridDim.y * z))  # noqa: T201

    function = compile_prepared(kernel)
    record, buffer = run_cuda(function, (2, 3, 2), 2, ())
    assert lines_of(function, record, buffer) == [f"{block}\n" for block in range(12)]


# ----------------------------------------------------------------------------------- the interface


def parameters_of(ptx: str) -> list[str]:
    head = ptx[ptx.index(".entry") : ptx.index(")\n")]
    return [line.split()[1] for line in head.split("\n")[1:] if line.strip()]


def test_parameters_are_the_arguments_and_a_record_if_there_is_something_to_report() -> None:
    def kernel(a, x, flag, small):
        if flag:
            a[0] = x + small

    def reporting(a, x, flag, small):
        if flag:
            a[0] = x + small
        print(x)  # noqa: T201

    args: tuple[Any, ...] = (np.zeros(3), np.float32(1), True, np.int8(3))
    plain = [".u64", ".u64", ".u64", ".f32", ".u8", ".u8"]
    function = compile_prepared(kernel, *args)
    ptx = ptx_of(function)
    head = [word.replace(".b32", ".f32") for word in parameters_of(ptx)]
    assert head == plain
    assert not needs_record(function)
    function = compile_prepared(reporting, *args)
    assert len(parameters_of(ptx_of(function))) == len(plain) + 1
    assert needs_record(function)
    assert not waits_for_grid(function)


def test_the_grid_barrier_needs_a_record() -> None:
    def kernel(a):
        cuda.cg.this_grid().sync()

    function = compile_prepared(kernel, np.zeros(1))
    assert needs_record(function)
    assert waits_for_grid(function)
    assert RECORD_WORDS == 24
