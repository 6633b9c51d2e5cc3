"""Entry points that load modules and tell about kernels."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from tests.fakecuda.assemble import Assembly, AssemblyError, Usage, assemble, knows_arch
from tests.fakecuda.driver import hardware
from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.driver.state import Block, Context, System
from tests.fakecuda.driver.status import Code, RefusedError, require
from tests.fakecuda.ptx import Function, Module, PtxSyntaxError, parse_module, place_globals

_UNKNOWN_USAGE = Usage(32, 0, 0)  # without the assembler
_ATTRIBUTES = {
    value: name.removeprefix("CU_FUNC_ATTRIBUTE_")
    for name, value in cuda_header().enums["CUfunction_attribute"].items()
}
_OPTIONS = {
    value: name.removeprefix("CU_JIT_")
    for name, value in cuda_header().enums["CUjit_option"].items()
}


class LoadedModule:
    """A module of a context."""

    def __init__(self, module: Module, context: Context, addresses: dict[str, int]) -> None:
        self.module = module
        self.context = context
        self.addresses = addresses
        self.kernels: dict[str, int] = {}


class Kernel:
    """A kernel of a loaded module."""

    def __init__(self, loaded: LoadedModule, function: Function, usage: Usage) -> None:
        self.loaded = loaded
        self.function = function
        self.name = function.name
        self.context = loaded.context
        self.registers = usage.registers
        self.local_bytes = usage.local_bytes
        variables = loaded.module.globals.values()
        self.constant_bytes = sum(each.size for each in variables if each.space == "const")
        self.static_bytes = loaded.module.shared_size
        self.dynamic_limit = hardware.SHARED_DEFAULT - self.static_bytes

    @property
    def max_threads(self) -> int:
        """Most threads of a block that the kernel can be launched with."""
        allowed = [hardware.MAX_THREADS]
        for directive in ("maxntid", "reqntid"):
            if given := self.function.directives.get(directive):
                count = 1
                for number in given:
                    count *= number
                allowed.append(count)
        return min(allowed)

    @property
    def threads_by_registers(self) -> int:
        """Most threads of a block for which there are registers."""
        unit = hardware.REGISTER_UNIT
        per_warp = -(-max(self.registers, 1) * hardware.WARP // unit) * unit
        return hardware.REGISTERS // per_warp * hardware.WARP

    def blocks_per_multiprocessor(self, threads: int, dynamic_bytes: int) -> int:
        """Return how many blocks run on one multiprocessor at the same time."""
        return hardware.blocks_per_multiprocessor(
            self.context.device.compute_capability,
            threads,
            self.registers,
            self.static_bytes + dynamic_bytes,
        )


class Options:
    """The options of a load: two arrays, of which the second also takes results."""

    def __init__(self, count: int, numbers: Any, values: Any) -> None:
        self._values = values
        self._positions: dict[str, int] = {}
        for position in range(count):
            name = _OPTIONS.get(numbers[position])
            if name is None:
                raise RefusedError(Code.INVALID_VALUE, f"unknown option {numbers[position]}")
            self._positions[name] = position

    def number(self, name: str) -> int:
        """Return an option's value, 0 if it is not given."""
        position = self._positions.get(name)
        return 0 if position is None else self._values[position] or 0

    def write_log(self, kind: str, text: str) -> None:
        """Fill the buffer for a log, and tell how much of it is used."""
        address = self.number(f"{kind}_LOG_BUFFER")
        size = self.number(f"{kind}_LOG_BUFFER_SIZE_BYTES") & 0xFFFFFFFF
        if address and size:
            kept = text.encode()[: size - 1] + b"\0"
            ctypes.memmove(address, kept, len(kept))
            self._values[self._positions[f"{kind}_LOG_BUFFER_SIZE_BYTES"]] = len(kept) - 1


