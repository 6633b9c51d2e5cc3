"""PTX text -> `Module`: directives, variables and functions. `body` reads what is inside."""

from __future__ import annotations

import functools
import re

from tests.fakecuda.ptx.body import parse_body
from tests.fakecuda.ptx.faults import PtxSyntaxError
from tests.fakecuda.ptx.syntax import Function, Module, Parameter
from tests.fakecuda.ptx.variables import parse_variable, place_shared, split_list

_LINKING = r"\s*((?:\.(?:visible|extern|weak|common)\s+)*)"
_STATEMENT = re.compile(
    _LINKING
    + r"\.(entry|func|version|target|address_size|global|const|shared|file|section|alias|pragma)\b"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = re.compile(r"\s*(\([^)]*\))?\s*([\w$%]+)\s*(?:\((.*?)\))?(.*)$", re.DOTALL)
_DIRECTIVE = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxnreg|maxnctapersm)\s+([\d,\s]+)|\.(noreturn)"
)


@functools.lru_cache(maxsize=512)
def parse_module(text: str) -> Module:
    """Parse a PTX text; equal texts give the same module.

    Raises
    ------
    PtxSyntaxError
        If the text is not understood.
    """
    # Newlines stay, so that positions still give lines; a driver's text may end in a zero byte.
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text.rstrip("\0 \n\t"))
    module = Module()
    bodies: list[tuple[Function, str, int]] = []
    position = 0
    while text[position:].strip():
        match = _STATEMENT.match(text, position)
        if match is None:
            near = text[position:].strip().split("\n")[0]
            line = text.count("\n", 0, text.index(near, position)) + 1
            raise PtxSyntaxError(f"line {line}: not understood: {near}")
        position = _parse_statement(module, bodies, text, match)
    if not module.version or not module.target:
        raise PtxSyntaxError("a module begins with .version and .target")
    for function, body, line in bodies:
        parse_body(module, function, body, line)
    return module


def _parse_statement(
    module: Module, bodies: list[tuple[Function, str, int]], text: str, match: re.Match[str]
) -> int:
    """Parse one statement at module level and return the position after it."""
    kind, begin = match[2], match.end()
    if kind in ("version", "target", "address_size", "file"):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        if kind in ("version", "target"):
            setattr(module, kind, text[begin:end].strip().split(",")[0])
        return end
    if kind == "section":
        return _closing_brace(text, text.index("{", begin)) + 1
    if kind in ("entry", "func"):
        return _parse_function(module, bodies, text, match)
    end = text.find(";", begin)
    if end < 0:
        raise PtxSyntaxError(f"line {text.count(chr(10), 0, begin) + 1}: no semicolon")
    if kind in ("alias", "pragma"):
        return end + 1
    variable = parse_variable(text[begin:end], kind, external=".extern" in match[1])
    if kind == "shared":
        place_shared(module, variable)
    else:
        module.globals[variable.name] = variable
    return end + 1


def _parse_function(
    module: Module, bodies: list[tuple[Function, str, int]], text: str, match: re.Match[str]
) -> int:
    begin = match.end()
    brace, semicolon = text.find("{", begin), text.find(";", begin)
    declared = brace < 0 or 0 <= semicolon < brace
    head = _HEAD.match(text[begin : semicolon if declared else brace])
    if head is None:
        raise PtxSyntaxError(f"head of a function not understood: {text[begin:brace]}")
    results, name, parameters, rest = head.groups()
    if declared:
        module.declared.add(name)
        return semicolon + 1
    function = Function(name, match[2] == "entry", len(module.functions))
    offset = 0
    for item in split_list(parameters or ""):
        variable = parse_variable(item, "param")
        offset = -(-offset // variable.align) * variable.align
        function.parameters.append(
            Parameter(variable.type.name, variable.size, variable.align, offset)
        )
        function.parameter_names.append(variable.name)
        function.param_sizes[variable.name] = variable.size
        offset += variable.size
    for item in split_list((results or "()")[1:-1]):
        variable = parse_variable(item, "param")
        function.result_names.append(variable.name)
        function.param_sizes[variable.name] = variable.size
    for item in _DIRECTIVE.finditer(rest):
        if item[1]:
            function.directives[item[1]] = tuple(map(int, item[2].split(",")))
    module.functions[name] = function
    end = _closing_brace(text, brace)
    bodies.append((function, text[brace + 1 : end], text.count("\n", 0, brace) + 1))
    return end + 1


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    for match in re.compile("[{}]").finditer(text, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise PtxSyntaxError(f"line {text.count(chr(10), 0, opening) + 1}: no closing brace")
