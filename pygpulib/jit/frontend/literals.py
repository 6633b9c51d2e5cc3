"""Weak literals, the option ``literals="weak"``: numbers written down take the type of others.

The rules are NumPy's for Python's numbers. A number of the program's text, or a Python number that
the kernel refers to, is *weak*, and so is what is computed from weak numbers alone. Where a weak
number meets a strong one, it becomes of that one's type, if that is of its kind or a wider one
(integer, float, complex): ``0.5 * x`` is a float32 if ``x`` is. A variable that is weak on one path
and strong on another is strong. Without the option no number is weak.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit import types
from pygpulib.jit.frontend import inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Complex, Number, Operand, Tuple
from pygpulib.jit.ir.builder import wrap_integer


def from_source(ctx: Context, number: Operand) -> Operand:
    """Return a number of the program's text, or one that it refers to; weak if it was asked for.

    The functions of this package say themselves what their types are.
    """
    if not ctx.options.weak_literals or not isinstance(number, Number | Complex):
        return number
    # Integers that int64 does not hold are too large for most of what they could meet.
    is_plain = number.dtype in (dtypes.int64, dtypes.float64, dtypes.complex128)
    if not is_plain or is_own(ctx.frame.source.outer.get("__name__")):
        return number
    return replace(number, is_weak=True)


def is_own(module: object) -> bool:
    """Return whether a module of this name belongs to this package's library of functions."""
    return isinstance(module, str) and module.startswith("pygpulib.jit.")


def is_of_package(module: object) -> bool:
    """Return whether a module of this name belongs to this package."""
    return isinstance(module, str) and module.startswith("pygpulib.")


def strong(operand: Operand) -> Operand:
    """Return an operand with the type that its numbers have by themselves."""
    match operand:
        case Number(is_weak=True) | Complex(is_weak=True):
            return replace(operand, is_weak=False)
        case Tuple(items):
            return replace(operand, items=tuple(map(strong, items)))
        case _:
            return operand


def like(sources: Sequence[Operand], result: Operand) -> Operand:
    """Return a result as a weak number if all that it was computed from is."""
    is_weak = all(isinstance(one, Number | Complex) and one.is_weak for one in sources)
    if is_weak and isinstance(result, Number | Complex) and not result.dtype.is_bool:
        return replace(result, is_weak=True)
    return result


def meet(weak: DType, other: DType) -> DType:
    """Return what a weak number becomes where it meets a strong number of a dtype."""
    if _rank(weak) <= _rank(other):
        return inference.widen(other) if other.is_float else other
    if weak.is_complex and other.is_float and other is not dtypes.float64:
        return dtypes.complex64
    return weak


def _rank(dtype: DType) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_float else 1 if dtype.is_integer else 0


def join(left: types.ScalarType, right: types.ScalarType) -> types.ScalarType:
    """Return the type of a variable that is one or the other, of which one is weak."""
    match left, right:
        case types.WeakType(), types.WeakType():
            return left if _rank(left.dtype) >= _rank(right.dtype) else right
        case (types.WeakType(dtype), other) | (other, types.WeakType(dtype)):
            # Among integers, nobody knows whether its value fits into the other type.
            own = dtype if other.dtype.is_integer else meet(dtype, other.dtype)
            return types.scalar_type(inference.promote(own, other.dtype))
        case _:
            raise AssertionError((left, right))


def settle(ctx: Context, numbers: Sequence[Number]) -> list[Number]:
    """Return numbers of which none is weak: weak ones take the types of the others.

    An integer that does not fit, or may not, stays what it is by itself.
    """
    firm = [one.dtype for one in numbers if not one.is_weak]
    if not firm or len(firm) == len(numbers):
        return [replace(one, is_weak=False) if one.is_weak else one for one in numbers]
    common = reduce(inference.promote, firm)
    return [_settled(ctx, one, common) if one.is_weak else one for one in numbers]


def _settled(ctx: Context, number: Number, other: DType) -> Number:
    plain = replace(number, is_weak=False)
    dtype = meet(number.dtype, other)
    if dtype.is_complex:
        return plain
    if dtype.is_integer:
        literal = number.literal
        known = literal is not None and wrap_integer(int(literal), dtype) == literal
        fits = known or (dtype.bits == 64 and inference.is_nonnegative(ctx, plain))
        return inference.cast(ctx, plain, dtype) if fits else plain
    return inference.cast(ctx, plain, dtype)


def combine(
    ctx: Context,
    operator: type[ast.operator],
    left: Number,
    right: Number,
    compute: Callable[[Number, Number], Number],
) -> Number:
    """Apply an operator to two real numbers, one of them weak at least."""
    is_power = operator is ast.Pow and right.is_weak and right.dtype.is_integer
    if (is_power and not left.is_weak) or _wants_integers(operator, left, right):
        return compute(
            inference.cast(ctx, left, left.dtype), inference.cast(ctx, right, right.dtype)
        )
    result = like((left, right), compute(*settle(ctx, (left, right))))
    assert isinstance(result, Number)
    return result


def _wants_integers(operator: type[ast.operator], left: Number, right: Number) -> bool:
    """Return whether a weak integer has to stay one: a float among them is a whole number."""
    is_bitwise = operator in (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
    return is_bitwise and (left.dtype.is_float or right.dtype.is_float)


def common_complex(left: Number | Complex, right: Number | Complex) -> DType | None:
    """Return the dtype in which a weak and a strong number meet, of which one is complex."""
    if left.is_weak == right.is_weak:
        return None
    weak, firm = (left, right) if left.is_weak else (right, left)
    dtype = meet(weak.dtype, firm.dtype)
    return dtype if dtype.is_complex else None
