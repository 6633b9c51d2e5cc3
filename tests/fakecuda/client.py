"""The driver as a C program would use it; for the tests of the fake driver itself."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.fakecuda.driver import Code
from tests.fakecuda.driver.library import SONAME, cuda_header


class CallError(Exception):
    """A call that returned an error."""

    def __init__(self, name: str, code: Code) -> None:
        super().__init__(f"{name} returned {code.name}")
        self.code = code


class Client:
    """Calls functions by their exported names; `status` returns, all others raise on errors."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(SONAME)

    def status(self, name: str, *arguments: Any) -> Code:
        """Call a function and return its status."""
        function = self._library[name]
        function.argtypes = cuda_header().functions[name].argtypes
        return Code(function(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that must succeed."""
        code = self.status(name, *arguments)
        if code:
            raise CallError(name, code)

    def get(self, name: str, *arguments: Any, at: int = 0) -> Any:
        """Call a function with a pointer to its result among the arguments; return the result."""
        ctype = cuda_header().functions[name].argtypes[at]._type_
        result = ctype()
        self.call(name, *arguments[:at], ctypes.byref(result), *arguments[at:])
        return result.value if isinstance(result, ctypes._SimpleCData) else result

    def start(self, ordinal: int = 0) -> int:
        """Initialize and make the primary context of a device current."""
        self.call("cuInit", 0)
        context: int = self.get("cuDevicePrimaryCtxRetain", ordinal)
        self.call("cuCtxSetCurrent", context)
        return context

    def allocate(self, size: int) -> int:
        """Return the address of new device memory."""
        address: int = self.get("cuMemAlloc_v2", size)
        return address

    def upload(self, data: bytes) -> int:
        """Return the address of new device memory with some content."""
        address = self.allocate(len(data))
        self.call("cuMemcpyHtoD_v2", address, data, len(data))
        return address

    def download(self, address: int, size: int) -> bytes:
        """Return what device memory holds."""
        target = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", target, address, size)
        return target.raw

    def host(self, size: int) -> ctypes.Array[ctypes.c_char]:
        """Return new page-locked memory."""
        address = self.get("cuMemHostAlloc", size, 0)
        return (ctypes.c_char * size).from_address(address)

    def stream(self, flags: int = 1) -> int:
        """Return a new stream, by default one that does not wait for the legacy stream."""
        stream: int = self.get("cuStreamCreate", flags)
        return stream

    def event(self, flags: int = 0) -> int:
        """Return a new event."""
        event: int = self.get("cuEventCreate", flags)
        return event

    def load(self, ptx: str) -> int:
        """Return a new module."""
        module: int = self.get("cuModuleLoadData", ptx.encode() + b"\0")
        return module

    def kernel(self, ptx: str, name: str) -> int:
        """Return a kernel of a new module."""
        kernel: int = self.get("cuModuleGetFunction", self.load(ptx), name.encode())
        return kernel

    def launch(
        self,
        kernel: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        *arguments: Any,
        shared: int = 0,
        stream: int | None = None,
    ) -> Code:
        """Launch a kernel with ctypes values and return the status."""
        addresses = (ctypes.c_void_p * max(len(arguments), 1))(*map(ctypes.addressof, arguments))
        return self.status("cuLaunchKernel", kernel, *grid, *block, shared, stream, addresses, None)
