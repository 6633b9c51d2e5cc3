"""Check that the modules, classes and functions of the package stay small and well named.

Run from anywhere; it prints one line per violation and exits with 1 if there is any.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

MAX_MODULE_LINES = 500
MAX_CLASS_LINES = 400
MAX_FUNCTION_LINES = 60

# Names that say nothing about what a module is for.
VAGUE_NAMES = frozenset({"common", "helpers", "misc", "utils"})


def check_package(root: Path) -> list[str]:
    """Find every violation below ``root / "pygpulib"``.

    Parameters
    ----------
    root : Path
        The directory that holds the package; reported paths are relative to it.

    Returns
    -------
    list of str
        One message per violation, ordered by path and line.
    """
    return [
        f"{path.relative_to(root).as_posix()}{violation}"
        for path in sorted((root / "pygpulib").rglob("*.py"))
        for violation in check_module(path)
    ]


def check_module(path: Path) -> Iterator[str]:
    """Yield the violations in one module, each beginning with its ``:line: ``.

    Parameters
    ----------
    path : Path
        The module's file.

    Yields
    ------
    str
        ``":line: message"``, ordered by line.
    """
    if VAGUE_NAMES & {path.stem.strip("_"), path.parent.name.strip("_")}:
        yield ":1: a module is named after what it holds, not utils, helpers, common or misc"
    source = path.read_text(encoding="utf-8")
    length = len(source.splitlines())
    if length > MAX_MODULE_LINES:
        yield f":1: module has {length} lines, expected at most {MAX_MODULE_LINES}"
    yield from _check_definitions(ast.parse(source, filename=str(path)))


def _check_definitions(tree: ast.Module) -> Iterator[str]:
    definitions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in sorted(definitions, key=lambda node: node.lineno):
        kind, limit = (
            ("class", MAX_CLASS_LINES)
            if isinstance(node, ast.ClassDef)
            else ("function", MAX_FUNCTION_LINES)
        )
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > limit:
            yield f":{node.lineno}: {kind} {node.name} has {length} lines, expected at most {limit}"


def main() -> int:
    """Print every violation in this repository and return the exit status."""
    violations = check_package(ROOT)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
