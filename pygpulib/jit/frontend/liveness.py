"""What becomes of variables, found in the syntax tree: which may still be read, and as what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from pygpulib._record import field, record

Names = frozenset[str]
_NONE: Names = frozenset()


@record(frozen=False)
class Liveness:
    """The variables that may be read after a statement, per ``if``, ``for`` and ``while``.

    Attributes
    ----------
    after : dict
        Those that may be read after the statement.
    around : dict
        For loops, those that may be read in a later iteration, in ``else``, or after the loop.
    """

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    around: dict[ast.stmt, Names] = field(default_factory=dict)


@lru_cache(maxsize=1024)
def find_liveness(function: ast.FunctionDef) -> Liveness:
    """Analyse a function.

    Names that an inner function reads count as read everywhere, because a call of the inner
    function reads them.
    """
    analysis = _Analysis(frozenset(_read_by_inner(function.body)))
    analysis.block(function.body, analysis.always)
    return analysis.liveness


def _read_by_inner(body: Iterable[ast.AST]) -> Iterator[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                yield from _reads(node)


def _reads(*nodes: ast.AST) -> set[str]:
    """Return the names read anywhere inside; an augmented assignment reads its target."""
    names = set()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names


def _targets(nodes: Iterable[ast.expr]) -> set[str]:
    """Return the names that assignment targets bind."""
    return {
        node.id
        for target in nodes
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


class _Analysis:
    """Goes backwards through the statements; loops are gone through twice, which is enough."""

    def __init__(self, always: Names) -> None:
        self.always = always
        self.liveness = Liveness()
        self._loops: list[tuple[Names, Names]] = []  # live at 'continue', live at 'break'

    def block(self, statements: Sequence[ast.stmt], live: Names) -> Names:
        """Return what is live before a sequence of statements from what is live after it."""
        for statement in reversed(statements):
            live = self._statement(statement, live) | self.always
        return live

    def _statement(self, node: ast.stmt, live: Names) -> Names:
        match node:
            case ast.If():
                self.liveness.after[node] = live
                branches = self.block(node.body, live) | self.block(node.orelse, live)
                return branches | _reads(node.test)
            case ast.For() | ast.While():
                return self._loop(node, live)
            case ast.Assign(targets=targets):
                return (live - _targets(targets)) | _reads(node)
            case ast.AnnAssign(target=target, value=ast.expr()):
                return (live - _targets([target])) | _reads(node)
            case ast.Return() | ast.Raise():
                return _NONE | _reads(node)
            case ast.Continue() if self._loops:
                return self._loops[-1][0]
            case ast.Break() if self._loops:
                return self._loops[-1][1]
            case _:
                return live | _reads(node)

    def _loop(self, node: ast.For | ast.While, live: Names) -> Names:
        self.liveness.after[node] = live
        at_end = self.block(node.orelse, live)
        head = at_end | (_reads(node.test) if isinstance(node, ast.While) else _NONE)
        bound = _targets([node.target]) if isinstance(node, ast.For) else _NONE
        for _ in range(2):
            self._loops.append((head, live))
            body = self.block(node.body, head) - bound
            self._loops.pop()
            head |= body
        self.liveness.around[node] = head | live
        return head | (_reads(node.iter, node.target) if isinstance(node, ast.For) else _NONE)


@lru_cache(maxsize=1024)
def index_names(node: ast.stmt) -> Names:
    """Return the names whose values may get into subscripts or calls inside a statement."""
    names: set[str] = set()
    assignments: list[tuple[set[str], set[str]]] = []
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(slice=index):
                names |= _reads(index)
            case ast.Call(args=arguments):
                names |= _reads(*arguments)
            case ast.Assign(targets=targets, value=value):
                assignments.append((_targets(targets), _reads(value)))
            case ast.AugAssign(target=target, value=value):
                assignments.append((_targets([target]), _reads(value)))
            case _:
                pass
    for _ in assignments:
        for assigned, read in assignments:
            if assigned & names:
                names |= read
    return frozenset(names)
