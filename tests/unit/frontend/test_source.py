import ast
import linecache
import subprocess
import sys

import pytest

from pygpulib.errors import ArgumentTypeError, SourceUnavailableError, UnsupportedSyntaxError
from pygpulib.jit.frontend.source import load

LIMIT = 7


def decorate(*_args):
    return lambda function: function


def plain(a, b=1):
    return a + b


# fmt: off
@decorate(
    "first",
)
@decorate()
def decorated(x):
    """Text that begins lines
at column 0, and (never closes.
    """
    # a comment
# at column 0
    return (
x + 1
    )
AFTER = """
"""


class Holder:
    def method(self, x):
        def inner(y):
            return y

        return inner

    @staticmethod
    def static(x): return x


if True:
    def indented(x):
        text = """
not indented"""
        return text, x

one, two = (lambda x: x + 1), (lambda x: x * 2)
spread = decorate()(
    lambda first,
    second: first
    - second
)
# fmt: on


def source_text(function):
    source = load(function)
    return ast.get_source_segment("".join(source.lines), source.node)


def compiled(node_source, function):
    """Compile the tree that was found and compare its code with the function's own."""
    module = ast.Module([node_source.node], [])
    code = compile(ast.fix_missing_locations(module), node_source.filename, "exec")
    (found,) = [
        constant
        for constant in code.co_consts
        if hasattr(constant, "co_name") and constant.co_name == function.__name__
    ]
    return found


@pytest.mark.parametrize(
    "function",
    [plain, decorated, Holder.method, Holder.static, indented, Holder().method(1), load, decorate],
    ids=lambda function: function.__qualname__,
)
def test_the_tree_has_the_positions_of_the_file(function):
    source = load(function)
    assert source.node.name == function.__name__
    found = compiled(source, function)
    positions = list(function.__code__.co_positions())
    assert list(found.co_positions()) == positions
    assert source.name == function.__qualname__


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (one, "lambda x: x + 1"),
        (two, "lambda x: x * 2"),
        (spread, "lambda first,\n    second: first\n    - second"),
    ],
)
def test_lambdas_are_found_by_their_columns(function, text):
    assert source_text(function) == text


def test_lambdas_of_one_line_whose_bodies_are_no_one_instruction():
    functions = [lambda x: 2 if x > 0 else 1, lambda x: x and 2, lambda x: not x]
    texts = ["2 if x > 0 else 1", "x and 2", "not x"]
    for function, text in zip(functions, texts, strict=True):
        assert ast.unparse(load(function).node.body) == text


def test_a_lambda_in_a_lambda():
    (outer,) = [lambda x: lambda x: x and 1]
    assert ast.unparse(load(outer).node) == "lambda x: lambda x: x and 1"
    assert ast.unparse(load(outer(0)).node) == "lambda x: x and 1"


def test_two_lambdas_of_one_line_differ():
    assert ast.unparse(load(one).node) != ast.unparse(load(two).node)


def test_what_is_not_changed_is_parsed_once():
    assert load(plain).node is load(plain).node


def test_objects_that_hold_a_function_are_unwrapped():
    class Compiled:
        py_func = staticmethod(plain)

    assert load(Compiled()).node is load(plain).node


def test_outer_names_are_captured_variables_then_globals_then_builtins():
    LIMIT = 3  # noqa: N806

    def inner():
        return LIMIT

    outer = load(inner).outer
    assert outer["LIMIT"] == 3
    assert load(plain).outer["LIMIT"] == 7
    assert outer["decorate"] is decorate
    assert outer["abs"] is abs
    assert {"LIMIT", "decorate", "abs"} <= set(outer)
    assert len(outer) == len(set(outer))
    with pytest.raises(KeyError):
        outer["nothing"]


def test_captured_variables_are_read_late():
    def inner():
        return later

    outer = load(inner).outer
    with pytest.raises(KeyError):
        outer["later"]
    later = 5
    assert outer["later"] == 5


