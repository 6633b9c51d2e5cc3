"""The interface of the CUDA driver, as far as this package uses it.

The functions stand under the names that the library exports, which the vendor's header hides
behind macros: ``cuMemAlloc`` of a C program is ``cuMemAlloc_v2`` here.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint64,
    c_ushort,
    c_void_p,
)

from pygpulib._bindings.library import Function

# ------------------------------------------------------------------------------------ constants

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
DEINITIALIZED = 4
NO_DEVICE = 100
INVALID_DEVICE = 101
NOT_READY = 600
PEER_ACCESS_ALREADY_ENABLED = 704
CONTEXT_IS_DESTROYED = 709
HOST_MEMORY_ALREADY_REGISTERED = 712

EVENT_DEFAULT = 0
EVENT_DISABLE_TIMING = 2
STREAM_DEFAULT = 0
STREAM_NON_BLOCKING = 1
HOST_ALLOC_PORTABLE = 1
HOST_ALLOC_MAPPED = 2
HOST_REGISTER_PORTABLE = 1
HOST_REGISTER_MAPPED = 2
ATTACH_GLOBAL = 1
IPC_LAZY_PEER_ACCESS = 1
POINTER_DEVICE_ORDINAL = 9
MEMORY_TYPE_HOST = 1
MEMORY_TYPE_DEVICE = 2
ALLOCATION_PINNED = 1
LOCATION_DEVICE = 1
ACCESS_READ_WRITE = 3
POOL_RELEASE_THRESHOLD = 4

JIT_ERROR_LOG_BUFFER = 5
JIT_ERROR_LOG_BUFFER_SIZE = 6
JIT_GENERATE_LINE_INFO = 13

JIT_INPUT_CUBIN = 0
JIT_INPUT_PTX = 1
JIT_INPUT_FATBINARY = 2
JIT_INPUT_OBJECT = 3
JIT_INPUT_LIBRARY = 4

# ----------------------------------------------------------------------------------- structures


class Uuid(Structure):
    """``CUuuid``."""

    _fields_ = (("bytes", c_ubyte * 16),)


class IpcMemHandle(Structure):
    """``CUipcMemHandle``, passed by value."""

    _fields_ = (("reserved", c_ubyte * 64),)


class MemLocation(Structure):
    """``CUmemLocation``."""

    _fields_ = (("type", c_int), ("id", c_int))


class MemAccessDesc(Structure):
    """``CUmemAccessDesc``."""

    _fields_ = (("location", MemLocation), ("flags", c_int))


class MemPoolProps(Structure):
    """``CUmemPoolProps``."""

    _fields_ = (
        ("alloc_type", c_int),
        ("handle_types", c_int),
        ("location", MemLocation),
        ("win32_security_attributes", c_void_p),
        ("max_size", c_size_t),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 54),
    )


class Memcpy2D(Structure):
    """``CUDA_MEMCPY2D``."""

    _fields_ = (
        ("src_x_in_bytes", c_size_t),
        ("src_y", c_size_t),
        ("src_memory_type", c_int),
        ("src_host", c_void_p),
        ("src_device", c_uint64),
        ("src_array", c_void_p),
        ("src_pitch", c_size_t),
        ("dst_x_in_bytes", c_size_t),
        ("dst_y", c_size_t),
        ("dst_memory_type", c_int),
        ("dst_host", c_void_p),
        ("dst_device", c_uint64),
        ("dst_array", c_void_p),
        ("dst_pitch", c_size_t),
        ("width_in_bytes", c_size_t),
        ("height", c_size_t),
    )


class Memcpy3D(Structure):
    """``CUDA_MEMCPY3D``."""

    _fields_ = (
        ("src_x_in_bytes", c_size_t),
        ("src_y", c_size_t),
        ("src_z", c_size_t),
        ("src_lod", c_size_t),
        ("src_memory_type", c_int),
        ("src_host", c_void_p),
        ("src_device", c_uint64),
        ("src_array", c_void_p),
        ("reserved0", c_void_p),
        ("src_pitch", c_size_t),
        ("src_height", c_size_t),
        ("dst_x_in_bytes", c_size_t),
        ("dst_y", c_size_t),
        ("dst_z", c_size_t),
        ("dst_lod", c_size_t),
        ("dst_memory_type", c_int),
        ("dst_host", c_void_p),
        ("dst_device", c_uint64),
        ("dst_array", c_void_p),
        ("reserved1", c_void_p),
        ("dst_pitch", c_size_t),
        ("dst_height", c_size_t),
        ("width_in_bytes", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
    )


StreamCallback = CFUNCTYPE(None, c_void_p, c_int, c_void_p)

# ------------------------------------------------------------------------------------ functions

# What pointers point to is part of the declaration: only so can it be compared with the header.
_INT = POINTER(c_int)
_UINT = POINTER(c_uint)
_SIZE = POINTER(c_size_t)
_FLOAT = POINTER(c_float)
_TEXT = POINTER(c_char_p)
_HANDLE = POINTER(c_void_p)
_ADDRESS = POINTER(c_uint64)

_DEVICE = c_int
_CONTEXT = _STREAM = _EVENT = _MODULE = _FUNCTION = _POOL = c_void_p
_DEVICE_ADDRESS = c_uint64
_HOST_ADDRESS = c_void_p
_ARRAY = c_void_p  # of pointers; handed over as an address
_GRID = (c_uint,) * 6

FUNCTIONS = {
    "cuInit": Function("start", (c_uint,)),
    "cuDriverGetVersion": Function("tell its version", (_INT,)),
    "cuGetErrorName": Function("name an error", (c_int, _TEXT), is_checked=False),
    "cuGetErrorString": Function("explain an error", (c_int, _TEXT), is_checked=False),
    # Devices and contexts
    "cuDeviceGetCount": Function("count the devices", (_INT,)),
    "cuDeviceGet": Function("find the device", (_INT, c_int)),
    "cuDeviceGetName": Function("tell the name of the device", (c_char_p, c_int, _DEVICE)),
    "cuDeviceGetUuid": Function("tell the UUID of the device", (POINTER(Uuid), _DEVICE)),
    "cuDeviceTotalMem_v2": Function("tell the memory of the device", (_SIZE, _DEVICE)),
    "cuDeviceGetAttribute": Function("tell an attribute of the device", (_INT, c_int, _DEVICE)),
    "cuDeviceGetPCIBusId": Function("tell the slot of the device", (c_char_p, c_int, _DEVICE)),
    "cuDeviceCanAccessPeer": Function(
        "tell whether devices see each other's memory", (_INT, _DEVICE, _DEVICE)
    ),
    "cuDevicePrimaryCtxRetain": Function("open the device", (_HANDLE, _DEVICE)),
    "cuDevicePrimaryCtxRelease_v2": Function("close the device", (_DEVICE,)),
    "cuCtxGetCurrent": Function("tell the current device", (_HANDLE,)),
    "cuCtxSetCurrent": Function("switch to the device", (_CONTEXT,)),
    "cuCtxPushCurrent_v2": Function("switch to the device", (_CONTEXT,)),
    "cuCtxPopCurrent_v2": Function("switch back from the device", (_HANDLE,)),
    "cuCtxSynchronize": Function("wait for the device", ()),
    "cuCtxGetLimit": Function("tell a limit of the device", (_SIZE, c_int)),
    "cuCtxSetLimit": Function("set a limit of the device", (c_int, c_size_t)),
    "cuCtxEnablePeerAccess": Function("let devices see each other's memory", (_CONTEXT, c_uint)),
    "cuCtxDisablePeerAccess": Function("end access to another device's memory", (_CONTEXT,)),
    # Device memory
    "cuMemGetInfo_v2": Function("tell how much memory is free", (_SIZE, _SIZE)),
    "cuMemAlloc_v2": Function("allocate device memory", (_ADDRESS, c_size_t)),
    "cuMemFree_v2": Function("free device memory", (_DEVICE_ADDRESS,)),
    "cuMemAllocFromPoolAsync": Function(
        "allocate device memory", (_ADDRESS, c_size_t, _POOL, _STREAM)
    ),
    "cuMemFreeAsync": Function("free device memory", (_DEVICE_ADDRESS, _STREAM)),
    "cuMemPoolCreate": Function("create a memory pool", (_HANDLE, POINTER(MemPoolProps))),
    "cuMemPoolDestroy": Function("drop a memory pool", (_POOL,)),
    "cuMemPoolSetAttribute": Function("set up a memory pool", (_POOL, c_int, c_void_p)),
    "cuMemPoolGetAttribute": Function(
        "tell how much a memory pool holds", (_POOL, c_int, c_void_p)
    ),
    "cuMemPoolSetAccess": Function(
        "share a memory pool with a device", (_POOL, POINTER(MemAccessDesc), c_size_t)
    ),
    "cuMemPoolTrimTo": Function("shrink a memory pool", (_POOL, c_size_t)),
    "cuMemGetAddressRange_v2": Function("find device memory", (_ADDRESS, _SIZE, _DEVICE_ADDRESS)),
    "cuPointerGetAttribute": Function("tell about an address", (c_void_p, c_int, _DEVICE_ADDRESS)),
    "cuIpcGetMemHandle": Function(
        "share device memory with other processes", (POINTER(IpcMemHandle), _DEVICE_ADDRESS)
    ),
    "cuIpcOpenMemHandle_v2": Function(
        "open another process's device memory", (_ADDRESS, IpcMemHandle, c_uint)
    ),
    "cuIpcCloseMemHandle": Function("close another process's device memory", (_DEVICE_ADDRESS,)),
    # Host memory
    "cuMemHostAlloc": Function("allocate pinned host memory", (_HANDLE, c_size_t, c_uint)),
    "cuMemFreeHost": Function("free pinned host memory", (_HOST_ADDRESS,)),
    "cuMemHostRegister_v2": Function("pin host memory", (_HOST_ADDRESS, c_size_t, c_uint)),
    "cuMemHostUnregister": Function("unpin host memory", (_HOST_ADDRESS,)),
    "cuMemHostGetDevicePointer_v2": Function("map host memory", (_ADDRESS, _HOST_ADDRESS, c_uint)),
    "cuMemAllocManaged": Function("allocate managed memory", (_ADDRESS, c_size_t, c_uint)),
    # Copies
    "cuMemcpyHtoDAsync_v2": Function(
        "copy to the device", (_DEVICE_ADDRESS, _HOST_ADDRESS, c_size_t, _STREAM)
    ),
    "cuMemcpyDtoHAsync_v2": Function(
        "copy from the device", (_HOST_ADDRESS, _DEVICE_ADDRESS, c_size_t, _STREAM)
    ),
    "cuMemcpyDtoDAsync_v2": Function(
        "copy on the device", (_DEVICE_ADDRESS, _DEVICE_ADDRESS, c_size_t, _STREAM)
    ),
    "cuMemcpyPeerAsync": Function(
        "copy between devices",
        (_DEVICE_ADDRESS, _CONTEXT, _DEVICE_ADDRESS, _CONTEXT, c_size_t, _STREAM),
    ),
    "cuMemcpy2DAsync_v2": Function("copy a strided array", (POINTER(Memcpy2D), _STREAM)),
    "cuMemcpy3DAsync_v2": Function("copy a strided array", (POINTER(Memcpy3D), _STREAM)),
    "cuMemsetD8Async": Function(
        "fill device memory", (_DEVICE_ADDRESS, c_ubyte, c_size_t, _STREAM)
    ),
    "cuMemsetD16Async": Function(
        "fill device memory", (_DEVICE_ADDRESS, c_ushort, c_size_t, _STREAM)
    ),
    "cuMemsetD32Async": Function(
        "fill device memory", (_DEVICE_ADDRESS, c_uint, c_size_t, _STREAM)
    ),
    # Streams and events
    "cuStreamCreate": Function("create a stream", (_HANDLE, c_uint)),
    "cuStreamDestroy_v2": Function("drop a stream", (_STREAM,)),
    "cuStreamSynchronize": Function("wait for a stream", (_STREAM,)),
    "cuStreamQuery": Function("ask how far a stream is", (_STREAM,)),
    "cuStreamWaitEvent": Function("let a stream wait for an event", (_STREAM, _EVENT, c_uint)),
    "cuStreamAddCallback": Function(
        "queue a call of a host function", (_STREAM, StreamCallback, c_void_p, c_uint)
    ),
    "cuEventCreate": Function("create an event", (_HANDLE, c_uint)),
    "cuEventDestroy_v2": Function("drop an event", (_EVENT,)),
    "cuEventRecord": Function("record an event", (_EVENT, _STREAM)),
    "cuEventQuery": Function("ask whether an event has happened", (_EVENT,)),
    "cuEventSynchronize": Function("wait for an event", (_EVENT,)),
    "cuEventElapsedTime": Function("tell the time between two events", (_FLOAT, _EVENT, _EVENT)),
    # Kernels
    "cuModuleLoadDataEx": Function("load a kernel", (_HANDLE, c_void_p, c_uint, _INT, _HANDLE)),
    "cuModuleUnload": Function("drop a kernel", (_MODULE,)),
    "cuModuleGetFunction": Function("find a kernel", (_HANDLE, _MODULE, c_char_p)),
    "cuModuleGetGlobal_v2": Function(
        "find a variable of a kernel", (_ADDRESS, _SIZE, _MODULE, c_char_p)
    ),
    "cuLinkCreate_v2": Function("start to link kernels", (c_uint, _INT, _HANDLE, _HANDLE)),
    "cuLinkAddData_v2": Function(
        "link code in another language",
        (c_void_p, c_int, c_void_p, c_size_t, c_char_p, c_uint, _INT, _HANDLE),
    ),
    "cuLinkComplete": Function("link kernels", (c_void_p, _HANDLE, _SIZE)),
    "cuLinkDestroy": Function("end to link kernels", (c_void_p,)),
    "cuFuncGetAttribute": Function("tell about a kernel", (_INT, c_int, _FUNCTION)),
    "cuFuncSetAttribute": Function("set up a kernel", (_FUNCTION, c_int, c_int)),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": Function(
        "tell how many blocks run at once", (_INT, _FUNCTION, c_int, c_size_t)
    ),
    "cuLaunchKernel": Function(
        "launch a kernel", (_FUNCTION, *_GRID, c_uint, _STREAM, _ARRAY, _ARRAY)
    ),
    "cuLaunchCooperativeKernel": Function(
        "launch a cooperative kernel", (_FUNCTION, *_GRID, c_uint, _STREAM, _ARRAY)
    ),
    "cuProfilerStart": Function("start profiling", ()),
    "cuProfilerStop": Function("stop profiling", ()),
}
"""Every function under its exported name; each returns a status."""
