"""Entry points that assemble PTX to machine code ahead of loading it."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.modules import ModuleEntries, Options
from tests.fakecuda.driver.state import System
from tests.fakecuda.driver.status import Code, RefusedError, require

_PTX = 1  # CU_JIT_INPUT_PTX

_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.MULTILINE)
_FUNC = r"\s*\.func\s*(?:\([^)]*\))?\s*"
_DEFINED = re.compile(rf"\.visible{_FUNC}([\w$]+)")
_DECLARED = re.compile(rf"\.extern{_FUNC}(?P<name>[\w$]+)[^;{{]*;")


class Link:
    """Machine code in the making."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.texts: list[str] = []
        self.cubin: ctypes.Array[ctypes.c_char] | None = None


class LinkEntries:
    """Entry points about the linker; it takes PTX texts and nothing else."""

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
        require(kind == _PTX, Code.NOT_SUPPORTED, "the simulation links PTX only")
        link.texts.append(ctypes.string_at(data or 0, size).rstrip(b"\0").decode())

    @entry("cuLinkComplete")
    def complete(self, state: int | None, cubin: Any, size: Any) -> None:
        link = self.system.handles.find(Link, state)
        if not link.texts:
            raise RefusedError(Code.INVALID_VALUE, "nothing to link")
        text = _merge(link.texts)
        try:
            made = self._modules.assemble(text, self.system.current(), link.options)
        except RefusedError as refused:
            link.options.write_log("ERROR", refused.reason)
            raise
        require(made.cubin, Code.NOT_SUPPORTED, "without the assembler there is no machine code")
        self._modules.images[made.cubin] = text
        link.cubin = ctypes.create_string_buffer(made.cubin, len(made.cubin))
        cubin[0] = ctypes.addressof(link.cubin)
        if size:
            size[0] = len(link.cubin)

    @entry("cuLinkDestroy")
    def destroy(self, state: int | None) -> None:
        self.system.handles.remove(Link, state)


def _merge(texts: list[str]) -> str:
    """Return one text with the functions of all; those of later texts are defined first."""
    first, *others = texts
    defined = {name for text in others for name in _DEFINED.findall(text)}
    head = "\n".join(_HEADER.findall(first))
    bodies = [_HEADER.sub("", text) for text in (*reversed(others), first)]

    def drop(match: re.Match[str]) -> str:
        return "" if match["name"] in defined else match[0]

    return "\n".join([head, *(_DECLARED.sub(drop, body) for body in bodies)])
