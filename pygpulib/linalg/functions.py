"""The functions of the library, made from the table: NumPy's and SciPy's for arrays anywhere."""

from __future__ import annotations

from functools import update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.ordering import at_home
from pygpulib.errors import DeviceMismatchError
from pygpulib.linalg.engine import current_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.engine import Engine
    from pygpulib.linalg.table import Function

# The values of arguments and results that are no arrays of a device, for a quick look.
_PLAIN = frozenset([np.ndarray, int, float, complex, bool, str, type(None)])


def make_function(function: Function, module: str) -> Callable[..., Any]:
    """Return a function of the table.

    Parameters
    ----------
    function : Function
        Which.
    module : str
        The module that offers it.

    Examples
    --------
    >>> from pygpulib.linalg.table import HERE
    >>> det = make_function(HERE["det"], "pygpulib.linalg")
    >>> float(det(np.array([[2.0, 0.0], [0.0, 3.0]])))
    6.0
    """
    on_host = getattr(import_module(function.home), function.name)

    def call(*arguments: Any, stream: StreamLike = None, **options: Any) -> Any:
        if _has_device_array(arguments) or (options and _has_device_array(options.values())):
            return _run(function, on_host, arguments, options, stream)
        return on_host(*arguments, **options)

    update_wrapper(call, on_host)
    # SciPy has functions of two names.
    call.__name__ = call.__qualname__ = function.name
    call.__module__ = module
    call.__doc__ = describe(function)
    return call


def describe(function: Function) -> str:
    """Return the documentation of a function."""
    return f"""{function.summary}

    Takes, returns and raises what ``{function.home}.{function.name}`` does. If any array is in
    device memory, so are those that are returned, on the same device and stream; results that are
    numbers there are numbers here.

    Parameters
    ----------
    *args, **kwargs
        Those of ``{function.home}.{function.name}``.
    stream : Stream, optional
        Where the work is queued and what the results belong to; default: the stream of the first
        array that names one.
    """


def _has_device_array(values: Iterable[object]) -> bool:
    """Return whether arguments, or what sequences among them hold, are in device memory."""
    for value in values:
        if value.__class__ is ndarray:
            return True
        if value.__class__ in _PLAIN:
            continue
        if isinstance(value, tuple | list):
            if any(_is_device_array(item) for item in value):
                return True
        elif _is_device_array(value):
            return True
    return False


def _is_device_array(value: object) -> bool:
    if value.__class__ in _PLAIN or isinstance(value, np.ndarray | np.generic):
        return False
    return isinstance(value, ndarray) or is_cuda_array(value)


def _run(
    function: Function,
    on_host: Callable[..., Any],
    arguments: tuple[object, ...],
    options: dict[str, object],
    stream: StreamLike,
) -> Any:
    """Do a function some of whose arguments are in device memory."""
    found: list[ndarray] = []
    arguments = tuple([_take(value, found) for value in arguments])
    if options:
        options = {name: _take(value, found) for name, value in options.items()}
    target = stream or 0
    for array in found:
        target = target or array.stream
    if len(found) > 1:
        _check_devices(function, found)
    with at_home(found[0].buffer):
        engine = current_engine()
        on_device = engine.find(function)
        if on_device is not None:
            result = on_device(target, *arguments, **options)
            if result is not NotImplemented:
                return result
        result = _run_on_host(engine, on_host, arguments, options, (stream, target))
        engine.announce(function)
        return result


def _take(value: object, found: list[ndarray]) -> object:
    """Return an argument with arrays of this package for those of other libraries, and note all."""
    if value.__class__ is ndarray:
        found.append(value)
        return value
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, tuple | list):
        taken = [_take(item, found) for item in value]
        return taken if isinstance(value, list) else tuple(taken)
    if not _is_device_array(value):
        return value
    array = value if isinstance(value, ndarray) else as_cuda_array(value)
    found.append(array)
    return array


def _run_on_host(
    engine: Engine,
    on_host: Callable[..., Any],
    arguments: tuple[object, ...],
    options: dict[str, object],
    streams: tuple[StreamLike, StreamLike],
) -> Any:
    """Compute on the host; the streams are those of what is given and of what is returned."""
    source, target = streams
    copies: list[tuple[HostArray, ndarray]] = []

    def to_host(value: object) -> object:
        if isinstance(value, ndarray):
            copy = engine.to_host(value, source)
            copies.append((copy, value))
            return copy
        if isinstance(value, tuple | list):
            items = [to_host(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        return value

    def to_device(value: object) -> object:
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return value
        for copy, array in copies:
            if value is copy:  # an array that was to be written to
                engine.write_back(copy, array, source)
                return array
        return engine.to_device(value, target)

    given = [to_host(value) for value in arguments]
    if not options:
        return replace_all(on_host(*given), to_device)
    named = {name: to_host(value) for name, value in options.items()}
    return replace_all(on_host(*given, **named), to_device)


def replace_all(value: object, change: Callable[[object], object]) -> object:
    """Return a result, changed at any depth; named tuples stay what they are."""
    if not isinstance(value, tuple | list):
        return change(value)
    if isinstance(value, list):
        return [replace_all(item, change) for item in value]
    items = [replace_all(item, change) for item in value]
    make: Any = getattr(type(value), "_make", tuple)
    return make(items)


def _check_devices(function: Function, arrays: list[ndarray]) -> None:
    first = arrays[0].device_ordinal
    for array in arrays:
        if array.device_ordinal != first:
            raise DeviceMismatchError(
                f"{function.name}: the arrays are on devices {first} and {array.device_ordinal}",
                help="copy them to one device first",
            )
