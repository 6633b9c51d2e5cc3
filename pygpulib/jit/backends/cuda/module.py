"""What the functions of one kernel share: memory, messages, and the module that they become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygpulib.core.dtypes import DType
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cuda.overlap import Pairs, Scopes
from pygpulib.jit.backends.cuda.spaces import GLOBAL, SHARED, find_spaces
from pygpulib.jit.backends.messages import find_prints
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import Foreign
from pygpulib.jit.ir.rewrite import walk

if TYPE_CHECKING:
    import numpy as np

    from pygpulib.core.foreign_code import ForeignCode
    from pygpulib.jit.backends.cuda.target import CudaTarget
    from pygpulib.jit.backends.cuda.thread import ThreadCode

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
TRIPLE = "nvptx64-nvidia-cuda"

ALIGNMENT = 16
"""Of arrays in bytes, for accesses of several elements at once."""

RECORD_TYPE = GLOBAL
"""LLVM's type of the address of the launch record; functions that get it name it ``%record``."""

_MOST_PARAMETER_BYTES = 4096

INVARIANT = "!invariant.load !0"
"""Says of a load that nobody writes what it reads while the kernel runs."""


def waits_for_grid(function: ir.Function) -> bool:
    """Return whether a kernel has a barrier of the grid: all its blocks must run at once."""
    return any(
        isinstance(op, ir.Barrier) and op.kind is ir.BarrierKind.GRID for op in _ops(function)
    )


def needs_record(function: ir.Function) -> bool:
    """Return whether a kernel takes the address of a launch record as its last parameter."""
    return any(
        isinstance(op, ir.Print)
        or (isinstance(op, ir.Raise) and op.code is not None)
        or (isinstance(op, ir.Barrier) and op.kind is ir.BarrierKind.GRID)
        for op in _ops(function)
    )


def foreign_code(function: ir.Function) -> tuple[ForeignCode, ...]:
    """Return the code in other languages that a kernel calls."""
    calls = (op.intrinsic.cuda for op in _ops(function) if isinstance(op, ir.Call))
    return tuple(part for how in calls if isinstance(how, Foreign) for part in how.parts)


def _ops(function: ir.Function) -> list[ir.Op]:
    return [op for part in (function, *function.callees) for op in walk(part.body)]


def _check_parameters(kernel: ir.Function) -> None:
    """Refuse a kernel whose arguments do not fit where the hardware keeps them."""
    size = 8 if needs_record(kernel) else 0
    for param in kernel.params:
        bytes_ = param.type.size_bytes if isinstance(param.type, DType) else 8
        size = -(-size // bytes_) * bytes_ + bytes_
    if size > _MOST_PARAMETER_BYTES:
        raise UnsupportedFeatureError(
            f"{kernel.span or 'the kernel'}: the arguments of {kernel.name} take {size} bytes",
            span=kernel.span,
            detail=f"GPUs have room for {_MOST_PARAMETER_BYTES} bytes; an array takes 8, and 16 "
            "more per dimension",
            help="pass fewer arrays, or numbers as the elements of one array",
        )


def whole(size_bytes: int) -> int:
    """Return the size of a variable with room for accesses of several elements at its end.

    LLVM reads a few more elements than asked for where the alignment shows that it can, and
    changes small elements atomically as parts of words.
    """
    return -(-max(size_bytes, 1) // ALIGNMENT) * ALIGNMENT


class Module:
    """What the functions of one kernel share.

    Parameters
    ----------
    kernel : ir.Function
        The kernel.
    target : CudaTarget
        The generation of GPUs.
    name : str
        Symbol of the kernel; other names start with it.
    apart : sequence of (Place, Place)
        Arrays that do not overlap.

    Attributes
    ----------
    scopes : Scopes
        What that says of accesses.
    spaces : Spaces
        How addresses look.
    has_record : bool
        Whether functions are told the address of the launch record.
    is_cooperative : bool
        Whether there are barriers of the grid.
    print_numbers : dict
        Number of each print, by identity.
    callees : dict
        The functions that the kernel calls, and the symbol of each, by name.
    """

    def __init__(
        self, kernel: ir.Function, target: CudaTarget, name: str, apart: Pairs = ()
    ) -> None:
        _check_parameters(kernel)
        self.kernel = kernel
        self.target = target
        self.name = name
        self.scopes = Scopes(kernel, apart)
        self.spaces = find_spaces(kernel)
        self.has_record = needs_record(kernel)
        self.is_cooperative = waits_for_grid(kernel)
        self.print_numbers = {id(op): number for number, op in enumerate(find_prints(kernel))}
        self.callees = {
            callee.name: (callee, f"{name}_callee{position}")
            for position, callee in enumerate(kernel.callees)
        }
        self._globals: dict[str, str] = {}

    def result_type(self, function: ir.Function) -> str:
        """Return LLVM's type of what a function returns."""
        types = list(map(self.spaces.text, function.result_types))
        return f"{{ {', '.join(types)} }}" if types else "void"

    def shared_array(self, size_bytes: int, alignment: int) -> str:
        """Return the address of new memory of the block."""
        symbol = f"@{self.name}_shared{len(self._globals)}"
        memory = f"addrspace(3) global [{whole(size_bytes)} x i8] undef, align {alignment}"
        self._globals[symbol] = f"{symbol} = internal {memory}"
        return symbol

    def dynamic_shared(self) -> str:
        """Return the address of the block's dynamic shared memory."""
        symbol = f"@{self.name}_dynamic"
        memory = "addrspace(3) global [0 x i8], align 16"
        self._globals[symbol] = f"{symbol} = external {memory}"
        return symbol

    def counter(self, name: str) -> str:
        """Return the address, with its type, of an i32 that the threads of the block share."""
        symbol = f"@{self.name}_{name}"
        self._globals[symbol] = f"{symbol} = internal addrspace(3) global i32 undef, align 4"
        return f"{SHARED} {symbol}"

    def constant_data(self, data: np.ndarray[Any, Any], space: int) -> str:
        """Return the address of constant data."""
        symbol = f"@{self.name}_data{len(self._globals)}"
        raw = data.tobytes().ljust(whole(data.nbytes), b"\0")
        text = "\\" + raw.hex("\\")
        memory = f"addrspace({space}) constant [{len(raw)} x i8]"
        self._globals[symbol] = f'{symbol} = internal {memory} c"{text}", align {ALIGNMENT}'
        return symbol

    def write(self, functions: list[tuple[ThreadCode, str]]) -> str:
        """Return the module's text.

        Parameters
        ----------
        functions : list of (ThreadCode, str)
            Each function's code and the line that starts its definition.
        """
        codes = [code for code, _ in functions]
        declarations = {name: text for code in codes for name, text in code.declarations.items()}
        definitions = [
            "\n".join([f"{header} {{", "entry:", *code.entry, *code.lines, "}", ""])
            for code, header in functions
        ]
        return "\n".join(
            [
                f'target datalayout = "{DATA_LAYOUT}"',
                f'target triple = "{TRIPLE}"',
                *self._globals.values(),
                *declarations.values(),
                *definitions,
                "!0 = !{}",
                *self.scopes.nodes,
                "",
            ]
        )
