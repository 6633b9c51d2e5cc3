import pytest

from pygpulib.errors import counted


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, "argument"), "0 arguments"),
        ((1, "argument"), "1 argument"),
        ((2, "argument"), "2 arguments"),
        ((1, "axis", "axes"), "1 axis"),
        ((0, "axis", "axes"), "0 axes"),
        ((3, "axis", "axes"), "3 axes"),
        ((-1, "element"), "-1 elements"),
    ],
)
def test_numbers_agree_with_what_they_count(arguments, expected):
    assert counted(*arguments) == expected
