"""How addresses look in LLVM IR: which of the GPU's memories they are of.

An address in the IR says what it points to. Where arrays of different memories meet in one
variable, the front end takes them for global ones; in such kernels, global addresses have to be
generic ones, which may point anywhere.
"""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.jit.backends.llvm.text import scalar_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import AddressSpace
from pygpulib.jit.ir.rewrite import walk

GLOBAL = "ptr addrspace(1)"
SHARED = "ptr addrspace(3)"
CONSTANT = "ptr addrspace(4)"
GENERIC = "ptr"

_CONSTANT_BANK_BYTES = 60 << 10
"""Room for constant data, of the 64 KB that the hardware has for it and the driver's own."""


@record(eq=True)
class Spaces:
    """LLVM's types of the addresses of one kernel, by what they point to."""

    types: dict[AddressSpace, str]

    def text(self, type_: ir.Type) -> str:
        """Return LLVM's spelling of a type in a register."""
        return self.types[type_.space] if isinstance(type_, ir.Pointer) else scalar_type(type_)

    @property
    def constant_space(self) -> int:
        """The number of the memory where the kernel's constant data lies."""
        return 4 if self.types[AddressSpace.CONSTANT] == CONSTANT else 1


def find_spaces(function: ir.Function) -> Spaces:
    """Return how a kernel and its callees hold addresses."""
    is_mixed = False
    constant_bytes = 0
    for part in (function, *function.callees):
        for op in walk(part.body):
            if isinstance(op, ir.Bitcast):
                is_mixed = is_mixed or _leaves_space(op)
            elif isinstance(op, ir.ConstantData):
                constant_bytes += op.data.nbytes
    return Spaces(
        {
            AddressSpace.GLOBAL: GENERIC if is_mixed else GLOBAL,
            AddressSpace.SHARED: SHARED,
            # LLVM finds out by itself which addresses are of local memory.
            AddressSpace.LOCAL: GENERIC,
            AddressSpace.CONSTANT: CONSTANT if constant_bytes <= _CONSTANT_BANK_BYTES else GLOBAL,
        }
    )


def _leaves_space(op: ir.Bitcast) -> bool:
    old, new = op.operand.type, op.result.type
    return isinstance(old, ir.Pointer) and isinstance(new, ir.Pointer) and old != new
