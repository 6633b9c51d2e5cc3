"""The Python functions around native code that launches a kernel.

All kernels with the same types of parameters share the code of `entry_code`; the kernel and the
launch shape come with the Python function object that is made around it, as a *binding*: an array
of 8-byte words with the grid (0-2), the block (3-5), 0, the dynamic shared memory, the kernel's
address and the number of blocks. Whatever an entry does not expect it hands to a Python callable,
and to another one the launch record of a kernel that had something to report.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

from pygpulib.core.locks import Lock
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.entry_code import PYTHON_FUNCTIONS, TypeList, entry_text
from pygpulib.jit.backends.cpu.layouts import ObjectLayouts, object_layouts
from pygpulib.jit.backends.cpu.objects import find_object
from pygpulib.jit.backends.cpu.pool import shared_pool
from pygpulib.jit.backends.cpu.target import plain_target
from pygpulib.jit.backends.cpu.unboxing import is_supported

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.driver import LaunchShape
    from pygpulib.jit.backends.cpu.pool import Pool
    from pygpulib.jit.backends.protocol import Launcher

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


# The definitions must outlive every function object made from them, and there are few.
_definitions: dict[tuple[TypeList, TypeList, bool, bool], _MethodDefinition] = {}
_lock = Lock()


def _definition(
    argument_types: TypeList,
    parameter_types: TypeList,
    layouts: ObjectLayouts,
    pool: Pool | None,
    has_report: bool,
) -> _MethodDefinition:
    key = (argument_types, parameter_types, pool is not None, has_report)
    with _lock:
        if key not in _definitions:
            imports = {name: _python_address(name) for name in PYTHON_FUNCTIONS}
            if pool is not None:
                imports["pool_run"] = pool.run_address
                imports["pool_ready"] = pool.ready_address
            text, objects = entry_text(
                argument_types,
                parameter_types,
                layouts,
                has_pool=pool is not None,
                has_report=has_report,
            )
            code = find_object(text, plain_target(), 0).code
            address = engine.load(code, "entry", imports | objects)
            _definitions[key] = _MethodDefinition(
                b"launch", address, _METH_FASTCALL_KEYWORDS, b"Launch a kernel."
            )
        return _definitions[key]


def _python_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def make_entry(
    shape: LaunchShape,
    kernel_address: int,
    argument_types: TypeList,
    parameter_types: TypeList,
    fallback: Launcher,
    report: Callable[[bytes], None] | None = None,
) -> Launcher | None:
    """Return a function that launches a kernel in one shape.

    Parameters
    ----------
    shape : LaunchShape
        The launch shape.
    kernel_address : int
        Address of the kernel's code for that shape.
    argument_types, parameter_types : tuple of Type
        Types of the arguments that it takes, and what the kernel takes.
    fallback : callable
        What is called with other arguments.
    report : callable, optional
        What is called with the launch record, if the kernel prints or fails; it may raise.

    Returns
    -------
    callable or None
        None where this interpreter's objects cannot be read, or types are involved that native
        code does not take apart.
    """
    layouts = object_layouts()
    if layouts is None or not all(
        is_supported(*pair, layouts) for pair in zip(argument_types, parameter_types, strict=True)
    ):
        return None
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    pool = shared_pool() if blocks > 1 else None
    has_report = report is not None
    definition = _definition(argument_types, parameter_types, layouts, pool, has_report)
    binding = struct.pack(
        "=10q", *shape.grid, *shape.block, 0, shape.shared_bytes, kernel_address, blocks
    )
    # A prototype of its own: the attributes of a function of pythonapi are shared by everybody.
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    create = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    made: Launcher = create(ctypes.addressof(definition), (binding, fallback, report), None)
    return made
