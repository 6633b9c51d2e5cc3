# The kernels are as strange as users may write them.


import ast
import linecache
import warnings

import pytest

from pygpulib.errors import UnsupportedSyntaxError
from pygpulib.jit import types
from pygpulib.jit.frontend import expressions, statements
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.frontend.unsupported import UNSUPPORTED
from pygpulib.jit.options import CompileOptions

# Classes that Python keeps for old programs and never makes.
_OBSOLETE = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite"}
_OBSOLETE |= {"AugLoad", "AugStore", "Param"}

# Handled where tuples, calls, subscripts and f-strings are.
_WITHIN_OTHERS = {"Starred", "Slice", "FormattedValue"}


def classes(base):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {cls.__name__ for cls in base.__subclasses__()} - _OBSOLETE


def test_every_statement_is_compiled_or_refused_with_advice():
    handled = {cls.__name__ for cls in statements.handlers()}
    assert handled & UNSUPPORTED.keys() == set()
    assert classes(ast.stmt) <= handled | UNSUPPORTED.keys()


def test_every_expression_is_compiled_or_refused_with_advice():
    handled = {cls.__name__ for cls in expressions.HANDLERS} | _WITHIN_OTHERS
    assert handled & UNSUPPORTED.keys() == set()
    assert classes(ast.expr) <= handled | UNSUPPORTED.keys()


def test_every_entry_names_a_construct_and_an_alternative():
    for construct, suggestion in UNSUPPORTED.values():
        assert construct
        assert suggestion


BODIES = {
    "ClassDef": "class C:\n    pass",
    "Global": "global x",
    "Import": "import os",
    "ImportFrom": "from os import path",
    "Match": "match a:\n    case [1, *x]:\n        pass",
    "Try": "try:\n    pass\nfinally:\n    pass",
    "TryStar": "try:\n    pass\nexcept* ValueError:\n    pass",
    "With": "with a:\n    pass",
    "AsyncFunctionDef": "async def f():\n    pass",
    "Nonlocal": "def f():\n    nonlocal a\nf()",
    "Dict": "x = {1: 2}",
    "Set": "x = {1, 2}",
    "List": "x = [1, 2]",
    "ListComp": "x = [i for i in a]",
    "SetComp": "x = {i for i in a}",
    "DictComp": "x = {i: i for i in a}",
    "GeneratorExp": "x = sum(i for i in a)",
    "MatMult": "x = a[0] @ 2",
    "Yield": "f = lambda: (yield)\nf()",
    "YieldFrom": "f = lambda: (yield from a)\nf()",
}

_TARGETS = {"Nonlocal": "nonlocal a", "MatMult": "a[0] @ 2"}


def make_kernel(name, body):
    """Define a kernel from text that linecache knows."""
    lines = ["def kernel(a):", *("    " + line for line in body.splitlines()), ""]
    filename = f"<{name}>"
    text = "\n".join(lines)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {}
    exec(compile(text, filename, "exec"), scope)
    return scope["kernel"], filename


@pytest.mark.parametrize("name", BODIES)
def test_the_error_says_what_where_and_what_instead(name):
    construct, suggestion = UNSUPPORTED[name]
    kernel, filename = make_kernel(name, BODIES[name])
    with pytest.raises(UnsupportedSyntaxError) as caught:
        compile_function(kernel, (types.float64[:],), CompileOptions())
    span = caught.value.span
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{filename}:{span.line}: {construct} is not supported in kernels"
    assert lines[-1] == f"help: {suggestion}"
    source = linecache.getline(filename, span.line).strip()
    assert lines[1] == f"{span.line:>5} | {source}"
    marked = lines[1][lines[2].index("^") : lines[2].rindex("^") + 1]
    if span.line == span.end_line:
        wanted = ast.get_source_segment("".join(linecache.getlines(filename)), find(name, filename))
        assert marked == wanted
    else:
        assert source.endswith(marked)


def find(name, filename):
    """Return the node that the error is about."""
    tree = ast.parse("".join(linecache.getlines(filename)))
    for node in ast.walk(tree):
        if type(node).__name__ == name:
            return node
        if isinstance(node, ast.BinOp) and type(node.op).__name__ == name:
            return node
    raise AssertionError(name)


def test_operators_with_assignment_are_refused_too():
    kernel, _ = make_kernel("iadd", "a[0] @= 2")
    with pytest.raises(UnsupportedSyntaxError, match="the operator '@' is not supported"):
        compile_function(kernel, (types.float64[:],), CompileOptions())


def test_code_that_is_nested_too_deeply():
    kernel, filename = make_kernel("deep", "a[0] = a[1]" + " + a[1]" * 900)
    with pytest.raises(UnsupportedSyntaxError) as caught:
        compile_function(kernel, (types.float64[:],), CompileOptions())
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{filename}:1: kernel, or a function that it calls, is nested too deeply"
    assert lines[-1].startswith("help: split long expressions")
