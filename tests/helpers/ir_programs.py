"""Random well-formed kernels in the IR, with arguments to run them on.

Every program ends, reads and writes inside its arrays, and is free of races: a thread writes only
elements of its own, so all correct ways to run the program agree to the bit (nans apart: their
bits are not part of the language). ``programs()`` is the hypothesis strategy, ``build_program``
the same from a ``random.Random``.

>>> import random
>>> program = build_program(random.Random(0))
>>> assert_same(program, program.function)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis.strategies import SearchStrategy

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.printer import format_function
from tests.helpers.ir_expressions import INTEGERS, SCALARS, B, C, Expressions


@dataclass(frozen=True)
class Program:
    """A kernel and a launch of it.

    Attributes
    ----------
    function : Function
        The kernel; it does not contract multiply-add.
    grid, block : tuple of int
        The launch's sizes.
    arguments : tuple
        What to pass; take ``copy_arguments()`` for each run, because the kernel writes to them.
    """

    function: ir.Function
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"grid {self.grid}, block {self.block}\n{format_function(self.function)}"

    def copy_arguments(self) -> tuple[Any, ...]:
        """Return arguments for one run: fresh arrays, the same numbers."""
        return tuple(
            argument.copy() if isinstance(argument, np.ndarray) else argument
            for argument in self.arguments
        )


Runner = Callable[[ir.Function, Program, tuple[Any, ...]], None]


def interpret(function: ir.Function, program: Program, arguments: tuple[Any, ...]) -> None:
    """Run a variant of a program's kernel in the interpreter."""
    run(function, program.grid, program.block, arguments)


def assert_same(program: Program, other: ir.Function, runner: Runner = interpret) -> None:
    """Check that another kernel, or another way to run it, leaves the same in every array.

    Parameters
    ----------
    program : Program
        The original; it is interpreted.
    other : Function
        The kernel to compare with it.
    runner : callable
        How to run ``other``: called with it, the program and the arguments.
    """
    expected, found = program.copy_arguments(), program.copy_arguments()
    interpret(program.function, program, expected)
    runner(other, program, found)
    for number, (want, have) in enumerate(zip(expected, found, strict=True)):
        if isinstance(want, np.ndarray):
            message = f"argument {number}\n{program!r}\nand\n{format_function(other)}"
            assert _bits(want) == _bits(have), f"{want}\n{have}\n{message}"


