"""Running IR programs on the CPU back end, without the dispatcher."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.emit import emit_kernel
from pygpulib.jit.backends.cpu.engine import assemble, load
from pygpulib.jit.backends.cpu.pool import KERNEL_TYPE
from pygpulib.jit.backends.cpu.target import CpuVariant, choose_variant, host_target
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir import ops as ir
from tests.helpers.ir_programs import Program

_Words = ctypes.c_uint64


def flat_numbers(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Yield what ``Type.flat`` says an argument is made of, as Python and NumPy numbers."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from flat_numbers(argument)
        elif isinstance(argument, np.ndarray):
            yield np.uint64(argument.ctypes.data)
            yield from argument.shape
            yield from argument.strides
        elif isinstance(argument, complex | np.complexfloating):
            yield argument.real
            yield argument.imag
        else:
            yield argument


def pack(
    function: ir.Function,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: tuple[Any, ...],
) -> ctypes.Array[_Words]:
    """Return the word block of a launch."""
    words = np.zeros(HEADER_WORDS + len(function.params), np.uint64)
    words[:3], words[3:6] = grid, block
    numbers = flat_numbers(arguments)
    for position, (param, number) in enumerate(zip(function.params, numbers, strict=True)):
        dtype = param.type.numpy if isinstance(param.type, DType) else np.dtype(np.uint64)
        raw = np.array([number]).astype(dtype).tobytes().ljust(8, b"\0")
        words[HEADER_WORDS + position] = np.frombuffer(raw, np.uint64)[0]
    return (_Words * len(words))(*words.tolist())


def run_cpu(
    function: ir.Function,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: tuple[Any, ...],
    variant: CpuVariant | None = None,
) -> None:
    """Compile a kernel for one variant and run all blocks on this thread."""
    variant = variant or choose_variant(block, (0, 1, 2), 32)
    text = emit_kernel(function, variant, host_target(), "kernel")
    address = load(assemble(text, host_target()), "kernel")
    never = ctypes.c_int64()
    words = pack(function, grid, block, arguments)
    blocks = grid[0] * grid[1] * grid[2]
    KERNEL_TYPE(address)(ctypes.addressof(words), 0, blocks, 0, ctypes.addressof(never))


def runner(
    variant: CpuVariant | None = None,
) -> Callable[[ir.Function, Program, tuple[Any, ...]], None]:
    """Return a way to run a program that ``assert_same`` takes."""

    def run(function: ir.Function, program: Program, arguments: tuple[Any, ...]) -> None:
        run_cpu(function, program.grid, program.block, arguments, variant)

    return run
