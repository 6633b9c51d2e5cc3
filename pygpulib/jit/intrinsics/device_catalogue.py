"""The functions of CUDA's device library as intrinsics, by their names in the library."""

from __future__ import annotations

from pygpulib.jit.intrinsics import device_numbers, device_rounding, device_special
from pygpulib.jit.intrinsics.device_functions import DeviceFunction, Function

FUNCTIONS: dict[str, tuple[DeviceFunction, Function]] = {
    row.name: (row, row.register())
    for family in (device_numbers, device_rounding, device_special)
    for row in family.rows()
}
"""The rows, with what means the functions in kernels."""