def _bits(array: np.ndarray) -> bytes:
    """Return the bytes, with all nans alike."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def programs(*, barriers: bool = True, atomics: bool = True) -> SearchStrategy[Program]:
    """Return the strategy of all programs.

    Parameters
    ----------
    barriers, atomics : bool
        Whether programs may exchange values through shared memory, or count in atomics.
    """
    return st.randoms(use_true_random=False).map(
        lambda source: build_program(source, barriers=barriers, atomics=atomics)
    )


def build_program(source: random.Random, *, barriers: bool = True, atomics: bool = True) -> Program:
    """Make one program from a source of random numbers."""
    return _Writer(source, barriers, atomics).write()


# ------------------------------------------------------------------------------ the generator


@dataclass
class _Place:
    """What may be written at a point of the program.

    Attributes
    ----------
    depth : int
        Nested constructs around it.
    is_uniform : bool
        Whether all threads of a block come here together, as a barrier needs.
    leave : dict
        Ways to leave early: by name, a function that appends the terminator.
    """

    depth: int = 0
    is_uniform: bool = True
    leave: dict[str, Callable[[], None]] = field(default_factory=dict)


class _Writer(Expressions):
    """Writes one program."""

    def __init__(self, source: random.Random, barriers: bool, atomics: bool) -> None:
        super().__init__(source, atomics=atomics)
        self.barriers = barriers
        self.budget = source.randint(4, 24)

    def write(self) -> Program:
        grid = (self.random.randint(1, 3), self.random.randint(1, 2), 1)
        block = (self.random.choice((1, 3, 4, 7, 16, 33)), self.random.randint(1, 2), 1)
        threads = grid[0] * grid[1] * block[0] * block[1]
        self._declare(threads)
        self._positions()
        place = _Place(leave={"return": lambda: self.b.append(ir.Return(()))})
        self._statements(place)
        if not self.b.is_terminated:
            self._store_all()
            self.b.append(ir.Return(()))
        body = ir.Block((), tuple(self.b._open[0]))
        function = ir.Function(
            "generated", tuple(self.params), body, numeric=ir.NumericOptions(contract=False)
        )
        return Program(function, grid, block, tuple(self.arguments))

    # ------------------------------------------------------------------------------ control

    def _statements(self, place: _Place) -> None:
        """Write some statements; one that leaves for good ends the block."""
        for _ in range(self.random.randint(1, 6)):
            if self.b.is_terminated:
                return
            if self.budget <= 0:
                break
            self.budget -= 1
            self._statement(place)

    def _statement(self, place: _Place) -> None:
        makers: list[Callable[[], None]] = [
            self._compute, self._compute, self._write, self._allocate,
        ]  # fmt: skip
        if self.barriers and place.is_uniform:
            makers += [self._exchange, self._count_together]
        if self.atomics:
            makers.append(self._count_atomically)
        if place.depth < 3:
            nested = (self._if, self._if, self._for, self._for, self._loop, self._scope)
            makers += [partial(maker, place) for maker in nested]
        if place.leave and place.depth > 0:
            makers.append(partial(self._leave, place))
        self.random.choice(makers)()

    def _leave(self, place: _Place) -> None:
        """Leave early under a condition that may differ between threads."""
        name = self.random.choice(tuple(place.leave))
        condition = self._value(dtypes.bool_)
        with self._block() as then_ops:
            self._compute()
            place.leave[name]()
        with self._block() as else_ops:
            self.b.append(ir.Yield(()))
        blocks = [ir.Block((), tuple(ops)) for ops in (then_ops, else_ops)]
        if self._chance(0.3):
            blocks.reverse()
        self.b.append(ir.If(condition, blocks[0], blocks[1], ()))
        place.is_uniform = False

    def _if(self, place: _Place) -> None:
        types = [self.random.choice(SCALARS) for _ in range(self.random.randint(0, 2))]
        is_uniform = place.is_uniform and self._chance(0.2)
        if is_uniform:
            condition = self.b.constant(self._chance(0.5), dtypes.bool_)
        else:
            condition = self._value(dtypes.bool_)
        blocks, yields = [], []
        for _ in range(2):
            with self._block() as ops:
                inner = _Place(place.depth + 1, is_uniform, dict(place.leave))
                self._statements(inner)
                if self.b.is_terminated:
                    pass
                elif place.leave and self._chance(0.15):
                    self.random.choice(tuple(place.leave.values()))()
                else:
                    yields.append(self._value_list(types))
                    self.b.append(ir.Yield(yields[-1]))
            blocks.append(ir.Block((), tuple(ops)))
        if _may_leave(blocks):
            place.is_uniform = False
        results = tuple(map(ir.Value, types)) if yields else ()
        self.b.append(ir.If(condition, blocks[0], blocks[1], results))
        if yields:
            for result in results:
                self._add(result)
        else:
            self.b.append(ir.Unreachable())

    def _for(self, place: _Place) -> None:
        dtype = self.random.choice(INTEGERS)
        is_uniform = place.is_uniform and self._chance(0.5)
        start, stop, step = self._bounds(dtype, is_uniform)
        types = [self.random.choice(SCALARS) for _ in range(self.random.randint(0, 3))]
        inits = self._value_list(types)
        params = (ir.Value(dtype, "i"), *map(ir.Value, types))
        inner = _Place(place.depth + 1, is_uniform, _only_return(place))
        inner.leave["break"] = lambda: self.b.append(ir.Break(self._value_list(types)))
        inner.leave["continue"] = lambda: self.b.append(ir.Continue(self._value_list(types)))
        with self._block() as ops:
            for param in params:
                self._add(param)
            if is_uniform:
                # A thread that left early would be missed at a barrier of the next iteration.
                inner.leave.clear()
            self._statements(inner)
            if not self.b.is_terminated:
                self.b.append(ir.Continue(self._value_list(types)))
        body = ir.Block(params, tuple(ops))
        if _may_leave([body]):
            place.is_uniform = False
        results = tuple(map(ir.Value, types))
        self.b.append(ir.For(start, stop, step, inits, body, results))
        for result in results:
            self._add(result)

    def _bounds(self, dtype: DType, is_uniform: bool) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Return start, stop and step of a short loop, sometimes at the ends of the type."""
        step = self.random.choice((1, 1, 2, 3, -1, -2) if dtype.is_signed else (1, 1, 2, 3))
        low = self.random.choice((0, 0, 2, (1 << (dtype.bits - dtype.is_signed)) - 6))
        start = self.b.constant(low, dtype)
        if is_uniform:
            length = self.b.constant(self.random.randrange(5), dtype)
        else:
            length = self._small(6, dtype)
        stop = self.b.binary(B.ADD, start, length)
        if step < 0:
            start, stop = stop, start
        if self._chance(0.05):
            step = 0
        return start, stop, self.b.constant(step, dtype)

    def _loop(self, place: _Place) -> None:
        """Write a loop that counts its iterations, so that it ends."""
        types = [self.random.choice(SCALARS) for _ in range(self.random.randint(0, 2))]
        result_types = [self.random.choice(SCALARS) for _ in range(self.random.randint(0, 2))]
        limit = self._small(5, dtypes.int32)
        inits = (self.b.constant(0, dtypes.int32), *self._value_list(types))
        params = (ir.Value(dtypes.int32, "count"), *map(ir.Value, types))
        inner = _Place(place.depth + 1, False, _only_return(place))
        with self._block() as ops:
            for param in params:
                self._add(param)
            following = self.b.binary(B.ADD, params[0], self.b.constant(1, dtypes.int32))
            inner.leave["break"] = lambda: self.b.append(ir.Break(self._value_list(result_types)))
            inner.leave["continue"] = lambda: self.b.append(
                ir.Continue((following, *self._value_list(types)))
            )
            self._end_loop_at(params[0], limit, inner)
            self._statements(inner)
            if not self.b.is_terminated:
                inner.leave["continue"]()
        body = ir.Block(params, tuple(ops))
        if _may_leave([body]):
            place.is_uniform = False
        results = tuple(map(ir.Value, result_types))
        self.b.append(ir.Loop(inits, body, results))
        for result in results:
            self._add(result)

    def _end_loop_at(self, count: ir.Value, limit: ir.Value, inner: _Place) -> None:
        is_over = self.b.compare(C.GE, count, limit)
        with self._block() as then_ops:
            inner.leave["break"]()
        block = ir.Block((), tuple(then_ops))
        self.b.append(ir.If(is_over, block, ir.Block((), (ir.Yield(()),)), ()))

    def _scope(self, place: _Place) -> None:
        types = [self.random.choice(SCALARS) for _ in range(self.random.randint(0, 2))]
        inner = _Place(place.depth + 1, False)
        inner.leave["return"] = lambda: self.b.append(ir.Return(self._value_list(types)))
        with self._block() as ops:
            self._statements(inner)
            if not self.b.is_terminated:
                inner.leave["return"]()
        results = tuple(map(ir.Value, types))
        self.b.append(ir.Scope(ir.Block((), tuple(ops)), results, "inlined"))
        for result in results:
            self._add(result)


def _only_return(place: _Place) -> dict[str, Callable[[], None]]:
    return {name: leave for name, leave in place.leave.items() if name == "return"}


def _may_leave(blocks: Sequence[ir.Block]) -> bool:
    """Return whether a ``Return`` may leave what holds the blocks (scopes keep theirs)."""
    for block in blocks:
        for op in block.ops:
            if isinstance(op, ir.Return):
                return True
            if isinstance(op, ir.If) and _may_leave([op.then_block, op.else_block]):
                return True
            if isinstance(op, ir.For | ir.Loop) and _may_leave([op.body]):
                return True
    return False
