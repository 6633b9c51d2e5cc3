import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.errors import LaunchTypeError, UnsupportedFeatureError
from pygpulib.jit.parameters import Parameters


def plain(a, b, c): ...
def defaulted(a, b=2, c=3): ...
def keyword_only(a, b=2, *, c, d=4): ...
def nothing(): ...
def with_rest(a, b=2, *more): ...


@pytest.mark.parametrize("function", [plain, defaulted, keyword_only, nothing])
@given(
    args=st.lists(st.integers(), max_size=5),
    kwargs=st.dictionaries(st.sampled_from("abcdx"), st.integers(), max_size=4),
)
def test_arguments_bind_as_in_python(function, args, kwargs):
    signature = inspect.signature(function)
    parameters = Parameters.of(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        with pytest.raises(LaunchTypeError, match=f"the kernel {function.__name__}"):
            parameters.bind(tuple(args), kwargs)
    else:
        bound.apply_defaults()
        assert parameters.bind(tuple(args), kwargs) == tuple(bound.arguments.values())


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((1,), {}, ["lacks 2 arguments: b, c", "1 of 3 were given"]),
        ((1, 2), {}, ["lacks 1 argument: c"]),
        ((1, 2, 3, 4), {}, ["takes 3 arguments but 4 were given", "a, b, c"]),
        ((1, 2, 3), {"d": 4}, ["has no argument 'd'", "a, b, c"]),
        ((1, 2), {"b": 4}, ["got the argument 'b' by position and by name"]),
    ],
)
def test_messages(args, kwargs, words):
    with pytest.raises(LaunchTypeError) as caught:
        Parameters.of(plain).bind(args, kwargs)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_more_arguments_than_parameters():
    parameters = Parameters.of(with_rest)
    assert parameters.bind((1,), {}) == (1, 2)
    assert parameters.bind((1, 5, 6, 7), {}) == (1, 5, 6, 7)
    assert parameters.bind((), {"a": 8}) == (8, 2)
    assert parameters.names_of((1, 5, 6, 7)) == ("a", "b", "more", "more")
    assert [count for count in range(5) if parameters.accepts(count)] == [2, 3, 4]
    assert [count for count in range(5) if Parameters.of(defaulted).accepts(count)] == [3]
    with pytest.raises(LaunchTypeError, match="lacks 1 argument: a"):
        parameters.bind((), {})


def test_keywords_of_any_name_are_refused():
    def keywords(a, **more): ...
    def after_rest(*rest, b): ...

    with pytest.raises(UnsupportedFeatureError, match=r"kernel keywords takes \*\*kwargs"):
        Parameters.of(keywords)
    with pytest.raises(UnsupportedFeatureError, match=r"kernel after_rest takes .* after \*args"):
        Parameters.of(after_rest)
