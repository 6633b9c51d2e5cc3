"""The `Driver` protocol on NVIDIA's GPUs; all methods act on the calling thread's device."""

from __future__ import annotations

import atexit
import weakref
from ctypes import c_void_p
from typing import TYPE_CHECKING, Protocol

from pygpulib._bindings.cuda_constants import FUNCTION_ATTRIBUTES
from pygpulib._bindings.library import open_shared
from pygpulib._config import config
from pygpulib.core.device import selected_ordinal
from pygpulib.core.driver_cuda import host_memory, modules, properties, sharing
from pygpulib.core.driver_cuda.api import examine
from pygpulib.core.driver_cuda.copies import Copier
from pygpulib.core.driver_cuda.modules import NO_OPTIONS, ImageOptions
from pygpulib.core.driver_cuda.pools import check_size
from pygpulib.core.driver_cuda.retirement import is_gone
from pygpulib.core.driver_cuda.streams import CudaStreams
from pygpulib.errors import DeviceError, NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from pygpulib.core.driver import (
        DeviceProperties,
        Executable,
        HostArray,
        LaunchShape,
        Memory,
        MemoryInfo,
        StridedMemory,
    )
    from pygpulib.core.driver_cuda.api import CudaStack
    from pygpulib.core.driver_cuda.contexts import Context
    from pygpulib.core.foreign_code import ForeignCode
    from pygpulib.core.layout import Shape
    from pygpulib.core.memory import Buffer

_DLPACK_CUDA = 2
# Pinned memory of the host, and memory that moves to whoever uses it.
_DLPACK_SHARED = (3, 13)


class CudaExecutable(Protocol):
    """A kernel that is ready to be queued on a device."""

    def enqueue(
        self, driver: CudaDriver, shape: LaunchShape, arguments_address: int, stream: int
    ) -> None:
        """Queue every thread of the grid; `arguments_address` points to the packed arguments."""
        ...


class HostImage(Protocol):
    """A compiled kernel that becomes executable without a device."""

    def load(self) -> Executable:
        """Make the code executable."""
        ...


