"""The constructs of Python that the kernel language does not have: what to write instead."""

from __future__ import annotations

import ast
from typing import NoReturn

from pygpulib.errors import UnsupportedSyntaxError
from pygpulib.jit.frontend.context import Context

# By class name, because newer Python versions have more classes: the construct as users call it,
# and the nearest spelling that works.
UNSUPPORTED: dict[str, tuple[str, str]] = {
    # statements
    "AsyncFor": ("'async for'", "use a plain 'for'"),
    "AsyncFunctionDef": ("'async def'", "use a plain 'def'"),
    "AsyncWith": ("'async with'", "call the functions one after the other"),
    "ClassDef": (
        "a class definition",
        "use a tuple, or a namedtuple class defined outside the kernel",
    ),
    "Global": ("'global'", "write to an element of an array argument instead of a global variable"),
    "Import": ("'import'", "import the module outside the kernel"),
    "ImportFrom": ("'import'", "import the name outside the kernel"),
    "Match": (
        "'match' with such patterns",
        "use constants, names, alternatives and tuples, or 'if' and 'elif'",
    ),
    "Nonlocal": ("'nonlocal'", "return the new value from the inner function and assign it"),
    "Try": ("'try'", "test for the condition with 'if' before the operation"),
    "TryStar": ("'try'", "test for the condition with 'if' before the operation"),
    "TypeAlias": ("a 'type' statement", "define the alias outside the kernel"),
    "With": ("'with'", "call the functions one after the other"),
    # expressions
    "Await": ("'await'", "call a plain function"),
    "Dict": ("a dict", "use a tuple, a namedtuple or an array argument"),
    "DictComp": ("a dict comprehension", "use a 'for' loop that fills an array"),
    "GeneratorExp": ("a generator expression", "use a 'for' loop"),
    "Interpolation": ("a t-string", "pass the values to print() as separate arguments"),
    "List": ("a list", "use a tuple, or cuda.local.array for values that change"),
    "ListComp": ("a list comprehension", "use a 'for' loop that fills an array"),
    "Set": ("a set", "use a tuple; 'in' works on tuples"),
    "SetComp": ("a set comprehension", "use a 'for' loop that fills an array"),
    "TemplateStr": ("a t-string", "pass the values to print() as separate arguments"),
    "Yield": ("'yield'", "write the values to an array argument, or return a tuple"),
    "YieldFrom": ("'yield from'", "write the values to an array argument, or return a tuple"),
    # operators
    "MatMult": ("the operator '@'", "write the sum of products as a loop"),
}


def refuse(ctx: Context, node: ast.AST) -> NoReturn:
    """Raise the error for a construct that is not in the language.

    Parameters
    ----------
    ctx : Context
        Where we are.
    node : ast.AST
        The construct; an operator has no place of its own, so pass :func:`refuse_operator` that.
    """
    refuse_construct(ctx, type(node).__name__, node)


def refuse_operator(ctx: Context, operator: type[ast.operator], node: ast.AST) -> NoReturn:
    """Raise the error for an operator that is not in the language, used in ``node``."""
    refuse_construct(ctx, operator.__name__, node)


def refuse_construct(ctx: Context, class_name: str, node: ast.AST) -> NoReturn:
    """Raise the error for an AST class by name."""
    construct, suggestion = UNSUPPORTED.get(class_name, (f"'{class_name}'", ""))
    ctx.fail(
        UnsupportedSyntaxError, f"{construct} is not supported in kernels", node, help=suggestion
    )
