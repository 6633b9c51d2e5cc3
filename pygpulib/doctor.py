"""What this machine offers: a table of its devices, and an account of what is there or missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib._record import field, record
from pygpulib.errors import ArgumentError, LibraryError, NoDeviceError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pygpulib._bindings.vendor_libraries import VendorLibrary
    from pygpulib.core.device import Device
    from pygpulib.core.driver_cuda.api import CudaStack

_GIB = 2**30
_GOOD, _ABSENT, _BAD = "ok", "--", "!!"


@record(eq=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    mark : str
        ``"ok"``, ``"--"`` for what is absent and need not be there, ``"!!"`` for what is wrong.
    title : str
        What it is.
    text : str
        What was found.
    more : list of str
        Further lines.
    """

    mark: str
    title: str
    text: str
    more: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------- doctor


def run_doctor() -> int:
    """Print what there is of everything this package can use, and what that means.

    Returns
    -------
    int
        0 if kernels can run as the environment asks for.
    """
    import platform

    import pygpulib

    write = sys.stdout.write
    write(f"pygpulib {pygpulib.__version__}, Python {platform.python_version()}\n")
    from pygpulib._bindings.library import open_shared
    from pygpulib.core.driver_cuda.api import examine

    stack = examine(open_shared([config.cuda_library]))
    for heading, findings in (
        ("CUDA driver", _driver_findings(stack)),
        ("Libraries for GPUs", _library_findings()),
        ("Processor", _processor_findings()),
    ):
        write(f"\n{heading}\n")
        for finding in findings:
            write(f"  {finding.mark}  {finding.title}: {finding.text}\n")
            for line in finding.more:
                write(f"      {line}\n")
    works, verdict = _verdict(stack)
    write(f"\n{verdict}\n")
    return 0 if works else 1


def _driver_findings(stack: CudaStack) -> Iterator[Finding]:
    from pygpulib.core.driver_cuda import properties
    from pygpulib.core.driver_cuda.api import compute_capability

    if stack.library is None:
        lines = [*stack.detail.splitlines(), f"help: {stack.help}"]
        yield Finding(_BAD if stack.is_broken else _ABSENT, "driver", stack.problem, lines)
        return
    library = stack.library
    yield Finding(_GOOD, "driver", library.description)
    for ordinal, device in enumerate(stack.devices):
        major, minor = compute_capability(library, device)
        memory = properties.device_memory(library, device) / _GIB
        yield Finding(
            _GOOD,
            f"device {ordinal}",
            f"{properties.device_name(library, device)}, compute capability {major}.{minor}, "
            f"{memory:.1f} GiB",
            [properties.device_uuid(library, device)],
        )


def _library_findings() -> Iterator[Finding]:
    from pygpulib._bindings.vendor_libraries import VENDOR_LIBRARIES

    yield _find_libdevice()
    for library in VENDOR_LIBRARIES:
        yield _find_vendor_library(library)


def _find_libdevice() -> Finding:
    from pygpulib._bindings.libdevice import find_libdevice

    title = "libdevice (mathematical functions of kernels)"
    try:
        path = find_libdevice()
    except ArgumentError as error:
        return Finding(_BAD, title, error.problem, [error.detail])
    if path is None:
        return Finding(_ABSENT, title, "not installed; pip install pygpulib[cuda13] brings it")
    return Finding(_GOOD, title, path)


def _find_vendor_library(library: VendorLibrary) -> Finding:
    from pygpulib._bindings.vendor_libraries import find_vendor_library

    title = f"{library.title} ({library.use})"
    try:
        found = find_vendor_library(library)
    except LibraryError as error:
        return Finding(_BAD, title, error.problem, [error.detail])
    if found is None:
        return Finding(_ABSENT, title, "not installed")
    return Finding(_GOOD, title, found)


def _processor_findings() -> Iterator[Finding]:
    from pygpulib.core.processor import host_memory, processor_properties
    from pygpulib.jit.backends.cpu.target import host_target

    target = host_target()
    memory = host_memory()
    yield Finding(
        _GOOD,
        "processor",
        f"{processor_properties().name}, {memory.total / _GIB:.1f} GiB",
        [
            f"threads: {config.num_threads}",
            f"vectors: {target.vector_bytes * 8} bits ({target.cpu})",
            f"compiler: LLVM {'.'.join(map(str, target.llvm_version))}",
        ],
    )
    yield _find_cache()


def _find_cache() -> Finding:
    from pygpulib.jit.cache import all_caches

    if not config.cache:
        return Finding(_ABSENT, "compiled kernels on disk", "switched off (PYGPULIB_CACHE=0)")
    caches = all_caches()
    if not caches:
        return Finding(_BAD, "compiled kernels on disk", "this user has no home folder")
    lines, mark = [], _GOOD
    for cache in caches:
        info = cache.info()
        state = f"{info.files} files, {info.size_bytes / 2**20:.1f} MiB"
        if not cache.is_usable():
            mark, state = _BAD, "cannot be written, or others can write to it"
        lines.append(f"{info.folder}: {state}")
    return Finding(mark, "compiled kernels on disk", config.cache_dir, lines)


def _verdict(stack: CudaStack) -> tuple[bool, str]:
    """Return whether kernels run as asked for, and a sentence about it."""
    from pygpulib.core.driver_cuda.api import require_libdevice

    if config.backend == "auto":
        stack = require_libdevice(stack)
    if config.backend == "cuda" and stack.library is None:
        return False, f"verdict: PYGPULIB_BACKEND is 'cuda', but {stack.problem}"
    if config.backend == "cpu":
        return True, "verdict: kernels run on the processor, because PYGPULIB_BACKEND is 'cpu'"
    if stack.library is None:
        return True, f"verdict: kernels run on the processor, because {stack.problem}"
    count = len(stack.devices)
    return True, f"verdict: kernels run on {counted(count, 'GPU')}"


# --------------------------------------------------------------------------------------- info


def show_devices() -> int:
    """Print a table of the devices that kernels run on.

    Returns
    -------
    int
        0 if there is one.
    """
    from pygpulib.core.device import current_driver, get_device

    try:
        driver = current_driver()
    except NoDeviceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    devices = [get_device(ordinal) for ordinal in range(driver.device_count())]
    rows: list[Sequence[str]] = [
        ("device", "name", "back end", "capability", "free", "memory", "units", "UUID")
    ]
    rows += [_row(device) for device in devices]
    _write_table(rows)
    return 0


def _row(device: Device) -> tuple[str, ...]:
    memory = device.memory_info()
    major, minor = device.compute_capability
    return (
        str(device.id),
        device.name,
        device.driver.name,
        f"{major}.{minor}",
        f"{memory.free / _GIB:.1f} GiB",
        f"{memory.total / _GIB:.1f} GiB",
        str(device.properties.attributes["MULTIPROCESSOR_COUNT"]),
        device.uuid,
    )


def _write_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
