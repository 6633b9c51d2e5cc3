"""``print``, and text with values of run time inside: f-strings, ``%`` and ``format``.

Such text exists only where it is written at once, in ``print`` and in exceptions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NoReturn

from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import calls, expressions, inference, shown, tuples
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import (
    Array,
    Chars,
    Complex,
    Maybe,
    Member,
    NoneValue,
    Number,
    Object,
    Operand,
    Record,
    Text,
    Time,
    Tuple,
    Vector,
)
from pygpulib.jit.intrinsics.threads import ThreadVector
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.printing import ShownMember, ShownPadded, format_print

_PLAIN, _TEXT, _REPR = -1, ord("s"), ord("r")  # the conversions of f-strings

# What ``%`` takes: flags, width, precision, and the kind of number.
_DIRECTIVE = r"%([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z%])"


class Message:
    """Text that is put together while a kernel is compiled, with holes for numbers.

    Attributes
    ----------
    parts : list
        The parts, as :class:`ir.Print` has them.
    operands : list of ir.Value
        What fills the holes.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.parts: list[ir.Part] = []
        self.operands: list[ir.Value] = []

    @property
    def text(self) -> str | None:
        """The whole text if it has no holes."""
        known = [part for part in self.parts if isinstance(part, str)]
        return "".join(known) if len(known) == len(self.parts) else None

    def add_text(self, text: str) -> None:
        """Append constant text."""
        if self.parts and isinstance(self.parts[-1], str):
            self.parts[-1] += text
        elif text:
            self.parts.append(text)

    def add_expression(self, node: ast.expr) -> None:
        """Append the value of an expression; text with holes may stand here."""
        match node:
            case ast.JoinedStr():
                self._add_f_string(node)
            case ast.BinOp(ast.Constant(str() as template), ast.Mod(), right):
                self._add_percent(template, right, node)
            case ast.Call(ast.Attribute(ast.Constant(str() as template), "format")):
                self._add_call_of_format(template, node)
            case _:
                self.add(expressions.evaluate(self._ctx, node), node)

    def add(self, operand: Operand, node: ast.AST, *, is_quoted: bool = False) -> None:
        """Append a value as Python prints it; text in quotes if it stands in a tuple."""
        match operand:
            case Text(text):
                self.add_text(repr(text) if is_quoted else text)
            case NoneValue():
                self.add_text("None")
            case Number() | Complex():
                self._add_number(operand)
            case Tuple():
                self._add_tuple(operand, node)
            case Object(ThreadVector() as vector):
                registers = vector.registers.values()
                numbers = [expressions.read_register(self._ctx, one) for one in registers]
                self._add_tuple(Tuple(tuple(numbers)), node)
            case _:
                self._add_other(operand, node, is_quoted=is_quoted)

    def _add_other(self, operand: Operand, node: ast.AST, *, is_quoted: bool) -> None:
        """Append a value that the host puts together."""
        match operand:
            case Array() | Record() | Chars() | Time():
                part, inside = shown.of_memory(self._ctx, operand, node, is_quoted=is_quoted)
                self._add_shown(part, inside)
            case Maybe():
                self._add_optional(operand, node, is_quoted=is_quoted)
            case Member(cls, position):
                part = ir.Shown(1, ShownMember(cls, is_quoted))
                self._add_shown(part, (position.value,))
            case Vector(type_, items):
                numbers = [Number(item) for item in items]
                self.add_text(str(type_))
                self._add_tuple(Tuple(tuple(numbers)), node)
            case Object(Enum() as flags):
                self.add_text(repr(flags) if is_quoted else str(flags))
            case _:
                self._fail(operand, node)

    def _add_shown(self, part: ir.Shown, numbers: Sequence[ir.Value]) -> None:
        self.parts.append(part)
        self.operands += numbers

    def _add_optional(self, operand: Maybe, node: ast.AST, *, is_quoted: bool) -> None:
        """Append a value or "None"."""
        if isinstance(operand.value, Array | Record | Chars):
            self._fail(operand, node)  # there is nothing to read where there is no value
        inner = Message(self._ctx)
        inner.add(operand.value, node, is_quoted=is_quoted)
        self.parts.append(ir.Optional(tuple(inner.parts)))
        self.operands += [operand.has_value.value, *inner.operands]

    def _add_number(self, operand: Number | Complex, spec: str = "") -> None:
        if isinstance(operand, Complex):
            self.parts.append(ir.Format(spec, is_complex=True))
            self.operands += [operand.real, operand.imag]
            return
        part = ir.Format(spec) if spec else None
        if operand.literal is not None:
            self.add_text(format_print((part,), (operand.dtype,), (operand.literal,)))
            return
        self.parts.append(part)
        self.operands.append(operand.value)

    def _add_tuple(self, operand: Tuple, node: ast.AST) -> None:
        names = tuples.field_names(operand.cls)
        self.add_text(f"{getattr(operand.cls, '__name__', '')}(")
        for position, item in enumerate(operand.items):
            self.add_text(", " if position else "")
            self.add_text(f"{names[position]}=" if names else "")
            self.add(item, node, is_quoted=True)
        self.add_text(",)" if len(operand.items) == 1 and not names else ")")

    def _fail(self, operand: Operand, node: ast.AST) -> NoReturn:
        self._ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} cannot be printed in a kernel",
            node,
            help="print numbers, strings, tuples, records and arrays of known shape",
        )

    # ------------------------------------------------------------------------------- f-strings

    def _add_f_string(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            match part:
                case ast.Constant(str() as text):
                    self.add_text(text)
                case ast.FormattedValue():
                    self._add_formatted(part)
                case _:
                    raise AssertionError(part)

    def _add_formatted(self, node: ast.FormattedValue) -> None:
        ctx = self._ctx
        spec = "" if node.format_spec is None else _constant_text(ctx, node.format_spec)
        if isinstance(node.value, ast.JoinedStr) and not spec and node.conversion == _PLAIN:
            self._add_f_string(node.value)
            return
        operand = expressions.evaluate(ctx, node.value)
        self._add_laid_out(operand, spec, node.conversion, node)

    def _add_laid_out(self, operand: Operand, spec: str, conversion: int, node: ast.AST) -> None:
        """Append a value as the braces of an f-string ask for it."""
        if not spec:
            self.add(operand, node, is_quoted=conversion not in (_PLAIN, _TEXT))
        elif conversion == _PLAIN and isinstance(operand, Number | Complex):
            self._check_spec(operand, spec, node)
            self._add_number(operand, spec)
        else:
            self._add_padded(operand, spec, conversion, node)

    def _add_padded(self, operand: Operand, spec: str, conversion: int, node: ast.AST) -> None:
        """Append text, laid out as a format specification says."""
        inner = Message(self._ctx)
        inner.add(operand, node, is_quoted=conversion not in (_PLAIN, _TEXT))
        if conversion == _PLAIN and not isinstance(operand, Text):
            self._ctx.fail(
                KernelTypeError,
                f"{inference.describe(operand)} cannot be formatted with {spec!r} in a kernel",
                node,
                help="format numbers one by one, or the text, as in {x!s:>10}",
            )
        try:
            text = format(inner.text or "", spec)
        except ValueError as cause:
            self._fail_spec(operand, spec, cause, node)
        if inner.text is not None:
            self.add_text(text)
            return
        number_types = [one.type for one in inner.operands if isinstance(one.type, DType)]
        show = ShownPadded(tuple(inner.parts), tuple(number_types), spec)
        self._add_shown(ir.Shown(len(number_types), show), inner.operands)

    def _check_spec(self, operand: Number | Complex, spec: str, node: ast.AST) -> None:
        sample = operand.dtype.numpy.type(1).item()
        try:
            format(sample, spec)
        except ValueError as cause:
            self._fail_spec(operand, spec, cause, node)

    def _fail_spec(self, operand: Operand, spec: str, cause: ValueError, node: ast.AST) -> NoReturn:
        self._ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} cannot be formatted with {spec!r}: {cause}",
            node,
            help="use a format specification that Python has for such values",
        )

    # ------------------------------------------------------------------------- str.format

    def _add_call_of_format(self, template: str, node: ast.Call) -> None:
        """Append what ``"...".format(...)`` gives."""
        given: dict[str, Operand] = {}
        for position, argument in enumerate(_arguments(self._ctx, node)):
            given[str(position)] = (
                expressions.evaluate(self._ctx, argument)
                if isinstance(argument, ast.expr)
                else argument
            )
        for keyword in node.keywords:
            given[keyword.arg or "**"] = expressions.evaluate(self._ctx, keyword.value)
        position = 0
        for text, name, spec, conversion in self._fields(template, node):
            self.add_text(text)
            if name is None:
                continue
            key = name or str(position)
            position += not name
            if key not in given:
                self._fail_template(f"asks for {{{key}}}, which is not given", template, node)
            wanted = ord(conversion) if conversion else _PLAIN
            self._add_laid_out(given[key], spec or "", wanted, node)

    def _fields(
        self, template: str, node: ast.AST
    ) -> list[tuple[str, str | None, str | None, str | None]]:
        """Return the pieces of a template: text, and the name, layout and conversion after it."""
        from string import Formatter

        try:
            return list(Formatter().parse(template))
        except ValueError as cause:
            self._fail_template(f"is not well formed: {cause}", template, node)

    # -------------------------------------------------------------------------------- percent

    def _add_percent(self, template: str, node: ast.expr, whole: ast.expr) -> None:
        value = expressions.evaluate(self._ctx, node)
        waiting = list(value.items) if isinstance(value, Tuple) else [value]
        position = 0
        for found in re.finditer(_DIRECTIVE, template):
            self.add_text(template[position : found.start()])
            position = found.end()
            if found[4] == "%":
                self.add_text("%")
            elif waiting:
                self._add_directive(found, waiting.pop(0), whole)
            else:
                self._fail_template("needs more values than are given", template, whole)
        rest = template[position:]
        if "%" in rest:
            self._fail_template("has a '%' that nothing follows that is known", template, whole)
        if waiting:
            self._fail_template("has fewer places than values are given", template, whole)
        self.add_text(rest)

    def _add_directive(self, found: re.Match[str], operand: Operand, node: ast.expr) -> None:
        flags, width, precision, kind = found.groups()
        layout = bool(flags or width or precision)
        if kind in "sr" and not layout:
            self.add(operand, node, is_quoted=kind == "r")
            return
        is_whole, is_float = kind in "dixXo", kind in "eEfFgG"
        fits = is_float or (is_whole and not precision)
        if (
            not isinstance(operand, Number)
            or not fits
            or (kind in "xXo" and operand.dtype.is_float)
        ):
            self._fail_template(
                f"does not take {inference.describe(operand)} at {found[0]!r}",
                found.string,
                node,
            )
        wanted = types.float64 if is_float else types.int64
        if is_whole and operand.dtype.is_integer:
            wanted = types.scalar_type(operand.dtype)
        number = inference.convert(self._ctx, operand, wanted, node)
        assert isinstance(number, Number)
        self._add_number(number, _as_spec(flags, width, precision, "d" if kind == "i" else kind))

    def _fail_template(self, problem: str, template: str, node: ast.AST) -> NoReturn:
        self._ctx.fail(
            KernelTypeError,
            f"the format {template!r} {problem}",
            node,
            help="write an f-string",
        )


