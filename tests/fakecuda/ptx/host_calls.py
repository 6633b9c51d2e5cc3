"""Functions that the system provides to kernels: vprintf and __assertfail."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from tests.fakecuda.ptx.faults import AssertionFailed, IllegalAddress
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.syntax import Operand, ParamSymbol

HostCall = Callable[[Lanes, Sequence[Operand], Sequence[Operand]], None]

_CONVERSION = re.compile(r"%([-+ 0#]*)(\d*)(\.\d+)?(hh|h|ll|l|z|j|t)?([diouxXcfFeEgGaAsp%])")


def find(name: str) -> HostCall | None:
    """Return what a name of the system does."""
    return {"vprintf": print_values, "__assertfail": fail_assertion}.get(name)


def print_values(lanes: Lanes, results: Sequence[Operand], arguments: Sequence[Operand]) -> None:
    """vprintf(format, arguments): a line per thread, in the order of the threads."""
    formats, values = (_argument(lanes, item, np.dtype("u8")) for item in arguments)
    for place, lane in enumerate(lanes.numbers):
        one = Lanes(lanes.machine, lanes.frame, np.array([lane]))
        text = _string(one, int(formats[place]))
        lanes.machine.print_text(_formatted(one, text, int(values[place])))
    for item in results:
        assert isinstance(item, ParamSymbol)
        rows = lanes.frame.param_bytes(item.key)
        rows[lanes.numbers] = np.frombuffer(bytes(rows.shape[1]), np.uint8)


def fail_assertion(lanes: Lanes, results: Sequence[Operand], arguments: Sequence[Operand]) -> None:
    """__assertfail(message, file, line, function, size of a character)."""
    one = Lanes(lanes.machine, lanes.frame, lanes.numbers[:1])
    message = _string(one, int(_argument(lanes, arguments[0], np.dtype("u8"))[0]))
    raise AssertionFailed(f"assertion failed: {message}", int(one.numbers[0]))


def _argument(lanes: Lanes, operand: Operand, dtype: np.dtype) -> np.ndarray:
    assert isinstance(operand, ParamSymbol)
    rows = lanes.frame.param_bytes(operand.key)[lanes.numbers, : dtype.itemsize]
    return np.ascontiguousarray(rows).view(dtype).reshape(-1)


def _load(one: Lanes, address: int, size: int) -> np.ndarray:
    where = np.array([address], np.uint64)
    return one.machine.spaces.load("generic", where, size, 1, one)[0]


def _string(one: Lanes, address: int) -> str:
    data = bytearray()
    while len(data) < 1 << 20:
        byte = int(_load(one, address + len(data), 1)[0])
        if not byte:
            return data.decode("utf-8", "replace")
        data.append(byte)
    raise IllegalAddress("a string that does not end", int(one.numbers[0]))


def _formatted(one: Lanes, text: str, address: int) -> str:
    """Format as C does; each value is aligned to its own size."""
    offset = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal offset
        flags, width, precision, length, letter = match.groups()
        if letter == "%":
            return "%"
        size = 8 if letter in "fFeEgGaAsp" or length in ("l", "ll", "z", "j", "t") else 4
        offset = -(-offset // size) * size
        raw = _load(one, address + offset, size)
        offset += size
        return _one_value(one, raw, flags + width + (precision or ""), letter)

    return _CONVERSION.sub(replace, text)


def _one_value(one: Lanes, raw: np.ndarray, specification: str, letter: str) -> str:
    if letter == "s":
        return f"%{specification}s" % _string(one, int(raw[0]))
    if letter == "p":
        return f"0x{int(raw[0]):x}"
    if letter == "c":
        return chr(int(raw[0]) & 0xFF)
    if letter in "fFeEgG":
        return f"%{specification}{letter}" % float(raw.view(np.float64)[0])
    if letter in "di":
        return f"%{specification}d" % int(raw.view(f"i{raw.dtype.itemsize}")[0])
    return f"%{specification}{'d' if letter == 'u' else letter}" % int(raw[0])
