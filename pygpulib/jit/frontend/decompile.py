"""Reading a function back from its byte code, for code whose text is gone.

What ``exec`` compiled, or what was typed at a plain prompt, has no source file. The instructions
are turned back into statements; what comes out is compiled again, and counts only if that gives the
very same instructions. So whatever is missing here, the result is never another function.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterable
from types import CodeType

from pygpulib.jit.frontend.instruction_reader import Reader, UnknownPatternError
from pygpulib.jit.frontend.instructions import (
    is_jump,
    list_instructions,
    share_exits,
    value_of,
)

# What does nothing, and is there or not depending on how lines are numbered.
_NEUTRAL = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "RESUME"})

_VARARGS, _KEYWORDS = 0x04, 0x08


def decompile(code: CodeType) -> tuple[str, ...]:
    """Return the lines of a function that compiles to the same instructions.

    Parameters
    ----------
    code : code
        Code of a function.

    Returns
    -------
    tuple of str
        The lines of its definition, of the assignment of a lambda; empty if it is not understood.
    """
    try:
        body = Reader(share_exits(list_instructions(code))).read()
    except (UnknownPatternError, IndexError):
        return ()
    first = code.co_consts[:1]
    documented = [ast.Expr(ast.Constant(text)) for text in first if isinstance(text, str)]
    shorter = _without_returns(body)
    for statements in (body, shorter, [*documented, *body], [*documented, *shorter]):
        tree = ast.fix_missing_locations(_definition(code, statements))
        text = ast.unparse(tree)
        if any(_is_same(found, code) for found in _codes_in(_within(code, text))):
            return tuple(text.splitlines(keepends=True))
    return ()


def _without_returns(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function without those that leave it where it ends anyway."""
    body = list(body)
    while len(body) > 1 and _is_plain_return(body[-1]):
        body.pop()
    if isinstance(body[-1], ast.If):
        last = body[-1]
        otherwise = _without_returns(last.orelse) if last.orelse else []
        body[-1] = ast.If(last.test, _without_returns(last.body), otherwise)
    return body


def _is_plain_return(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Return)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is None
    )


# ------------------------------------------------------------------------------------- comparison


def _definition(code: CodeType, body: list[ast.stmt]) -> ast.stmt:
    names = iter(code.co_varnames)
    positional = [ast.arg(next(names)) for _ in range(code.co_argcount)]
    by_name = [ast.arg(next(names)) for _ in range(code.co_kwonlyargcount)]
    arguments = ast.arguments(
        posonlyargs=positional[: code.co_posonlyargcount],
        args=positional[code.co_posonlyargcount :],
        vararg=ast.arg(next(names)) if code.co_flags & _VARARGS else None,
        kwonlyargs=by_name,
        kw_defaults=[None] * len(by_name),
        kwarg=ast.arg(next(names)) if code.co_flags & _KEYWORDS else None,
        defaults=[],
    )
    if code.co_name != "<lambda>":
        return ast.FunctionDef(code.co_name, arguments, body, [])
    value = _as_expression(body)
    if value is None:
        return ast.Pass()
    return ast.Assign([ast.Name("function", ast.Store())], ast.Lambda(arguments, value))


def _as_expression(body: list[ast.stmt]) -> ast.expr | None:
    """Return the expression that the statements of a lambda stand for."""
    match body:
        case [ast.Return(value=value)]:
            return value
        case [ast.If(test=test, body=then, orelse=[]), *otherwise]:
            if_true, if_false = _as_expression(then), _as_expression(otherwise)
            if if_true is None or if_false is None:
                return None
            return ast.IfExp(test, if_true, if_false)
        case _:
            return None


def _within(code: CodeType, text: str) -> str:
    """Return a program in which the names that a function captures are captured."""
    if not code.co_freevars:
        return text
    lines = [f" {line}\n" for line in text.splitlines()]
    return f"def outside({', '.join(code.co_freevars)}):\n{''.join(lines)}"


def _codes_in(text: str) -> Iterable[CodeType]:
    pending = [compile(text, "<decompiled>", "exec", dont_inherit=True)]
    while pending:
        code = pending.pop()
        yield code
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _is_same(found: CodeType, wanted: CodeType) -> bool:
    """Return whether two codes do the same, wherever they were written."""
    keys = ("co_name", "co_varnames", "co_freevars", "co_argcount", "co_posonlyargcount")
    return all(
        getattr(found, key) == getattr(wanted, key) for key in (*keys, "co_kwonlyargcount")
    ) and _meaning(found) == _meaning(wanted)


def _meaning(code: CodeType) -> list[tuple[str, object]]:
    """Return the instructions of a code, wherever its names and constants are kept."""
    kept: list[dis.Instruction] = []
    places: dict[int, int] = {}
    for each in dis.get_instructions(code):
        places[each.offset] = len(kept)
        if each.opname not in _NEUTRAL:
            kept.append(each)
    return [
        (each.opname, places[each.argval] if is_jump(each) else repr(value_of(code, each)))
        for each in kept
    ]
