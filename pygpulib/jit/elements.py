"""What an element of an array can be: a number, a record, a date, a string of fixed length."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import DTypeError

_MOST_ALIGNED = 8


@record(eq=True)
class TimeLayout:
    """A date (``kind`` is ``M``) or a span of time (``m``) in units of ``count`` ``unit``."""

    kind: str
    unit: str
    count: int = 1

    def __str__(self) -> str:
        return self.numpy.name

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        if self.unit == "generic":
            return np.dtype(f"{self.kind}8")
        return np.dtype(f"{self.kind}8[{self.count}{self.unit}]")

    @property
    def size_bytes(self) -> int:
        """Bytes of an element."""
        return 8

    @property
    def alignment(self) -> int:
        """What addresses are multiples of."""
        return 8


@record(eq=True)
class TextLayout:
    """A string of at most ``length`` characters: bytes (``kind`` is ``S``) or Unicode (``U``).

    One that is ``packed`` may lie at any address.
    """

    kind: str
    length: int
    packed: bool = False

    def __str__(self) -> str:
        return f"{self.kind}{self.length}"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(f"{self.kind}{self.length}")

    @property
    def unit(self) -> DType:
        """The type of one character."""
        return dtypes.uint8 if self.kind == "S" else dtypes.uint32

    @property
    def size_bytes(self) -> int:
        """Bytes of an element."""
        return self.length * self.unit.size_bytes

    @property
    def alignment(self) -> int:
        """What addresses are multiples of."""
        return 1 if self.packed else self.unit.size_bytes


@record(eq=True)
class Field:
    """A field of a record: where it lies, and what it is; ``shape`` is that of an array in it."""

    name: str
    element: Element
    offset: int
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        extents = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.name}: {self.element}{extents}"


@record(eq=True)
class RecordLayout:
    """A record: its fields in order, and what addresses of records are multiples of."""

    fields: tuple[Field, ...]
    size_bytes: int
    alignment: int

    def __str__(self) -> str:
        return f"Record({', '.join(map(str, self.fields))})"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [(field.element.numpy, field.shape) for field in self.fields],
                "offsets": [field.offset for field in self.fields],
                "itemsize": self.size_bytes,
            }
        )

    def field(self, name: str) -> Field | None:
        """Return a field by its name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def holds_aligned(self, field: Field) -> bool:
        """Return whether the address of a field is a multiple of what its element needs."""
        needed = element_alignment(field.element)
        return self.alignment % needed == 0 and field.offset % needed == 0

    @property
    def packed(self) -> RecordLayout:
        """The same layout at any address."""
        return RecordLayout(self.fields, self.size_bytes, 1)


Element = DType | RecordLayout | TimeLayout | TextLayout


def element_alignment(element: Element) -> int:
    """Return what addresses of an element are multiples of."""
    return element.component.size_bytes if isinstance(element, DType) else element.alignment


@lru_cache(maxsize=512)
def element_of(dtype: np.dtype[Any]) -> Element:
    """Return what an element of a NumPy dtype is to a kernel.

    Raises
    ------
    DTypeError
        If kernels do not have such elements.
    """
    if dtype.names is not None:
        return _record_of(dtype)
    if dtype.isnative and dtype.kind in "mM":
        return TimeLayout(dtype.kind, *np.datetime_data(dtype))
    if dtype.isnative and dtype.kind in "SU" and dtype.itemsize:
        per_character = 1 if dtype.kind == "S" else 4
        return TextLayout(dtype.kind, dtype.itemsize // per_character)
    return dtypes.from_numpy(dtype)


def _record_of(dtype: np.dtype[Any]) -> RecordLayout:
    """Return the layout of a structured dtype, aligned as far as its fields let it be."""
    assert dtype.names is not None
    assert dtype.fields is not None
    fields = []
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        try:
            element = element_of(inner.base)
        except DTypeError as cause:
            raise DTypeError(
                f"records with the field {name!r} of dtype {inner.base} are not supported",
                detail=cause.detail,
            ) from cause
        fields.append(Field(name, element, offset, inner.shape))
    needed = max((element_alignment(field.element) for field in fields), default=1)
    alignment = gcd(dtype.itemsize, _MOST_ALIGNED, needed) if dtype.itemsize else 1
    return RecordLayout(tuple(fields), dtype.itemsize, alignment)


_MONTHS = {"Y": 12, "M": 1}
_ATTOSECONDS = {
    "W": 604_800 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}

TIME_UNITS = frozenset({"generic", *_MONTHS, *_ATTOSECONDS})
"""The units that spans of time can have."""


def unit_factor(source: TimeLayout, target: TimeLayout) -> int | None:
    """Return how many units of the target one of the source is, None if that is no integer."""
    if source.unit == "generic" or source.unit == target.unit == "generic":
        return 1 if source.count == target.count or source.unit == "generic" else None
    for table in (_MONTHS, _ATTOSECONDS):
        if source.unit in table and target.unit in table:
            one = table[source.unit] * source.count
            quotient, rest = divmod(one, table[target.unit] * target.count)
            return quotient if rest == 0 else None
    return None


def common_unit(left: TimeLayout, right: TimeLayout, kind: str) -> TimeLayout | None:
    """Return the unit in which two times meet, None if there is none."""
    try:
        dtype = np.promote_types(
            np.dtype(left.numpy.str.replace("M8", "m8")),
            np.dtype(right.numpy.str.replace("M8", "m8")),
        )
    except TypeError:
        return None
    found = TimeLayout(kind, *np.datetime_data(dtype))
    factors = (unit_factor(left, found), unit_factor(right, found))
    return None if None in factors else found
