"""Classes that hold values: what `dataclasses` offers, at a fraction of its price.

A dataclass writes and compiles several methods when it is defined, a third of a millisecond each
time, and the first kernel needs a hundred such classes. A record compiles nothing before its first
object is made, and then only its constructor. That fields are not assigned is for the type checker
to see, which makes objects five times faster to make.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform, overload

_T = TypeVar("_T")


class _Missing:
    """Stands for a default value that there is none of."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


class _Options:
    """What :func:`field` was given."""

    __slots__ = ("compare", "default_factory")

    def __init__(self, default_factory: Callable[[], object] | None, compare: bool) -> None:
        self.default_factory = default_factory
        self.compare = compare


class Field:
    """A field of a record.

    Attributes
    ----------
    name : str
        Its name.
    annotation : str
        Its type, as written.
    default : object
        Its default value, `MISSING` if there is none.
    default_factory : callable or None
        What makes the default value of each object.
    compare : bool
        Whether it counts when objects are compared.
    kw_only : bool
        Whether constructors take it by name only.
    """

    __slots__ = ("annotation", "compare", "default", "default_factory", "kw_only", "name")

    def __init__(self, name: str, annotation: str, default: object, kw_only: bool) -> None:
        self.name = name
        self.annotation = annotation
        self.kw_only = kw_only
        if isinstance(default, _Options):
            self.default: object = MISSING
            self.default_factory = default.default_factory
            self.compare = default.compare
        else:
            self.default = default
            self.default_factory = None
            self.compare = True


@overload
def field(*, default_factory: Callable[[], _T], compare: bool = True) -> _T: ...
@overload
def field(*, compare: bool) -> Any: ...  # noqa: ANN401
def field(*, default_factory: Callable[[], object] | None = None, compare: bool = True) -> Any:
    """Say more about a field of a record, in place of its default value.

    Parameters
    ----------
    default_factory : callable, optional
        Makes the default value of each object.
    compare : bool
        Whether the field counts when objects are compared.
    """
    return _Options(default_factory, compare)


@overload
def record(cls: type[_T], /) -> type[_T]: ...
@overload
def record(
    *, eq: bool = False, frozen: bool = True, kw_only: bool = False
) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(
    cls: type[Any] | None = None,
    /,
    *,
    eq: bool = False,
    frozen: bool = True,  # noqa: ARG001  (read by type checkers)
    kw_only: bool = False,
) -> Any:
    """Turn the annotations of a class into slots, a constructor and patterns for ``match``.

    Parameters
    ----------
    cls : type
        The class. Its annotations must be strings, as in modules that postpone their evaluation.
    eq : bool
        Compare objects by their fields, not by identity.
    frozen : bool
        Whether the type checker refuses to assign fields.
    kw_only : bool
        Whether the constructor takes the fields by name only.

    Returns
    -------
    type or decorator
        The class, made anew.
    """
    if cls is None:
        return lambda cls: _make(cls, eq=eq, kw_only=kw_only)
    return _make(cls, eq=eq, kw_only=kw_only)


def fields(cls: type[object]) -> tuple[Field, ...]:
    """Return the fields of a record class, those of its bases first."""
    found: tuple[Field, ...] = getattr(cls, "__record_fields__", ())
    return found


def replace(obj: _T, /, **changes: Any) -> _T:  # noqa: ANN401
    """Return a copy of a record with some fields changed.

    Parameters
    ----------
    obj : record
        What to copy.
    **changes
        New values by the names of the fields.
    """
    cls = obj.__class__
    for name in cast("Any", cls).__record_names__:
        if name not in changes:
            changes[name] = getattr(obj, name)
    return cls(**changes)


def _make(cls: type[Any], *, eq: bool, kw_only: bool) -> type[Any]:
    namespace = dict(cls.__dict__)
    own = [
        Field(name, annotation, namespace.pop(name, MISSING), kw_only)
        for name, annotation in namespace.get("__annotations__", {}).items()
        if not annotation.startswith("ClassVar")
    ]
    all_fields = (*fields(cls), *own)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace["__slots__"] = tuple([field.name for field in own])
    namespace["__record_fields__"] = all_fields
    namespace["__record_names__"] = tuple([field.name for field in all_fields])
    namespace["__match_args__"] = tuple([field.name for field in all_fields if not field.kw_only])
    namespace["__init__"] = _first_init
    namespace.setdefault("__repr__", _represent)
    namespace.setdefault("__reduce_ex__", _reduce)
    if eq:
        _add_comparison(namespace, [field.name for field in all_fields if field.compare])
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _first_init(self: object, *args: object, **kwargs: object) -> None:
    """Write the constructor of a class when its first object is made; many never make one."""
    classes: Any = type(self).__mro__
    cls = next(cls for cls in classes if cls.__dict__.get("__init__") is _first_init)
    cls.__init__ = _write_init(cls)
    cls.__init__(self, *args, **kwargs)


def _write_init(cls: type[object]) -> Callable[..., None]:
    scope: dict[str, Any] = {"MISSING": MISSING}
    parameters: list[str] = ["self"]
    by_name: list[str] = []
    lines: list[str] = []
    for field in fields(cls):
        name = value = parameter = field.name
        if field.default_factory is not None:
            scope[f"make_{name}"] = field.default_factory
            parameter = f"{name}=MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif field.default is not MISSING:
            scope[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        (by_name if field.kw_only else parameters).append(parameter)
        lines.append(f" self.{name} = {value}\n")
    if by_name:
        parameters += ["*", *by_name]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()\n")
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or ' pass'}", scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _add_comparison(namespace: dict[str, Any], names: list[str]) -> None:
    # With one name this reads the field itself, which does as well.
    key: Callable[[object], object] = attrgetter(*names) if names else lambda _: ()

    def equal(self: object, other: object) -> bool:
        if self is other:
            return True
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_(self: object) -> int:
        return hash(key(self))

    namespace.setdefault("__eq__", equal)
    namespace.setdefault("__hash__", hash_)


def _represent(self: object) -> str:
    parts = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(type(self))]
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _reduce(self: object, protocol: int) -> object:
    # The oldest protocols of pickling know nothing of slots; any protocol takes what newer ones do.
    return object.__reduce_ex__(self, max(protocol, 2))
