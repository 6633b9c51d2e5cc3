"""Calls: which of the things that can be called is meant, and what to do with its arguments."""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import NoReturn

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import DTypeError, KernelTypeError, UnsupportedSyntaxError
from pygpulib.jit import extensions, types
from pygpulib.jit.frontend import (
    arrays,
    atomic_calls,
    builtins,
    casts,
    comparisons,
    cooperative,
    datetimes,
    elementwise,
    enums,
    expressions,
    formulas,
    inference,
    inline,
    literals,
    memory,
    methods,
    operators,
    optionals,
    overloading,
    pointers,
    reductions,
    reflection,
    structs,
    synchronization,
    traversal,
    tuples,
    vectors,
    warp_calls,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import (
    Arguments,
    Keywords,
    find_handler,
    function_name,
    no_keywords,
    numbers,
)
from pygpulib.jit.frontend.values import (
    Array,
    Closure,
    Complex,
    Elementwise,
    Method,
    Number,
    Object,
    Operand,
    Tuple,
)
from pygpulib.jit.intrinsics import catalogue
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import Intrinsic, find_intrinsic

# Importing these fills the tables that `find_handler` and `find_intrinsic` read.
_LOADED = (
    atomic_calls,
    builtins,
    casts,
    catalogue,
    cooperative,
    datetimes,
    formulas,
    memory,
    operators,
    pointers,
    reductions,
    reflection,
    synchronization,
    traversal,
    warp_calls,
)

_INTEGRAL = frozenset({"floor", "ceil", "trunc", "rint"})
"""The intrinsics whose results are whole numbers, and may serve as indices."""

_LANGUAGE = (
    "pygpulib.jit.",
    "pygpulib.ufuncs.",
    "pygpulib.rand.",
    "pygpulib.cuda.bf16",
    "pygpulib.cuda.fp16",
    "pygpulib.cuda.fp8",
    "pygpulib.cuda.libdevice",
)
"""Where this package keeps functions in the kernel language; its others are for the host."""

_VARARGS = 0x04
"""The flag of code that takes any number of arguments."""


# --------------------------------------------------------------------------------------- dispatch


def evaluate_call(ctx: Context, node: ast.Call) -> Operand:
    """Evaluate the callee and the arguments of a call, then call."""
    callee = expressions.evaluate(ctx, node.func)
    if isinstance(callee, Object) and callee.value is print:
        from pygpulib.jit.frontend import printing

        return printing.compile_print(ctx, node)
    takes_arrays = isinstance(callee, Object) and _takes_arrays(callee.value)
    evaluate = expressions.evaluate_elementwise if takes_arrays else expressions.evaluate
    args: list[Operand] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            args += unpacked(ctx, argument)
        else:
            args.append(evaluate(ctx, argument))
    kwargs: dict[str, Operand] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            ctx.fail(
                UnsupportedSyntaxError,
                "'**' in a call is not supported in kernels",
                node,
                help="write the keyword arguments out",
            )
        kwargs[keyword.arg] = expressions.evaluate(ctx, keyword.value)
    return call(ctx, callee, args, kwargs, node)


def unpacked(ctx: Context, argument: ast.Starred) -> tuple[Operand, ...]:
    """Return the arguments that ``*tuple`` stands for in a call."""
    operand = expressions.evaluate(ctx, argument.value)
    if not isinstance(operand, Tuple):
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} cannot be unpacked into arguments",
            argument,
            help="unpack a tuple",
        )
    return operand.items


