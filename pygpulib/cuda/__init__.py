"""CUDA programming in Python under the names of `numba.cuda`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pygpulib import errors, types
from pygpulib.core.settings import settings as config
from pygpulib.cuda import cg
from pygpulib.cuda.decorators import (
    jit,
)
from pygpulib.cuda.devices import (
    Context,
    Device,
    close,
    cuda_error,
    current_backend,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_supported_version,
    list_devices,
    require_context,
    select_device,
)
from pygpulib.cuda.memory import (
    as_cuda_array,
    defer_cleanup,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    from_dlpack,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from pygpulib.cuda.profiler import profile_start, profile_stop, profiling
from pygpulib.cuda.streams import (
    Event,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from pygpulib.jit.declarations import SCALAR_NAMES
from pygpulib.jit.intrinsics.atomics import atomic
from pygpulib.jit.intrinsics.cache_hints import (
    ldca,
    ldcg,
    ldcs,
    ldcv,
    ldlu,
    stcg,
    stcs,
    stwb,
    stwt,
)
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.hints import literal_unroll
from pygpulib.jit.intrinsics.integer_math import brev, clz, ffs, popc
from pygpulib.jit.intrinsics.memory import const, local, shared
from pygpulib.jit.intrinsics.pointers import carray, farray
from pygpulib.jit.intrinsics.roots import cbrt
from pygpulib.jit.intrinsics.selection import selp
from pygpulib.jit.intrinsics.sync import (
    nanosleep,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadfence_block,
    threadfence_system,
)
from pygpulib.jit.intrinsics.threads import (
    blockDim,
    blockIdx,
    grid,
    gridDim,
    gridsize,
    laneid,
    threadIdx,
    warpsize,
)
from pygpulib.jit.intrinsics.warp import (
    activemask,
    all_sync,
    any_sync,
    ballot_sync,
    eq_sync,
    lanemask_lt,
    match_all_sync,
    match_any_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
)
from pygpulib.jit.signature import typeof
from pygpulib.jit.transfers import In, InOut, Out
from pygpulib.jit.types import none, void
from pygpulib.jit.vector_types import VECTOR_TYPES

if TYPE_CHECKING:
    from pygpulib.cuda import args, bf16, cudadrv, extending, fp8, fp16, libdevice
    from pygpulib.cuda.compiling import (
        compile,  # noqa: A004 - numba's name
        compile_all,
        compile_for_current_device,
        compile_ptx,
        compile_ptx_for_current_device,
    )
    from pygpulib.cuda.cudadrv import devicearray
    from pygpulib.cuda.external_memory import (
        BaseCUDAMemoryManager,
        GetIpcHandleMixin,
        HostOnlyCUDAMemoryManager,
        IpcArrayHandle,
        IpcHandle,
        MemoryInfo,
        MemoryPointer,
        open_ipc_array,
        set_memory_manager,
    )
    from pygpulib.cuda.foreign import (
        LTOIR,
        Archive,
        Cubin,
        CUSource,
        Fatbin,
        Object,
        PTXSource,
        declare_device,
    )
    from pygpulib.jit.intrinsics.procedures import literal_unroll
    from pygpulib.ufuncs import Reduce, guvectorize, vectorize
    from pygpulib.ufuncs import Reduce as reduce  # noqa: N813

# Every scalar type under its long and its short names: float32, f4, double, ...
globals().update(SCALAR_NAMES)
globals().update(VECTOR_TYPES)

__all__ = [
    "LTOIR",
    "Archive",
    "BaseCUDAMemoryManager",
    "CUSource",
    "Context",
    "Cubin",
    "Device",
    "Event",
    "Fatbin",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "In",
    "InOut",
    "IpcArrayHandle",
    "IpcHandle",
    "MemoryInfo",
    "MemoryPointer",
    "Object",
    "Out",
    "PTXSource",
    "Reduce",
    "Stream",
    "activemask",
    "all_sync",
    "any_sync",
    "args",
    "as_cuda_array",
    "atomic",
    "ballot_sync",
    "bf16",
    "blockDim",
    "blockIdx",
    "brev",
    "carray",
    "cbrt",
    "cg",
    "close",
    "clz",
    "compile",
    "compile_all",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "config",
    "const",
    "cuda_error",
    "cudadrv",
    "current_backend",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "devicearray",
    "eq_sync",
    "errors",
    "event",
    "event_elapsed_time",
    "extending",
    "external_stream",
    "farray",
    "ffs",
    "fma",
    "fp8",
    "fp16",
    "from_cuda_array_interface",
    "from_dlpack",
    "get_current_device",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "guvectorize",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "jit",
    "laneid",
    "lanemask_lt",
    "ldca",
    "ldcg",
    "ldcs",
    "ldcv",
    "ldlu",
    "legacy_default_stream",
    "libdevice",
    "list_devices",
    "literal_unroll",
    "local",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "none",
    "open_ipc_array",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "require_context",
    "select_device",
    "selp",
    "set_memory_manager",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "stcg",
    "stcs",
    "stream",
    "stwb",
    "stwt",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "to_device",
    "typeof",
    "types",
    "vectorize",
    "void",
    "warpsize",
]

# What many programs never use, by the module that it is imported from when it is first asked for.
_LAZY = {
    "Reduce": "pygpulib.ufuncs.reduction",
    "BaseCUDAMemoryManager": "pygpulib.cuda.external_memory",
    "GetIpcHandleMixin": "pygpulib.cuda.external_memory",
    "HostOnlyCUDAMemoryManager": "pygpulib.cuda.external_memory",
    "IpcArrayHandle": "pygpulib.cuda.external_memory",
    "IpcHandle": "pygpulib.cuda.external_memory",
    "MemoryInfo": "pygpulib.cuda.external_memory",
    "MemoryPointer": "pygpulib.cuda.external_memory",
    "open_ipc_array": "pygpulib.cuda.external_memory",
    "set_memory_manager": "pygpulib.cuda.external_memory",
    "Archive": "pygpulib.cuda.foreign",
    "CUSource": "pygpulib.cuda.foreign",
    "Cubin": "pygpulib.cuda.foreign",
    "Fatbin": "pygpulib.cuda.foreign",
    "LTOIR": "pygpulib.cuda.foreign",
    "Object": "pygpulib.cuda.foreign",
    "PTXSource": "pygpulib.cuda.foreign",
    "compile": "pygpulib.cuda.compiling",
    "compile_all": "pygpulib.cuda.compiling",
    "compile_for_current_device": "pygpulib.cuda.compiling",
    "compile_ptx": "pygpulib.cuda.compiling",
    "compile_ptx_for_current_device": "pygpulib.cuda.compiling",
    "declare_device": "pygpulib.cuda.foreign",
    "guvectorize": "pygpulib.ufuncs.decorators",
    "literal_unroll": "pygpulib.jit.intrinsics.procedures",
    "vectorize": "pygpulib.ufuncs.decorators",
    "devicearray": "pygpulib.cuda.cudadrv",
}
_SUBMODULES = ("args", "bf16", "cudadrv", "extending", "fp8", "fp16", "libdevice", "random")


def __getattr__(name: str) -> object:
    """Import what is asked for, so that importing the module stays cheap."""
    if name == "reduce":
        found: object = __getattr__("Reduce")
    elif name in _SUBMODULES:
        found = import_module(f"pygpulib.cuda.{name}")
    elif name in _LAZY:
        found = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module 'pygpulib.cuda' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
