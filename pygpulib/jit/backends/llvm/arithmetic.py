"""Arithmetic operations as LLVM IR, on scalars (width 0) and on vectors alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.llvm.small_floats import narrow, widen
from pygpulib.jit.backends.llvm.text import (
    Code,
    constant,
    register_type,
    splat_constant,
    suffix,
)
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, UnaryKind

_PLAIN_INT = {
    BinaryKind.ADD: "add",
    BinaryKind.SUBTRACT: "sub",
    BinaryKind.MULTIPLY: "mul",
    BinaryKind.AND: "and",
    BinaryKind.OR: "or",
    BinaryKind.XOR: "xor",
}
_PLAIN_FLOAT = {
    BinaryKind.ADD: "fadd",
    BinaryKind.SUBTRACT: "fsub",
    BinaryKind.MULTIPLY: "fmul",
    BinaryKind.DIVIDE: "fdiv",
}
_INT_EXTREMES = {
    BinaryKind.MINIMUM: ("umin", "smin"),
    BinaryKind.MAXIMUM: ("umax", "smax"),
}


Remainder = Callable[[DType, int, str, str], str]


@record(eq=True)
class Arithmetic:
    """Writes operations of one function with its floating-point options."""

    code: Code
    numeric: ir.NumericOptions
    remainder: Remainder
    """Writes C's ``fmod``; a vector of it needs a loop, which only the code generator can make."""
    has_bfloat16: bool = False
    """Whether the processor rounds float32 to bfloat16, subnormal numbers included."""

    # -------------------------------------------------------------------------------- pieces

    def number(self, value: bool | float, dtype: DType, width: int) -> str:
        """Return a constant in every lane."""
        return splat_constant(constant(value, dtype), dtype.llvm, width)

    def _flags(self, *, strict: bool) -> str:
        if strict:
            return ""
        if self.numeric.fastmath:
            return "fast "
        return "contract " if self.numeric.contract else ""

    def operation(self, name: str, dtype: DType, width: int, left: str, right: str) -> str:
        """Write an instruction of two operands of one type."""
        return self.code.emit(f"{name} {register_type(dtype, width)} {left}, {right}")

    def select(self, type_: ir.Type, width: int, condition: str, left: str, right: str) -> str:
        """Write ``condition ? left : right`` with a condition per lane."""
        register = register_type(type_, width)
        mask = register_type(dtypes.bool_, width)
        return self.code.emit(f"select {mask} {condition}, {register} {left}, {register} {right}")

    def _overloaded(self, name: str, dtype: DType, width: int, *values: str) -> str:
        register = register_type(dtype, width)
        return self.code.call(
            f"llvm.{name}.{suffix(dtype.llvm, width)}", register, [(register, v) for v in values]
        )

    # ----------------------------------------------------------------------------- operations

    def unary(self, kind: UnaryKind, dtype: DType, width: int, value: str) -> str:
        """Write a one-operand operation."""
        if dtype.is_small:
            wide = self.unary(kind, dtypes.float32, width, widen(self, dtype, width, value))
            return narrow(self, dtype, width, wide)
        match kind:
            case UnaryKind.NEGATE if dtype.is_float:
                return self.code.emit(f"fneg {register_type(dtype, width)} {value}")
            case UnaryKind.NEGATE:
                return self.operation("sub", dtype, width, self.number(0, dtype, width), value)
            case UnaryKind.NOT:
                ones = self.number(True if dtype.is_bool else -1, dtype, width)
                return self.operation("xor", dtype, width, value, ones)
            case UnaryKind.ABSOLUTE if dtype.is_float:
                return self._overloaded("fabs", dtype, width, value)
            case UnaryKind.ABSOLUTE:
                if not dtype.is_signed:
                    return value
                register = register_type(dtype, width)
                name = f"llvm.abs.{suffix(dtype.llvm, width)}"
                return self.code.call(name, register, [(register, value), ("i1", "false")])
            case _:
                assert_never(kind)

    def compare(self, kind: CompareKind, dtype: ir.Type, width: int, left: str, right: str) -> str:
        """Write a comparison; the result is ``i1`` per lane."""
        if isinstance(dtype, DType) and dtype.is_small:
            left, right = (widen(self, dtype, width, value) for value in (left, right))
            dtype = dtypes.float32
        if isinstance(dtype, DType) and dtype.is_float:
            name = "fcmp une" if kind is CompareKind.NE else f"fcmp o{kind.value}"
        elif kind in (CompareKind.EQ, CompareKind.NE):
            name = f"icmp {kind.value}"
        else:
            sign = "s" if isinstance(dtype, DType) and dtype.is_signed else "u"
            name = f"icmp {sign}{kind.value}"
        return self.code.emit(f"{name} {register_type(dtype, width)} {left}, {right}")

    def binary(
        self, kind: BinaryKind, dtype: DType, width: int, left: str, right: str, *, strict: bool
    ) -> str:
        """Write a two-operand operation."""
        if dtype.is_small:
            wide = [widen(self, dtype, width, value) for value in (left, right)]
            result = self.binary(kind, dtypes.float32, width, *wide, strict=strict)
            return narrow(self, dtype, width, result)
        if dtype.is_float:
            return self._float_binary(kind, dtype, width, left, right, strict=strict)
        if kind in _PLAIN_INT:
            return self.operation(_PLAIN_INT[kind], dtype, width, left, right)
        if kind in _INT_EXTREMES:
            name = _INT_EXTREMES[kind][dtype.is_signed]
            return self._overloaded(name, dtype, width, left, right)
        if kind in (BinaryKind.SHIFT_LEFT, BinaryKind.SHIFT_RIGHT):
            return self._shift(kind, dtype, width, left, right)
        return self._divide(kind, dtype, width, left, right)

    def _float_binary(
        self, kind: BinaryKind, dtype: DType, width: int, left: str, right: str, *, strict: bool
    ) -> str:
        if kind in _PLAIN_FLOAT:
            flags = self._flags(strict=strict)
            return self.operation(f"{_PLAIN_FLOAT[kind]} {flags}", dtype, width, left, right)
        if kind is BinaryKind.MINIMUM:
            return self._overloaded("minnum", dtype, width, left, right)
        if kind is BinaryKind.MAXIMUM:
            return self._overloaded("maxnum", dtype, width, left, right)
        if kind is BinaryKind.REMAINDER:
            return self.remainder(dtype, width, left, right)
        if kind is BinaryKind.MODULO:
            return self._python_modulo(dtype, width, left, right)
        if kind is BinaryKind.FLOOR_DIVIDE:
            return self._python_floor_divide(dtype, width, left, right)
        raise AssertionError(kind)

    def _python_modulo(self, dtype: DType, width: int, left: str, right: str) -> str:
        """CPython's float modulo: C's remainder, moved to the divisor's sign."""
        remainder, wrong_sign = self._signed_remainder(dtype, width, left, right)
        zero = self.number(0.0, dtype, width)
        is_zero = self.operation("fcmp oeq", dtype, width, remainder, zero)
        signed_zero = self._overloaded("copysign", dtype, width, zero, right)
        moved = self.operation("fadd", dtype, width, remainder, right)
        result = self.select(dtype, width, wrong_sign, moved, remainder)
        return self.select(dtype, width, is_zero, signed_zero, result)

    def _signed_remainder(self, dtype: DType, width: int, left: str, right: str) -> tuple[str, str]:
        """C's remainder, and whether it is not zero and differs in sign from the divisor."""
        remainder = self.remainder(dtype, width, left, right)
        zero = self.number(0.0, dtype, width)
        is_negative = self.operation("fcmp olt", dtype, width, remainder, zero)
        is_positive = self.operation("fcmp ogt", dtype, width, remainder, zero)
        by_negative = self.operation("fcmp olt", dtype, width, right, zero)
        mask = register_type(dtypes.bool_, width)
        wrong = self.code.emit(
            f"select {mask} {by_negative}, {mask} {is_positive}, {mask} {is_negative}"
        )
        return remainder, wrong

    def _python_floor_divide(self, dtype: DType, width: int, left: str, right: str) -> str:
        """CPython's float floor division, exact where the plain quotient would round up."""
        remainder, wrong_sign = self._signed_remainder(dtype, width, left, right)
        zero, one = self.number(0.0, dtype, width), self.number(1.0, dtype, width)
        difference = self.operation("fsub", dtype, width, left, remainder)
        quotient = self.operation("fdiv", dtype, width, difference, right)
        lower = self.operation("fsub", dtype, width, quotient, one)
        quotient = self.select(dtype, width, wrong_sign, lower, quotient)
        floored = self._overloaded("floor", dtype, width, quotient)
        rest = self.operation("fsub", dtype, width, quotient, floored)
        is_low = self.operation("fcmp ogt", dtype, width, rest, self.number(0.5, dtype, width))
        raised = self.operation("fadd", dtype, width, floored, one)
        result = self.select(dtype, width, is_low, raised, floored)
        plain = self.operation("fdiv", dtype, width, left, right)
        # A quotient of zero takes the sign that the true quotient has.
        signed_zero = self._overloaded("copysign", dtype, width, zero, plain)
        is_zero = self.operation("fcmp oeq", dtype, width, quotient, zero)
        result = self.select(dtype, width, is_zero, signed_zero, result)
        by_zero = self.operation("fcmp oeq", dtype, width, right, zero)
        return self.select(dtype, width, by_zero, plain, result)

    def _shift(self, kind: BinaryKind, dtype: DType, width: int, left: str, count: str) -> str:
        """Shift by a count that may be anything."""
        limit = self.number(dtype.bits, dtype, width)
        in_range = self.operation("icmp ult", dtype, width, count, limit)
        zero = self.number(0, dtype, width)
        if kind is BinaryKind.SHIFT_RIGHT and dtype.is_signed:
            most = self.number(dtype.bits - 1, dtype, width)
            clamped = self.select(dtype, width, in_range, count, most)
            return self.operation("ashr", dtype, width, left, clamped)
        if dtype.bits == 64:
            # Not a selection: LLVM drops it for GPUs, whose shifts look at 32 bits of a count.
            clamped = self.operation("and", dtype, width, count, self.number(63, dtype, width))
        else:
            clamped = self.select(dtype, width, in_range, count, zero)
        name = "shl" if kind is BinaryKind.SHIFT_LEFT else "lshr"
        return self.select(
            dtype, width, in_range, self.operation(name, dtype, width, left, clamped), zero
        )

    # ------------------------------------------------------------------------ integer division

    def _divide(self, kind: BinaryKind, dtype: DType, width: int, left: str, right: str) -> str:
        """Integer division in all its flavours; total, as the hardware's is not."""
        zero = self.number(0, dtype, width)
        one = self.number(1, dtype, width)
        by_zero = self.operation("icmp eq", dtype, width, right, zero)
        divisor = self.select(dtype, width, by_zero, one, right)
        by_minus_one = negated = zero
        if dtype.is_signed:
            # The most negative number by -1 traps: divide by 1 and negate, which wraps.
            minus_one = self.number(-1, dtype, width)
            by_minus_one = self.operation("icmp eq", dtype, width, right, minus_one)
            divisor = self.select(dtype, width, by_minus_one, one, divisor)
            negated = self.operation("sub", dtype, width, zero, left)
        quotient = self.divide_safely(dtype, width, left, divisor)
        product = self.operation("mul", dtype, width, quotient, divisor)
        remainder = self.operation("sub", dtype, width, left, product)
        wants_quotient = kind is BinaryKind.FLOOR_DIVIDE
        if dtype.is_signed and kind is not BinaryKind.REMAINDER:
            signs = self.operation("xor", dtype, width, remainder, divisor)
            is_wrong = self.operation("icmp slt", dtype, width, signs, zero)
            is_rest = self.operation("icmp ne", dtype, width, remainder, zero)
            mask = register_type(dtypes.bool_, width)
            adjust = self.code.emit(f"and {mask} {is_wrong}, {is_rest}")
            if wants_quotient:
                lower = self.operation("sub", dtype, width, quotient, one)
                quotient = self.select(dtype, width, adjust, lower, quotient)
            else:
                moved = self.operation("add", dtype, width, remainder, divisor)
                remainder = self.select(dtype, width, adjust, moved, remainder)
        result = quotient if wants_quotient else remainder
        if dtype.is_signed and wants_quotient:
            result = self.select(dtype, width, by_minus_one, negated, result)
        return self.select(dtype, width, by_zero, zero, result)

    def divide_safely(self, dtype: DType, width: int, left: str, right: str) -> str:
        """Write the truncated quotient by a divisor that is known to be neither 0 nor -1."""
        signed = "s" if dtype.is_signed else "u"
        if not width or dtype.bits > 32:
            return self.operation(f"{signed}div", dtype, width, left, right)
        # No SIMD unit divides integers; float64 holds them and the truncated quotient exactly.
        wide = register_type(dtypes.float64, width)
        narrow = register_type(dtype, width)
        dividend = self.code.emit(f"{signed}itofp {narrow} {left} to {wide}")
        divisor = self.code.emit(f"{signed}itofp {narrow} {right} to {wide}")
        quotient = self.code.emit(f"fdiv {wide} {dividend}, {divisor}")
        return self.code.emit(f"fpto{signed}i {wide} {quotient} to {narrow}")

    # ------------------------------------------------------------------------------ conversions

    def cast(self, source: DType, target: DType, width: int, value: str) -> str:
        """Convert a number; see :class:`pygpulib.jit.ir.ops.Cast`."""
        if source == target:
            return value
        if source.is_small:
            single = widen(self, source, width, value)
            return self.cast(dtypes.float32, target, width, single)
        if target.is_small:
            single = self._to_single(source, width, value)
            return narrow(self, target, width, single)
        return self._cast_plain(source, target, width, value)

    def _cast_plain(self, source: DType, target: DType, width: int, value: str) -> str:
        if target.is_bool:
            name = "fcmp une" if source.is_float else "icmp ne"
            return self.operation(name, source, width, value, self.number(0, source, width))
        if source.is_float and target.is_float:
            if target.bits == 16 and source.bits == 64:
                value, source = self._round_to_odd(width, value), dtypes.float32
            name = "fpext" if target.bits > source.bits else "fptrunc"
            return self._convert(name, source, target, width, value)
        if source.is_float:
            return self._float_to_int(source, target, width, value)
        if target.is_float:
            name = "sitofp" if source.is_signed else "uitofp"
            return self._convert(name, source, target, width, value)
        if target.bits == source.bits and not source.is_bool:
            return value
        if target.bits < source.bits:
            return self._convert("trunc", source, target, width, value)
        return self._convert("sext" if source.is_signed else "zext", source, target, width, value)

    def _to_single(self, source: DType, width: int, value: str) -> str:
        """Convert to float32 such that rounding once more to a smaller type is right."""
        if source.is_integer:
            if source.bits == 64:
                value = self._keep_sticky(source, width, value)
            value, source = self.cast(source, dtypes.float64, width, value), dtypes.float64
        if source == dtypes.float64:
            return self._round_to_odd(width, value)
        return self.cast(source, dtypes.float32, width, value)

    def _keep_sticky(self, source: DType, width: int, value: str) -> str:
        """Let the last bit of an integer that a float64 holds tell of those that it does not."""
        cut = self.number(0x7FF, source, width)
        rest = self.operation("and", source, width, value, cut)
        carried = self.operation("add", source, width, rest, cut)
        sticky = self.operation("or", source, width, value, carried)
        sticky = self.operation("and", source, width, sticky, self.number(~0x7FF, source, width))
        size = value
        if source.is_signed:
            sign = self.operation("ashr", source, width, value, self.number(63, source, width))
            size = self.operation("xor", source, width, value, sign)
        is_long = self.operation(
            "icmp ugt", source, width, size, self.number((1 << 53) - 1, source, width)
        )
        return self.select(source, width, is_long, sticky, value)

    def _convert(self, name: str, source: DType, target: DType, width: int, value: str) -> str:
        return self.code.emit(
            f"{name} {register_type(source, width)} {value} to {register_type(target, width)}"
        )

    def _round_to_odd(self, width: int, value: str) -> str:
        """Round float64 to float32 so that rounding once more to a smaller type is right.

        There is no direct conversion in hardware, and rounding to nearest twice is off where
        the first one lands on a tie: keep in the last bit that something was cut off.
        """
        double, single, bits = dtypes.float64, dtypes.float32, dtypes.int32
        near = self._convert("fptrunc", double, single, width, value)
        back = self._convert("fpext", single, double, width, near)
        size = self._overloaded("fabs", double, width, value)
        near_size = self._overloaded("fabs", double, width, back)
        is_above = self.operation("fcmp ogt", double, width, near_size, size)
        is_inexact = self.operation("fcmp one", double, width, back, value)
        pattern = self.bitcast(single, bits, width, near)
        lower = self.operation("sub", bits, width, pattern, self.number(1, bits, width))
        cut = self.select(bits, width, is_above, lower, pattern)
        odd = self.operation("or", bits, width, cut, self.number(1, bits, width))
        return self.bitcast(bits, single, width, self.select(bits, width, is_inexact, odd, cut))

    def _float_to_int(self, source: DType, target: DType, width: int, value: str) -> str:
        signed = self._saturating("fptosi", source, dtypes.int64, width, value)
        if target.bits < 64:
            return self._convert("trunc", dtypes.int64, target, width, signed)
        if target.is_signed:
            return signed
        unsigned = self._saturating("fptoui", source, dtypes.uint64, width, value)
        # In float16, the bound rounds to infinity, which is right: nothing smaller reaches it.
        is_big = self.operation(
            "fcmp oge", source, width, value, self.number(2.0**63, source, width)
        )
        return self.select(target, width, is_big, unsigned, signed)

    def _saturating(self, name: str, source: DType, target: DType, width: int, value: str) -> str:
        result = register_type(target, width)
        types = f"{suffix(target.llvm, width)}.{suffix(source.llvm, width)}"
        return self.code.call(
            f"llvm.{name}.sat.{types}", result, [(register_type(source, width), value)]
        )

    def bitcast(self, source: ir.Type, target: ir.Type, width: int, value: str) -> str:
        """Read the bits as another type of the same size."""
        old, new = register_type(source, width), register_type(target, width)
        if old == new:
            return value
        action = "bitcast"
        if isinstance(source, ir.Pointer):
            action = "ptrtoint"
        elif isinstance(target, ir.Pointer):
            action = "inttoptr"
        return self.code.emit(f"{action} {old} {value} to {new}")
