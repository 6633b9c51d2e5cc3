"""The state of one launch, apart from the scheduling of its threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx.faults import IllegalInstruction, UnsupportedPtx
from tests.fakecuda.ptx.frames import Frame
from tests.fakecuda.ptx.layout import Geometry
from tests.fakecuda.ptx.races import RaceCheck
from tests.fakecuda.ptx.scheduler import Scheduler
from tests.fakecuda.ptx.spaces import Spaces
from tests.fakecuda.ptx.syntax import Function, Module
from tests.fakecuda.ptx.variables import function_address, static_shared_bytes

# Depth of calls, as far as keys of the scheduler and memory go.
MAXIMUM_DEPTH = 2000


class Machine:
    """Everything that instructions can see and change."""

    def __init__(
        self,
        module: Module,
        kernel: Function,
        geometry: Geometry,
        memory: DeviceMemory,
        parameters: bytes,
        shared_bytes: int,
        addresses: Mapping[str, int],
        *,
        race_check: bool,
        print_text: Callable[[str], None],
    ) -> None:
        self.module, self.kernel, self.geometry = module, kernel, geometry
        self.addresses, self.print_text = addresses, print_text
        self.dynamic_bytes = shared_bytes
        self.all_lanes = np.arange(geometry.lanes)
        self.static_bytes = static_shared_bytes(module)
        total = (self.static_bytes if shared_bytes else module.shared_size) + shared_bytes
        self.races = RaceCheck(geometry, total) if race_check else None
        self.spaces = Spaces(memory, geometry, total, parameters, self.races)
        self.spaces.reserve_local(kernel.local_size)
        self.scheduler: Scheduler
        self._frames: dict[tuple[int, Function], Frame] = {}
        self._specials: dict[str, np.ndarray] = {}
        self._offsets = {
            name: item.offset
            for name, item in zip(kernel.parameter_names, kernel.parameters, strict=True)
        }

    def frame(self, depth: int, function: Function) -> Frame:
        """Return the frame of all threads that are in `function` at that depth of calls."""
        found = self._frames.get((depth, function))
        if found is None:
            if depth > MAXIMUM_DEPTH:
                raise IllegalInstruction(f"more than {MAXIMUM_DEPTH} calls inside of each other")
            found = Frame(function, self.geometry.lanes, depth)
            self._frames[depth, function] = found
        return found

    def special(self, name: str) -> np.ndarray:
        """Return a special register, one value or one per thread of the grid."""
        if name in ("%clock", "%clock64", "%clock_hi"):
            steps = self.scheduler.steps
            value = steps >> 32 if name == "%clock_hi" else steps
            return np.full(1, value & (2**64 - 1), np.uint64)
        if name.startswith("%globaltimer"):
            return np.full(1, time.time_ns() & (2**64 - 1), np.uint64)
        found = self._specials.get(name)
        if found is None:
            found = self._find_special(name)
            self._specials[name] = found
        return found

    def _find_special(self, name: str) -> np.ndarray:
        found = self.geometry.special(name)
        if found is not None:
            return found
        match name:
            case "%dynamic_smem_size":
                return np.full(1, self.dynamic_bytes, np.uint32)
            case "%total_smem_size":
                return np.full(1, self.static_bytes + self.dynamic_bytes, np.uint32)
            case "%smid" | "%gridid" | "%is_explicit_cluster" | "%nsmid":
                return np.full(1, name == "%nsmid", np.uint64)
        raise UnsupportedPtx(f"special register {name}")

    def address_of(self, name: str) -> np.ndarray:
        """Return the address of a variable or function, in its own space."""
        module = self.module
        if name in self.addresses:
            address = self.addresses[name]
        elif name in module.shared:
            address = module.shared[name]
        elif name in module.dynamic_shared:
            address = self.static_bytes
        elif name in module.functions:
            address = function_address(module.functions[name])
        else:
            raise UnsupportedPtx(f"unknown name {name}")
        return np.full(1, address, np.uint64)

    def param_offset(self, key: str) -> np.ndarray:
        """Return the offset of a kernel's parameter."""
        if key not in self._offsets:
            raise UnsupportedPtx(f"address of {key}, which is no parameter of the kernel")
        return np.full(1, self._offsets[key], np.uint64)
