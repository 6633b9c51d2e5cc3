"""Limits and features of the simulated GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.fakecuda.driver.library import cuda_header

if TYPE_CHECKING:
    from tests.fakecuda.driver.state import Device


class Generation(NamedTuple):
    """What differs between the multiprocessors of GPUs."""

    shared_per_multiprocessor: int
    shared_optin: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int


_KIB = 1024
GENERATIONS = {
    (7, 5): Generation(64 * _KIB, 64 * _KIB, 1024, 16),
    (8, 0): Generation(164 * _KIB, 163 * _KIB, 2048, 32),
    (8, 6): Generation(100 * _KIB, 99 * _KIB, 1536, 16),
    (8, 7): Generation(164 * _KIB, 163 * _KIB, 1536, 16),
    (8, 9): Generation(100 * _KIB, 99 * _KIB, 1536, 24),
    (9, 0): Generation(228 * _KIB, 227 * _KIB, 2048, 32),
    (10, 0): Generation(228 * _KIB, 227 * _KIB, 2048, 32),
    (12, 0): Generation(100 * _KIB, 99 * _KIB, 1536, 24),
}
MULTIPROCESSORS = 4  # few, so that tests reach the limit of cooperative launches
SHARED_DEFAULT = 48 * _KIB
REGISTERS = 65536
REGISTERS_PER_THREAD = 255
REGISTER_UNIT = 256  # registers are given to warps in such portions
WARP = 32
MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)


def generation(capability: tuple[int, int]) -> Generation:
    """Return the newest known generation that is not newer than a compute capability."""
    return GENERATIONS[max(known for known in GENERATIONS if known <= capability)]


def shared_reserved(capability: tuple[int, int]) -> int:
    """Return how much shared memory of every block the system takes."""
    return _KIB if capability >= (8, 0) else 0


def device_attributes(device: Device) -> dict[int, int]:
    """Return a device's attributes by their numbers."""
    capability = device.compute_capability
    chip = generation(capability)
    values = {
        "MAX_THREADS_PER_BLOCK": MAX_THREADS,
        "MAX_BLOCK_DIM_X": MAX_BLOCK[0],
        "MAX_BLOCK_DIM_Y": MAX_BLOCK[1],
        "MAX_BLOCK_DIM_Z": MAX_BLOCK[2],
        "MAX_GRID_DIM_X": MAX_GRID[0],
        "MAX_GRID_DIM_Y": MAX_GRID[1],
        "MAX_GRID_DIM_Z": MAX_GRID[2],
        "MAX_SHARED_MEMORY_PER_BLOCK": SHARED_DEFAULT,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": chip.shared_optin,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": chip.shared_per_multiprocessor,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": shared_reserved(capability),
        "TOTAL_CONSTANT_MEMORY": 65536,
        "WARP_SIZE": WARP,
        "MAX_PITCH": 2**31 - 1,
        "MAX_REGISTERS_PER_BLOCK": REGISTERS,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": REGISTERS,
        "CLOCK_RATE": 1_410_000,
        "MEMORY_CLOCK_RATE": 1_215_000,
        "TEXTURE_ALIGNMENT": 512,
        "TEXTURE_PITCH_ALIGNMENT": 32,
        "SURFACE_ALIGNMENT": 512,
        "GPU_OVERLAP": 1,
        "MULTIPROCESSOR_COUNT": MULTIPROCESSORS,
        "CAN_MAP_HOST_MEMORY": 1,
        "CONCURRENT_KERNELS": 1,
        "ECC_ENABLED": 1,
        "PCI_BUS_ID": 0x10 + device.ordinal,
        "GLOBAL_MEMORY_BUS_WIDTH": 5120,
        "L2_CACHE_SIZE": 40 << 20,
        "MAX_PERSISTING_L2_CACHE_SIZE": 30 << 20,
        "MAX_THREADS_PER_MULTIPROCESSOR": chip.threads_per_multiprocessor,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": chip.blocks_per_multiprocessor,
        "ASYNC_ENGINE_COUNT": 3,
        "UNIFIED_ADDRESSING": 1,
        "COMPUTE_CAPABILITY_MAJOR": capability[0],
        "COMPUTE_CAPABILITY_MINOR": capability[1],
        "STREAM_PRIORITIES_SUPPORTED": 1,
        "GLOBAL_L1_CACHE_SUPPORTED": 1,
        "LOCAL_L1_CACHE_SUPPORTED": 1,
        "MANAGED_MEMORY": 1,
        "CONCURRENT_MANAGED_ACCESS": 1,
        "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
        "COMPUTE_PREEMPTION_SUPPORTED": 1,
        "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 1,
        "HOST_REGISTER_SUPPORTED": 1,
        "COOPERATIVE_LAUNCH": 1,
        "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": 1,
        "MEMORY_POOLS_SUPPORTED": 1,
        "IPC_EVENT_SUPPORTED": 1,
    }
    numbers = cuda_header().enums["CUdevice_attribute"]
    prefix = "CU_DEVICE_ATTRIBUTE_"
    found = dict.fromkeys(numbers.values(), 0)
    return found | {numbers[prefix + name]: value for name, value in values.items()}


def blocks_per_multiprocessor(
    capability: tuple[int, int], threads: int, registers: int, shared_bytes: int
) -> int:
    """Return how many blocks of a kernel fit on one multiprocessor at the same time."""
    chip = generation(capability)
    warps = -(-threads // WARP)
    limits = [chip.blocks_per_multiprocessor, chip.threads_per_multiprocessor // (warps * WARP)]
    if registers:
        per_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        limits.append(REGISTERS // per_warp // warps)
    if shared := shared_bytes + shared_reserved(capability):
        limits.append(chip.shared_per_multiprocessor // shared)
    return min(limits)
