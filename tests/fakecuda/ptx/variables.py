"""Declarations of variables, and where the static ones lie."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx.faults import PtxSyntaxError
from tests.fakecuda.ptx.layout import FUNCTION_WINDOW, SHARED_WINDOW
from tests.fakecuda.ptx.syntax import Function, Module, Variable
from tests.fakecuda.ptx.types import TYPES

_DECLARATION = re.compile(
    r"(?P<attributes>(?:\.[\w:]+\s*(?:\(\w+(?:,\s*\w+)*\)|\d+)?\s*|\d+\s+)*?)"
    r"(?P<name>[\w$%]+)\s*(?P<dimensions>(?:\[\s*\d*\s*\]\s*)*)(?:=\s*(?P<value>.*))?$",
    re.DOTALL,
)
_TYPE = re.compile(r"\.([busf]\d+(?:x2)?|bf16|pred)\b")
_TERM = re.compile(
    r"(?:(?P<mask>0x[0-9A-Fa-f]+|\d+)\((?P<masked>.*)\)"
    r"|(?:generic\()?(?P<symbol>[A-Za-z_$%][\w$%]*)\)?(?:\s*(?P<offset>[+-]\s*\d+))?\)?)$"
)


def split_list(text: str) -> list[str]:
    """Split at the commas that are not inside of brackets."""
    items: list[str] = []
    depth, start = 0, 0
    for position, letter in enumerate(text):
        if letter in "[{(":
            depth += 1
        elif letter in ")}]":
            depth -= 1
        elif letter == "," and depth == 0:
            items.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*items, last] if last else items


def parse_variable(text: str, space: str, *, external: bool = False) -> Variable:
    """Parse a declaration without its state space: `.align 4 .b8 name[16] = {1, 2}`."""
    match = _DECLARATION.match(text.strip())
    kind = _TYPE.search(match["attributes"]) if match else None
    if match is None or kind is None:
        raise PtxSyntaxError(f"declaration not understood: {text.strip()}")
    kind_type = TYPES[kind[1]]
    value = (match["value"] or "").strip()
    items = tuple(split_list(value.replace("{", "").replace("}", ""))) if value else ()
    count = 1
    for extent in re.findall(r"\[\s*(\d*)\s*\]", match["dimensions"]):
        count *= int(extent) if extent else len(items)
    vector = re.search(r"\.v([248])\b", match["attributes"])
    size = kind_type.size * count * (int(vector[1]) if vector else 1)
    # The alignment of a pointer's target (`.ptr .align 1`) is not that of the parameter.
    own = re.sub(r"\.ptr\b.*", "", match["attributes"], flags=re.DOTALL)
    align = re.search(r"\.align\s+(\d+)", own)
    return Variable(
        match["name"],
        space,
        kind_type,
        size,
        int(align[1]) if align else kind_type.size,
        items,
        external,
    )


def place_shared(module: Module, variable: Variable) -> None:
    """Give a variable its place in the block's shared memory."""
    if variable.external or variable.size == 0:
        module.dynamic_shared.add(variable.name)
        return
    start = -(-module.shared_size // variable.align) * variable.align
    module.shared[variable.name] = start
    module.shared_size = start + variable.size


def static_shared_bytes(module: Module) -> int:
    """Return where dynamic shared memory begins."""
    return -(-module.shared_size // 16) * 16


def function_address(function: Function) -> int:
    """Return what stands for a function's address."""
    return FUNCTION_WINDOW + 16 * (function.index + 1)


def place_globals(module: Module, memory: DeviceMemory) -> dict[str, int]:
    """Allocate and initialise the variables of a module; return their addresses by name."""
    placed = {
        name: memory.allocate(variable.size, max(variable.align, 256))
        for name, variable in module.globals.items()
        if not variable.external
    }
    for name, address in placed.items():
        variable = module.globals[name]
        memory.write(address, initial_bytes(module, variable, placed))
    return placed


def initial_bytes(module: Module, variable: Variable, addresses: Mapping[str, int]) -> bytes:
    """Return the bytes that a variable begins with."""
    size = variable.type.size
    data = bytearray(variable.size)
    for position, item in enumerate(variable.items):
        value = _initial_value(module, item, addresses, variable.type.size)
        value &= (1 << 8 * size) - 1
        data[position * size : (position + 1) * size] = value.to_bytes(size, "little")
    return bytes(data)


def _initial_value(module: Module, text: str, addresses: Mapping[str, int], size: int) -> int:
    if text.isdigit() and (text[0] != "0" or text == "0"):
        return int(text)  # by far the most common
    if re.match(r"0[fFdD][0-9A-Fa-f]{8}", text):
        return int("0x" + text[2:], 0)
    number = re.fullmatch(r"([+-]?(?:0[xX][0-9A-Fa-f]+|\d+))U?", text)
    if number:
        digits = number[1]
        octal = re.fullmatch(r"0[0-7]+", digits)
        return int(digits, 8) if octal else int(digits, 0)
    if re.fullmatch(r"[+-]?\d*\.\d*(?:[eE][+-]?\d+)?", text):
        code = {2: "<e", 4: "<f", 8: "<d"}[size]
        return int.from_bytes(struct.pack(code, float(text)), "little")
    term = _TERM.match(text)
    if term is None:
        raise PtxSyntaxError(f"initial value not understood: {text}")
    if term["mask"]:
        mask = int(term["mask"], 0)
        shift = (mask & -mask).bit_length() - 1
        return (_initial_value(module, term["masked"], addresses, 8) & mask) >> shift
    offset = int((term["offset"] or "0").replace(" ", ""))
    name = term["symbol"]
    if name in module.shared:
        generic = "generic" in text
        return module.shared[name] + offset + (SHARED_WINDOW if generic else 0)
    if name in module.functions:
        return function_address(module.functions[name]) + offset
    if name not in addresses:
        raise PtxSyntaxError(f"unknown name in an initial value: {name}")
    return addresses[name] + offset
