"""Device functions with signatures: arguments and results are converted to the declared types."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import inference, values
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Operand
from pygpulib.jit.overloads import Conversion, best_overloads


def choose(
    ctx: Context,
    name: str,
    declared: Sequence[types.FunctionSignature],
    arguments: Sequence[Operand],
    node: ast.AST,
) -> types.FunctionSignature:
    """Return the signature that fits the arguments of a call best, the first of equals.

    Unlike a launch, a call may convert floats to integers, as assignments to elements do.

    Parameters
    ----------
    ctx : Context
        Where we are.
    name : str
        What messages call the function.
    declared : sequence of FunctionSignature
        Its signatures.
    arguments : sequence of Operand
        One per parameter.
    node : ast.AST
        The call.
    """
    found = [values.type_of(argument) for argument in arguments]
    known = tuple(type_ for type_ in found if type_ is not None)
    candidates = [signature.parameters for signature in declared]
    types_given = known if len(known) == len(found) else ()
    best = best_overloads(candidates, types_given, Conversion.NARROWING)
    if not best:
        given = ", ".join(inference.describe(argument) for argument in arguments)
        ctx.fail(
            KernelTypeError,
            f"the device function {name} is declared for other types than ({given})",
            node,
            detail="\n".join(
                [
                    "declared:",
                    *(f"  {signature}" for signature in declared),
                    f"Invalid use of type(DeviceFunction({name})) with parameters ({given})",
                ]
            ),
            help="convert the arguments, or leave the signature out of @cuda.jit",
        )
    return declared[candidates.index(best[0])]


def convert(
    ctx: Context,
    signature: types.FunctionSignature,
    arguments: Mapping[str, Operand],
    node: ast.AST,
) -> dict[str, Operand]:
    """Return the arguments converted to the types of the parameters."""
    return {
        name: inference.convert(ctx, argument, type_, node)
        for (name, argument), type_ in zip(arguments.items(), signature.parameters, strict=True)
    }


def convert_result(
    ctx: Context, name: str, signature: types.FunctionSignature, result: Operand, node: ast.AST
) -> Operand:
    """Return what a function returned, converted to the declared type."""
    if signature.result is None:
        return result
    if (signature.result == types.none) != (values.type_of(result) == types.none):
        ctx.fail(
            KernelTypeError,
            f"the device function {name} is declared to return {signature.result}, but returns "
            f"{inference.describe(result)}",
            node,
            help="correct the signature in @cuda.jit, or leave its result out",
        )
    return inference.convert(ctx, result, signature.result, node)
