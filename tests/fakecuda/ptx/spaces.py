"""State spaces: where an address lies, and whether it may be accessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx.faults import IllegalAddress, MisalignedAddress, UninitializedShared
from tests.fakecuda.ptx.layout import (
    WINDOW_SIZE,
    WINDOWS,
    Geometry,
)
from tests.fakecuda.ptx.races import RaceCheck

if TYPE_CHECKING:
    from tests.fakecuda.ptx.frames import Lanes

_FIRST_WINDOW = min(WINDOWS.values())
# Uninitialised shared and local memory.
_FILL = 0xCD


class Spaces:
    """All memory that a launch can reach."""

    def __init__(
        self,
        memory: DeviceMemory,
        geometry: Geometry,
        shared_bytes: int,
        parameters: bytes,
        races: RaceCheck | None,
    ) -> None:
        self.memory, self.geometry, self.races = memory, geometry, races
        self.shared_bytes = shared_bytes
        # Room for whole 16-byte words per block, so that views of wider elements exist.
        self.shared_stride = -(-shared_bytes // 16) * 16
        self.shared = np.full(geometry.blocks * self.shared_stride, _FILL, np.uint8)
        # Which bytes of shared memory have been written, if loads are to be checked.
        self.written: np.ndarray | None = None
        self.local_stride = 0
        self.local = np.zeros(0, np.uint8)
        self.parameter_bytes = len(parameters)
        padded = parameters + bytes(-len(parameters) % 16)
        self.parameters = np.frombuffer(padded, np.uint8)

    def reserve_local(self, size: int) -> None:
        """Make sure that each thread has `size` bytes of local memory."""
        if size <= self.local_stride:
            return
        stride = -(-max(size, 2 * self.local_stride) // 16) * 16
        grown = np.full((self.geometry.lanes, stride), _FILL, np.uint8)
        if self.local_stride:
            grown[:, : self.local_stride] = self.local.reshape(-1, self.local_stride)
        self.local, self.local_stride = grown.reshape(-1), stride

    # ------------------------------------------------------------------------- resolving

    def resolve(
        self, space: str, addresses: np.ndarray, size: int, lanes: Lanes, *, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Check accesses of `size` bytes; return the bytes of the space and the offsets in it.

        Only the `first` bytes need be inside of shared or global memory, by default all: compilers
        load whole vectors, of which the last elements may lie behind the end. They are aligned, so
        that there is memory, and nobody uses what is loaded.
        """
        if size > 1:
            odd = addresses & np.uint64(size - 1)
            if odd.any():
                place = int(np.argmax(odd != 0))
                raise MisalignedAddress(
                    f"{size}-byte access at 0x{int(addresses[place]):x}", _lane(lanes, place)
                )
        match space:
            case "shared":
                return self._in_shared(addresses, size, lanes, first or size)
            case "local":
                self._check_limit("local", addresses, size, self.local_stride, lanes)
                base = lanes.numbers * self.local_stride
                return self.local, addresses.astype(np.int64) + base
            case "param":
                self._check_limit("param", addresses, size, self.parameter_bytes, lanes)
                return self.parameters, addresses.astype(np.int64)
        outside = self.memory.first_outside(addresses, first or size)
        if outside is not None:
            address = int(addresses[outside])
            raise IllegalAddress(
                f"{size}-byte access at 0x{address:x}{self._near(address)}", _lane(lanes, outside)
            )
        return self.memory.bytes, (addresses - np.uint64(self.memory.base)).view(np.int64)

    def _in_shared(
        self, addresses: np.ndarray, size: int, lanes: Lanes, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        self._check_limit("shared", addresses, first, self.shared_bytes, lanes)
        self._check_limit("shared", addresses, size, self.shared_stride, lanes)
        if self.geometry.blocks == 1:
            return self.shared, addresses.astype(np.int64)
        base = lanes.pick(self.geometry.block_of) * self.shared_stride
        return self.shared, addresses.astype(np.int64) + base

    def _check_limit(
        self, space: str, addresses: np.ndarray, size: int, limit: int, lanes: Lanes
    ) -> None:
        if len(addresses) and int(addresses.max()) + size <= limit:
            return
        bad = addresses.astype(object) + size > limit
        if bad.any():
            place = int(np.argmax(bad))
            raise IllegalAddress(
                f"{size}-byte access at offset {int(addresses[place])} of {space} memory,"
                f" which has {limit} bytes",
                _lane(lanes, place),
            )

    def _near(self, address: int) -> str:
        """Say which allocation an address just misses."""
        before = [start for start in self.memory.allocations if start <= address]
        if not before:
            return ""
        start = max(before)
        return f" (byte {address - start} of an allocation of {self.memory.allocations[start]})"

    def parts(
        self, space: str, addresses: np.ndarray, lanes: Lanes
    ) -> list[tuple[str, np.ndarray, Lanes, np.ndarray | None]]:
        """Split generic accesses by the space that they reach.

        Each part has its space, addresses in it, lanes, and which lanes those are (None: all).
        """
        if space != "generic":
            return [(space, addresses, lanes, None)]
        if not len(addresses) or int(addresses.max()) < _FIRST_WINDOW:
            return [("global", addresses, lanes, None)]
        found = []
        rest = np.ones(len(addresses), bool)
        for name, window in WINDOWS.items():
            inside = in_window(addresses, window)
            rest &= ~inside
            if inside.all():
                return [(name, addresses - np.uint64(window), lanes, None)]
            if inside.any():
                found.append((name, inside, addresses - np.uint64(window)))
        if rest.any():
            found.append(("global", rest, addresses))
        return [(name, moved[m], lanes.subset(m), m) for name, m, moved in found]

    # ------------------------------------------------------------------------- accessing

    def load(
        self, space: str, addresses: np.ndarray, size: int, count: int, lanes: Lanes
    ) -> list[np.ndarray]:
        """Load `count` elements of `size` bytes from consecutive addresses."""
        raw = np.dtype(f"u{size}")
        pieces = self.parts(space, addresses, lanes)
        if len(pieces) == 1:
            return self._load_part(pieces[0], raw, count)
        results = [np.zeros(len(addresses), raw) for _ in range(count)]
        for piece in pieces:
            for result, values in zip(results, self._load_part(piece, raw, count), strict=True):
                result[piece[3]] = values
        return results

    def _load_part(
        self,
        piece: tuple[str, np.ndarray, Lanes, np.ndarray | None],
        raw: np.dtype,
        count: int,
    ) -> list[np.ndarray]:
        name, addresses, lanes, _ = piece
        size = raw.itemsize
        data, offsets = self.resolve(name, addresses, size * count, lanes, first=size)
        if name == "shared":
            self._note_shared_load(offsets, size * count, lanes)
        elements = data.view(raw)
        index = offsets // size if size > 1 else offsets
        return [elements[index + position] for position in range(count)]

    def store(
        self, space: str, addresses: np.ndarray, values: list[np.ndarray], size: int, lanes: Lanes
    ) -> None:
        """Store elements of `size` bytes to consecutive addresses; the last lane wins."""
        raw = np.dtype(f"u{size}")
        addresses = lanes.spread(addresses)
        for name, moved, some, chosen in self.parts(space, addresses, lanes):
            data, offsets = self.resolve(name, moved, size * len(values), some)
            parts = [lanes.spread(v) if chosen is None else lanes.spread(v)[chosen] for v in values]
            if name == "param":
                raise IllegalAddress("store to the parameters of a kernel", _lane(some, 0))
            if name == "shared":
                self._note_shared_store(offsets, size * len(values), some, parts)
            elements = data.view(raw)
            index = offsets // size
            for position, part in enumerate(parts):
                elements[index + position] = part

    # ------------------------------------------------------------- checks of shared memory

    def check_initialized(self) -> None:
        """From now on, refuse loads of shared memory that has not been written."""
        self.written = np.zeros(len(self.shared), bool)
        if self.shared_stride:
            self.written.reshape(-1, self.shared_stride)[:, self.shared_bytes :] = True

    def _note_shared_load(self, offsets: np.ndarray, size: int, lanes: Lanes) -> None:
        if self.races is not None:
            self.races.read(lanes.spread(offsets), size, lanes.numbers)
        self._require_written(offsets, size, lanes)

    def _require_written(self, offsets: np.ndarray, size: int, lanes: Lanes) -> None:
        if self.written is None:
            return
        missing = ~np.logical_and.reduce([self.written[offsets + byte] for byte in range(size)])
        if missing.any():
            place = int(np.argmax(missing))
            raise UninitializedShared(
                f"{size}-byte access at offset {int(offsets[place]) % self.shared_stride} of shared"
                " memory that has not been written",
                _lane(lanes, place),
            )

    def note_shared_atomic(self, offsets: np.ndarray, size: int, lanes: Lanes) -> None:
        """Check atomic operations on shared memory, which read and write."""
        if self.races is not None:
            self.races.atomic(offsets, size, lanes.numbers)
        self._require_written(offsets, size, lanes)

    def _note_shared_store(
        self, offsets: np.ndarray, size: int, lanes: Lanes, values: list[np.ndarray]
    ) -> None:
        if self.races is not None:
            self.races.write(offsets, size, lanes.numbers, np.stack(values))
        if self.written is not None:
            for byte in range(size):
                self.written[offsets + byte] = True


def in_window(addresses: np.ndarray, window: int) -> np.ndarray:
    """Return which generic addresses lie in a window."""
    return (addresses - np.uint64(window)) < np.uint64(WINDOW_SIZE)


def _lane(lanes: Lanes, place: int) -> int:
    numbers = lanes.numbers
    return int(numbers[place if place < len(numbers) else 0])
