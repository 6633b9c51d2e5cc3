"""Run a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx.layout import Geometry
from tests.fakecuda.ptx.machine import Machine
from tests.fakecuda.ptx.scheduler import Scheduler
from tests.fakecuda.ptx.syntax import Function, Module
from tests.fakecuda.ptx.variables import place_globals

Shape = int | Sequence[int]
MAXIMUM_STEPS = 1_000_000


def launch(
    module: Module,
    kernel: str,
    arguments: Sequence[bytes],
    *,
    grid: Shape,
    block: Shape,
    memory: DeviceMemory,
    shared_bytes: int = 0,
    globals_: Mapping[str, int] | None = None,
    race_check: bool = False,
    check_uninitialized: bool = False,
    schedule: Literal["lockstep", "shuffled"] = "lockstep",
    seed: int = 0,
    max_steps: int = MAXIMUM_STEPS,
    print_text: Callable[[str], object] = sys.stdout.write,
) -> int:
    """Run all threads of a grid to their ends; return the number of steps.

    Parameters
    ----------
    module, kernel
        A parsed module and the name of one of its kernels.
    arguments
        The bytes of each parameter.
    grid, block
        Blocks of the grid and threads of a block: up to three numbers.
    memory
        Device memory that the arguments' addresses lie in.
    shared_bytes
        Bytes of dynamic shared memory.
    globals_
        Addresses of the module's variables (`place_globals`). Without them, the variables exist for
        this launch only.
    race_check
        Look for races on shared memory.
    check_uninitialized
        Refuse loads of shared memory that has not been written.
    schedule, seed
        "lockstep" runs as many threads together as possible, "shuffled" one warp at a time for a
        random number of instructions.
    max_steps
        Steps (instructions of a group of threads) after which a kernel counts as endless.
    print_text
        Gets what the kernel prints.

    Raises
    ------
    PtxFault
        If the kernel does something that the hardware would not let pass.
    """
    function = module.kernels[kernel]
    geometry = Geometry(_three(grid), _three(block))
    if not geometry.lanes:
        raise ValueError(f"no threads: grid {grid}, block {block}")
    own = place_globals(module, memory) if globals_ is None else {}
    try:
        machine = Machine(
            module,
            function,
            geometry,
            memory,
            _parameters(function, arguments),
            shared_bytes,
            {**own, **(globals_ or {})},
            race_check=race_check,
            print_text=print_text,
        )
        if check_uninitialized:
            machine.spaces.check_initialized()
        machine.scheduler = Scheduler(
            machine, shuffled=schedule == "shuffled", seed=seed, max_steps=max_steps
        )
        with np.errstate(all="ignore"):
            machine.scheduler.run()
        return machine.scheduler.steps
    finally:
        for address in own.values():
            memory.free(address)


def _three(shape: Shape) -> tuple[int, int, int]:
    numbers = (shape,) if isinstance(shape, int) else tuple(shape)
    x, y, z = (*numbers, 1, 1, 1)[:3]
    return x, y, z


def _parameters(function: Function, arguments: Sequence[bytes]) -> bytes:
    """Lay the arguments out in the buffer of parameters."""
    if len(arguments) != len(function.parameters):
        raise ValueError(
            f"{function.name} has {len(function.parameters)} parameters, not {len(arguments)}"
        )
    data = bytearray(function.parameter_bytes)
    for parameter, value in zip(function.parameters, arguments, strict=True):
        if len(value) != parameter.size:
            raise ValueError(f"{len(value)} bytes for a parameter of {parameter.size}")
        data[parameter.offset : parameter.offset + parameter.size] = value
    return bytes(data)
