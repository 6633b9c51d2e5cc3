"""Kernels as the driver loads them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib._bindings.cuda_constants import FUNCTION_ATTRIBUTES
from pygpulib._record import record
from pygpulib.errors import DeviceError, ImageError

if TYPE_CHECKING:
    from pygpulib._bindings.library import Library

_LOG_BYTES = 16384


@record(eq=True)
class ImageOptions:
    """What the driver's compiler is told about PTX.

    Attributes
    ----------
    has_line_info : bool
        Whether to keep the lines of the source, for profilers.
    """

    has_line_info: bool = False

    def items(self) -> list[tuple[int, int]]:
        """Return the driver's numbers and values of the options that are set."""
        return [(cu.JIT_GENERATE_LINE_INFO, 1)] if self.has_line_info else []


NO_OPTIONS = ImageOptions()


class LogBuffer:
    """Options as the driver takes them, with a place for its compiler's messages.

    Parameters
    ----------
    options : ImageOptions
        What the compiler is told.

    Attributes
    ----------
    count : int
        How many options there are.
    numbers, values : ctypes array
        The options.
    """

    def __init__(self, options: ImageOptions) -> None:
        self._log = ctypes.create_string_buffer(_LOG_BYTES)
        pairs = [
            *options.items(),
            (cu.JIT_ERROR_LOG_BUFFER, ctypes.addressof(self._log)),
            (cu.JIT_ERROR_LOG_BUFFER_SIZE, _LOG_BYTES),
        ]
        self.count = len(pairs)
        self.numbers = (ctypes.c_int * len(pairs))(*(number for number, _ in pairs))
        self.values = (ctypes.c_void_p * len(pairs))(*(value for _, value in pairs))

    def explain(self, error: ImageError, code: int) -> ImageError:
        """Return an error with the compiler's messages."""
        text = self._log.value.decode(errors="replace").strip()
        detail = f"{error.detail}\n{text}" if text else error.detail
        result = ImageError(error.problem, detail=detail, help=error.help)
        result.code = code
        return result


def load_function(
    library: Library, code: bytes, name: str, options: ImageOptions
) -> tuple[int, int]:
    """Load machine code or PTX for the current device.

    Parameters
    ----------
    library : Library
        The driver library.
    code : bytes
        PTX text, or a binary.
    name : str
        The kernel in it.
    options : ImageOptions
        What the compiler is told.

    Returns
    -------
    int, int
        The driver's handles of the module and of the kernel.

    Raises
    ------
    ImageError
        If the driver does not accept the code; with the messages of its compiler.
    """
    log = LogBuffer(options)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        library.cuModuleLoadDataEx(ctypes.byref(module), code, log.count, log.numbers, log.values)
    except ImageError as error:
        raise log.explain(error, error.code) from None
    try:
        library.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    except DeviceError:
        library.cuModuleUnload(module)
        raise
    return module.value or 0, function.value or 0


def global_variable(library: Library, module: int, name: str) -> tuple[int, int]:
    """Return address and size of a variable of a module."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    library.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module, name.encode())
    return address.value, size.value


def function_attribute(library: Library, function: int, name: str) -> int:
    """Return an attribute of a kernel by its name without ``CU_FUNC_ATTRIBUTE_``."""
    value = ctypes.c_int()
    library.cuFuncGetAttribute(ctypes.byref(value), FUNCTION_ATTRIBUTES[name], function)
    return value.value


def max_active_blocks(library: Library, function: int, threads: int, shared_bytes: int) -> int:
    """Return how many blocks of a kernel one multiprocessor runs at the same time."""
    value = ctypes.c_int()
    library.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(value), function, threads, shared_bytes
    )
    return value.value
