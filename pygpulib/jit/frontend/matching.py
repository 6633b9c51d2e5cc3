"""``match`` statements, which become ``if`` statements before anything is compiled.

Patterns of constants, names, alternatives and tuples are rewritten; a statement with any other
pattern stays as it is, and is refused where it is compiled.
"""

from __future__ import annotations

import ast

_TRUE = ast.Constant(True)


def replace_matches(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without the ``match`` statements that ``if`` can say."""
    new = _Rewriter().visit(node)
    assert isinstance(new, ast.FunctionDef)
    return new


class _Rewriter(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        """Assign the subject to a hidden variable and test one case after the other."""
        self.generic_visit(node)
        hidden = f"<subject {node.lineno}:{node.col_offset}>"
        subject = ast.copy_location(ast.Name(hidden, ast.Load()), node.subject)
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            names: dict[str, ast.expr] = {}
            test = _test(case.pattern, subject, names)
            if test is None:
                return node
            rest = [_make_if(case, test, names, rest)]
        target = ast.copy_location(ast.Name(hidden, ast.Store()), node.subject)
        assign = ast.copy_location(ast.Assign([target], node.subject), node.subject)
        return [ast.fix_missing_locations(statement) for statement in (assign, *rest)]


def _make_if(
    case: ast.match_case, test: ast.expr, names: dict[str, ast.expr], rest: list[ast.stmt]
) -> ast.stmt:
    """Return the test of a case; what it captures is assigned after its guard, which sees it."""
    if case.guard is not None:
        guard = _Substitute(names).visit(case.guard)
        test = _both(test, guard)
    captures = [
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), case.pattern)
        for name, value in names.items()
    ]
    statement = ast.If(test, [*captures, *case.body], rest)
    return ast.copy_location(statement, case.guard or case.pattern)


class _Substitute(ast.NodeTransformer):
    """Reads captured parts of the subject where names stand."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Exchange a name."""
        return self._names.get(node.id, node)


def _both(left: ast.expr, right: ast.expr) -> ast.expr:
    return (
        right if left is _TRUE else ast.copy_location(ast.BoolOp(ast.And(), [left, right]), right)
    )


def _test(pattern: ast.pattern, subject: ast.expr, names: dict[str, ast.expr]) -> ast.expr | None:
    """Return the condition under which a subject matches, or None if ``if`` cannot say it."""
    match pattern:
        case ast.MatchValue(value):
            found: ast.expr | None = ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value):
            found = ast.Compare(subject, [ast.Is()], [ast.Constant(value)])
        case ast.MatchAs(inner, name):
            found = _TRUE if inner is None else _test(inner, subject, names)
            if name is not None:
                names[name] = subject
        case ast.MatchOr(alternatives):
            found = _test_any(alternatives, subject)
        case ast.MatchSequence(items):
            found = _test_items(items, subject, names)
        case _:
            found = None
    return found if found is None or found is _TRUE else ast.copy_location(found, pattern)


def _test_any(alternatives: list[ast.pattern], subject: ast.expr) -> ast.expr | None:
    tests: list[ast.expr] = []
    for alternative in alternatives:
        names: dict[str, ast.expr] = {}
        test = _test(alternative, subject, names)
        if test is None or names:
            return None
        tests.append(test)
    return ast.BoolOp(ast.Or(), tests)


def _test_items(
    items: list[ast.pattern], subject: ast.expr, names: dict[str, ast.expr]
) -> ast.expr | None:
    # The function itself: the name may mean something else there.
    function = ast.Constant(len)  # type: ignore[arg-type]
    length = ast.Call(function, [subject], [])
    found: ast.expr = ast.Compare(length, [ast.Eq()], [ast.Constant(len(items))])
    for position, item in enumerate(items):
        part = ast.Subscript(subject, ast.Constant(position), ast.Load())
        test = _test(item, ast.copy_location(part, item), names)
        if test is None:
            return None
        if test is not _TRUE:
            found = _both(ast.copy_location(found, item), test)
    return found
