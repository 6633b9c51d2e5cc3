"""Launches of one kernel in one shape, again and again: little Python between call and driver.

An array keeps what a kernel is given for it, so that it is looked at once; numbers are packed by
the standard library. What is not as expected goes the long way.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.cuda_interface import from_cuda_array_interface
from pygpulib.core.dtypes import DType, bool_, float16, float32, float64, int64, uint64
from pygpulib.core.ordering import is_same_stream
from pygpulib.errors import PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.backends.cuda.parameters import parameter_addresses
from pygpulib.jit.backends.protocol import HEADER_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.core.driver import LaunchShape
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.jit.backends.cuda.kernel_code import LoadedKernel
    from pygpulib.jit.backends.protocol import Launcher

Pack = Callable[[object], bytes | None]
"""Returns the words of an argument, or None for one that is not as expected."""

_FLOATS = {
    float16: struct.Struct("<e6x"),
    float32: struct.Struct("<f4x"),
    float64: struct.Struct("<d"),
}


def make_short_cut(
    driver: CudaDriver,
    find: Callable[[bytes], LoadedKernel],
    shape: LaunchShape,
    stream: int,
    argument_types: Sequence[types.Type],
    parameter_types: Sequence[types.Type],
    fallback: Launcher,
) -> Launcher | None:
    """Return a function that launches a kernel in one shape.

    Parameters
    ----------
    driver : CudaDriver
        The driver; the launches are for the calling thread's device.
    find : callable
        Gives the kernel on that device for the words of some arguments.
    shape : LaunchShape
        The launch shape.
    stream : int
        Where launches are queued.
    argument_types, parameter_types : sequence of Type
        Types of the arguments that it takes, and what the kernel takes.
    fallback : callable
        What is called with other arguments, and on other devices.

    Returns
    -------
    callable or None
        None where an argument is of a type that takes the long way.
    """
    packers = _find_packers(argument_types, parameter_types, _array_packer_of(driver, stream))
    if packers is None:
        return None
    count = len(packers)
    flat_count = sum(len(type_.flat()) for type_ in parameter_types)
    ordinal = driver.current_ordinal()
    current_ordinal, launch_function = driver.current_ordinal, driver.launch_function
    # A launch takes a block and puts it back, so that no two threads write to the same.
    free: list[tuple[memoryview, int, object]] = []

    def launch(*args: object, **kwargs: object) -> None:
        if kwargs or len(args) != count or current_ordinal() != ordinal:
            fallback(*args, **kwargs)
            return
        parts = [pack(argument) for pack, argument in zip(packers, args, strict=True)]
        if None in parts:
            fallback(*args)
            return
        try:
            block = free.pop()
        except IndexError:
            block = _new_block(flat_count)
        block[0][:] = words = b"".join(parts)  # type: ignore[arg-type]
        launch_function(find(words).function, shape, block[1], stream)
        free.append(block)

    return launch


def _new_block(flat_count: int) -> tuple[memoryview, int, object]:
    """Return the bytes of argument words, the address of their addresses, and what owns both."""
    words = (ctypes.c_uint64 * (HEADER_WORDS + flat_count))()
    parameters = parameter_addresses(ctypes.addressof(words), flat_count)
    arguments = memoryview(words).cast("B")[8 * HEADER_WORDS :]
    return arguments, ctypes.addressof(parameters), (words, parameters)


def _find_packers(
    argument_types: Sequence[types.Type],
    parameter_types: Sequence[types.Type],
    pack_array: Callable[[types.ArrayType], Pack],
) -> list[Pack] | None:
    """Return what packs each argument, None if one takes the long way."""
    found = [
        _packer(*pair, pack_array) for pair in zip(argument_types, parameter_types, strict=True)
    ]
    packers = [pack for pack in found if pack is not None]
    return packers if len(packers) == len(found) else None


def _packer(
    argument: types.Type, parameter: types.Type, pack_array: Callable[[types.ArrayType], Pack]
) -> Pack | None:
    match argument, parameter:
        case types.ArrayType(), types.ArrayType():
            return pack_array(argument)
        case types.ScalarType(source), types.ScalarType(target):
            return None if source.is_complex else _number_packer(source, target)
        case _:
            return None


def _array_packer_of(driver: CudaDriver, stream: int) -> Callable[[types.ArrayType], Pack]:
    """Return what makes packers for arrays of the calling thread's device."""
    ordinal = driver.current_ordinal()
    is_only = driver.device_count() == 1

    def make_packer(expected: types.ArrayType) -> Pack:
        def pack(argument: object) -> bytes | None:
            array = argument if type(argument) is ndarray else _share(argument, stream)
            if array is None or not (is_only or array.buffer.ordinal == ordinal):
                return None
            form = array.kernel_form or _find_form(array, stream)
            if form is None:
                return None
            type_, words = form
            return words if type_ is expected or type_ == expected else None

        return pack

    return make_packer


def _share(argument: object, stream: int) -> ndarray | None:
    """Return an array over that of another library, None if it is none or is not ready here."""
    if isinstance(argument, np.ndarray):
        return None
    interface = getattr(argument, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        return None
    theirs = interface.get("stream")
    if theirs is not None and not (isinstance(theirs, int) and is_same_stream(theirs, stream)):
        return None
    try:
        return from_cuda_array_interface(interface, argument, sync=False)
    except PyGpuLibError:
        # The long way says which argument it is.
        return None


def _find_form(array: ndarray, stream: int) -> tuple[object, bytes] | None:
    """Return what kernels take an array for, None if a stream has to wait for its memory.

    The array keeps it if no stream has to wait.
    """
    buffer = array.buffer
    readiness = buffer.readiness
    if readiness is not None and readiness.is_past():
        readiness = buffer.readiness = None
    if readiness is not None and not readiness.precedes(stream):
        return None
    form = ndarray.type_rule(array), array_words(array)
    if readiness is None:
        array.kernel_form = form
    return form


def array_words(array: ndarray) -> bytes:
    """Return the words of an array: its address, lengths and strides."""
    return struct.pack(f"<Q{2 * array.ndim}q", array.address, *array.shape, *array.strides)


def _number_packer(source: DType, target: DType) -> Pack | None:
    kinds = _python_types(source)
    if target in _FLOATS:
        write = _FLOATS[target].pack
    elif (target.is_integer and not source.is_float) or source == target == bool_:
        write = _integers(source).pack
    else:
        return None

    def pack(argument: object) -> bytes | None:
        if type(argument) not in kinds:
            return None
        try:
            return write(argument)
        except (struct.error, OverflowError):
            # An integer that has another type, or a number that becomes an infinity.
            return None

    return pack


def _integers(dtype: DType) -> struct.Struct:
    # Narrower parameters take the low bytes.
    return struct.Struct("<Q" if dtype == uint64 else "<q")


def _python_types(dtype: DType) -> tuple[type, ...]:
    """Return the classes of the numbers that have this type as arguments."""
    if dtype.is_bool:
        return (bool,)
    if dtype == int64:
        return (int, np.int64)
    if dtype == float64:
        return (float, np.float64)
    return (dtype.numpy.type,)
