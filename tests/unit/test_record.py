import copy
import pickle

import pytest

from pygpulib._record import MISSING, field, fields, record, replace


@record
class Plain:
    """Two fields, one with a default value."""

    first: "int"
    second: "str" = "b"
    kind: "ClassVar[int]" = 7  # noqa: F821

    @property
    def both(self):
        return f"{self.first}{self.second}"


@record(kw_only=True)
class Base:
    span: "int | None" = None


@record
class Derived(Base):
    left: "int"
    right: "int" = 2


@record(eq=True)
class Pair:
    first: "int"
    note: "str" = field(default_factory=str, compare=False)


@record(eq=True)
class Single:
    only: "tuple[int, ...]"


@record(eq=True)
class Nothing:
    pass


@record(frozen=False)
class Bag:
    items: "list[int]" = field(default_factory=list)
    total: "int" = 0

    def __post_init__(self):
        self.total = sum(self.items)


def test_fields_are_given_by_position_or_by_name():
    assert Plain(1).both == Plain(first=1, second="b").both == Plain(1, "b").both == "1b"
    assert Plain.kind == Plain(1).kind == 7


@pytest.mark.parametrize("arguments", [{}, {"first": 1, "third": 2}, {"second": "x"}])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(TypeError, match=r"first|third"):
        Plain(**arguments)


def test_objects_have_no_other_attributes():
    with pytest.raises(AttributeError):
        Plain(1).third = 3


def test_inherited_fields_stay_keyword_only():
    made = Derived(1, span=5)
    assert (made.left, made.right, made.span) == (1, 2, 5)
    with pytest.raises(TypeError, match="positional"):
        Derived(1, 2, 3)
    assert Derived.__match_args__ == ("left", "right")


def test_patterns():
    match Derived(1, 3, span=4):
        case Derived(1, right, span=4):
            assert right == 3
        case _:
            pytest.fail("the pattern did not match")


def test_objects_are_compared_by_identity_unless_asked():
    assert Plain(1) != Plain(1)
    assert Pair(1) == Pair(1)
    assert Pair(1) != Pair(2)
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert Nothing() == Nothing()
    assert Pair(1) != Single((1,))
    assert Single((1,)) == Single((1,))
    assert hash(Single((1,))) == hash(Single((1,)))


def test_fields_can_be_left_out_of_comparisons():
    assert Pair(1, "a") == Pair(1, "b")
    assert hash(Pair(1, "a")) == hash(Pair(1, "b"))


def test_factories_make_a_value_for_each_object():
    first, second = Bag(), Bag()
    first.items.append(1)
    assert second.items == []
    assert Bag([1, 2]).total == 3


def test_replace():
    old = Derived(1, span=5)
    new = replace(old, right=9)
    assert (new.left, new.right, new.span) == (1, 9, 5)
    assert old.right == 2
    with pytest.raises(TypeError, match="middle"):
        replace(old, middle=1)


def test_copies_and_pickles():
    pair = Pair(3, "n")
    pickles = [pickle.dumps(pair, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for made in (copy.copy(pair), copy.deepcopy(pair), *map(pickle.loads, pickles)):
        assert (made.first, made.note) == (3, "n")


def test_descriptions():
    assert repr(Plain(1)) == "Plain(first=1, second='b')"
    assert repr(MISSING) == "MISSING"
    assert Plain.__doc__ == "Two fields, one with a default value."
    found = [(f.name, f.annotation, f.default, f.kw_only) for f in fields(Derived)]
    assert found == [
        ("span", "int | None", None, True),
        ("left", "int", MISSING, False),
        ("right", "int", 2, False),
    ]


def test_subclasses_with_constructors_of_their_own():
    class Counted(Plain):
        def __init__(self, first):
            super().__init__(first, "own")

    assert Counted(1).second == Counted(2).second == "own"