def call(
    ctx: Context, callee: Operand, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    """Call something.

    Parameters
    ----------
    ctx : Context
        Where we are.
    callee : Operand
        What is called.
    args, kwargs : sequence and mapping of Operand
        The arguments.
    node : ast.AST
        Where errors point.
    """
    match callee:
        case Closure():
            return inline.call(ctx, callee, list(args), dict(kwargs), node)
        case Method():
            return methods.call(ctx, callee, args, kwargs, node)
        case Object(value):
            return _call_object(ctx, value, args, kwargs, node)
        case _:
            ctx.fail(
                KernelTypeError,
                f"{inference.describe(callee)} cannot be called",
                node,
                help="call a function",
            )


def _call_object(
    ctx: Context, value: object, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    ufunc = np.absolute if value is abs else value
    is_of_arrays = any(isinstance(one, Array | Elementwise) for one in args)
    if isinstance(ufunc, np.ufunc) and is_of_arrays:
        return _apply_to_arrays(ctx, ufunc, args, kwargs, node)
    handler = find_handler(value)
    overloads = extensions.find_function(value)
    if handler is not None and not (overloads and structs.are_involved(args)):
        return handler(ctx, args, kwargs, node)
    if overloads:
        return overloading.call(ctx, function_name(value), overloads, args, kwargs, node)
    if find_intrinsic(value) is not None:
        no_keywords(ctx, value, kwargs, node)
        return apply_function(ctx, value, args, node)
    if isinstance(value, types.ScalarType):
        return convert_to(ctx, value, str(value), args, kwargs, node)
    if isinstance(value, type) and issubclass(value, np.generic):
        return _convert_to_numpy(ctx, value, args, kwargs, node)
    made = _construct(ctx, value, args, kwargs, node)
    if made is not None:
        return made
    function = device_function(value)
    if function is not None:
        return inline.call(ctx, function, list(args), dict(kwargs), node)
    if _complex_function(value) is not None:
        no_keywords(ctx, value, kwargs, node)
        return apply_complex(ctx, value, args, node)
    _fail_call(ctx, value, node)


def _takes_arrays(value: object) -> bool:
    """Return whether a function works on arrays element by element."""
    return isinstance(value, np.ufunc) or value is abs or value is np.where


def _apply_to_arrays(
    ctx: Context, ufunc: np.ufunc, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    """Apply a ufunc element by element; one more argument is where the result goes."""
    out: Array | None = None
    if len(args) == ufunc.nin + 1 and isinstance(args[-1], Array):
        out, args = args[-1], args[:-1]

    def apply(items: Arguments) -> Operand:
        return _call_object(ctx, ufunc, items, kwargs, node)

    result = elementwise.combine(ctx, args, apply)
    if out is None:
        return result
    arrays.check_writable(ctx, out, node)
    elementwise.fill(ctx, out, result, node)
    return out


def _construct(
    ctx: Context, cls: object, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand | None:
    """Return what calling a class makes, None if it is none that kernels know."""
    if isinstance(cls, types.VectorType):
        plain = [optionals.plain(ctx, one) for one in args]
        return vectors.construct(ctx, cls, plain, kwargs, node)
    if isinstance(cls, type) and issubclass(cls, Enum) and len(args) == 1 and not kwargs:
        return enums.find(ctx, cls, args[0], node)
    if tuples.is_namedtuple_class(cls):
        return _construct_namedtuple(ctx, cls, args, kwargs, node)
    return structs.construct(ctx, cls, args, kwargs, node)


def device_function(value: object) -> Callable[..., object] | None:
    """Return what to inline for a call of a Python object, if it is in the kernel language.

    Objects made by ``cuda.jit`` are, and the functions of this package that are written so.
    """
    if callable(getattr(value, "py_func", None)):
        assert callable(value)
        return value
    if isinstance(value, FunctionType) and (
        value.__module__.startswith(_LANGUAGE) or extensions.is_jitable(value)
    ):
        return value
    return None


def _fail_call(ctx: Context, value: object, node: ast.AST) -> NoReturn:
    name = getattr(value, "__name__", type(value).__name__)
    title = inference.describe(Object(value))
    if isinstance(value, FunctionType) and literals.is_of_package(value.__module__):
        ctx.fail(
            KernelTypeError,
            f"{title} is for the host and cannot be called in a kernel",
            node,
            help="call it before or after the launch",
        )
    if isinstance(value, FunctionType):
        ctx.fail(
            KernelTypeError,
            f"{title} is a plain Python function and cannot be called in a kernel",
            node,
            help=f"decorate {name} with @cuda.jit(device=True)",
        )
    advice = "call device functions, and functions of math, cmath, numpy and cuda"
    if callable(value) and isinstance(value, BuiltinFunctionType | type | np.ufunc):
        ctx.fail(KernelTypeError, f"{title} is not available in kernels", node, help=advice)
    ctx.fail(KernelTypeError, f"{title} cannot be called in a kernel", node, help=advice)


# -------------------------------------------------------------------------------------- functions


def apply_function(ctx: Context, spelling: object, args: Arguments, node: ast.AST) -> Operand:
    """Apply a mathematical function by the Python object that names it."""
    if any(isinstance(argument, Complex) for argument in args):
        return apply_complex(ctx, spelling, args, node)
    name = function_name(spelling)
    record = find_intrinsic(spelling)
    assert record is not None, spelling
    return _apply_record(ctx, record, name, numbers(ctx, name, args, node), node)


def apply_intrinsic(
    ctx: Context, spelling: object, args: Sequence[Number], node: ast.AST
) -> Number:
    """Apply a function of real numbers that has one result."""
    record = find_intrinsic(spelling)
    assert record is not None, spelling
    result = _apply_record(ctx, record, function_name(spelling), args, node)
    assert isinstance(result, Number)
    return result


def _apply_record(
    ctx: Context, record: Intrinsic, name: str, args: Sequence[Number], node: ast.AST
) -> Operand:
    if any(argument.is_weak for argument in args):
        return _apply_to_weak(ctx, record, name, args, node)
    signature = record.rule(tuple(argument.dtype for argument in args))
    if signature is None:
        fail_types(ctx, name, args, node)
    operands = tuple(
        inference.cast(ctx, argument, dtype).value
        for argument, dtype in zip(args, signature.operands, strict=True)
    )
    results = tuple(ir.Value(dtype) for dtype in signature.results)
    ctx.builder.append(ir.Call(record, operands, results, span=ctx.builder.span))
    if record.name in _INTEGRAL:
        ctx.integral.update(results)
    found = tuple(Number(result) for result in results)
    if {one.dtype for one in args if one.dtype.is_float} == {dtypes.bfloat16}:
        found = tuple(_round_single(ctx, one) for one in found)
    return found[0] if len(found) == 1 else Tuple(found)


def _apply_to_weak(
    ctx: Context, record: Intrinsic, name: str, args: Sequence[Number], node: ast.AST
) -> Operand:
    """Apply a function to weak numbers among others, which is fine unless it wants integers."""
    operands = literals.settle(ctx, args)
    if record.rule(tuple(argument.dtype for argument in operands)) is None:
        operands = [inference.cast(ctx, argument, argument.dtype) for argument in args]
    return literals.like(args, _apply_record(ctx, record, name, operands, node))


def _round_single(ctx: Context, number: Number) -> Number:
    """Round what was computed as float32 to bfloat16."""
    is_single = number.dtype is dtypes.float32
    return inference.cast(ctx, number, dtypes.bfloat16) if is_single else number


def fail_types(ctx: Context, name: str, args: Arguments, node: ast.AST) -> NoReturn:
    """Fail because a function does not take arguments of these types."""
    ctx.fail(
        KernelTypeError,
        f"{name} does not take ({', '.join(inference.describe(one) for one in args)})",
        node,
        help="check the number and the types of the arguments",
    )


def _complex_function(spelling: object) -> Callable[..., object] | None:
    from pygpulib.jit.intrinsics.complex_math import COMPLEX_FUNCTIONS

    try:
        return COMPLEX_FUNCTIONS.get(spelling)
    except TypeError:  # not hashable, so nothing that was registered
        return None


def apply_complex(ctx: Context, spelling: object, args: Arguments, node: ast.AST) -> Operand:
    """Apply a function of complex numbers; real arguments become complex first."""
    function = _complex_function(spelling)
    are_numbers = all(isinstance(one, Number | Complex) for one in args)
    if function is None or not are_numbers or not _takes(function, len(args)):
        fail_types(ctx, function_name(spelling), args, node)
    return inline.call(ctx, function, _as_parameters(ctx, spelling, args), {}, node)


def _takes(function: Callable[..., object], count: int) -> bool:
    """Return whether a function of this package takes so many arguments."""
    assert isinstance(function, FunctionType)
    least = function.__code__.co_argcount
    has_optional = bool(function.__code__.co_flags & _VARARGS)  # the base of a logarithm
    return least <= count <= least + has_optional


def _as_parameters(ctx: Context, spelling: object, args: Arguments) -> list[Operand]:
    if spelling is cmath.rect:
        return list(args)
    is_single = all(isinstance(one, Number | Complex) and _is_single(one.dtype) for one in args)
    dtype = dtypes.complex64 if is_single else dtypes.complex128
    return [
        inference.as_complex(ctx, one, dtype) for one in args if isinstance(one, Number | Complex)
    ]


def _is_single(dtype: DType) -> bool:
    part = dtype.component
    return part.is_float and part is not dtypes.float64


# ------------------------------------------------------------------------------------ conversions


def convert_to(
    ctx: Context,
    type_: types.ScalarType,
    name: str,
    args: Arguments,
    kwargs: Keywords,
    node: ast.AST,
) -> Operand:
    """Convert a number to a scalar type, as ``float32(x)`` does; without argument it is zero."""
    if kwargs or len(args) > 1:
        ctx.fail(KernelTypeError, f"{name} takes one argument", node, help="pass one number")
    if not args:
        zero = inference.constant(ctx, 0, dtypes.int64)
        return inference.convert(ctx, zero, type_, node)
    (value,) = args
    if isinstance(value, Complex) and type_.dtype.is_bool:
        return comparisons.truth(ctx, value, node)
    return inference.convert(ctx, value, type_, node)


def _convert_to_numpy(
    ctx: Context, cls: type[np.generic], args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    try:
        dtype = dtypes.from_numpy(cls)
    except DTypeError:
        ctx.fail(
            KernelTypeError,
            f"numpy.{cls.__name__} is not available in kernels",
            node,
            help="use one of numpy's integer, float, complex or bool types",
        )
    return convert_to(ctx, types.scalar_type(dtype), f"numpy.{cls.__name__}", args, kwargs, node)


def _construct_namedtuple(
    ctx: Context, value: object, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    assert callable(value)
    return tuples.construct(
        ctx,
        value,
        args,
        kwargs,
        lambda default: expressions.from_python(ctx, default, "", node),
        node,
    )
