"""The parsed form of PTX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.fakecuda.ptx.types import PtxType

# ----------------------------------------------------------------------------------- operands


@dataclass(frozen=True)
class Register:
    """A register of the function, `!` in front of predicates included."""

    slot: int
    type: PtxType
    name: str
    negated: bool = False


@dataclass(frozen=True)
class Special:
    """A special register such as %tid.x."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant: an integer, or the bits of a float of `float_size` bytes."""

    value: int
    float_size: int = 0


@dataclass(frozen=True)
class Symbol:
    """A name that is known only when the kernel runs: of a variable, function or label."""

    name: str


@dataclass(frozen=True)
class LocalSymbol:
    """A variable in local memory, by its offset in the function's frame."""

    name: str
    offset: int


@dataclass(frozen=True)
class ParamSymbol:
    """A parameter of the function or a variable in parameter space; `key` is unique."""

    key: str


@dataclass(frozen=True)
class Address:
    """What stands in brackets."""

    base: Operand
    offset: int


@dataclass(frozen=True)
class Group:
    """A vector `{a, b}`, a pair `p|q` or a list `(a, b)`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Sink:
    """The operand `_`."""


Operand = (
    Register | Special | Immediate | Symbol | LocalSymbol | ParamSymbol | Address | Group | Sink
)

# ------------------------------------------------------------------------- functions, modules


class Parameter(NamedTuple):
    """A parameter of a kernel: name of its type, bytes, alignment, offset in the buffer."""

    type: str
    size: int
    align: int
    offset: int


@dataclass
class Variable:
    """A declared variable. `items` are the initial values' texts, one per element."""

    name: str
    space: str
    type: PtxType
    size: int
    align: int
    items: tuple[str, ...] = ()
    external: bool = False


@dataclass(eq=False)
class Instruction:
    """An instruction; `step` is its executable form once it has run."""

    opcode: str
    modifiers: tuple[str, ...]
    types: tuple[PtxType, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    line: int
    text: str
    function: Function
    module: Module
    pc: int = 0
    step: Callable[..., Any] | None = None

    @property
    def type(self) -> PtxType:
        """The last type among the modifiers."""
        return self.types[-1]

    def choose(self, *names: str) -> str | None:
        """Return the first modifier that is among `names`."""
        return next((item for item in self.modifiers if item in names), None)


@dataclass(eq=False)
class Function:
    """A kernel (`entry`) or device function."""

    name: str
    entry: bool
    index: int
    parameters: list[Parameter] = field(default_factory=list)
    parameter_names: list[str] = field(default_factory=list)
    result_names: list[str] = field(default_factory=list)
    param_sizes: dict[str, int] = field(default_factory=dict)
    registers: list[PtxType] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, list[str]] = field(default_factory=dict)
    local_size: int = 0
    start: int = 0
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the buffer of all parameters."""
        return max((item.offset + item.size for item in self.parameters), default=0)


@dataclass(eq=False)
class Module:
    """A parsed module; `code` is that of all functions one after the other."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Variable] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    shared_size: int = 0
    dynamic_shared: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    code: list[Instruction] = field(default_factory=list)

    @property
    def kernels(self) -> dict[str, Function]:
        """The functions that can be launched."""
        return {name: item for name, item in self.functions.items() if item.entry}


# Slot of the carry flag (CC.CF) in every function.
CARRY_SLOT = 0
