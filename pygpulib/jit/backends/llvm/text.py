"""LLVM IR as text: the one emitter behind both code generators.

Text is written directly, because building an object per instruction first costs more time than
the whole code generation of a small kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.arithmetic import constant as fold_constant


def scalar_type(type_: ir.Type) -> str:
    """Return LLVM's spelling of a type in a register."""
    return "ptr" if isinstance(type_, ir.Pointer) else type_.llvm


def register_type(type_: ir.Type, width: int) -> str:
    """Return LLVM's spelling of ``width`` lanes of a type; width 0 is a scalar."""
    return lanes_of(scalar_type(type_), width)


def lanes_of(element: str, width: int) -> str:
    """Return LLVM's spelling of ``width`` lanes of LLVM's type of an element; 0 is a scalar."""
    return f"<{width} x {element}>" if width else element


def suffix(element: str, width: int) -> str:
    """Return how an overloaded LLVM intrinsic names a type."""
    names = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
    name = names.get(element, element)
    return f"v{width}{name}" if width else name


def constant(value: bool | float, dtype: DType) -> str:
    """Return a scalar constant, exact to the last bit."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    if dtype.is_small:
        return str(int(fold_constant(value, dtype).view(f"u{dtype.size_bytes}")[0]))
    if dtype.llvm == "half":
        with np.errstate(over="ignore"):
            bits = int(np.array(value, np.float16).view(np.uint16))
        return f"0xH{bits:04X}"
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value)) if dtype.llvm == "float" else float(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


def splat_constant(text: str, element: str, width: int) -> str:
    """Return a constant with every lane the same; a scalar where ``width`` is 0."""
    return f"splat ({element} {text})" if width else text


class Code:
    """A function body being written, with its module-level declarations.

    ``entry`` holds what runs once, before everything else; instructions go to ``lines``.
    """

    def __init__(self) -> None:
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.globals: list[str] = []
        self._count = 0

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def emit(self, instruction: str) -> str:
        """Append an instruction with a result; return the result's name."""
        name = f"%v{self._fresh()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def enter(self, instruction: str) -> str:
        """Append an instruction to what runs once, at the function's start."""
        name = f"%e{self._fresh()}"
        self.entry.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def slot(self, type_: str, alignment: int = 0) -> str:
        """Return a stack slot, allocated once per call of the function."""
        name = f"%s{self._fresh()}"
        align = f", align {alignment}" if alignment else ""
        self.entry.append(f"  {name} = alloca {type_}{align}")
        return name

    def load(self, slot: str, type_: str) -> str:
        """Read a stack slot."""
        return self.emit(f"load {type_}, ptr {slot}")

    def store(self, slot: str, type_: str, value: str) -> None:
        """Write a stack slot."""
        self.do(f"store {type_} {value}, ptr {slot}")

    def new_label(self, hint: str) -> str:
        """Return a fresh label name."""
        return f"{hint}{self._fresh()}"

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{name}:")

    def branch(self, target: str) -> None:
        """Jump."""
        self.do(f"br label %{target}")

    def branch_if(self, condition: str, if_true: str, if_false: str) -> None:
        """Jump on a scalar ``i1``."""
        self.do(f"br i1 {condition}, label %{if_true}, label %{if_false}")

    def declare(self, name: str, result: str, types: Iterable[str], attributes: str = "") -> None:
        """Declare a function of another module or an LLVM intrinsic."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(types)}) {attributes}"

    def call(
        self, name: str, result: str, arguments: list[tuple[str, str]], flags: str = ""
    ) -> str:
        """Call an LLVM intrinsic or a C function that returns something."""
        self.declare(name, result, (type_ for type_, _ in arguments))
        values = ", ".join(f"{type_} {value}" for type_, value in arguments)
        return self.emit(f"call {flags}{result} @{name}({values})")

    def call_void(self, name: str, arguments: list[tuple[str, str]]) -> None:
        """Call something that returns nothing."""
        self.declare(name, "void", (type_ for type_, _ in arguments))
        values = ", ".join(f"{type_} {value}" for type_, value in arguments)
        self.do(f"call void @{name}({values})")

    def data(self, array: np.ndarray[Any, Any]) -> str:
        """Return the address of constant data, aligned for vectors."""
        name = f"@data{self._fresh()}"
        raw = array.tobytes()
        text = "".join(f"\\{byte:02X}" for byte in raw)
        self.globals.append(
            f'{name} = private unnamed_addr constant [{len(raw)} x i8] c"{text}", align 64'
        )
        return name

    def splat(self, value: str, element: str, width: int) -> str:
        """Return a vector with a scalar in every lane."""
        vector = f"<{width} x {element}>"
        first = self.emit(f"insertelement {vector} poison, {element} {value}, i64 0")
        return self.emit(
            f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer"
        )
