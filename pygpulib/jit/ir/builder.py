"""Making IR: one method per thing the front end says often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.errors import Span


_CONSTANT = ir.Pointer(ir.AddressSpace.CONSTANT)


class Builder:
    """Appends operations to the innermost open block.

    Attributes
    ----------
    span : Span or None
        The source range given to the operations that follow.
    strict : bool
        Whether the arithmetic that follows is rounded as written; see `ir.Binary`.
    """

    def __init__(self) -> None:
        self.span: Span | None = None
        self.strict = False
        self._open: list[list[ir.Op]] = [[]]

    @contextmanager
    def collect(self) -> Iterator[list[ir.Op]]:
        """Open a block; what is appended meanwhile lands in the list that this yields."""
        ops: list[ir.Op] = []
        self._open.append(ops)
        try:
            yield ops
        finally:
            self._open.pop()

    def append(self, op: ir.Op) -> None:
        """Append an operation made by the caller."""
        self._open[-1].append(op)

    def known(self, value: ir.Value) -> bool | int | float | None:
        """Return the number that a value is, if it is a constant of the blocks that are open."""
        for op in (op for block in reversed(self._open) for op in block):
            if isinstance(op, ir.Const) and op.result is value:
                return op.value
        return None

    @property
    def is_terminated(self) -> bool:
        """Whether the open block already ends in a terminator."""
        ops = self._open[-1]
        return bool(ops) and ops[-1].is_terminator

    def constant(self, value: bool | float, dtype: DType) -> ir.Value:
        """Append a constant; an integer is wrapped to the type's range."""
        if dtype.is_bool:
            value = bool(value)
        elif dtype.is_float:
            value = float(value)
        else:
            value = wrap_integer(int(value), dtype)
        result = ir.Value(dtype)
        self.append(ir.Const(result, value, span=self.span))
        return result

    def undefined(self, type_: ir.Type) -> ir.Value:
        """Append a value nobody may depend on."""
        result = ir.Value(type_)
        self.append(ir.Undefined(result, span=self.span))
        return result

    def unary(self, kind: ir.UnaryKind, operand: ir.Value) -> ir.Value:
        """Append a one-operand operation."""
        result = ir.Value(operand.type)
        self.append(ir.Unary(kind, operand, result, span=self.span))
        return result

    def binary(
        self, kind: ir.BinaryKind, left: ir.Value, right: ir.Value, *, strict: bool = False
    ) -> ir.Value:
        """Append a two-operand operation; both operands have one type."""
        result = ir.Value(left.type)
        self.append(ir.Binary(kind, left, right, result, strict or self.strict, span=self.span))
        return result

    def compare(self, kind: ir.CompareKind, left: ir.Value, right: ir.Value) -> ir.Value:
        """Append a comparison; both operands have one type."""
        result = ir.Value(dtypes.bool_)
        self.append(ir.Compare(kind, left, right, result, span=self.span))
        return result

    def select(self, condition: ir.Value, if_true: ir.Value, if_false: ir.Value) -> ir.Value:
        """Append a selection."""
        result = ir.Value(if_true.type)
        self.append(ir.Select(condition, if_true, if_false, result, span=self.span))
        return result

    def cast(self, operand: ir.Value, dtype: DType) -> ir.Value:
        """Append a conversion, unless the type is right already."""
        if operand.type == dtype:
            return operand
        result = ir.Value(dtype, operand.hint)
        self.append(ir.Cast(operand, result, span=self.span))
        return result

    def pointer_cast(self, pointer: ir.Value, space: ir.AddressSpace) -> ir.Value:
        """Append the reading of an address as one of another space, unless it is right already."""
        if pointer.type == ir.Pointer(space):
            return pointer
        result = ir.Value(ir.Pointer(space), pointer.hint)
        self.append(ir.Bitcast(pointer, result, span=self.span))
        return result

    def address(self, pointer: ir.Value) -> ir.Value:
        """Append the reading of an address as an int64."""
        result = ir.Value(dtypes.int64, pointer.hint)
        self.append(ir.Bitcast(pointer, result, span=self.span))
        return result

    def register(self, register: ir.Register) -> ir.Value:
        """Append the reading of a special register."""
        result = ir.Value(dtypes.int32, register.value)
        self.append(ir.ReadRegister(register, result, span=self.span))
        return result

    def offset(self, pointer: ir.Value, index: ir.Value, scale: int) -> ir.Value:
        """Append ``pointer + index * scale`` bytes."""
        result = ir.Value(pointer.type)
        self.append(ir.PointerAdd(pointer, index, scale, result, span=self.span))
        return result

    def load(
        self,
        pointer: ir.Value,
        index: ir.Value,
        scale: int,
        dtype: DType,
        access: ir.Access | None = None,
    ) -> ir.Value:
        """Append a load of one element."""
        result = ir.Value(dtype)
        is_constant = pointer.type == _CONSTANT
        self.append(ir.Load(pointer, index, scale, result, access, is_constant, span=self.span))
        return result

    def store(
        self,
        pointer: ir.Value,
        index: ir.Value,
        value: ir.Value,
        scale: int,
        access: ir.Access | None = None,
    ) -> None:
        """Append a store of one element."""
        self.append(ir.Store(pointer, index, value, scale, access, span=self.span))


def wrap_integer(value: int, dtype: DType) -> int:
    """Return the integer of the dtype's range that has the same low bits."""
    value &= (1 << dtype.bits) - 1
    if dtype.is_signed and value >> (dtype.bits - 1):
        value -= 1 << dtype.bits
    return value