class ModuleEntries:
    """Entry points about modules and kernels."""

    def __init__(self, system: System, *, use_assembler: bool) -> None:
        self.system = system
        self.use_assembler = use_assembler
        self.images: dict[bytes, str] = {}  # PTX of the machine code that tests assembled

    # ------------------------------------------------------------------------------------ load

    @entry("cuModuleLoadData")
    def load(self, module: Any, image: int | None) -> None:
        self._load(module, image, Options(0, None, None))

    @entry("cuModuleLoadDataEx")
    def load_with_options(
        self, module: Any, image: int | None, count: int, options: Any, values: Any
    ) -> None:
        self._load(module, image, Options(count, options, values))

    def _load(self, module: Any, image: int | None, options: Options) -> None:
        require(module and image, Code.INVALID_VALUE)
        context = self.system.current()
        try:
            text = self._find_ptx(image or 0)
            made = self.assemble(text, context, options)
            parsed = parse_module(text)
        except PtxSyntaxError as error:
            options.write_log("ERROR", f"ptxas error : {error}")
            raise RefusedError(Code.INVALID_PTX, str(error)) from error
        except RefusedError as refusal:
            options.write_log("ERROR", refusal.reason)
            raise
        addresses = self._place_variables(parsed, context)
        loaded = LoadedModule(parsed, context, addresses)
        for name, function in parsed.kernels.items():
            kernel = Kernel(loaded, function, made.kernels.get(name, _UNKNOWN_USAGE))
            loaded.kernels[name] = self.system.handles.add(kernel)
        module[0] = self.system.handles.add(loaded)

    def _find_ptx(self, image: int) -> str:
        """Return the text of an image, or the text from which a test assembled it."""
        if ctypes.string_at(image, 4) == b"\x7fELF":
            for cubin, text in self.images.items():
                if ctypes.string_at(image, 64) == cubin[:64] and (
                    ctypes.string_at(image, len(cubin)) == cubin
                ):
                    return text
            raise RefusedError(Code.NO_BINARY_FOR_GPU, "machine code that no test assembled")
        try:
            text = ctypes.string_at(image).decode("ascii")
        except UnicodeDecodeError as error:
            raise RefusedError(Code.INVALID_IMAGE, "neither PTX nor machine code") from error
        require(".version" in text, Code.INVALID_IMAGE, "neither PTX nor machine code")
        return text

    def assemble(self, text: str, context: Context, options: Options) -> Assembly:
        """Return machine code; refuse what the device or the driver is too old for."""
        found = re.search(r"\.version\s+(\d+)\.(\d+)", text)
        newest = ptx_version(self.system.version)
        if found and (int(found[1]), int(found[2])) > newest:
            current = ".".join(map(str, newest))
            message = f"Unsupported .version {found[1]}.{found[2]}; current version is '{current}'"
            raise RefusedError(Code.UNSUPPORTED_PTX_VERSION, f"ptxas fatal   : {message}")
        major, minor = context.device.compute_capability
        target = re.search(r"\.target\s+sm_(\d+)(\w?)", text)
        if target and int(target[1]) > major * 10 + minor:
            message = "SM version specified by .target is higher than default SM version assumed"
            raise RefusedError(Code.INVALID_PTX, f"ptxas fatal   : {message}")
        if not self.use_assembler:
            return Assembly(b"", {}, "")
        arch = f"sm_{major}{minor}"
        if not knows_arch(arch) and target:  # a GPU of the future runs what today's run
            arch = f"sm_{target[1]}"
        try:
            made = assemble(text, arch, options.number("MAX_REGISTERS"))
        except AssemblyError as error:
            raise RefusedError(Code.INVALID_PTX, str(error)) from error
        options.write_log("INFO", made.log)
        return made

    def _place_variables(self, module: Module, context: Context) -> dict[str, int]:
        addresses = place_globals(module, self.system.memory)
        for name, address in addresses.items():
            size = module.globals[name].size
            context.device.reserve(size)
            self.system.blocks.adopt(Block(address, size, "variable", context))
        return addresses

    @entry("cuModuleUnload")
    def unload(self, module: int | None) -> None:
        loaded = self.system.handles.remove(LoadedModule, module)
        self.system.work.finish(loaded.context)
        for handle in loaded.kernels.values():
            self.system.handles.remove(Kernel, handle)
        for address in loaded.addresses.values():
            if block := self.system.blocks.at(address):
                self.system.free_block(block)

    # ------------------------------------------------------------------------------------ find

    @entry("cuModuleGetFunction")
    def get_function(self, function: Any, module: int | None, name: int | None) -> None:
        loaded = self.system.handles.find(LoadedModule, module)
        require(name, Code.INVALID_VALUE, "no name")
        wanted = ctypes.string_at(name or 0).decode()
        found = loaded.kernels.get(wanted)
        require(found is not None, Code.NOT_FOUND, f"no kernel {wanted}")
        function[0] = found

    @entry("cuModuleGetGlobal_v2")
    def get_variable(self, address: Any, size: Any, module: int | None, name: int | None) -> None:
        loaded = self.system.handles.find(LoadedModule, module)
        require(name, Code.INVALID_VALUE, "no name")
        wanted = ctypes.string_at(name or 0).decode()
        require(wanted in loaded.addresses, Code.NOT_FOUND, f"no variable {wanted}")
        if address:
            address[0] = loaded.addresses[wanted]
        if size:
            size[0] = loaded.module.globals[wanted].size

    @entry("cuFuncGetModule")
    def get_module(self, module: Any, function: int | None) -> None:
        kernel = self.system.handles.find(Kernel, function)
        for handle, loaded in self.system.handles.of_kind(LoadedModule):
            if loaded is kernel.loaded:
                module[0] = handle

    # ------------------------------------------------------------------------------ attributes

    @entry("cuFuncGetAttribute")
    def get_attribute(self, value: Any, attribute: int, function: int | None) -> None:
        kernel = self.system.handles.find(Kernel, function)
        major, minor = kernel.context.device.compute_capability
        version = kernel.loaded.module.version.split(".")
        values = {
            "MAX_THREADS_PER_BLOCK": min(kernel.max_threads, kernel.threads_by_registers),
            "SHARED_SIZE_BYTES": kernel.static_bytes,
            "CONST_SIZE_BYTES": kernel.constant_bytes,
            "LOCAL_SIZE_BYTES": kernel.local_bytes,
            "NUM_REGS": kernel.registers,
            "PTX_VERSION": int(version[0]) * 10 + int(version[1]),
            "BINARY_VERSION": major * 10 + minor,
            "CACHE_MODE_CA": 0,
            "MAX_DYNAMIC_SHARED_SIZE_BYTES": kernel.dynamic_limit,
            "PREFERRED_SHARED_MEMORY_CARVEOUT": -1,
        }
        name = _ATTRIBUTES.get(attribute, "")
        require(name in values, Code.INVALID_VALUE, f"attribute {attribute}")
        value[0] = values[name]

    @entry("cuFuncSetAttribute")
    def set_attribute(self, function: int | None, attribute: int, value: int) -> None:
        kernel = self.system.handles.find(Kernel, function)
        name = _ATTRIBUTES.get(attribute, "")
        if name == "MAX_DYNAMIC_SHARED_SIZE_BYTES":
            chip = hardware.generation(kernel.context.device.compute_capability)
            most = chip.shared_optin - kernel.static_bytes
            require(0 <= value <= most, Code.INVALID_VALUE, f"at most {most} bytes")
            kernel.dynamic_limit = value
        elif name == "PREFERRED_SHARED_MEMORY_CARVEOUT":
            require(-1 <= value <= 100, Code.INVALID_VALUE, "a percentage")
        else:
            raise RefusedError(Code.INVALID_VALUE, f"attribute {attribute} cannot be set")

    @entry("cuFuncSetCacheConfig")
    def set_cache(self, function: int | None, config: int) -> None:
        self.system.handles.find(Kernel, function)
        require(0 <= config <= 3, Code.INVALID_VALUE)


def ptx_version(driver_version: int) -> tuple[int, int]:
    """Return the newest version of PTX that a driver compiles."""
    major, minor = driver_version // 1000, driver_version % 1000 // 10
    if major == 10:
        return 6, 3 + minor
    if major == 12 and minor > 5:
        minor -= 1  # 12.5 and 12.6 share one
    return major - 4, minor
