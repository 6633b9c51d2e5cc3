"""The fundamental types of PTX and their NumPy dtypes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RAW = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}


class PtxType(NamedTuple):
    """A type: registers hold `raw`, values are computed in `dtype`.

    `parts` counts the values of a packed type (`f16x2`); they lie along a second axis.
    """

    name: str
    size: int
    dtype: np.dtype
    raw: np.dtype
    parts: int = 1

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def bits(self) -> int:
        """Bits of one value."""
        return self.dtype.itemsize * 8


def _table() -> dict[str, PtxType]:
    table = {"pred": PtxType("pred", 1, np.dtype(bool), np.dtype(bool))}
    for size, raw in RAW.items():
        for letter, kind in (("b", "u"), ("u", "u"), ("s", "i")):
            name = f"{letter}{8 * size}"
            table[name] = PtxType(name, size, np.dtype(f"{kind}{size}"), raw)
    for size in (2, 4, 8):
        name = f"f{8 * size}"
        table[name] = PtxType(name, size, np.dtype(f"f{size}"), RAW[size])
    packed = {"f16x2": "f2", "s16x2": "i2", "u16x2": "u2", "f32x2": "f4"}
    for name, dtype in packed.items():
        size = 2 * np.dtype(dtype).itemsize
        table[name] = PtxType(name, size, np.dtype(dtype), RAW[size], 2)
    # Values of bf16 are computed as f32 by the few instructions that know them.
    table["bf16"] = PtxType("bf16", 2, np.dtype("u2"), RAW[2])
    table["bf16x2"] = PtxType("bf16x2", 4, np.dtype("u4"), RAW[4])
    return table


TYPES = _table()
PRED = TYPES["pred"]
U32 = TYPES["u32"]
U64 = TYPES["u64"]


def unsigned(size: int) -> PtxType:
    """Return the unsigned type of `size` bytes."""
    return TYPES[f"u{8 * size}"]
