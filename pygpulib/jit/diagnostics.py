"""Showing a place in the user's source."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pygpulib.errors import Span

_TAB_WIDTH = 4


# A long chain of calls shows its ends.
_CALLS_AT_EACH_END = 4
_MAX_CALLS = 2 * _CALLS_AT_EACH_END + 1


def describe(span: Span, lines: Sequence[str], calls: Sequence[Span]) -> str:
    """Return the source line of a span with carets below it, and how control came there.

    Parameters
    ----------
    span : Span
        The place; its columns count UTF-8 bytes, as in Python's AST.
    lines : sequence of str
        The lines of the file.
    calls : sequence of Span
        The calls that led there, outermost first.

    Returns
    -------
    str
        Lines without a final newline; empty if there is nothing to show.
    """
    shown = []
    if 1 <= span.line <= len(lines):
        shown = _excerpt(span, lines[span.line - 1].rstrip("\r\n"))
    chain = [f"called from {call}" for call in reversed(calls)]
    if len(chain) > _MAX_CALLS:
        left_out = len(chain) - 2 * _CALLS_AT_EACH_END
        between = f"... {left_out} more calls ..."
        chain[_CALLS_AT_EACH_END:-_CALLS_AT_EACH_END] = [between]
    return "\n".join([*shown, *chain])


def _excerpt(span: Span, line: str) -> list[str]:
    """Return the line with its number and the line of carets."""
    start = _characters(line, span.column)
    is_one_line = span.end_line == span.line
    end = _characters(line, span.end_column) if is_one_line else len(line)
    indent = len(line) - len(line.lstrip())
    before, marked = line[indent:start], line[max(start, indent) : end]
    number = f"{span.line:>5} | "
    text = number + _expand(line[indent:])
    width = max(_width(before + marked) - _width(before), 1)
    carets = " " * 5 + " | " + " " * _width(before) + "^" * width
    return [text.rstrip(), carets]


def _characters(line: str, column: int) -> int:
    """Return the number of characters in the first ``column`` bytes of a line."""
    return len(line.encode()[:column].decode(errors="ignore"))


def _expand(text: str) -> str:
    """Replace tabs by spaces so that the width does not depend on the terminal."""
    return text.expandtabs(_TAB_WIDTH)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    expanded = _expand(text)
    if expanded.isascii():
        return len(expanded)
    return sum(map(_character_width, expanded))


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
