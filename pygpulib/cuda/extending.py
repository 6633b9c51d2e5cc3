"""Additions to the kernel language, under the names of numba's ``extending``.

Examples
--------
>>> import numpy as np
>>> from pygpulib import cuda
>>> from pygpulib.cuda.extending import overload
>>> def twice(x): ...
>>> @overload(twice)
... def choose_twice(x):
...     return lambda x: x + x
>>> @cuda.jit
... def kernel(a):
...     a[0] = twice(a[0])
>>> a = np.array([3.0])
>>> kernel[1, 1](a)
>>> a
array([6.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit import extensions, models
from pygpulib.jit.extensions import Overload
from pygpulib.jit.types import Type

__all__ = [
    "core_models",
    "intrinsic",
    "lower",
    "lower_builtin",
    "lower_getattr",
    "make_attribute_wrapper",
    "models",
    "overload",
    "overload_attribute",
    "overload_method",
    "register_jitable",
    "register_model",
    "type_callable",
    "typeof_impl",
]

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=type[models.StructModel])

typeof_impl = models.TypeRules()

core_models = models
"""Numba's other name of `models`."""
"""``@typeof_impl.register(cls)`` says which type the values of a class have."""

_TARGETS = ("generic", "gpu", "cuda")

# Numba's options that say how to compile, and have no meaning here.
_HINTS = frozenset({"inline", "jit_options", "strict", "no_unliteral"})


def _make(
    choose: object,
    pattern: object,
    target: str,
    prefer_literal: bool,
    options: dict[str, object],
) -> Overload:
    if target not in _TARGETS:
        raise ArgumentError(
            f"the target of an overload is {target!r}", detail=f"expected one of {_TARGETS}"
        )
    unknown = [name for name in options if name not in _HINTS]
    if unknown:
        raise ArgumentTypeError(f"an overload has no option {unknown[0]!r}")
    if not callable(choose):
        raise ArgumentTypeError(
            f"{choose!r} cannot be an overload", detail="expected a function of types"
        )
    return Overload(choose, target != "generic", prefer_literal, pattern)


def overload(
    func: object, *, target: str = "cuda", prefer_literal: bool = False, **options: object
) -> Callable[[F], F]:
    """Say what calls of a Python object mean in kernels; a decorator.

    Parameters
    ----------
    func : object
        The function that kernels call.
    target : str
        ``"cuda"``, or ``"generic"`` for what is asked last.
    prefer_literal : bool
        Whether to ask with the values of constants first, as `IntegerLiteral` types.
    **options
        Numba's other options, which are accepted: ``inline``, ``strict``, ``jit_options``.

    Returns
    -------
    decorator
        For a function that takes the types of the arguments, and returns a function of the
        arguments to compile, or None if these types are not for it.
    """

    def decorate(choose: F) -> F:
        extensions.add_function(func, _make(choose, None, target, prefer_literal, options))
        return choose

    return decorate


def overload_method(
    typ: object, attr: str, *, target: str = "cuda", prefer_literal: bool = False, **options: object
) -> Callable[[F], F]:
    """Give values of a type a method; a decorator.

    Parameters
    ----------
    typ : type or class of types
        For example ``types.Array``.
    attr : str
        Name of the method.
    target, prefer_literal, **options
        As in `overload`.

    Returns
    -------
    decorator
        For a function that takes the types of the value and of the arguments, as in `overload`.
    """

    def decorate(choose: F) -> F:
        extensions.add_method(attr, _make(choose, typ, target, prefer_literal, options))
        return choose

    return decorate


def overload_attribute(
    typ: object, attr: str, *, target: str = "cuda", **options: object
) -> Callable[[F], F]:
    """Give values of a type an attribute; a decorator.

    Parameters
    ----------
    typ : type or class of types
        For example ``types.Array``.
    attr : str
        Name of the attribute.
    target, **options
        As in `overload`.

    Returns
    -------
    decorator
        For a function that takes the type of the value, and returns a function of the value.
    """

    def decorate(choose: F) -> F:
        extensions.add_attribute(attr, _make(choose, typ, target, False, options))
        return choose

    return decorate


