"""The driver library: is there one that works, and what do its statuses mean."""

from __future__ import annotations

import ctypes

from pygpulib._bindings import cuda_driver as cu
from pygpulib._bindings.cuda_constants import DEVICE_ATTRIBUTES, STATUS_NAMES
from pygpulib._bindings.libdevice import FILE_NAME, INSTALLING, find_libdevice
from pygpulib._bindings.library import Library, loading_problem
from pygpulib._config import config
from pygpulib._record import record
from pygpulib.errors import (
    ArgumentError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DriverError,
    ImageError,
    LaunchError,
    NoDeviceError,
)

MINIMUM_VERSION = (11, 4)
"""The oldest driver that has every function of the table."""

MINIMUM_CAPABILITY = (7, 5)
"""The oldest generation of GPUs that kernels are compiled for."""

_LAUNCHES = ("cuLaunchKernel", "cuLaunchCooperativeKernel")

_LOST = {
    214: "an error in the device's memory that could not be corrected",
    220: "an error of the link between devices that could not be corrected",
    700: "a kernel read or wrote memory that it may not: an index is out of range, or an array is "
    "used after its memory was given back",
    702: "a kernel ran longer than the system allows on this device",
    710: "an assertion in a kernel failed",
    714: "a kernel's call stack overflowed or was damaged",
    715: "a kernel ran an illegal instruction",
    716: "a kernel used an address that is not a multiple of the size of what lies there",
    717: "a kernel used an address of the wrong kind of memory",
    718: "a kernel jumped to an invalid address",
    719: "a kernel failed: usually it used an invalid address or too much of the stack",
    721: "a kernel ended without giving back its tensor memory",
}
"""Statuses after which nothing works any more in this process."""

_LOST_HELP = (
    "run with PYGPULIB_DEBUG=1 to find the place; this process can no longer use the device: "
    "start a new one"
)
_BAD_IMAGE = {200, 209, 218, 221, 222, 223, 225, 300}
_HELP = {
    3: "CUDA does not survive a fork: start child processes with the 'spawn' method of "
    "multiprocessing, or use the device first in the child",
    4: "do not use the device while the interpreter shuts down",
    46: "another program has the device for itself; wait for it or use another device",
    201: "select a device first, with cuda.select_device(0)",
    222: "install a newer driver",
    400: "streams and events belong to one device: use those of the selected device, or select "
    "theirs with cuda.select_device(...)",
    701: "use fewer threads in a block, less shared memory, or @cuda.jit(max_registers=...)",
    709: "another library has reset the device; start a new process",
    720: "use fewer blocks: those of a cooperative kernel all run at the same time",
    800: "functions called from a stream must not use the device",
    802: "wait until the driver's services run, or restart them",
    803: "the driver in the kernel and its libraries differ in version: restart the machine after "
    "an update of the driver",
}


def make_error(library: Library, name: str, status: int, explanation: str = "") -> DeviceError:
    """Return the error for what a function of the driver returned.

    Parameters
    ----------
    library : Library
        The driver library.
    name : str
        The function.
    status : int
        What it returned.
    explanation : str
        What it means; default: what the library says.
    """
    explanation = explanation or _LOST.get(status) or _explain(library, status)
    status_name = STATUS_NAMES.get(status, "an unknown status")
    detail = f"{name} returned {status_name} ({status})"
    action = cu.FUNCTIONS[name].action
    if status in _LOST:
        error: DeviceError = DeviceLostError(
            f"the device failed: {explanation}",
            detail=f"noticed when CUDA was asked to {action}: {detail}",
            help=_LOST_HELP,
        )
    else:
        error = _class_of(name, status)(
            f"CUDA could not {action}: {explanation}", detail=detail, help=_HELP.get(status, "")
        )
    error.code = status
    return error


def _class_of(name: str, status: int) -> type[DeviceError]:
    if status == cu.OUT_OF_MEMORY:
        return DeviceMemoryError
    if status in (cu.NO_DEVICE, cu.INVALID_DEVICE):
        return NoDeviceError
    if status in _BAD_IMAGE:
        return ImageError
    if name in _LAUNCHES:
        return LaunchError
    return DriverError


def _explain(library: Library, status: int) -> str:
    text = ctypes.c_char_p()
    library.cuGetErrorString(status, ctypes.byref(text))
    return (text.value or b"unknown error").decode(errors="replace")


def open_library(handle: ctypes.CDLL) -> Library:
    """Return the driver library with its functions declared; nothing is called yet."""

    def check_status(name: str, status: int) -> None:
        if status != cu.NOT_READY:
            raise make_error(library, name, status)

    library = Library("the CUDA driver", handle, cu.FUNCTIONS, check_status)
    return library


