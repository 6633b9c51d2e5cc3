"""The parameters of a kernel, and how the arguments of a call fill them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.errors import LaunchTypeError, UnsupportedFeatureError, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FunctionType

_HAS_VARARGS, _HAS_KEYWORDS = 0x04, 0x08


@record(eq=True)
class Parameters:
    """What a Python function takes.

    Attributes
    ----------
    kernel : str
        Name of the function, for messages.
    names : tuple of str
        Its parameters in order, keyword-only ones last.
    defaults : mapping of str to object
        Values of those that may be left out.
    positional : int
        How many may be given by position.
    rest : str
        The parameter that takes all further positional arguments; empty if there is none.
    """

    kernel: str
    names: tuple[str, ...]
    defaults: Mapping[str, object]
    positional: int
    rest: str = ""

    @classmethod
    def of(cls, function: FunctionType) -> Parameters:
        """Read the parameters of a function.

        Raises
        ------
        UnsupportedFeatureError
            If it takes ``**kwargs``, or ``*args`` and keyword-only arguments.
        """
        code = function.__code__
        has_rest = bool(code.co_flags & _HAS_VARARGS)
        if code.co_flags & _HAS_KEYWORDS or (has_rest and code.co_kwonlyargcount):
            raise UnsupportedFeatureError(
                f"the kernel {function.__name__} takes **kwargs, or keywords after *args",
                help="name the parameters, or pass a tuple as one of them",
            )
        positional = code.co_argcount
        names = code.co_varnames[: positional + code.co_kwonlyargcount]
        rest = code.co_varnames[positional] if has_rest else ""
        values = function.__defaults__ or ()
        defaults = dict(zip(names[positional - len(values) : positional], values, strict=True))
        defaults.update(function.__kwdefaults__ or {})
        return cls(function.__name__, names, defaults, positional, rest)

    def names_of(self, values: Sequence[object]) -> tuple[str, ...]:
        """Return what messages call each of the values that :meth:`bind` returned."""
        more = len(values) - len(self.names)
        return self.names if not more else self.names + (self.rest,) * more

    def accepts(self, count: int) -> bool:
        """Return whether the parameters can stand for a number of values."""
        return count == len(self.names) or (bool(self.rest) and count > len(self.names))

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        """Return one value per parameter, and then the further ones.

        Raises
        ------
        LaunchTypeError
            If arguments are missing, unknown, given twice or too many.
        """
        if not kwargs and len(args) == len(self.names) == self.positional:
            return args
        rest: tuple[object, ...] = ()
        if self.rest:
            args, rest = args[: self.positional], args[self.positional :]
        if len(args) > self.positional:
            raise LaunchTypeError(
                f"the kernel {self.kernel} takes {counted(self.positional, 'argument')} but "
                f"{len(args)} {'was' if len(args) == 1 else 'were'} given",
                detail=f"its parameters are: {', '.join(self.names) or 'none'}",
            )
        given = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names:
                raise LaunchTypeError(
                    f"the kernel {self.kernel} has no argument {name!r}",
                    detail=f"its parameters are: {', '.join(self.names) or 'none'}",
                )
            if name in given:
                raise LaunchTypeError(
                    f"the kernel {self.kernel} got the argument {name!r} by position and by name"
                )
            given[name] = value
        values = {**self.defaults, **given}
        missing = [name for name in self.names if name not in values]
        if missing:
            raise LaunchTypeError(
                f"the kernel {self.kernel} lacks {counted(len(missing), 'argument')}: "
                f"{', '.join(missing)}",
                detail=f"{len(given)} of {len(self.names)} were given",
            )
        return (*(values[name] for name in self.names), *rest)
