"""Short ways to write a kernel in the IR for a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder


def value(type_: ir.Type, hint: str = "") -> ir.Value:
    """Return a new value."""
    return ir.Value(type_, hint)


def block(ops: Sequence[ir.Op], params: tuple[ir.Value, ...] = ()) -> ir.Block:
    """Return a block."""
    return ir.Block(params, tuple(ops))


def function_from(
    builder: Builder, params: Sequence[ir.Value] = (), errors: tuple[ir.ErrorEntry, ...] = ()
) -> ir.Function:
    """Return a kernel of what the builder holds; a missing ``Return`` is added."""
    if not builder.is_terminated:
        builder.append(ir.Return(()))
    return ir.Function("kernel", tuple(params), block(builder._open[0]), errors=errors)


class Arrays:
    """A kernel over one-dimensional arrays, at the index ``threadIdx.x``.

    The parameters are the flat form of the arrays; ``load`` and ``store`` access the element of
    the thread, or another one.
    """

    def __init__(self, *types: DType) -> None:
        self.types = types
        self.b = Builder()
        self.params = [
            param
            for _ in types
            for param in (
                value(ir.Pointer(), "array"),
                value(dtypes.int64, "shape"),
                value(dtypes.int64, "stride"),
            )
        ]
        self.tid = self.b.cast(self.b.register(ir.Register.TID_X), dtypes.int64)

    def load(self, number: int, index: ir.Value | None = None) -> ir.Value:
        """Load an element of array ``number``."""
        dtype = self.types[number]
        return self.b.load(
            self.params[3 * number],
            self.tid if index is None else index,
            dtype.size_bytes,
            dtype,
            ir.Access(f"a{number}", 1),
        )

    def store(self, number: int, stored: ir.Value, index: ir.Value | None = None) -> None:
        """Store an element of array ``number``."""
        self.b.store(
            self.params[3 * number],
            self.tid if index is None else index,
            stored,
            self.types[number].size_bytes,
            ir.Access(f"a{number}", 1),
        )

    def when(
        self,
        condition: ir.Value,
        then: Callable[[], object],
        otherwise: Callable[[], object] = lambda: None,
    ) -> None:
        """Append an ``If`` without results; a branch that does not leave yields."""
        blocks = []
        for write in (then, otherwise):
            with self.b.collect() as ops:
                write()
                if not self.b.is_terminated:
                    self.b.append(ir.Yield(()))
            blocks.append(block(ops))
        self.b.append(ir.If(condition, blocks[0], blocks[1], ()))

    def function(self, errors: tuple[ir.ErrorEntry, ...] = ()) -> ir.Function:
        """Return the kernel."""
        return function_from(self.b, self.params, errors)


def map_function(
    types: Sequence[DType], result: DType, write: Callable[..., ir.Value]
) -> ir.Function:
    """Return a kernel of one result array and some operand arrays; ``write(builder, *loads)``."""
    kernel = Arrays(result, *types)
    loads = [kernel.load(number) for number in range(1, len(types) + 1)]
    kernel.store(0, write(kernel.b, *loads))
    return kernel.function()


def run_map(function: ir.Function, result: DType, *operands: np.ndarray) -> np.ndarray:
    """Run a kernel of ``map_function`` over whole arrays."""
    out = np.zeros(len(operands[0]), result.numpy)
    run(function, 1, len(out), [out, *operands])
    return out
