"""The parameters of a kernel, and how the arguments of a call fill them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.errors import LaunchTypeError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    """

    kernel: str
    names: tuple[str, ...]
    defaults: Mapping[str, object]
    positional: int

    @classmethod
    def of(cls, function: FunctionType) -> Parameters:
        """Read the parameters of a function.

        Raises
        ------
        UnsupportedFeatureError
            If it takes ``*args`` or ``**kwargs``.
        """
        code = function.__code__
        if code.co_flags & (_HAS_VARARGS | _HAS_KEYWORDS):
            raise UnsupportedFeatureError(
                f"the kernel {function.__name__} takes *args or **kwargs",
                help="name the parameters, or pass a tuple as one of them",
            )
        positional = code.co_argcount
        names = code.co_varnames[: positional + code.co_kwonlyargcount]
        values = function.__defaults__ or ()
        defaults = dict(zip(names[positional - len(values) : positional], values, strict=True))
        defaults.update(function.__kwdefaults__ or {})
        return cls(function.__name__, names, defaults, positional)

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        """Return one value per parameter.

        Raises
        ------
        LaunchTypeError
            If arguments are missing, unknown, given twice or too many.
        """
        if not kwargs and len(args) == len(self.names) == self.positional:
            return args
        if len(args) > self.positional:
            raise LaunchTypeError(
                f"the kernel {self.kernel} takes {self._count(self.positional)} but "
                f"{len(args)} were given",
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
                f"the kernel {self.kernel} lacks {self._count(len(missing))}: {', '.join(missing)}",
                detail=f"{len(given)} of {len(self.names)} were given",
            )
        return tuple(values[name] for name in self.names)

    def _count(self, number: int) -> str:
        return f"{number} argument{'' if number == 1 else 's'}"
