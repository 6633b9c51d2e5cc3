"""Finding the syntax tree of a Python function, with true lines and columns."""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Set
from types import CodeType, FunctionType, MethodType

from pygpulib._record import record
from pygpulib.errors import (
    ArgumentTypeError,
    SourceUnavailableError,
    Span,
    UnsupportedSyntaxError,
)
from pygpulib.jit.diagnostics import describe
from pygpulib.jit.frontend.context import Source

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200

_CACHE_LIMIT = 1024

_COMMAND_LINE = "<string>"

_Place = tuple[int | None, int | None, int | None, int | None]


@record(eq=True)
class _Parsed:
    """What depends on the code only, not on captured values."""

    node: ast.FunctionDef | ast.Lambda
    lines: tuple[str, ...]


# Equal code objects of different files are equal, hence the file name in the key.
_cache: dict[tuple[str, CodeType], _Parsed] = {}


class Outer(Mapping[str, object]):
    """The names that a function sees from outside: captured variables, globals, builtins.

    Values are read when they are asked for, so that functions defined later are found. Two are
    equal if they belong to the same function.
    """

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        cells = function.__closure__ or ()
        self._cells = dict(zip(function.__code__.co_freevars, cells, strict=True))
        self._globals = function.__globals__

    def __getitem__(self, name: str) -> object:
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # the enclosing function has not assigned it yet
                raise KeyError(name) from None
        if name in self._globals:
            return self._globals[name]
        return vars(builtins)[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outer) and other._function is self._function

    def __hash__(self) -> int:
        return id(self._function)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._cells, **self._globals, **vars(builtins)})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def unwrap(function: object) -> object:
    """Return the Python function inside a compiled one."""
    while not isinstance(function, FunctionType):
        inner = getattr(function, "py_func", None)
        if inner is None:
            break
        function = inner
    return function


def load(function: Callable[..., object]) -> Source:
    """Return the source of a Python function.

    Parameters
    ----------
    function : function
        Defined with ``def`` or ``lambda``; objects that hold one as ``py_func`` will do.

    Returns
    -------
    Source
        Its syntax tree and its surroundings.

    Raises
    ------
    ArgumentTypeError
        If it is not a Python function.
    SourceUnavailableError
        If the file cannot be read or does not match the function.
    UnsupportedSyntaxError
        If it is a generator or a coroutine.
    """
    unwrapped = unwrap(function)
    if isinstance(unwrapped, MethodType):
        raise ArgumentTypeError(
            f"{unwrapped.__qualname__} is a bound method, which cannot be compiled",
            help="compile a plain function and pass what it needs as arguments",
        )
    if not isinstance(unwrapped, FunctionType):
        raise ArgumentTypeError(
            f"{unwrapped!r} is not a Python function", help="pass a function made with 'def'"
        )
    code = unwrapped.__code__
    key = (code.co_filename, code)
    parsed = _cache.get(key)
    if parsed is None:
        if len(_cache) >= _CACHE_LIMIT:
            _cache.clear()
        parsed = _cache[key] = _parse(unwrapped)
    _refuse_generator(code, parsed)
    return Source(
        parsed.node, code.co_filename, parsed.lines, unwrapped.__qualname__, Outer(unwrapped)
    )


def _refuse_generator(code: CodeType, parsed: _Parsed) -> None:
    if code.co_flags & (_COROUTINE | _ASYNC_GENERATOR):
        kind, advice = "is an async function", "use a plain 'def'"
    elif code.co_flags & _GENERATOR:
        kind = "is a generator (it uses 'yield')"
        advice = "write the values to an array argument, or return a tuple"
    else:
        return
    node = parsed.node
    span = Span(code.co_filename, node.lineno, node.col_offset, node.lineno, node.col_offset + 3)
    raise UnsupportedSyntaxError(
        f"{span}: {code.co_name} {kind}, which kernels cannot be",
        span=span,
        detail=describe(span, parsed.lines, ()),
        help=advice,
    )


def _parse(function: FunctionType) -> _Parsed:
    code = function.__code__
    if code.co_filename == _COMMAND_LINE:
        lines = _lines_of_command(code)
    else:
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        decompiled = _decompile(code)
        if decompiled is not None:
            return decompiled
        raise SourceUnavailableError(
            f"the source of {function.__qualname__} is not available",
            detail=f"expected it in {code.co_filename}, line {code.co_firstlineno}",
            help="define the function in a file or a notebook cell, not with exec() or at a "
            "plain Python prompt",
        )
    node = _find_lambda(code, lines) if code.co_name == "<lambda>" else _find_def(code, lines)
    if isinstance(node, ast.FunctionDef) and _mentions(node, lines, "match"):
        from pygpulib.jit.frontend.matching import replace_matches

        node = replace_matches(node)
    if node is None:
        raise SourceUnavailableError(
            f"the source of {function.__qualname__} was not found",
            detail=f"line {code.co_firstlineno} of {code.co_filename} holds something else",
            help="if the file was edited, import it again; give a lambda a name with 'def'",
        )
    return _Parsed(node, tuple(lines))


