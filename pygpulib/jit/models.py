"""Types made by programs: whose type they are, what they consist of, what kernels see of them.

A value of such a type is its members, each of them a value of a type of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pygpulib._record import record
from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit.types import Type

F = TypeVar("F", bound=Callable[..., Any])

Members = tuple[tuple[str, Type], ...]


class StructModel:
    """The layout of a type: its members, one after the other.

    Parameters
    ----------
    dmm : object
        Numba's manager of models, which there is none of here: None.
    fe_type : Type
        The type.
    members : sequence of (str, Type)
        Names and types of the members.
    """

    def __init__(self, dmm: object, fe_type: Type, members: Sequence[tuple[str, Type]]) -> None:  # noqa: ARG002
        for name, member in members:
            if not isinstance(name, str) or not isinstance(member, Type):
                raise ArgumentTypeError(
                    f"a member of the model of {fe_type} is {(name, member)!r}",
                    detail="expected its name and its type",
                )
        self.members: Members = tuple((name, member) for name, member in members)


@record
class _Added:
    """What programs said about their types, and about the classes on the host.

    Attributes
    ----------
    rules : dict
        By class of values: what returns the type of one.
    models : dict
        By class of types: what returns the model of one.
    attributes : dict
        By class of types: the attributes that kernels see, and the members that they are.
    typers : dict
        By class of values: what returns the function from types of arguments to the type made.
    """

    rules: dict[type, Callable[..., object]]
    models: dict[type, Callable[..., StructModel]]
    attributes: dict[type, dict[str, str]]
    typers: dict[object, Callable[..., Any]]


_ADDED = _Added({}, {}, {}, {})


def add_rule(cls: type, rule: Callable[..., object]) -> None:
    """Say which type the values of a class have."""
    _ADDED.rules[cls] = rule


def add_model(cls: type[Type], model: Callable[..., StructModel]) -> None:
    """Say what the types of a class consist of."""
    _ADDED.models[cls] = model


def add_attribute(cls: type[Type], member: str, attribute: str) -> None:
    """Let kernels see a member of the types of a class."""
    _ADDED.attributes.setdefault(cls, {})[attribute] = member


def add_typer(cls: object, make: Callable[..., Any]) -> None:
    """Say which type calling a class gives."""
    _ADDED.typers[cls] = make


def type_of_object(value: object) -> Type | None:
    """Return the type that a program gave the values of a class, None if there is none."""
    for cls in type(value).__mro__:
        rule = _ADDED.rules.get(cls)
        found = None if rule is None else rule(value, None)
        if isinstance(found, Type) and has_model(found):
            return found
        if found is not None:
            raise ArgumentTypeError(
                f"the type of a {type(value).__name__} is said to be {found!r}",
                detail="expected a type whose class has a model",
                help="derive a class from types.Type, and give it one with register_model",
            )
    return None


def has_model(type_: Type) -> bool:
    """Return whether a program said what a type consists of."""
    return any(cls in _ADDED.models for cls in type(type_).__mro__)


def members_of(type_: Type) -> Members:
    """Return names and types of the members of a type made by a program."""
    for cls in type(type_).__mro__:
        make = _ADDED.models.get(cls)
        if make is not None:
            return make(None, type_).members
    raise UnsupportedFeatureError(
        f"nothing says what values of the type {type_} consist of",
        help=f"give {type(type_).__name__} a models.StructModel with register_model",
    )


def attributes_of(type_: Type) -> dict[str, str]:
    """Return the attributes of a type that kernels see, and the members that they are."""
    found: dict[str, str] = {}
    for cls in reversed(type(type_).__mro__):
        found.update(_ADDED.attributes.get(cls, {}))
    return found


def typer_of(cls: object) -> Callable[..., Any] | None:
    """Return the function from the types of the arguments of a class to the type it makes."""
    make = _ADDED.typers.get(cls) if isinstance(cls, type) else None
    return None if make is None else make(None)


class TypeRules:
    """Decorators that say which type values have: numba's ``typeof_impl``."""

    def register(self, cls: type) -> Callable[[F], F]:
        """Say which type the values of a class have as arguments of kernels; a decorator.

        Parameters
        ----------
        cls : type
            The class.

        Returns
        -------
        decorator
            For a function of a value and of a context, which is None here. It returns the type,
            or None to leave the value to what its base classes say.
        """
        if not isinstance(cls, type):
            raise ArgumentTypeError(f"{cls!r} has no values", detail="expected a class")
        if cls.__module__ in ("builtins", "numpy"):
            raise ArgumentError(
                f"the type of the values of {cls.__name__} is not for programs to say",
                help="register a class of your own",
            )

        def decorate(rule: F) -> F:
            add_rule(cls, rule)
            return rule

        return decorate
