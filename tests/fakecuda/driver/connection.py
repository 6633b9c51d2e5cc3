"""The process's ``libcuda.so.1`` and the fake driver that answers for it."""

from __future__ import annotations

import atexit
import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.fakecuda.driver.library import cuda_header, load_library
from tests.fakecuda.driver.status import Code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakecuda.driver.fake import FakeCuda

installed: list[FakeCuda] = []
"""The fake drivers; the last one answers."""

_callbacks: list[Any] = []  # never freed: nobody knows who still holds their addresses
_libraries: list[ctypes.CDLL] = []
_tables: list[tuple[tuple[str, ...], ctypes.Array[ctypes.c_void_p]]] = []


def connect(names: tuple[str, ...]) -> None:
    """Load the library that exports some functions, unless the process has one already."""
    if _libraries:
        return
    library = load_library(names)
    table = (ctypes.c_void_p * len(names)).in_dll(library, "fakecuda_table")
    for position, name in enumerate(names):
        made = _make_callback(name)
        _callbacks.append(made)
        table[position] = ctypes.cast(made, ctypes.c_void_p).value
    _libraries.append(library)
    _tables.append((names, table))
    atexit.register(_disconnect, table)


def address_of(name: str) -> int:
    """Return the address of an exported function."""
    return ctypes.cast(_libraries[0][name], ctypes.c_void_p).value or 0


@contextmanager
def replaced(addresses: dict[str, int]) -> Iterator[None]:
    """Let exported functions jump to other addresses than those that answer for the fake driver."""
    ((names, table),) = _tables
    before = {name: table[names.index(name)] for name in addresses}
    try:
        for name, address in addresses.items():
            table[names.index(name)] = address
        yield
    finally:
        for name, old in before.items():
            table[names.index(name)] = old


def _make_callback(name: str) -> Any:
    prototype = cuda_header().functions[name]

    def callback(*arguments: Any) -> int:
        return installed[-1].answer(name, arguments) if installed else int(Code.NO_DEVICE)

    return ctypes.CFUNCTYPE(prototype.result, *prototype.argtypes)(callback)


def _disconnect(table: ctypes.Array[ctypes.c_void_p]) -> None:
    """Let calls from finalizers at the end of the process fail as a real driver lets them."""
    for position in range(len(table)):
        table[position] = None
