"""What the operating system says about this processor."""

from __future__ import annotations

import os
from functools import cache

from pygpulib._config import config
from pygpulib.core.driver import SMALL_FLOATS, DeviceProperties, MemoryInfo

# The limits of current GPUs, so that a program that runs here also runs there.
LAUNCH_LIMITS = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK": 49152,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
}
"""What a launch is checked against."""

_FIXED_ATTRIBUTES = {
    **LAUNCH_LIMITS,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
    "TOTAL_CONSTANT_MEMORY": 65536,
    "WARP_SIZE": 32,
    "MAX_PITCH": 2**31 - 1,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "ASYNC_ENGINE_COUNT": 0,
    "CAN_MAP_HOST_MEMORY": 1,
    "COMPUTE_MODE": 0,
    "CONCURRENT_KERNELS": 0,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST": 1,
    "ECC_ENABLED": 0,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "GPU_OVERLAP": 0,
    "HOST_NATIVE_ATOMIC_SUPPORTED": 1,
    "INTEGRATED": 1,
    "KERNEL_EXEC_TIMEOUT": 0,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
    "MEMORY_POOLS_SUPPORTED": 1,
    "MULTI_GPU_BOARD": 0,
    "PAGEABLE_MEMORY_ACCESS": 1,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "STREAM_PRIORITIES_SUPPORTED": 0,
    "TCC_DRIVER": 0,
    "UNIFIED_ADDRESSING": 1,
}


def _read_lines(path: str) -> list[str]:
    """Return the lines of a file of the operating system, or none where it does not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _field(lines: list[str], *names: str) -> str:
    for line in lines:
        name, separator, value = line.partition(":")
        if separator and name.strip() in names:
            return value.strip()
    return ""


def processor_name() -> str:
    """Return the processor's product name, or its architecture where the system hides it."""
    import platform

    found = _field(_read_lines("/proc/cpuinfo"), "model name", "Model", "cpu model")
    return found or platform.processor() or platform.machine() or "CPU"


def _clock_khz() -> int:
    for path in (
        "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
        "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
    ):
        for line in _read_lines(path):
            if line.strip().isdecimal():
                return int(line)
    megahertz = _field(_read_lines("/proc/cpuinfo"), "cpu MHz")
    return int(float(megahertz) * 1000) if megahertz else 0


def _last_level_cache_bytes() -> int:
    for level in (3, 2, 1, 0):
        for line in _read_lines(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size"):
            if line.rstrip("K").isdecimal():
                return int(line.rstrip("K")) * 1024
    return 0


@cache
def processor_properties() -> DeviceProperties:
    """Describe this processor as a device."""
    import hashlib
    import platform

    name = processor_name()
    # Made of names, so that it is the same in every process; programs that parse identifiers
    # expect CUDA's prefix.
    digest = hashlib.sha256(f"{platform.node()}\n{name}".encode()).hexdigest()
    groups = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    attributes = {
        **_FIXED_ATTRIBUTES,
        "MULTIPROCESSOR_COUNT": config.num_threads,
        "CLOCK_RATE": _clock_khz(),
        "L2_CACHE_SIZE": _last_level_cache_bytes(),
    }
    return DeviceProperties(
        name=name,
        uuid="GPU-" + "-".join(groups),
        compute_capability=(9, 0),
        is_cpu=True,
        attributes=attributes,
        extra_dtypes=SMALL_FLOATS,
    )


def host_memory() -> MemoryInfo:
    """Return the memory of this machine: available now, and in total."""
    lines = _read_lines("/proc/meminfo")
    total, available = (_field(lines, name).split() for name in ("MemTotal", "MemAvailable"))
    if total and available:
        return MemoryInfo(free=int(available[0]) * 1024, total=int(total[0]) * 1024)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return MemoryInfo(free=total_bytes, total=total_bytes)
    # No portable way to ask: assume what any machine of today has.
    return MemoryInfo(free=4 << 30, total=4 << 30)
