from pygpulib.errors import Span
from pygpulib.jit.diagnostics import describe


def mark(line, part, calls=(), *, number=1):
    """Describe the place of ``part`` in a line, given as Python's AST would give it."""
    start = len(line[: line.index(part)].encode())
    span = Span("k.py", number, start, number, start + len(part.encode()))
    return describe(span, ["\n"] * (number - 1) + [line + "\n"], calls)


def test_carets_stand_under_the_exact_columns():
    assert mark("    out[i] = floor(x) + 1", "floor(x)", number=12).splitlines() == [
        "   12 | out[i] = floor(x) + 1",
        "      |          ^^^^^^^^",
    ]


def test_columns_count_bytes_so_letters_beyond_ascii_do_not_shift_the_carets():
    assert mark("größe = wäre(größe)", "wäre(größe)").splitlines() == [
        "    1 | größe = wäre(größe)",
        "      |         ^^^^^^^^^^^",
    ]


def test_wide_characters_take_two_columns():
    assert mark("s = '日本' + x", "x").splitlines() == [
        "    1 | s = '日本' + x",
        "      |              ^",
    ]


def test_combining_characters_take_none():
    assert mark("s = 'e\u0301' + x", "x").splitlines()[1] == "      |           ^"


def test_tabs_are_shown_as_spaces():
    assert mark("\tx =\tf(y)", "f(y)").splitlines() == [
        "    1 | x = f(y)",
        "      |     ^^^^",
    ]


def test_a_place_of_several_lines_is_marked_to_the_end_of_the_first():
    span = Span("k.py", 1, 4, 3, 1)
    assert describe(span, ["x = f(\n", "  1,\n", ")\n"], ()).splitlines() == [
        "    1 | x = f(",
        "      |     ^^",
    ]


def test_an_empty_place_still_gets_one_caret():
    assert describe(Span("k.py", 1, 2, 1, 2), ["a + b\n"], ()).splitlines()[1] == "      |   ^"


def test_calls_are_listed_innermost_first():
    calls = (Span("a.py", 3, 0, 3, 1), Span("b.py", 7, 0, 7, 1))
    assert mark("x", "x", calls).splitlines()[2:] == [
        "called from b.py:7",
        "called from a.py:3",
    ]


def test_a_long_chain_of_calls_shows_its_ends():
    calls = [Span("a.py", line, 0, line, 1) for line in range(1, 41)]
    shown = mark("x", "x", calls).splitlines()[2:]
    assert shown[:4] == [f"called from a.py:{line}" for line in (40, 39, 38, 37)]
    assert shown[4] == "... 32 more calls ..."
    assert shown[5:] == [f"called from a.py:{line}" for line in (4, 3, 2, 1)]


def test_a_place_outside_the_file_shows_nothing():
    assert describe(Span("k.py", 9, 0, 9, 1), ["x\n"], ()) == ""
