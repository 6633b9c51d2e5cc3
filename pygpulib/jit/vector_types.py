"""The short vector types under their names: ``float32x4``, which C calls ``float4``."""

from __future__ import annotations

from pygpulib.core import dtypes
from pygpulib.jit.types import VectorType

_C_NAMES = {
    dtypes.int8: ("char",),
    dtypes.int16: ("short",),
    dtypes.int32: ("int",),
    dtypes.int64: ("long", "longlong"),
    dtypes.uint8: ("uchar",),
    dtypes.uint16: ("ushort",),
    dtypes.uint32: ("uint",),
    dtypes.uint64: ("ulong", "ulonglong"),
    dtypes.float32: ("float",),
    dtypes.float64: ("double",),
}


def _vector_types() -> dict[str, VectorType]:
    found: dict[str, VectorType] = {}
    for dtype, names in _C_NAMES.items():
        for count in range(1, 5):
            aliases = tuple(f"{name}{count}" for name in names)
            made = VectorType(dtype, count, aliases)
            found.update(dict.fromkeys((str(made), *aliases), made))
    return found


VECTOR_TYPES: dict[str, VectorType] = _vector_types()
"""Every vector type by each of its names."""
