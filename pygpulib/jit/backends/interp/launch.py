"""Running a kernel over a grid."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.errors import InternalError
from pygpulib.jit.backends.interp.machine import Machine
from pygpulib.jit.backends.interp.memory import Memory
from pygpulib.jit.backends.interp.state import Array, Lanes, Outcome, Size, State, numpy_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.small_floats import narrow

_LANES_AT_ONCE = 1 << 15

Extent = int | Sequence[int]


def run(
    function: ir.Function,
    grid: Extent,
    block: Extent,
    arguments: Sequence[object],
    *,
    dynamic_shared_bytes: int = 0,
    max_iterations: int = 1_000_000,
) -> Outcome:
    """Run a kernel.

    Parameters
    ----------
    function : Function
        The kernel; it has been verified.
    grid, block : int or sequence of int
        Blocks of the grid and threads of a block, along up to three axes.
    arguments : sequence
        Values of the kernel language: arrays (read and written in place), numbers, tuples.
    dynamic_shared_bytes : int
        Size of the dynamic shared memory.
    max_iterations : int
        Iterations after which a ``Loop`` is taken to be endless.

    Returns
    -------
    Outcome
        The printed texts and the first exception.

    Raises
    ------
    KernelFault
        If a thread accesses memory outside its arrays, if a barrier is not reached by all
        threads of a block, or if a loop does not end.
    InternalError
        If the arguments do not fit the parameters.
    """
    grid, block = _size(grid), _size(block)
    memory = Memory()
    flat = _flatten_all(arguments, function.params, memory)
    functions = _functions(function)
    outcome = Outcome()
    total = grid[0] * grid[1] * grid[2]
    together = _blocks_at_once(functions, block, total)
    for first in range(0, total, together):
        lanes = Lanes(grid, block, first, min(together, total - first))
        state = State(
            lanes,
            Memory(memory),
            np.ones(lanes.count, np.bool_),
            dynamic_shared_bytes,
            max_iterations,
            outcome,
        )
        values = [np.repeat(value, lanes.count) for value in flat]
        Machine(state, functions).run_kernel(function, values)
    return outcome


def _size(extent: Extent) -> Size:
    axes = tuple(map(operator.index, extent)) if isinstance(extent, Sequence) else (extent,)
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def _functions(function: ir.Function) -> dict[str, ir.Function]:
    found = {function.name: function}
    waiting = list(function.callees)
    while waiting:
        callee = waiting.pop()
        if callee.name not in found:
            found[callee.name] = callee
            waiting.extend(callee.callees)
    return found


def _blocks_at_once(functions: dict[str, ir.Function], block: Size, total: int) -> int:
    """Return how many blocks run in step.

    Those of a grid barrier must. Where a loop may wait for what another block writes, blocks run
    one after the other: in step, the waiting lanes would never let the others go on.
    """
    ops = [op for function in functions.values() for op in walk(function.body)]
    if any(isinstance(op, ir.Barrier) and op.kind is ir.BarrierKind.GRID for op in ops):
        return total
    loops = [op for op in ops if isinstance(op, ir.Loop)]
    if any(isinstance(op, ir.Atomic | ir.Load) for loop in loops for op in walk(loop.body)):
        return 1
    return max(1, _LANES_AT_ONCE // (block[0] * block[1] * block[2]))


def _flatten_all(
    arguments: Sequence[object], params: tuple[ir.Value, ...], memory: Memory
) -> list[Array]:
    rest = iter(params)
    flat = [
        value
        for number, argument in enumerate(arguments)
        for value in _flatten(argument, rest, memory, f"argument {number}")
    ]
    if next(rest, None) is not None:
        raise InternalError(f"{len(flat)} flat arguments were given for {len(params)} parameters")
    return flat


def _flatten(
    argument: Any,  # noqa: ANN401 - any value of the kernel language
    params: Iterator[ir.Value],
    memory: Memory,
    name: str,
) -> Iterator[Array]:
    match argument:
        case None:
            return
        case tuple():
            for number, item in enumerate(argument):
                yield from _flatten(item, params, memory, f"{name}[{number}]")
        case np.ndarray():
            yield _convert(memory.add_array(argument, name), params, name)
            for extent in (*argument.shape, *argument.strides):
                yield _convert(extent, params, name)
        case complex() | np.complexfloating():
            yield _convert(argument.real, params, name)
            yield _convert(argument.imag, params, name)
        case _:
            yield _convert(argument, params, name)


def _convert(value: Any, params: Iterator[ir.Value], name: str) -> Array:  # noqa: ANN401
    param = next(params, None)
    if param is None:
        raise InternalError(f"{name} has no parameter")
    dtype = numpy_type(param.type)
    if isinstance(param.type, DType) and param.type.is_small:
        return narrow(np.asarray([value]), param.type)
    if isinstance(value, int) and dtype.kind != "b" and isinstance(param.type, DType):
        return np.full(1, value, dtype)
    with np.errstate(all="ignore"):
        return np.asarray([value]).astype(dtype)
