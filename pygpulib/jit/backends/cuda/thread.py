"""The program of one thread while it is written: values, control flow, and what it may report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.llvm.arithmetic import Arithmetic
from pygpulib.jit.backends.llvm.text import Code
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.find_ranges import Ranges, find_ranges

if TYPE_CHECKING:
    from pygpulib.errors import Span
    from pygpulib.jit.backends.cuda.module import Module


class ThreadCode(Code):
    """A function body that knows which basic block is being written.

    Attributes
    ----------
    block : str
        The label of that block.
    marks : list of (int, Span)
        Where in the source the instructions from a position on come from.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block = "entry"
        self.marks: list[tuple[int, Span]] = []

    def mark(self, span: Span | None) -> None:
        """Note where in the source what follows comes from."""
        if span is not None:
            self.marks.append((len(self.lines), span))

    def label(self, name: str) -> None:
        """Start a basic block."""
        super().label(name)
        self.block = name

    def reserve(self, count: int) -> tuple[int, list[str]]:
        """Keep lines free, for instructions that are known later; return where, and their names."""
        position = len(self.lines)
        self.lines.extend([""] * count)
        return position, [f"%v{self._fresh()}" for _ in range(count)]


class Join:
    """A place that several ways lead to, each with values of its own.

    Parameters
    ----------
    code : ThreadCode
        The function.
    label : str
        What the name of the place starts with.
    types : sequence of str
        LLVM's types of the values.
    """

    def __init__(self, code: ThreadCode, label: str, types: Sequence[str]) -> None:
        self.code = code
        self.label = code.new_label(label)
        self.types = types
        self.ways: list[tuple[str, Sequence[str]]] = []
        self._position = 0
        self._names: list[str] = []

    def arrive(self, texts: Sequence[str]) -> None:
        """Take note of a way from the block being written, whose jump is written by others."""
        self.ways.append((self.code.block, texts))

    def come(self, texts: Sequence[str]) -> None:
        """Jump here."""
        self.arrive(texts)
        self.code.branch(self.label)

    def begin(self) -> list[str]:
        """Start the place while not all ways to it are known; return the names of the values."""
        self.code.label(self.label)
        self._position, self._names = self.code.reserve(len(self.types))
        return self._names

    def seal(self) -> None:
        """Write what the values are, once all ways are known."""
        for number, (name, type_) in enumerate(zip(self._names, self.types, strict=True)):
            ways = ", ".join(f"[ {texts[number]}, %{block} ]" for block, texts in self.ways)
            self.code.lines[self._position + number] = f"  {name} = phi {type_} {ways}"

    def open(self) -> list[str] | None:
        """Start the place and return the names of its values; None if no way leads here."""
        if not self.ways:
            return None
        if len(self.ways) == 1:
            self.code.label(self.label)
            return list(self.ways[0][1])
        names = self.begin()
        self.seal()
        return names


class Region:
    """A construct that is being written: where its ends lead.

    Attributes
    ----------
    op : Op
        The construct.
    end : Join
        What follows it.
    again : Join or None
        For loops, the way to the next iteration.
    """

    def __init__(self, op: ir.Op, end: Join, again: Join | None = None) -> None:
        self.op = op
        self.end = end
        self.again = again


class Thread:
    """Writes one function, a kernel or a callee, as the program of one thread.

    Parameters
    ----------
    module : Module
        What the functions of the kernel share.
    function : ir.Function
        The function.

    Attributes
    ----------
    code : ThreadCode
        What is written.
    constants : dict
        Values that are known now.
    is_kernel : bool
        Whether the function's end is the thread's.
    """

    def __init__(self, module: Module, function: ir.Function) -> None:
        self.module = module
        self.function = function
        self.code = ThreadCode()
        self.constants: dict[ir.Value, bool | int | float] = {}
        self.is_kernel = function is module.kernel
        self.arithmetic = Arithmetic(
            self.code,
            function.numeric,
            self._remainder,
            has_bfloat16=module.target.compute_capability >= (8, 0),
        )
        self._regions: list[Region] = []
        self._texts: dict[ir.Value, str] = {}

    @cached_property
    def ranges(self) -> Ranges:
        """What integers the values can be."""
        return find_ranges(self.function)

    # -------------------------------------------------------------------------------- values

    def define(self, value: ir.Value, text: str) -> None:
        """Say what holds a value."""
        self._texts[value] = text

    def define_all(self, values: Sequence[ir.Value], texts: Sequence[str]) -> None:
        """Say what holds some values."""
        self._texts.update(zip(values, texts, strict=True))

    def text(self, value: ir.Value) -> str:
        """Return what holds a value."""
        return self._texts[value]

    def texts(self, values: Sequence[ir.Value]) -> list[str]:
        """Return what holds some values."""
        return [self._texts[value] for value in values]

    def register_type(self, value: ir.Value) -> str:
        """Return LLVM's type of a value in a register."""
        return self.module.spaces.text(value.type)

    def typed(self, value: ir.Value) -> str:
        """Return a value with its type, as most instructions name operands."""
        return f"{self.register_type(value)} {self._texts[value]}"

    def dtype(self, value: ir.Value) -> DType:
        """Return the type of a number."""
        assert isinstance(value.type, DType)
        return value.type

    def number(self, value: bool | float, dtype: DType) -> str:
        """Return a constant."""
        return self.arithmetic.number(value, dtype, 0)

    def cast(self, value: ir.Value, dtype: DType) -> str:
        """Write a number as one of another type."""
        return self.arithmetic.cast(self.dtype(value), dtype, 0, self.text(value))

    def register(self, register: ir.Register) -> str:
        """Write the reading of a special register, an i32."""
        if register is ir.Register.WARPSIZE:
            return "32"
        name = register.value.replace("dynamic_shared_bytes", "dynamic_smem_size")
        return self.code.call(f"llvm.nvvm.read.ptx.sreg.{name}", "i32", [])

    def _remainder(self, dtype: DType, width: int, left: str, right: str) -> str:
        """Write C's ``fmod``, which is exact, so that float32 serves the smaller types, too."""
        assert width == 0
        write, single = self.arithmetic, dtypes.float32
        if dtype.bits < 32:
            wide = [write.cast(dtype, single, 0, operand) for operand in (left, right)]
            return write.cast(single, dtype, 0, self._remainder(single, 0, *wide))
        symbol = "__nv_fmodf" if dtype.bits == 32 else "__nv_fmod"
        return self.code.call(symbol, dtype.llvm, [(dtype.llvm, left), (dtype.llvm, right)])

    # --------------------------------------------------------------------------- control flow

    def join(self, label: str, values: Sequence[ir.Value]) -> Join:
        """Return a new place that ways lead to with such values."""
        return Join(self.code, label, [self.register_type(value) for value in values])

    @contextmanager
    def inside(self, region: Region) -> Iterator[None]:
        """Write the inside of a construct."""
        self._regions.append(region)
        yield
        self._regions.pop()

    def nearest(self, *kinds: type[ir.If | ir.For | ir.Loop | ir.Scope]) -> Region | None:
        """Return the innermost construct of some kinds around the place being written."""
        for region in reversed(self._regions):
            if isinstance(region.op, kinds):
                return region
        return None
