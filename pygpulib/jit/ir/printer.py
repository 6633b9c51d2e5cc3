"""Canonical text of the IR, for dumps, golden files and messages.

Everything follows from the fields of the operations. Values are numbered in the order of their
definition, so that equal programs have equal text; an attribute that has its default is left out.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from enum import Enum
from functools import cache
from typing import Any, cast

import numpy as np

from pygpulib._record import MISSING, fields
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import Intrinsic
from pygpulib.jit.ir.rewrite import FieldKind, fields_of, operands_of, results_of

_INDENT = "  "


def format_function(function: ir.Function) -> str:
    """Return the canonical text of a function and of the functions that it calls.

    Parameters
    ----------
    function : Function
        What to print.

    Returns
    -------
    str
        One operation per line, nested blocks indented; ends with a line break.
    """
    text = "\n".join(_function_lines(function)) + "\n"
    return "\n".join([text, *map(format_function, function.callees)])


def format_op(op: ir.Op) -> str:
    """Return one operation on one line, for a message; nested blocks are left out."""
    names = _Names()
    for value in (*operands_of(op), *results_of(op)):
        names.define(value)
    return _head(op, names)


class _Names:
    """Numbers values in the order in which they are defined."""

    def __init__(self) -> None:
        self._names: dict[ir.Value, str] = {}

    def define(self, value: ir.Value) -> str:
        """Return the name of a value, numbering it if it is new."""
        if value not in self._names:
            hint = f".{value.hint}" if value.hint else ""
            self._names[value] = f"%{len(self._names)}{hint}"
        return self._names[value]

    def use(self, value: ir.Value | None) -> str:
        """Return the name of an operand; one that nobody defined shows as ``%?``."""
        if value is None:
            return "none"
        hint = f".{value.hint}" if value.hint else ""
        return self._names.get(value, f"%?{hint}")

    def declare(self, values: tuple[ir.Value, ...]) -> str:
        """Return values with their types, numbering them."""
        return ", ".join(f"{self.define(value)}: {value.type}" for value in values)


def _function_lines(function: ir.Function) -> Iterator[str]:
    names = _Names()
    results = ", ".join(map(str, function.result_types))
    numeric = function.numeric
    options = f" contract={numeric.contract} fastmath={numeric.fastmath}"
    yield f"function {function.name}({names.declare(function.params)}) -> ({results}){options} {{"
    for number, entry in enumerate(function.errors):
        yield f"{_INDENT}error {number}: {entry.exception.__name__}({entry.message!r})"
    yield from _block_lines(function.body, names, _INDENT)
    yield "}"


def _block_lines(block: ir.Block, names: _Names, indent: str) -> Iterator[str]:
    for op in block.ops:
        nested = [
            (name.removesuffix("_block"), getattr(op, name))
            for name, kind in fields_of(_class_of(op))
            if kind is FieldKind.BLOCK
        ]
        head = _head(op, names)
        if not nested:
            yield f"{indent}{head}"
            continue
        for position, (name, inner) in enumerate(nested):
            opening = head if position == 0 else f"}} {name}"
            label = f" {name}" if position == 0 and len(nested) > 1 else ""
            params = f" ({names.declare(inner.params)})" if inner.params else ""
            yield f"{indent}{opening}{label}{params} {{"
            yield from _block_lines(inner, names, indent + _INDENT)
        yield f"{indent}}}"


def _head(op: ir.Op, names: _Names) -> str:
    """Return one line: results, name, operands, then attributes."""
    defaults = _defaults(_class_of(op))
    parts: list[str] = []
    attributes: list[str] = []
    for name, kind in fields_of(_class_of(op)):
        value = getattr(op, name)
        if name in defaults and _is_same(value, defaults[name]):
            continue
        if kind is FieldKind.OPERAND:
            parts.append(names.use(value))
        elif kind is FieldKind.OPERANDS:
            parts.append(f"({', '.join(map(names.use, value))})")
        elif kind is FieldKind.ATTRIBUTE:
            attributes.append(f"{name}={_attribute(value)}")
    text = " ".join([_mnemonic(type(op).__name__), *parts, *attributes])
    results = results_of(op)
    return f"{names.declare(results)} = {text}" if results else text


def _class_of(op: ir.Op) -> Hashable:
    return cast("Hashable", type(op))


@cache
def _mnemonic(class_name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()


@cache
def _defaults(op_class: type[Any]) -> dict[str, object]:
    return {field.name: field.default for field in fields(op_class) if field.default is not MISSING}


def _is_same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default


def _attribute(value: object) -> str:
    match value:
        case Enum():
            return str(value.value)
        case Intrinsic():
            return value.name
        case np.ndarray():
            return _array(value)
        case ir.Access():
            return f"{value.array}/{value.dims}d"
        case _:
            return repr(value)


def _array(data: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    """Name a constant array by its contents, short enough to read and long enough to trust."""
    from hashlib import sha256

    digest = sha256(np.ascontiguousarray(data).tobytes()).hexdigest()[:32]
    return f"array({data.dtype}, {data.shape}, {digest})"