def _as_spec(flags: str, width: str, precision: str | None, kind: str) -> str:
    """Return the format specification that means the same as a directive of ``%``."""
    align = "<" if "-" in flags and width else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    alternate = "#" if "#" in flags else ""
    zero = "0" if "0" in flags and "-" not in flags else ""
    digits = f".{precision}" if precision else ""
    return f"{align}{sign}{alternate}{zero}{width}{digits}{kind}"


# ----------------------------------------------------------------------------------- expressions


def evaluate_f_string(ctx: Context, node: ast.JoinedStr) -> Operand:
    """Evaluate an f-string where only text that is known now can stand."""
    return Text(_constant_text(ctx, node))


def _constant_text(ctx: Context, node: ast.expr) -> str:
    message = Message(ctx)
    message.add_expression(node)
    if message.text is None:
        ctx.fail(
            KernelTypeError,
            "an f-string with values of run time can only stand in print() and in exceptions",
            node,
            help="pass it to print() directly",
        )
    return message.text


def compile_print(ctx: Context, node: ast.Call) -> Operand:
    """Compile a call of ``print``."""
    separator, end = " ", "\n"
    for keyword in node.keywords:
        match keyword.arg:
            case "sep":
                separator = _keyword_text(ctx, keyword, separator)
            case "end":
                end = _keyword_text(ctx, keyword, end)
            case _:
                ctx.fail(
                    KernelTypeError,
                    f"print() takes no keyword argument {keyword.arg or '**'!r} in a kernel",
                    node,
                    help="its keyword arguments are sep and end",
                )
    message = Message(ctx)
    for position, argument in enumerate(_arguments(ctx, node)):
        message.add_text(separator if position else "")
        if isinstance(argument, ast.expr):
            message.add_expression(argument)
        else:
            message.add(argument, node)
    message.add_text(end)
    if message.parts:
        ctx.builder.append(
            ir.Print(tuple(message.parts), tuple(message.operands), span=ctx.builder.span)
        )
    return NoneValue()


def _arguments(ctx: Context, node: ast.Call) -> Iterator[ast.expr | Operand]:
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            yield from calls.unpacked(ctx, argument)
        else:
            yield argument


def _keyword_text(ctx: Context, keyword: ast.keyword, default: str) -> str:
    operand = expressions.evaluate(ctx, keyword.value)
    if isinstance(operand, Text):
        return operand.text
    if isinstance(operand, NoneValue):
        return default
    ctx.fail(
        KernelTypeError,
        f"the argument {keyword.arg} of print() is {inference.describe(operand)}",
        keyword.value,
        help="pass a string literal",
    )
