"""Running IR programs as PTX in the interpreter, without the dispatcher and a driver."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cuda.compiler import prepare
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.module import needs_record
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.record import (
    BUFFER_WORD,
    CAPACITY_WORD,
    RECORD_WORDS,
)
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.dispatcher import compile_composed
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.options import CompileOptions
from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx import launch, parse_module
from tests.helpers.kernels import Kernel, compare, compile_for

Shape = int | tuple[int, ...]

GENERATIONS = ((7, 5), (8, 0), (9, 0), (10, 0), (12, 0))
"""A device of each kind."""


def ptx_of(
    function: ir.Function, compute_capability: tuple[int, int] = (7, 5), name: str = "tested"
) -> str:
    """Return a kernel's PTX."""
    target = known_target(compute_capability)
    fastmath = function.numeric.fastmath
    return compile_ptx(emit_kernel(function, target, name), target, fastmath=fastmath)


def run_cuda(
    function: ir.Function,
    grid: Shape,
    block: Shape,
    arguments: tuple[Any, ...],
    *,
    compute_capability: tuple[int, int] = (7, 5),
    shared_bytes: int = 0,
    print_words: int = 256,
    schedule: Literal["lockstep", "shuffled"] = "lockstep",
    seed: int = 0,
    race_check: bool = False,
) -> tuple[list[int], list[int]]:
    """Run a kernel; return the words of its launch record and of its print buffer.

    Parameters
    ----------
    function : Function
        The kernel.
    grid, block : int or tuple of int
        The launch's sizes.
    arguments : tuple
        Values of the kernel language; arrays are written in place.
    compute_capability : tuple of int
        What to compile for.
    shared_bytes : int
        Size of the dynamic shared memory.
    print_words : int
        Size of the print buffer.
    schedule, seed, race_check
        How to run it.
    """
    memory = DeviceMemory()
    device = _Device(memory)
    numbers = list(device.flat(arguments))
    parameters = [
        _bytes(param, number) for param, number in zip(function.params, numbers, strict=True)
    ]
    # What the print buffer holds before would do for the start of a line.
    record = np.full(RECORD_WORDS + print_words, 3)
    record[:RECORD_WORDS] = 0
    if needs_record(function):
        address = device.copy(record)
        record[CAPACITY_WORD] = print_words
        record[BUFFER_WORD] = address + 8 * RECORD_WORDS
        memory.write(address, record.tobytes())
        parameters.append(np.uint64(address).tobytes())
    module = parse_module(ptx_of(function, compute_capability))
    launch(
        module,
        "tested",
        parameters,
        grid=grid,
        block=block,
        memory=memory,
        shared_bytes=shared_bytes,
        schedule=schedule,
        seed=seed,
        race_check=race_check,
    )
    device.copy_back()
    return record[:RECORD_WORDS].tolist(), record[RECORD_WORDS:].tolist()


def compile_prepared(
    kernel: Kernel, *args: Any, options: CompileOptions | None = None
) -> ir.Function:
    """Return a kernel as the code generator gets it, for the types of some arguments."""
    function = compile_for(kernel, *args, options=options or CompileOptions(fma=False))
    return prepare(function, compile_composed)


def run_both(
    kernel: Kernel,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    seed: int | None = None,
    compute_capability: tuple[int, int] = (7, 5),
) -> tuple[Any, ...]:
    """Run a kernel as PTX and in the IR's interpreter, compare, and return the arguments after it.

    With a ``seed``, warps take turns at random.
    """
    found, expected = copy.deepcopy(args), copy.deepcopy(args)
    run_cuda(
        compile_prepared(kernel, *args),
        grid,
        block,
        found,
        shared_bytes=shared_bytes,
        schedule="lockstep" if seed is None else "shuffled",
        seed=seed or 0,
        compute_capability=compute_capability,
    )
    function = compile_for(kernel, *expected, options=CompileOptions(fma=False))
    outcome = run(function, grid, block, expected, dynamic_shared_bytes=shared_bytes)
    assert outcome.fault is None, outcome.fault
    compare(expected, found)
    return found


class _Device:
    """Copies of arrays in device memory."""

    def __init__(self, memory: DeviceMemory) -> None:
        self.memory = memory
        self.copies: list[tuple[int, np.ndarray]] = []

    def flat(self, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yield what arguments are made of, with arrays copied to the device."""
        for argument in arguments:
            if isinstance(argument, tuple):
                yield from self.flat(argument)
            elif isinstance(argument, np.ndarray):
                yield self.copy(argument)
                yield from argument.shape
                yield from argument.strides
            elif isinstance(argument, complex | np.complexfloating):
                yield argument.real
                yield argument.imag
            else:
                yield argument

    def copy(self, array: np.ndarray) -> int:
        """Return the address of a copy; what lies between its elements is copied, too."""
        low, high = np.lib.array_utils.byte_bounds(array)
        size = high - low if array.size else 0
        # Small elements are changed atomically as parts of words.
        address = self.memory.allocate(-(-size // 4) * 4)
        if size:
            host = _bytes_at(low, size)
            self.memory.write(address, host.tobytes())
            self.copies.append((address, host))
        return address + (array.ctypes.data - low if size else 0)

    def copy_back(self) -> None:
        """Copy all arrays back."""
        for address, host in self.copies:
            host[:] = np.frombuffer(self.memory.read(address, host.size), np.uint8)


def _bytes_at(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


def _bytes(param: ir.Value, number: Any) -> bytes:
    dtype = param.type.numpy if isinstance(param.type, DType) else np.dtype(np.uint64)
    return np.array([number]).astype(dtype).tobytes()
