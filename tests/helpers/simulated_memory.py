"""Memory of the simulated GPU as NumPy arrays, for the fakes of the vendor's libraries.

Device memory of the fake driver is memory of the process under the same addresses.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.fakecuda.driver import FakeCuda


class SimulatedMemory:
    """Views of device memory, which must be allocated and ready when they are made."""

    def __init__(self, driver: FakeCuda) -> None:
        self.driver = driver

    def check(self, address: int, size: int) -> None:
        self.driver.system.blocks.check_now(address, size)

    def check_alignment(self, address: int, dtype: Any) -> None:
        """A GPU reads numbers from no other addresses."""
        assert not address % dtype.alignment, f"0x{address:x} is not one of a {dtype}"

    def check_span(self, address: int, shape: Any, strides: Any, itemsize: int) -> None:
        if 0 in shape:
            return
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low = address + sum(min(each, 0) for each in reach)
        high = address + sum(max(each, 0) for each in reach) + itemsize
        self.check(low, high - low)

    def view(self, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        """Return memory of host or device as an array."""
        if 0 in shape:
            return np.empty(shape, dtype)
        base = np.ndarray(1, dtype, (ctypes.c_char * dtype.itemsize).from_address(address))
        return np.lib.stride_tricks.as_strided(base, shape, strides)

    def matrix(self, address: int, rows: int, columns: int, leading: int, dtype: Any) -> Any:
        """Return a matrix with contiguous columns."""
        assert leading >= max(rows, 1), f"a leading dimension of {leading} for {rows} rows"
        strides = (dtype.itemsize, leading * dtype.itemsize)
        self.check_span(address, (rows, columns), strides, dtype.itemsize)
        self.check_alignment(address, dtype)
        return self.view(address, (rows, columns), strides, dtype)

    def matrices(
        self, addresses: int, count: int, rows: int, columns: int, leading: int, dtype: Any
    ) -> list[Any]:
        """Return the matrices whose addresses lie in device memory."""
        self.check(addresses, 8 * count)
        places = self.view(addresses, (count,), (8,), np.dtype(np.int64)).copy()
        return [self.matrix(int(each), rows, columns, leading, dtype) for each in places]

    def number(self, address: int, dtype: Any, *, on_device: bool = False) -> Any:
        """Return a number of host or device."""
        if on_device:
            self.check(address, dtype.itemsize)
            self.check_alignment(address, dtype)
        return self.view(address, (1,), (dtype.itemsize,), dtype)[0].copy()
