"""Since when drivers have which function."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from tests.fakecuda.driver.entries import base_name
from tests.fakecuda.header import find_include_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

# Second and later forms of a function whose first form is exported, too.
_FORM_SINCE = {
    "cuCtxCreate_v4": 12050,
    "cuDeviceGetUuid_v2": 11040,
    "cuEventElapsedTime_v2": 12080,
    "cuGetProcAddress_v2": 12000,
    "cuMemAdvise_v2": 12020,
    "cuMemPrefetchAsync_v2": 12020,
}


@functools.cache
def _first_versions() -> dict[str, int]:
    """Return the version of CUDA in which each function first appeared."""
    text = (find_include_folder("cudaTypedefs.h") / "cudaTypedefs.h").read_text("latin1")
    versions: dict[str, int] = {}
    for name, number in re.findall(r"PFN_(cu\w+?)_v(\d+)(?:_pt[ds][sz])?\)", text):
        versions[name] = min(int(number), versions.get(name, int(number)))
    return versions


def since(symbol: str) -> int:
    """Return the version of CUDA that first exported a symbol."""
    return _FORM_SINCE.get(symbol, _first_versions().get(base_name(symbol), 0))


def symbols_of_version(symbols: Iterable[str], version: int) -> tuple[str, ...]:
    """Return those symbols that drivers of a version export."""
    return tuple(symbol for symbol in symbols if since(symbol) <= version)


def choose_symbol(symbols: Iterable[str], name: str, version: int) -> str | None:
    """Return the newest form of a function that fits a version of CUDA."""
    forms = [symbol for symbol in symbols if base_name(symbol) == name and since(symbol) <= version]
    return max(forms, key=_form, default=None)


def _form(symbol: str) -> int:
    found = re.search(r"_v(\d+)$", symbol)
    return int(found[1]) if found else 1
