import pytest

from tools import check_sizes


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / "pygpulib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return write


def function_of(lines, name="f"):
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


def test_small_modules_pass(tmp_path, write):
    write("core/device.py", function_of(60) + "class A:\n" + "    x = 1\n" * 399)
    assert check_sizes.check_package(tmp_path) == []


def test_long_module_is_reported_once(tmp_path, write):
    write("core/device.py", "x = 1\n" * 500)
    write("core/stream.py", "x = 1\n" * 501)
    assert check_sizes.check_package(tmp_path) == [
        "pygpulib/core/stream.py:1: module has 501 lines, expected at most 500"
    ]


def test_long_definitions_are_reported_in_order(tmp_path, write):
    write("a.py", function_of(61) + "async " + function_of(62) + function_of(60))
    write("b.py", "class A:\n" + "    x = 1\n" * 400)
    assert check_sizes.check_package(tmp_path) == [
        "pygpulib/a.py:1: function f has 61 lines, expected at most 60",
        "pygpulib/a.py:62: function f has 62 lines, expected at most 60",
        "pygpulib/b.py:1: class A has 401 lines, expected at most 400",
    ]


def test_methods_and_nested_functions_are_measured(tmp_path, write):
    method = "".join("    " + line + "\n" for line in function_of(61, "m").splitlines())
    write("a.py", "class A:\n" + method)
    assert check_sizes.check_package(tmp_path) == [
        "pygpulib/a.py:2: function m has 61 lines, expected at most 60"
    ]


def test_decorators_do_not_count(tmp_path, write):
    write("a.py", "@print\n" + function_of(60))
    assert check_sizes.check_package(tmp_path) == []


@pytest.mark.parametrize("name", ["utils.py", "_helpers.py", "common/fold.py", "jit/misc.py"])
def test_vague_names_are_reported(tmp_path, write, name):
    write(name, "")
    assert check_sizes.check_package(tmp_path) == [
        f"pygpulib/{name}:1: a module is named after what it holds, "
        "not utils, helpers, common or misc"
    ]


def test_main_prints_and_counts(tmp_path, write, monkeypatch, capsys):
    monkeypatch.setattr(check_sizes, "ROOT", tmp_path)
    assert check_sizes.main() == 0
    write("misc.py", "")
    assert check_sizes.main() == 1
    assert capsys.readouterr().out.startswith("pygpulib/misc.py:1: ")
