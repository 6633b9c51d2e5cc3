"""The code of a kernel: PTX per generation and variant, loaded per device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.core.device import current_driver
from pygpulib.core.driver_cuda.modules import ImageOptions
from pygpulib.core.foreign_code import ForeignCode
from pygpulib.core.locks import Lock
from pygpulib.jit.backends.cuda.ptx import optimized_text
from pygpulib.jit.backends.cuda.ptx_cache import find_ptx
from pygpulib.jit.backends.cuda.target import OLDEST, CudaTarget, known_target

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.jit.backends.cuda.alignment import Alignment
    from pygpulib.jit.backends.cuda.ptx import OptimizationLevel
    from pygpulib.jit.backends.cuda.ptx_cache import PtxCode
    from pygpulib.jit.options import CompileHints

    class Emit(Protocol):
        """Gives the LLVM IR for a target and a variant."""

        def __call__(self, target: CudaTarget, name: str, /, alignment: Alignment) -> str:
            """Write the kernel; its entry gets a name."""
            ...


# What every block may have without asking, its arrays of a fixed size included.
_PLAIN_SHARED_BYTES = 48 << 10


class LoadedKernel:
    """A kernel in the memory of one device, given back when this object dies.

    Parameters
    ----------
    driver : CudaDriver
        The driver.
    function : int
        Its handle of the kernel.

    Attributes
    ----------
    fixed_shared_bytes : int
        Shared memory of a block that launches have no say in.
    max_threads : int
        Most threads of a block, which share its registers.
    shared_limit : int
        Most dynamic shared memory that the driver was told of, in bytes.
    """

    def __init__(self, driver: CudaDriver, function: int) -> None:
        self.function = function
        # Bound here, because at the end of the interpreter global names may be gone.
        self._unload = driver.unload_image
        self.fixed_shared_bytes = driver.function_attribute(function, "SHARED_SIZE_BYTES")
        self.max_threads = driver.function_attribute(function, "MAX_THREADS_PER_BLOCK")
        self.shared_limit = _PLAIN_SHARED_BYTES - self.fixed_shared_bytes

    def __del__(self) -> None:
        self._unload(self.function)


class KernelCode:
    """What a kernel is compiled to, as far as devices and launches have needed it.

    Parameters
    ----------
    name : str
        What the user calls the kernel.
    entry : str
        Name of its entry in PTX.
    emit : callable
        Gives the LLVM IR for a target and a variant.
    usual : Alignment
        The variant to show before there was a launch.
    fastmath : bool
        Whether functions of CUDA's mathematical library may be approximate.
    hints : CompileHints
        Bounds on what it takes, and how to compile it.
    foreign_code : iterable of ForeignCode
        The code in other languages that it calls.
    use_cache : bool
        Whether its PTX is kept on disk.
    """

    def __init__(
        self,
        name: str,
        entry: str,
        emit: Emit,
        usual: Alignment,
        *,
        fastmath: bool,
        hints: CompileHints,
        foreign_code: Iterable[ForeignCode],
        use_cache: bool,
    ) -> None:
        self._name = name
        self._entry = entry
        self._emit = emit
        self._newest = usual
        self._fastmath = fastmath
        self._hints = hints
        self._optimization: OptimizationLevel = 3 if hints.optimize else 0
        self._image_options = ImageOptions(has_line_info=hints.lineinfo)
        self._foreign_code = tuple(dict.fromkeys((*foreign_code, *hints.link)))
        self._use_cache = use_cache
        self._texts: dict[tuple[CudaTarget, tuple[int, bool]], PtxCode] = {}
        self._loaded: dict[tuple[CudaDriver, int, tuple[int, bool]], LoadedKernel] = {}
        self._by_text: dict[tuple[CudaDriver, int, str], LoadedKernel] = {}
        self._lock = Lock()

    def ptx(self, target: CudaTarget, alignment: Alignment) -> str:
        """Return the PTX of a variant for a target, compiled if need be."""
        key = (target, alignment.key)
        with self._lock:
            found = self._texts.get(key)
            if found is None:
                text = self._emit(target, self._entry, alignment)
                if config.dump_ir:
                    sys.stderr.write(f"; {self._name}, {target}\n{text}\n")
                found = self._texts[key] = find_ptx(
                    text,
                    target,
                    fastmath=self._fastmath,
                    optimization=self._optimization,
                    use_cache=self._use_cache,
                )
            self._newest = alignment
            return found.text

    def target(self, compute_capability: tuple[int, int]) -> CudaTarget:
        """Return what is compiled for a device."""
        return known_target(
            compute_capability,
            max_registers=self._hints.max_registers,
            max_threads_per_block=self._hints.max_threads_per_block,
            min_blocks=self._hints.min_blocks,
        )

    def load(self, driver: CudaDriver, alignment: Alignment | None = None) -> LoadedKernel:
        """Return a variant on the calling thread's device, loaded if need be.

        Parameters
        ----------
        driver : CudaDriver
            The driver.
        alignment : Alignment, optional
            The variant; without one, the newest.
        """
        alignment = alignment or self._newest
        ordinal = driver.current_ordinal()
        key = (driver, ordinal, alignment.key)
        found = self._loaded.get(key)
        if found is None:
            capability = driver.device_properties(ordinal).compute_capability
            text = self.ptx(self.target(capability), alignment)
            with self._lock:
                # Variants may turn out to be the same program.
                same = (driver, ordinal, text)
                found = self._by_text.get(same)
                if found is None:
                    code = self._link(driver, text.encode())
                    function = driver.load_image(code, self._entry, self._image_options)
                    found = self._by_text[same] = LoadedKernel(driver, function)
                self._loaded[key] = found
        return found

    def _link(self, driver: CudaDriver, code: bytes) -> bytes:
        """Return the code together with that in other languages."""
        if not self._foreign_code:
            return code
        own = ForeignCode("ptx", f"the kernel {self._name}", code)
        return driver.link_code([own, *self._foreign_code], self._image_options)

    # ------------------------------------------------------------------------------ inspection

    @property
    def cache_answers(self) -> list[bool | None]:
        """Of each text, whether it was found in the cache on disk; None if nobody looked there."""
        return [found.was_cached for found in list(self._texts.values())]

    def used(self) -> dict[tuple[int, bool], str]:
        """Return the PTX of each variant used so far, by `Alignment.key`."""
        newest = self._newest_target()
        texts = list(self._texts.items())  # other threads may add to them
        found = {key: code.text for (target, key), code in texts if target == newest}
        return found or {self._newest.key: self.assembly_text()}

    def llvm_text(self) -> str:
        """Return the optimized LLVM IR of the newest text."""
        target = self._newest_target()
        return optimized_text(
            self._emit(target, self._entry, self._newest),
            target,
            fastmath=self._fastmath,
            optimization=self._optimization,
        )

    def assembly_text(self) -> str:
        """Return the newest PTX."""
        return self.ptx(self._newest_target(), self._newest)

    def _newest_target(self) -> CudaTarget:
        """Return what was compiled for last, or what the calling thread's device needs."""
        if self._texts:
            return list(self._texts)[-1][0]
        driver = current_driver()
        if driver.name != "cuda":
            return self.target(OLDEST)
        cuda_driver: CudaDriver = driver  # type: ignore[assignment]
        properties = driver.device_properties(cuda_driver.current_ordinal())
        return self.target(properties.compute_capability)
