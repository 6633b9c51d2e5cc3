"""The only reader of the environment.

================================ ==================================================================
variable                         meaning
================================ ==================================================================
``PYGPULIB_BACKEND``             ``auto`` (default), ``cpu`` or ``cuda``
``PYGPULIB_CUDA_LIBRARY``        path of the CUDA driver's library, where the system does not find
                                 it
``PYGPULIB_MEMORY_POOL``         ``0`` takes device memory from CUDA's oldest allocator, whose
                                 memory can be shared with other processes
``PYGPULIB_CUDA_MEMORY_MANAGER`` module with a plug-in that allocates device memory
``PYGPULIB_CACHE``               ``0`` switches the on-disk cache of compiled kernels off
``PYGPULIB_CACHE_DIR``           folder of the on-disk cache of compiled kernels
``PYGPULIB_LIBDEVICE``           path of CUDA's ``libdevice.10.bc``, where it is in no usual place
``PYGPULIB_NUM_THREADS``         threads of the CPU back end (default: the processors this process
                                 may use)
``PYGPULIB_DEBUG``               ``1`` checks bounds in every kernel
``PYGPULIB_VERIFY_IR``           ``1`` verifies the IR after every pass
``PYGPULIB_DUMP_IR``             ``1`` prints the IR and the LLVM IR of every kernel to stderr
================================ ==================================================================
"""

from __future__ import annotations

import os
import sys

from pygpulib._record import record
from pygpulib.errors import ArgumentError

BACKENDS = ("auto", "cpu", "cuda")

_CUDA_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@record(eq=True)
class Config:
    """The options of this process, read once.

    Attributes
    ----------
    backend : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    cuda_library : str
        File name or path of the CUDA driver's library.
    memory_pool : bool
        Whether device memory comes from CUDA's stream-ordered pools, where a device has them.
    cuda_memory_manager : str
        Module with a plug-in that allocates device memory; empty for none.
    cache_dir : str
        Folder of the on-disk cache; it need not exist. Empty if this user has no home.
    cache : bool
        Whether compiled kernels are kept there.
    libdevice : str
        Path of CUDA's mathematical library; empty if it is to be searched for.
    num_threads : int
        Threads that run CPU kernels, at least 1.
    debug : bool
        Check bounds in every kernel.
    verify_ir, dump_ir : bool
        Compiler switches for developers.
    """

    backend: str
    cuda_library: str
    memory_pool: bool
    cuda_memory_manager: str
    cache_dir: str
    cache: bool
    libdevice: str
    num_threads: int
    debug: bool
    verify_ir: bool
    dump_ir: bool


def _read_switch(name: str, default: str = "0") -> bool:
    text = os.environ.get(name, "").strip().lower() or default
    if text in ("0", "false", "no", "off"):
        return False
    if text in ("1", "true", "yes", "on"):
        return True
    raise ArgumentError(
        f"the environment variable {name} is {text!r}",
        detail="expected 0 or 1",
        help=f"unset {name}, or set it to 0 or 1",
    )


def _read_backend() -> str:
    text = os.environ.get("PYGPULIB_BACKEND", "auto").strip().lower() or "auto"
    if text not in BACKENDS:
        raise ArgumentError(
            f"the environment variable PYGPULIB_BACKEND is {text!r}",
            detail="expected auto, cpu or cuda",
            help="unset it to use a GPU where there is one and the CPU elsewhere",
        )
    return text


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_num_threads() -> int:
    text = os.environ.get("PYGPULIB_NUM_THREADS", "").strip()
    if not text:
        return _usable_processors()
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise ArgumentError(
            f"the environment variable PYGPULIB_NUM_THREADS is {text!r}",
            detail="expected a whole number from 1 to 1024",
            help="unset it to use every processor of this process",
        )
    return int(text)


def _default_cache_dir() -> str:
    # Not with pathlib, which takes as long to import as a fifth of this package.
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return ""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(base, "pygpulib")


def read_config() -> Config:
    """Read the environment.

    Returns
    -------
    Config
        The options.

    Raises
    ------
    ArgumentError
        If a variable has a value outside the table above.
    """
    cache_dir = os.environ.get("PYGPULIB_CACHE_DIR", "").strip()
    return Config(
        backend=_read_backend(),
        cuda_library=os.environ.get("PYGPULIB_CUDA_LIBRARY", "").strip() or _CUDA_LIBRARY,
        memory_pool=_read_switch("PYGPULIB_MEMORY_POOL", "1"),
        cuda_memory_manager=os.environ.get("PYGPULIB_CUDA_MEMORY_MANAGER", "").strip(),
        cache_dir=os.path.abspath(cache_dir) if cache_dir else _default_cache_dir(),
        cache=_read_switch("PYGPULIB_CACHE", "1"),
        libdevice=os.environ.get("PYGPULIB_LIBDEVICE", "").strip(),
        num_threads=_read_num_threads(),
        debug=_read_switch("PYGPULIB_DEBUG"),
        verify_ir=_read_switch("PYGPULIB_VERIFY_IR"),
        dump_ir=_read_switch("PYGPULIB_DUMP_IR"),
    )


config = read_config()
