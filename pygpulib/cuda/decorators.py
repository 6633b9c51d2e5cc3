"""The decorator that makes kernels and device functions, under numba's name."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from pygpulib._config import config
from pygpulib._record import replace
from pygpulib.cuda.hints import (
    check_flags,
    check_literals,
    read_hints,
    unknown_option,
    warn_of_conflicts,
)
from pygpulib.errors import ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit.declarations import parse_signatures
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pygpulib.core.foreign_code import ForeignCode
    from pygpulib.cuda.foreign import Link
    from pygpulib.jit import types
    from pygpulib.jit.transfers import Extension

__all__ = ["jit"]

Compiled: TypeAlias = Kernel | DeviceFunction

# Options that must be empty: to ignore them would give other results.
_UNSUPPORTED = {
    "boundscheck": "use debug=True, which checks bounds among other things",
}

_REMOVED = {
    "argtypes": "pass the parameter types as the first argument",
    "restype": "pass a signature with a result type as the first argument",
    "bind": "kernels are always bound when they are launched",
}


class JitKeywords(TypedDict, total=False):
    """The options of :func:`jit`: its own, those that only advise, and one that must be empty."""

    device: bool
    debug: bool | None
    fastmath: bool
    fma: bool
    cache: bool
    literals: Literal["numba", "weak"]
    extensions: Sequence[Extension] | None

    forceinline: bool
    inline: object
    launch_bounds: int | Sequence[int] | None
    lineinfo: bool
    lto: bool | None
    max_registers: int | None
    opt: bool | None
    shared_memory_carveout: int | str | None

    link: Link | Sequence[Link]
    boundscheck: bool | None


_KNOWN = sorted(JitKeywords.__annotations__)


def jit(func_or_sig: object = None, **options: Unpack[JitKeywords]) -> Any:  # noqa: ANN401
    """Compile a function for the device; a decorator with or without parentheses.

    Parameters
    ----------
    func_or_sig : function, signature, or list of signatures, optional
        The function; or what to compile it for at once, such as ``"void(float32[:], int32)"``.
    device : bool
        Make a function that kernels call, instead of a kernel.
    debug : bool, optional
        Check bounds, and raise the kernel's exceptions on the host. Default: the environment
        variable ``PYGPULIB_DEBUG``.
    fastmath : bool
        Allow approximate floating-point arithmetic.
    fma : bool
        Allow multiply and add to be contracted into one rounding.
    cache : bool
        Keep the machine code on disk, for other processes.
    literals : {"numba", "weak"}
        What numbers in the text of the kernel and of what it calls are. ``"numba"``: int64 and
        float64, so that ``0.5 * x`` is a float64 for a float32 ``x``. ``"weak"``: what NumPy makes
        of Python's numbers, which take the type of what they meet, so that it is a float32.
    extensions : sequence of Extension, optional
        What changes the arguments before each launch, the last one first: objects with a method
        ``prepare_args(ty, val, stream, retr)``, which returns a type and a value to pass instead
        and may append to ``retr`` what is to be called after the launch.
    link : LinkableCode, file name, or sequence of these
        Code in other languages that defines what `declare_device` declares; on GPUs only.
    **options
        Numba's others, accepted if they only advise (``inline``, ``launch_bounds``, ``opt``, ...).

    Returns
    -------
    Kernel, DeviceFunction, or decorator
        The compiled function, or what makes one.

    Raises
    ------
    ArgumentTypeError, ArgumentError, UnsupportedFeatureError
        If there is no such option, or it has a wrong value, or asks for what cannot be done.

    Examples
    --------
    >>> from pygpulib import cuda
    >>> @cuda.jit
    ... def add_one(a):
    ...     i = cuda.grid(1)
    ...     if i < a.size:
    ...         a[i] += 1
    """
    compile_options = _read_options(options)
    warn_of_conflicts(compile_options.debug, options)
    compiled_class = DeviceFunction if options.get("device") else Kernel
    extensions = tuple(options.get("extensions") or ())
    make = partial(_make, compiled_class, compile_options, extensions)
    if func_or_sig is None:
        return partial(make, [])
    if isinstance(func_or_sig, FunctionType | Kernel | DeviceFunction):
        return make([], func_or_sig)
    return partial(make, parse_signatures(func_or_sig))


def _read_options(options: JitKeywords) -> CompileOptions:
    _check_options(options)
    _check_extensions(options.get("extensions") or ())
    check_flags("cuda.jit", options)
    literals = options.get("literals", "numba")
    check_literals(literals)
    given = options.get("debug")
    debug = config.debug if given is None else bool(given)
    return CompileOptions(
        debug=debug,
        fastmath=bool(options.get("fastmath", False)),
        fma=bool(options.get("fma", True)),
        cache=bool(options.get("cache", True)),
        weak_literals=literals == "weak",
        hints=replace(read_hints(options, debug=debug), link=_read_link(options)),
    )


def _read_link(options: JitKeywords) -> tuple[ForeignCode, ...]:
    link = options.get("link") or ()
    if link and options.get("device"):
        raise UnsupportedFeatureError(
            f"the option link={link!r} of cuda.jit is not supported for device functions",
            help="pass it to the kernels that call the function, or to cuda.declare_device",
        )
    if not link:
        return ()
    from pygpulib.cuda.foreign import read_link

    return read_link("the option link of cuda.jit", link)


def _make(
    compiled_class: type[Compiled],
    options: CompileOptions,
    extensions: tuple[Extension, ...],
    signatures: list[types.FunctionSignature],
    function: object,
) -> Compiled:
    # Decorating a kernel again changes its options, as in numba.
    py_func = getattr(function, "py_func", function)
    if not isinstance(py_func, FunctionType):
        raise ArgumentTypeError(
            f"cuda.jit was applied to {function!r}",
            detail="expected a Python function",
            help="decorate a function, or pass a signature",
        )
    compiled = compiled_class(py_func, options, signatures)
    if isinstance(compiled, Kernel):
        compiled.extensions.extend(extensions)
    return compiled


def _check_extensions(extensions: Sequence[Extension]) -> None:
    for each in extensions:
        if not callable(getattr(each, "prepare_args", None)):
            raise ArgumentTypeError(
                f"an item of the option extensions of cuda.jit is {each!r}",
                detail="expected an object with a method prepare_args(ty, val, stream, retr)",
                help="pass an object, not its class",
            )


def _check_options(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if name in _UNSUPPORTED:
            if value:
                raise UnsupportedFeatureError(
                    f"the option {name}={value!r} of cuda.jit is not supported",
                    help=_UNSUPPORTED[name],
                )
        elif name in _REMOVED:
            raise ArgumentTypeError(f"cuda.jit has no option {name!r}", help=_REMOVED[name])
        elif name not in _KNOWN:
            raise unknown_option("cuda.jit", name, _KNOWN)