def register_jitable(*args: object, **options: object) -> Any:  # noqa: ANN401
    """Let kernels call a function that stays a Python function; a decorator.

    Parameters
    ----------
    *args, **options
        The function; or options of numba's, which are accepted.

    Returns
    -------
    function or decorator
        The function itself.
    """
    if args and callable(args[0]):
        return extensions.add_jitable(args[0])
    unknown = [name for name in options if name not in {*_HINTS, "fastmath", "nopython"}]
    if args or unknown:
        raise ArgumentTypeError(f"register_jitable does not take {(*args, *unknown)[0]!r}")
    return extensions.add_jitable


# ---------------------------------------------------------------------------- types of programs


def _check_class_of_types(cls: object) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Type)):
        raise ArgumentTypeError(f"{cls!r} is no class of types", detail="expected a types.Type")


def register_model(typeclass: type[Type]) -> Callable[[M], M]:
    """Say what values of a type consist of; a decorator.

    Parameters
    ----------
    typeclass : class of types
        A class derived from ``types.Type``.

    Returns
    -------
    decorator
        For a class derived from ``models.StructModel``.
    """
    _check_class_of_types(typeclass)

    def decorate(model: M) -> M:
        if not (isinstance(model, type) and issubclass(model, models.StructModel)):
            raise ArgumentTypeError(
                f"{model!r} cannot be the model of {typeclass.__name__}",
                detail="expected a class derived from models.StructModel",
            )
        models.add_model(typeclass, model)
        return model

    return decorate


def make_attribute_wrapper(
    typeclass: type[Type], struct_attr: str, python_attr: str, target: str = "cuda"
) -> None:
    """Let kernels see a member of a type as an attribute.

    Parameters
    ----------
    typeclass : class of types
        The class of the type.
    struct_attr, python_attr : str
        Names of the member and of the attribute.
    target : str
        As in `overload`.
    """
    _check_class_of_types(typeclass)
    if target not in _TARGETS:
        raise ArgumentError(
            f"the target of an attribute is {target!r}", detail=f"expected one of {_TARGETS}"
        )
    models.add_attribute(typeclass, struct_attr, python_attr)


def type_callable(func: object) -> Callable[[F], F]:
    """Say which type calling a class gives; a decorator.

    If the parameters have the names of the type's members, these are what the call makes the
    value of. An overload of the class comes before.

    Parameters
    ----------
    func : class
        What kernels call.

    Returns
    -------
    decorator
        For a function of a context, which is None here. It returns a function from the types of
        the arguments to the type made, None if these types are not for it.
    """
    if not isinstance(func, type):
        raise ArgumentTypeError(
            f"type_callable does not take {func!r}",
            detail="expected a class",
            help="say what calls of functions mean with overload",
        )

    def decorate(make: F) -> F:
        models.add_typer(func, make)
        return make

    return decorate


def lower(func: object, *argtypes: object) -> NoReturn:  # noqa: ARG001
    """Fail: there is no builder of LLVM's instructions here, and overloads take its place.

    Parameters
    ----------
    func : object
        What kernels call.
    *argtypes
        Types of the arguments.
    """
    name = getattr(func, "__name__", func)
    raise UnsupportedFeatureError(
        f"lower cannot say what {name} means in kernels: there is no LLVM builder to write it with",
        help=f"write it in Python, with @overload({name}); a class whose parameters are the "
        "members of its model needs only type_callable",
    )


lower_builtin = lower


def lower_getattr(ty: object, attr: str) -> NoReturn:
    """Fail: there is no builder of LLVM's instructions here, and overloads take its place.

    Parameters
    ----------
    ty : type or class of types
        What has the attribute.
    attr : str
        Its name.
    """
    raise UnsupportedFeatureError(
        f"lower_getattr cannot say what the attribute {attr!r} of {ty} is: there is no LLVM "
        "builder to write it with",
        help=f"write @overload_attribute(..., {attr!r}), or make_attribute_wrapper for a member",
    )


def intrinsic(*args: object, **options: object) -> NoReturn:  # noqa: ARG001
    """Fail: there is no builder of LLVM's instructions here, and overloads take its place.

    Parameters
    ----------
    *args, **options
        The function, or numba's options.
    """
    name = getattr(args[0], "__name__", "a function") if args else "a function"
    raise UnsupportedFeatureError(
        f"intrinsic cannot make {name} part of kernels: there is no LLVM builder to write it with",
        help="write the function in Python, with @overload or @cuda.jit(device=True)",
    )
