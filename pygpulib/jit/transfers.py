"""How host arrays come to a kernel and back: the classes behind ``cuda.In`` and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import to_device
from pygpulib.core.interop import is_cuda_array
from pygpulib.errors import LaunchTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pygpulib.jit import types


class HostArgument:
    """An argument of a launch together with what the kernel does to it.

    Parameters
    ----------
    value : array_like or record
        The argument.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def prepare(self) -> object:
        """Return what the kernel is given."""
        if is_cuda_array(self.value) or isinstance(self.value, np.ndarray | np.void):
            return self.value
        return np.asarray(self.value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class In(HostArgument):
    """An argument that the kernel reads: what it writes there does not come back."""

    __slots__ = ()

    def prepare(self) -> object:
        """Return a copy on the device."""
        value: Any = super().prepare()
        if isinstance(value, np.void):
            return value.copy()
        return value if is_cuda_array(value) else to_device(value)


class Out(HostArgument):
    """An argument that the kernel writes in full: what was there before need not reach it."""

    __slots__ = ()


class InOut(HostArgument):
    """An argument that the kernel reads and writes, which is also what bare arrays are."""

    __slots__ = ()


def wrap_arg(value: object, default: type[HostArgument] = InOut) -> object:
    """Return an argument wrapped in a class, unless it says itself how it is used.

    Parameters
    ----------
    value : object
        The argument.
    default : type
        `In`, `Out` or `InOut`.
    """
    return value if isinstance(value, HostArgument | ndarray) else default(value)


class Extension(Protocol):
    """What changes the arguments of a kernel before its launches."""

    def prepare_args(
        self, ty: types.Type | None, val: object, stream: object, retr: list[object]
    ) -> tuple[types.Type | None, object]:
        """Return the type and the value to use instead.

        Parameters
        ----------
        ty : Type or None
            Type of the argument; None for an object that kernels do not take, which some
            extension has to replace by one that they do.
        val : object
            The argument.
        stream : int
            The driver's number of the launch's stream.
        retr : list of callable
            What to call after the launch.
        """
        ...


def _type_of(value: object) -> types.Type | None:
    from pygpulib.jit.signature import interpret

    try:
        return interpret(value).type
    except LaunchTypeError:
        return None


def apply_extensions(
    extensions: Iterable[Extension],
    values: Sequence[object],
    stream: object,
) -> tuple[list[object], list[Any]]:
    """Let extensions change the arguments of a launch, the last extension first, as in numba.

    Returns
    -------
    list of object
        The new arguments.
    list of callable
        What to call after the launch.
    """
    after: list[Any] = []
    results = []
    for argument in values:
        type_, value = _type_of(argument), argument
        for extension in reversed(list(extensions)):
            type_, value = extension.prepare_args(type_, value, stream=stream, retr=after)
        results.append(value)
    return results, after