class CudaDriver(CudaStreams):
    """The `Driver` protocol over CUDA's driver library.

    Parameters
    ----------
    stack : CudaStack, optional
        What was found on this machine; by default this looks for it.

    Raises
    ------
    NoDeviceError
        If there is no device that can be used.
    """

    name = "cuda"
    exports_cuda_interface = True

    def __init__(self, stack: CudaStack | None = None) -> None:
        if stack is None:
            stack = examine(open_shared([config.cuda_library]))
        if stack.library is None:
            raise NoDeviceError(stack.problem, detail=stack.detail, help=stack.help)
        super().__init__(stack.library, stack.devices)
        self._launch = stack.library.raw("cuLaunchKernel")
        self._copier = Copier(stack.library)
        self._properties: dict[int, DeviceProperties] = {}
        self._limits: dict[int, Mapping[str, int]] = {}
        self._owners: dict[int, Context] = {}
        self._modules: dict[int, tuple[Context, int]] = {}
        atexit.register(_finish_at_exit, weakref.ref(self))

    # ------------------------------------------------------------------------------ devices

    def device_count(self) -> int:
        """Return the number of devices that kernels can be compiled for."""
        return len(self.contexts.devices)

    def current_ordinal(self) -> int:
        """Return the number of the calling thread's device."""
        return selected_ordinal()

    def device_properties(self, ordinal: int) -> DeviceProperties:
        """Describe a device."""
        if ordinal not in self._properties:
            device = self.contexts.devices[ordinal]
            self._properties[ordinal] = properties.read_properties(self.library, device)
        return self._properties[ordinal]

    def launch_limits(self, ordinal: int) -> Mapping[str, int]:
        """Return what limits the sizes of a launch."""
        if ordinal not in self._limits:
            device = self.contexts.devices[ordinal]
            self._limits[ordinal] = properties.read_limits(self.library, device)
        return self._limits[ordinal]

    def dlpack_device(self, ordinal: int) -> tuple[int, int]:
        """Return DLPack's name of a device."""
        return (_DLPACK_CUDA, self.contexts.devices[ordinal])

    def accepts_dlpack(self, device: tuple[int, int]) -> bool:
        """Return whether kernels can use memory on a device: of GPUs, or pinned, or managed."""
        kind, number = device
        return kind in _DLPACK_SHARED or (kind == _DLPACK_CUDA and number in self.contexts.devices)

    def device_of_address(self, address: int) -> int:
        """Return the number of the device whose memory an address is in."""
        return sharing.device_of_address(self.contexts, address)

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return whether kernels of a device can use another device's memory in place."""
        return sharing.can_access_peer(self.contexts, ordinal, peer)

    def close(self) -> None:
        """Give all devices back, with everything on them; this driver is of no more use."""
        try:
            for function in tuple(self._modules):
                self.unload_image(function)
            self.contexts.close()
        finally:
            self.contexts.retirement.stop()
            for table in (self._modules, self._owners, self._stream_owners):
                table.clear()

    # ------------------------------------------------------------------------------- memory

    def memory_info(self, ordinal: int) -> MemoryInfo:
        """Return free and total memory of a device."""
        self.contexts.retirement.work_off()
        with self.contexts.of(ordinal) as context:
            return context.memory_info()

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of new memory, ready for a stream."""
        check_size(size_bytes)
        context = self.contexts.current()
        # Small elements are changed atomically as parts of words of four bytes.
        address = context.allocate(-(-size_bytes // 4) * 4, stream)
        self._owners[address] = context
        return address

    def free(self, address: int) -> None:
        """Give memory back once all that was queued so far is done."""
        context = self._owners.pop(address, None)
        # None where `close` gave it back.
        if context is not None:
            context.free(address)

    def trim(self) -> None:
        """Return cached memory of all devices to the system."""
        for ordinal in self.contexts.opened():
            with self.contexts.of(ordinal) as context:
                context.trim()

    def allocate_host(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return new pinned memory, which the device addresses too."""
        check_size(size_bytes)
        return host_memory.allocate_pinned(self.library, self.contexts.current(), size_bytes)

    def allocate_managed(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return new memory that moves to whoever uses it."""
        check_size(size_bytes)
        return host_memory.allocate_managed(self.library, self.contexts.current(), size_bytes)

    def map_host(self, array: HostArray) -> tuple[Buffer, int]:
        """Return the memory of a host array, pinned as long as the buffer lives."""
        return host_memory.map_array(self.library, self, self.contexts.current(), array)

    def host_address(self, array: HostArray) -> int | None:
        """Return where the device finds a host array, None if it cannot address it."""
        return host_memory.device_address(array)

    def defer_cleanup(self) -> AbstractContextManager[None]:
        """Return a context in which memory is not given back."""
        return self.contexts.defer_cleanup()

    def host_view(
        self,
        memory: Memory,
        offset: int,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype[np.generic],
    ) -> None:
        """Return None: the host must not look at memory that kernels may still be writing."""
        return

    def ipc_handle(self, address: int) -> tuple[bytes, int]:
        """Return what another process needs to open device memory; see `sharing.ipc_handle`."""
        return sharing.ipc_handle(self.library, self.contexts.current(), address)

    def open_ipc(self, handle: bytes, size_bytes: int) -> Buffer:
        """Return device memory of another process."""
        return sharing.open_ipc(self.library, self, self.contexts.current(), handle, size_bytes)

    # ------------------------------------------------------------------------------- copies

    def copy_to_device(
        self, target: StridedMemory, source: NDArray[np.generic], stream: int
    ) -> None:
        """Copy a host array into an array of the calling thread's device."""
        self._copier.upload(self._ready_for(stream), target, source, stream)

    def send(self, address: int, source: NDArray[np.generic], stream: int) -> None:
        """Copy a packed host array that nobody changes any more to the device, without waiting."""
        self._copier.send(self._ready_for(stream), address, source, stream)

    def copy_to_host(self, target: NDArray[np.generic], source: StridedMemory, stream: int) -> None:
        """Copy an array of the calling thread's device into a host array."""
        self._copier.download(self._ready_for(stream), target, source, stream)

    def copy_on_device(self, target: StridedMemory, source: StridedMemory, stream: int) -> None:
        """Copy between two arrays, which may overlap; the source may be on another device."""
        if source.device_ordinal != target.device_ordinal:
            # Only here, because most programs use one device.
            from pygpulib.core.driver_cuda.peers import copy_between_devices

            copy_between_devices(self, target, source, stream)
            return
        self._copier.copy_on_device(self._ready_for(stream), target, source, stream)

    def copy_bytes_from(
        self, ordinal: int, target: int, source: int, size_bytes: int, stream: int
    ) -> None:
        """Copy bytes of another device to the calling thread's device."""
        context = self._ready_for(stream)
        with self.contexts.of(ordinal) as owner:
            pass
        self.library.cuMemcpyPeerAsync(
            target, context.reference, source, owner.reference, size_bytes, stream
        )
        context.pending.mark(stream)

    def _ready_for(self, stream: int) -> Context:
        """Return the calling thread's device, with its memory ready for a stream."""
        context = self.contexts.current()
        if stream not in context.pending.own:
            context.pending.prepare(stream)
        return context

    # ------------------------------------------------------------------------------ kernels

    def load(self, image: object) -> Executable:
        """Make a compiled kernel executable."""
        loadable: HostImage = image  # type: ignore[assignment]
        return loadable.load()

    def load_image(self, code: bytes, name: str, options: ImageOptions = NO_OPTIONS) -> int:
        """Return the driver's handle of a kernel, loaded for the calling thread's device.

        Parameters
        ----------
        code : bytes
            PTX text or a binary.
        name : str
            The kernel in it.
        options : ImageOptions
            What the driver's compiler is told.

        Raises
        ------
        ImageError
            If the driver does not accept the code; with the messages of its compiler.
        """
        context = self.contexts.current()
        module, function = modules.load_function(self.library, code, name, options)
        self._modules[function] = context, module
        return function

    def link_code(self, parts: Sequence[ForeignCode], options: ImageOptions = NO_OPTIONS) -> bytes:
        """Return machine code for the calling thread's device; see `linking.link_code`."""
        from pygpulib.core.driver_cuda.linking import link_code

        self.contexts.current()
        return link_code(self.library, parts, options)

    def unload_image(self, function: int) -> None:
        """Drop a kernel once its launches are done; safe to call from a finalizer."""
        context, module = self._modules.pop(function, (None, 0))
        if context is None:
            return

        def unload() -> None:
            with context.after_pending():
                self.library.cuModuleUnload(module)

        context.retirement.add(context.handle, unload)

    def global_variable(self, function: int, name: str) -> tuple[int, int]:
        """Return address and size of a variable in the image that a kernel came with."""
        self.contexts.current()
        _, module = self._modules[function]
        return modules.global_variable(self.library, module, name)

    def function_attribute(self, function: int, name: str) -> int:
        """Return an attribute of a kernel by its name without ``CU_FUNC_ATTRIBUTE_``."""
        self.contexts.current()
        return modules.function_attribute(self.library, function, name)

    def set_dynamic_shared_limit(self, function: int, size_bytes: int) -> None:
        """Allow launches of a kernel with so much dynamic shared memory."""
        self.contexts.current()
        number = FUNCTION_ATTRIBUTES["MAX_DYNAMIC_SHARED_SIZE_BYTES"]
        self.library.cuFuncSetAttribute(function, number, size_bytes)

    def max_active_blocks(self, function: int, threads: int, shared_bytes: int) -> int:
        """Return how many blocks of a kernel one multiprocessor runs at the same time."""
        self.contexts.current()
        return modules.max_active_blocks(self.library, function, threads, shared_bytes)

    def launch(
        self, executable: Executable, shape: LaunchShape, arguments_address: int, stream: int
    ) -> None:
        """Queue a kernel after the stream's work so far."""
        kernel: CudaExecutable = executable  # type: ignore[assignment]
        kernel.enqueue(self, shape, arguments_address, stream)

    def launch_function(
        self,
        function: int,
        shape: LaunchShape,
        parameters: int,
        stream: int,
        *,
        cooperative: bool = False,
    ) -> None:
        """Queue a kernel; its arguments must stay alive until this returns.

        Parameters
        ----------
        function : int
            What `load_image` returned for this device.
        shape : LaunchShape
            How many threads.
        parameters : int
            Address of the addresses of the parameters.
        stream : int
            The stream.
        cooperative : bool
            Whether all blocks must run at the same time.
        """
        pending = self.contexts.current().pending
        is_own = stream in pending.own
        if not is_own:
            pending.prepare(stream)
        arguments = (
            c_void_p(function),
            *shape.grid,
            *shape.block,
            shape.shared_bytes,
            c_void_p(stream),
            c_void_p(parameters),
        )
        if cooperative:
            self.library.cuLaunchCooperativeKernel(*arguments)
        elif status := self._launch(*arguments, None):
            self.library.check("cuLaunchKernel", status)
        # What `mark` does, without a call of Python's: this is the way of every launch.
        if is_own:
            pending.active.add(stream)
        else:
            pending.mark_foreign(stream)

    # ----------------------------------------------------------------------------- the end

    def finish(self) -> None:
        """Wait for what still has something to say, and give nothing back from now on.

        A device that is lost, or is not there any more, has nothing to say.
        """
        try:
            for ordinal in self.contexts.opened():
                self._listen_to(ordinal)
        finally:
            self.contexts.retirement.stop()

    def _listen_to(self, ordinal: int) -> None:
        try:
            with self.contexts.of(ordinal) as context:
                if context.reports or len(self._host_calls):
                    context.synchronize()
        except DeviceError as error:
            if not is_gone(error):
                raise


def _finish_at_exit(reference: weakref.ref[CudaDriver]) -> None:
    driver = reference()
    if driver is not None:
        driver.finish()