def _decompile(code: CodeType) -> _Parsed | None:
    """Return what can be read back from the instructions of a function without source."""
    from pygpulib.jit.frontend.decompile import decompile

    lines = decompile(code)
    if not lines:
        return None
    node = ast.parse("".join(lines)).body[0]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return _Parsed(node.value, lines)
    assert isinstance(node, ast.FunctionDef)
    return _Parsed(node, lines)


def _lines_of_command(code: CodeType) -> list[str]:
    """Return the program of ``python -c`` if the code is a part of it.

    Code from ``exec`` has the same file name.
    """
    arguments = sys.orig_argv
    if "-c" not in arguments[:-1]:
        return []
    text = arguments[arguments.index("-c") + 1]
    for program in (text, textwrap.dedent(text)):
        try:
            whole = compile(program, _COMMAND_LINE, "exec", dont_inherit=True)
        except SyntaxError:
            continue
        if _contains(whole, code):
            return program.splitlines(keepends=True)
    return []


def _contains(whole: CodeType, part: CodeType) -> bool:
    return any(
        constant == part or _contains(constant, part)
        for constant in whole.co_consts
        if isinstance(constant, CodeType)
    )


# ------------------------------------------------------------------------------------ functions


def _find_def(code: CodeType, lines: list[str]) -> ast.FunctionDef | None:
    """Parse the lines of one function, which is much faster than parsing the file.

    Leading blank lines and, for an indented function, an ``if`` around it leave all lines and
    columns as they are in the file.
    """
    first = code.co_firstlineno - 1
    if first >= len(lines):
        return None
    indent = _indent(lines[first])
    prefix = "\n" * (first - 1) + "if 1:\n" if indent else "\n" * first
    for end in _possible_ends(code, lines, indent):
        try:
            tree = ast.parse(prefix + "".join(lines[first:end]))
        except SyntaxError:  # cut inside a string or a parenthesis
            continue
        node = tree.body[0]
        if isinstance(node, ast.If):
            node = node.body[0]
        return _check_def(node, code)
    return None


def _check_def(node: ast.stmt, code: CodeType) -> ast.FunctionDef | None:
    """Return the node if it is the definition that the code was made from."""
    if isinstance(node, ast.AsyncFunctionDef):
        node = ast.FunctionDef(
            **{name: getattr(node, name) for name in (*node._fields, *node._attributes)}
        )
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return None
    names = tuple(parameter.arg for parameter in _positional(node.args))
    return node if names == code.co_varnames[: code.co_argcount] else None


def _positional(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _possible_ends(code: CodeType, lines: list[str], indent: int) -> Iterator[int]:
    """Yield the line numbers after which the function may end, in order."""
    last = _last_line(code)
    for number in range(last, len(lines)):
        line = lines[number]
        if line.strip() and not line.lstrip().startswith("#") and _indent(line) <= indent:
            yield number
    yield len(lines)


def _last_line(code: CodeType) -> int:
    """Return the last line that the code of a function knows of."""
    last = code.co_firstlineno
    for _, end, _, _ in code.co_positions():
        last = max(last, end or 0)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            last = max(last, _last_line(constant))
    return last


# -------------------------------------------------------------------------------------- lambdas


def _find_lambda(code: CodeType, lines: list[str]) -> ast.Lambda | None:
    """Find a lambda in the whole file by the positions in its code."""
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    parameters = code.co_varnames[: code.co_argcount]
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and tuple(parameter.arg for parameter in _positional(node.args)) == parameters
    ]
    if len(found) > 1:
        places = set(code.co_positions())
        found = [node for node in found if _has_part_at(node.body, places)]
    # Of a lambda and one inside it, the inner one comes later, and has parts of its own alone.
    return found[-1] if found else None


def _has_part_at(body: ast.expr, places: Set[_Place]) -> bool:
    """Return whether code with instructions at some places is that of an expression."""
    return any(isinstance(node, ast.expr) and _place(node) in places for node in ast.walk(body))


def _mentions(node: ast.FunctionDef, lines: list[str], word: str) -> bool:
    """Return whether a function contains a word; much cheaper than to walk its tree."""
    return any(word in line for line in lines[node.lineno - 1 : node.end_lineno])


def _place(node: ast.expr) -> _Place:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
