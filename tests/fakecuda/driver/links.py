"""Entry points that assemble PTX to machine code ahead of loading it."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.modules import ModuleEntries, Options
from tests.fakecuda.driver.state import System
from tests.fakecuda.driver.status import Code, RefusedError, require

_PTX = 1  # CU_JIT_INPUT_PTX


class Link:
    """Machine code in the making."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.cubin: ctypes.Array[ctypes.c_char] | None = None


class LinkEntries:
    """Entry points about the linker; it takes one PTX text and nothing else."""

    def __init__(self, system: System, modules: ModuleEntries) -> None:
        self.system = system
        self._modules = modules

    @entry("cuLinkCreate_v2")
    def create(self, count: int, options: Any, values: Any, state: Any) -> None:
        state[0] = self.system.handles.add(Link(Options(count, options, values)))

    @entry("cuLinkAddData_v2")
    def add_data(
        self, state: int | None, kind: int, data: int | None, size: int, *_rest: Any
    ) -> None:
        link = self.system.handles.find(Link, state)
        single = kind == _PTX and link.cubin is None
        require(single, Code.NOT_SUPPORTED, "the simulation links one PTX text only")
        text = ctypes.string_at(data or 0, size).rstrip(b"\0").decode()
        try:
            made = self._modules.assemble(text, self.system.current(), link.options)
        except RefusedError as refused:
            link.options.write_log("ERROR", refused.reason)
            raise
        require(made.cubin, Code.NOT_SUPPORTED, "without the assembler there is no machine code")
        self._modules.images[made.cubin] = text
        link.cubin = ctypes.create_string_buffer(made.cubin, len(made.cubin))

    @entry("cuLinkComplete")
    def complete(self, state: int | None, cubin: Any, size: Any) -> None:
        link = self.system.handles.find(Link, state)
        if link.cubin is None:
            raise RefusedError(Code.INVALID_VALUE, "nothing to link")
        cubin[0] = ctypes.addressof(link.cubin)
        if size:
            size[0] = len(link.cubin)

    @entry("cuLinkDestroy")
    def destroy(self, state: int | None) -> None:
        self.system.handles.remove(Link, state)