def test_functions_without_source_are_refused():
    scope = {}
    exec("def made(x):\n    return [y for y in x if y]\n", scope)
    with pytest.raises(SourceUnavailableError) as caught:
        load(scope["made"])
    assert str(caught.value) == (
        "the source of made is not available\n"
        "expected it in <string>, line 1\n"
        "help: define the function in a file or a notebook cell, not with exec() or at a plain "
        "Python prompt"
    )


def test_functions_made_by_exec_with_registered_source_are_found():
    text = "def made(x):\n    return x + 1"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    scope = {}
    exec(compile(text, "<cell 1>", "exec"), scope)
    assert source_text(scope["made"]) == text


def load_module(path, monkeypatch):
    scope = {"__name__": "edited"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope


def test_a_file_that_changed_is_not_mistaken_for_the_function(tmp_path, monkeypatch):
    path = tmp_path / "edited.py"
    path.write_text("def first(x):\n    return x\n")
    first = load_module(path, monkeypatch)["first"]
    path.write_text("def second(x):\n    return x\n\n\n")
    with pytest.raises(SourceUnavailableError) as caught:
        load(first)
    assert str(caught.value) == (
        "the source of first was not found\n"
        f"line 1 of {path} holds something else\n"
        "help: if the file was edited, import it again; give a lambda a name with 'def'"
    )


def test_a_file_that_became_short_is_refused_too(tmp_path, monkeypatch):
    path = tmp_path / "edited.py"
    path.write_text("\n\n\ndef first(x):\n    return x\n")
    first = load_module(path, monkeypatch)["first"]
    path.write_text("\n")
    with pytest.raises(SourceUnavailableError, match="the source of first was not found"):
        load(first)


def test_reloaded_functions_see_the_new_text(tmp_path, monkeypatch):
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x\n")
    assert "return x" in source_text(load_module(path, monkeypatch)["f"])
    path.write_text("def f(x):\n    return x + 12345\n")
    assert "12345" in source_text(load_module(path, monkeypatch)["f"])


async def coroutine(x):
    return x


def generator(x):
    yield x


async def async_generator(x):
    yield x


@pytest.mark.parametrize(
    ("function", "kind", "advice"),
    [
        (coroutine, "is an async function", "use a plain 'def'"),
        (
            generator,
            "is a generator (it uses 'yield')",
            "write the values to an array argument, or return a tuple",
        ),
        (async_generator, "is an async function", "use a plain 'def'"),
    ],
)
def test_generators_and_coroutines_are_refused(function, kind, advice):
    with pytest.raises(UnsupportedSyntaxError) as caught:
        load(function)
    line = function.__code__.co_firstlineno
    text = linecache.getline(__file__, line).rstrip()
    assert str(caught.value).splitlines() == [
        f"{__file__}:{line}: {function.__name__} {kind}, which kernels cannot be",
        f"{line:>5} | {text}",
        "      | ^^^",
        f"help: {advice}",
    ]
    assert caught.value.span.line == line


@pytest.mark.parametrize("thing", [abs, 3, None, Holder, sys])
def test_what_is_no_python_function_is_refused(thing):
    with pytest.raises(ArgumentTypeError, match="is not a Python function\nhelp: pass a function"):
        load(thing)


def test_bound_methods_are_refused():
    with pytest.raises(ArgumentTypeError) as caught:
        load(Holder().method)
    assert str(caught.value) == (
        "Holder.method is a bound method, which cannot be compiled\n"
        "help: compile a plain function and pass what it needs as arguments"
    )


def run_command(text):
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=300
    ).stdout


def test_programs_on_the_command_line():
    out = run_command(
        f"PATH = {sys.path!r}"
        """
import sys
sys.path[:0] = PATH
from pygpulib.jit.frontend.source import load
def first(a):
    return a + 1
second = lambda b: b * 2
import ast
print(ast.unparse(load(first).node))
print(ast.unparse(load(second).node))
namespace = {}
exec("def first(a):\\n    return a - 1", namespace)
print(ast.unparse(load(namespace["first"]).node))
"""
    )
    assert out.splitlines() == [
        "def first(a):",
        "    return a + 1",
        "lambda b: b * 2",
        "def first(a):",
        "    return a - 1",
    ]