@record(eq=True)
class CudaStack:
    """What there is of CUDA on this machine.

    Attributes
    ----------
    library : Library or None
        The driver library; None if it cannot be used.
    devices : tuple of int
        The driver's numbers of the devices that kernels can be compiled for.
    problem, detail, help : str
        Why CUDA cannot be used; empty if it can.
    is_broken : bool
        Whether that is because something is wrong, not because there is simply no GPU.
    """

    library: Library | None
    devices: tuple[int, ...] = ()
    problem: str = ""
    detail: str = ""
    help: str = ""
    is_broken: bool = False


def examine(handle: ctypes.CDLL | None) -> CudaStack:
    """Start the driver and look for devices.

    Parameters
    ----------
    handle : ctypes.CDLL or None
        The driver library, None if this machine has none.
    """
    if handle is None:
        problem = loading_problem(config.cuda_library)
        if problem:
            return _broken(
                "the CUDA driver's library cannot be loaded", problem, "reinstall NVIDIA's driver"
            )
        return CudaStack(
            None,
            problem="there is no CUDA driver on this machine",
            detail=f"the library {config.cuda_library} was not found",
            help="install NVIDIA's driver, or set PYGPULIB_CUDA_LIBRARY to the path of the library",
        )
    library = open_library(handle)
    try:
        version = driver_version(library)
        if version < MINIMUM_VERSION:
            return _broken(
                f"the CUDA driver is too old: it is for CUDA {library.version}",
                f"pygpulib needs one for CUDA {_dotted(MINIMUM_VERSION)} or newer; found "
                f"{library.description}",
                "install a newer driver",
            )
        library.cuInit(0)
        return _examine_devices(library)
    except NoDeviceError:
        return _no_device(library)
    except DeviceError as error:
        return _broken(
            "the CUDA driver does not work",
            f"{error.problem}\n{error.detail}\nfound {library.description}",
            error.help or "run nvidia-smi, and reinstall the driver if that fails, too",
        )


def require_libdevice(stack: CudaStack) -> CudaStack:
    """Return a stack that cannot be used where most kernels could not be compiled.

    Parameters
    ----------
    stack : CudaStack
        What `examine` found.
    """
    if stack.library is None:
        return stack
    try:
        if find_libdevice() is not None:
            return stack
    except ArgumentError as error:
        return _broken(error.problem, error.detail, error.help)
    return _broken(
        f"CUDA's library of mathematical functions, {FILE_NAME}, is not installed",
        f"kernels need it for functions such as math.sin; found {stack.library.description}",
        f"{INSTALLING}; PYGPULIB_BACKEND=cuda runs what does without it on the GPU",
    )


def _broken(problem: str, detail: str, help: str) -> CudaStack:
    return CudaStack(None, problem=problem, detail=detail, help=help, is_broken=True)


def _no_device(library: Library) -> CudaStack:
    return CudaStack(
        None,
        problem="there is a CUDA driver, but no CUDA device",
        detail=f"found {library.description}; CUDA_VISIBLE_DEVICES hides devices, too",
        help="check with nvidia-smi which devices this machine has",
    )


def driver_version(library: Library) -> tuple[int, int]:
    """Return the version of CUDA that the driver is for, and note it in the library."""
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    version = number.value // 1000, number.value % 1000 // 10
    library.version = _dotted(version)
    return version


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _examine_devices(library: Library) -> CudaStack:
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    if not count.value:
        return _no_device(library)
    handles = [device_handle(library, ordinal) for ordinal in range(count.value)]
    capabilities = [compute_capability(library, device) for device in handles]
    usable = tuple(
        device
        for device, capability in zip(handles, capabilities, strict=True)
        if capability >= MINIMUM_CAPABILITY
    )
    if usable:
        return CudaStack(library, usable)
    found = ", ".join(_dotted(capability) for capability in capabilities)
    return _broken(
        "the CUDA devices of this machine are too old",
        f"pygpulib needs compute capability {_dotted(MINIMUM_CAPABILITY)} or newer; found {found}",
        "set PYGPULIB_BACKEND=cpu to use the processor without this message",
    )


def device_handle(library: Library, ordinal: int) -> int:
    """Return the driver's number of the device at a position."""
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    return device.value


def device_attribute(library: Library, device: int, name: str) -> int:
    """Return an attribute of a device by its name without ``CU_DEVICE_ATTRIBUTE_``."""
    value = ctypes.c_int()
    library.cuDeviceGetAttribute(ctypes.byref(value), DEVICE_ATTRIBUTES[name], device)
    return value.value


def compute_capability(library: Library, device: int) -> tuple[int, int]:
    """Return the generation of a device."""
    major, minor = (
        device_attribute(library, device, f"COMPUTE_CAPABILITY_{part}")
        for part in ("MAJOR", "MINOR")
    )
    return major, minor
