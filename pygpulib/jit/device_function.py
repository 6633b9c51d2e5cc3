"""Functions that kernels call."""

from __future__ import annotations

import functools
from types import MethodType
from typing import TYPE_CHECKING, NoReturn

from pygpulib.errors import NotAKernelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType

    from pygpulib.jit import types
    from pygpulib.jit.options import CompileOptions


class DeviceFunction:
    """A function that kernels call, and that is compiled as a part of them.

    Called on the host it is the Python function.

    Parameters
    ----------
    py_func : function
        The Python function.
    options : CompileOptions
        How it was asked to be compiled.
    signatures : sequence of FunctionSignature, optional
        What arguments are converted to.

    Attributes
    ----------
    py_func : function
        The Python function.
    options : CompileOptions
        How it was asked to be compiled.
    declared : tuple of FunctionSignature
        The signatures it was declared with.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        py_func: FunctionType,
        options: CompileOptions,
        signatures: Sequence[types.FunctionSignature] = (),
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.options = options
        self.declared = tuple(signatures)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the Python function, on the host."""
        return self.py_func(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> object:
        return self if instance is None else MethodType(self, instance)

    def __getitem__(self, config: object) -> NoReturn:
        self.configure(config)

    def configure(self, *config: object) -> NoReturn:  # noqa: ARG002
        """Refuse a launch configuration."""
        raise NotAKernelError(
            f"{self.__name__} is a device function and cannot be launched",
            detail="Cannot compile a device function as a kernel",
            help="call it in a kernel, or decorate it with @cuda.jit without device=True",
        )

    forall = configure

    def __repr__(self) -> str:
        return f"<device function {self.__qualname__}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        from pygpulib.jit.pickling import reduce_wrapper

        return reduce_wrapper(self, self.py_func, DeviceFunction, (self.options, self.declared))
