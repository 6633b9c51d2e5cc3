"""Kernels: from a call to compiled code, and the code that was compiled so far."""

from __future__ import annotations

import ctypes
import functools
from contextlib import nullcontext, suppress
from math import prod
from typing import TYPE_CHECKING

from pygpulib.core.device import current_driver
from pygpulib.core.locks import Lock
from pygpulib.core.settings import settings
from pygpulib.core.stream import Stream
from pygpulib.errors import (
    ArgumentError,
    DeviceLostError,
    KernelTypeError,
    LaunchError,
    SpecializationError,
    counted,
)
from pygpulib.jit import types
from pygpulib.jit.backends.protocol import find_backend
from pygpulib.jit.declarations import parse_signature
from pygpulib.jit.inspection import Inspectable, Specialization
from pygpulib.jit.launch import (
    LaunchConfig,
    make_config,
    pack_arguments,
    warn_of_idle_processors,
)
from pygpulib.jit.launch_order import in_order, needs_order
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.overloads import TypeList, find_overload
from pygpulib.jit.signature import interpret_all, typeof
from pygpulib.jit.staging import Staging
from pygpulib.jit.transfers import Extension, apply_extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType

    from pygpulib.jit.backends.protocol import Launcher
    from pygpulib.jit.ir import ops as ir

# Threads per block where the user leaves the choice to us.
_DEFAULT_BLOCK = 256

# How many configurations a kernel remembers, and how many short cuts one configuration.
_MAX_CONFIGURED = 128
_MAX_SHORT_CUTS = 4

_NOTHING = nullcontext()


def _compile(
    py_func: FunctionType, parameter_types: TypeList, options: CompileOptions
) -> Specialization:
    from pygpulib.jit.frontend.compile import compile_function
    from pygpulib.jit.passes.pipeline import optimize

    backend = find_backend(current_driver())
    function = compile_function(py_func, parameter_types, options, py_func.__name__)
    function = optimize(function)
    compiled = backend(function, compile_composed, use_cache=options.cache, hints=options.hints)
    return Specialization(parameter_types, function, compiled)


def compile_composed(py_func: Callable[..., object], parameter_types: TypeList) -> ir.Function:
    """Compile a library function that is written in the kernel language."""
    from pygpulib.jit.frontend.compile import compile_function

    return compile_function(py_func, parameter_types, CompileOptions(fma=False), is_kernel=False)


class Kernel(Inspectable):
    """A function that runs in many threads, launched as ``kernel[grid, block](arguments)``.

    Made by `pygpulib.cuda.jit`. It is compiled for the types of the arguments when a call first
    needs it, or at once for the signatures it is declared with, and then only for these.

    Parameters
    ----------
    py_func : function
        The Python function.
    options : CompileOptions
        How to compile it.
    signatures : sequence of FunctionSignature, optional
        What to compile it for at once.

    Attributes
    ----------
    py_func : function
        The Python function.
    options : CompileOptions
        How it is compiled.
    parameters : Parameters
        What it takes.
    specialized : bool
        Whether it takes the types of one signature only.
    extensions : list of Extension
        What changes the arguments before each launch; to be set before the first one.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        py_func: FunctionType,
        options: CompileOptions,
        signatures: Sequence[types.FunctionSignature] = (),
    ) -> None:
        functools.update_wrapper(self, py_func)
        super().__init__(py_func, options, specialized=len(signatures) == 1)
        self.extensions: list[Extension] = []
        self._specialized: dict[TypeList, Kernel] = {}
        self._chosen: dict[TypeList, Specialization] = {}
        self._configured: dict[object, ConfiguredKernel] = {}
        self._declared = tuple(signatures)
        self._is_closed = False
        self._lock = Lock()
        for signature in signatures:
            self.compile(signature)
        self._is_closed = bool(signatures)

    # ------------------------------------------------------------------------------- launching

    def __getitem__(self, config: object) -> ConfiguredKernel:
        try:
            return self._configured[config]
        except (KeyError, TypeError):
            return self._configure(config)

    def configure(
        self, griddim: object, blockdim: object, stream: object = 0, sharedmem: object = 0
    ) -> ConfiguredKernel:
        """Return the kernel with a launch configuration, ready to be called.

        Parameters
        ----------
        griddim, blockdim : int or tuple of int
            Blocks of the grid, and threads of a block, along up to three axes.
        stream : Stream or 0
            Where the launch is queued.
        sharedmem : int
            Dynamic shared memory of a block in bytes.

        Returns
        -------
        ConfiguredKernel
            The same as ``kernel[griddim, blockdim, stream, sharedmem]``.
        """
        return self[griddim, blockdim, stream, sharedmem]

    def _configure(self, config: object) -> ConfiguredKernel:
        parts = config if isinstance(config, tuple) else (config,)
        if not 2 <= len(parts) <= 4:
            raise LaunchError(
                f"the kernel {self.__name__} was given {counted(len(parts), 'launch parameter')}",
                detail="must specify at least the griddim and blockdim, and at most the stream "
                "and the dynamic shared memory besides",
                help=self._example(),
            )
        table, key = self._configured, config
        stream = parts[2] if len(parts) > 2 else None
        if isinstance(stream, Stream):
            # The stream keeps what is configured for it, and ends when nobody else uses it.
            table, key = stream.configured, (self, *parts)
        try:
            return table[key]
        except (KeyError, TypeError):
            configured = ConfiguredKernel(self, make_config(*parts), stream)
        self._check_bound(configured)
        if settings.CUDA_LOW_OCCUPANCY_WARNINGS:
            warn_of_idle_processors(self.__name__, configured.config)
        # A list or an array of sizes is valid, but nothing to remember anything by.
        with suppress(TypeError):
            if len(table) >= _MAX_CONFIGURED:
                table.clear()
            table[key] = configured
        return configured

    def _check_bound(self, configured: ConfiguredKernel) -> None:
        """Refuse a block that is larger than the kernel was promised."""
        bound = self.options.hints.max_threads_per_block
        threads = prod(configured.blockdim)
        if bound and threads > bound:
            raise LaunchError(
                f"the block of a launch has {threads} threads, but the kernel {self.__name__} was "
                f"made for {bound} at most",
                detail="its option launch_bounds says so",
                help="use smaller blocks, or a larger bound",
            )

    def __call__(self, *args: object, **kwargs: object) -> None:  # noqa: ARG002
        """Refuse a call without a launch configuration."""
        raise LaunchError(
            f"launch configuration was not specified for the kernel {self.__name__}",
            detail="expected the blocks of the grid and the threads of a block in brackets",
            help=self._example(),
        )

    def _example(self) -> str:
        arguments = ", ".join(self.parameters.names)
        return (
            f"write {self.__name__}[blocks_per_grid, threads_per_block]({arguments}), for example "
            f"{self.__name__}[32, 256]({arguments})"
        )

    def forall(
        self, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        """Return a callable that launches at least as many threads as there are tasks.

        Parameters
        ----------
        ntasks : int
            Number of tasks; 0 launches nothing.
        tpb : int
            Threads per block; 0 leaves the choice to the library.
        stream : Stream or 0
            Where the launch is queued.
        sharedmem : int
            Dynamic shared memory of a block in bytes.

        Returns
        -------
        callable
            Takes the kernel's arguments. Threads past the last task have to return at once.

        Raises
        ------
        ArgumentError
            If the number of tasks is negative.
        """
        if ntasks < 0:
            raise ArgumentError(f"Can't create ForAll with negative task count: {ntasks}")
        if ntasks == 0:
            return self._launch_nothing
        largest = self.options.hints.max_threads_per_block or _DEFAULT_BLOCK
        block = tpb or min(_DEFAULT_BLOCK, largest, ntasks)
        return self[-(-ntasks // block), block, stream, sharedmem]

    def _launch_nothing(self, *args: object, **kwargs: object) -> None:
        self.parameters.bind(args, kwargs)

    # ------------------------------------------------------------------------------- compiling

    def find(self, argument_types: TypeList) -> Specialization:
        """Return the specialization for a call, compiled if need be.

        Parameters
        ----------
        argument_types : tuple of Type
            Types of the arguments.

        Raises
        ------
        LaunchTypeError
            If the kernel was compiled for given signatures and none of them fits.
        CompileError
            If the kernel cannot be compiled for these types.
        """
        found = self._chosen.get(argument_types)
        if found is None:
            if self._is_closed:
                signatures = list(self._specializations)
                chosen = find_overload(self.__name__, signatures, argument_types)
                found = self._specializations[chosen]
            else:
                found = self._specialize(argument_types)
            self._chosen[argument_types] = found
        return found

    def _specialize(self, parameter_types: TypeList) -> Specialization:
        with self._lock:
            found = self._specializations.get(parameter_types)
            if found is None:
                found = _compile(self.py_func, parameter_types, self.options)
                self._specializations[parameter_types] = found
            return found

    def compile(self, sig: object) -> Specialization:
        """Compile the kernel for a signature.

        Parameters
        ----------
        sig : FunctionSignature, tuple of Type, or str
            The parameter types, for example ``"void(float32[:], int32)"``.

        Returns
        -------
        Specialization
            The compiled kernel.

        Raises
        ------
        KernelTypeError
            If the signature returns a value or has another number of parameters.
        SpecializationError
            If the kernel was declared with signatures and this is none of them.
        """
        signature = parse_signature(sig)
        if signature.result not in (None, types.void):
            raise KernelTypeError(
                f"the kernel {self.__name__} is declared to return {signature.result}",
                detail="CUDA kernel must have void return type.",
                help="give results back through an array argument",
            )
        given = len(signature.parameters)
        if not self.parameters.accepts(given):
            raise KernelTypeError(
                f"the signature {signature} has {counted(given, 'parameter')}, and the kernel "
                f"{self.__name__} has {len(self.parameters.names)}: "
                f"{', '.join(self.parameters.names)}"
            )
        if self._is_closed and signature.parameters not in self._specializations:
            raise SpecializationError(
                f"the kernel {self.__name__} was declared with signatures and takes no others"
            )
        return self._specialize(signature.parameters)

    def specialize(self, *args: object) -> Kernel:
        """Return a kernel that takes arguments of these types only.

        Parameters
        ----------
        *args
            Arguments as a launch would get them, or types. The same types give the same kernel.
        """
        if self.specialized:
            raise SpecializationError(
                "Dispatcher already specialized",
                detail=f"the kernel {self.__name__} takes one signature only",
            )
        values = self.parameters.bind(args, {})
        parameters = tuple(
            value if isinstance(value, types.Type) else typeof(value, name, position)
            for position, (name, value) in enumerate(
                zip(self.parameters.names_of(values), values, strict=True)
            )
        )
        with self._lock:
            if parameters not in self._specialized:
                signature = types.FunctionSignature(types.void, parameters)
                self._specialized[parameters] = Kernel(self.py_func, self.options, [signature])
            return self._specialized[parameters]

    @property
    def specializations(self) -> dict[TypeList, Kernel]:
        """The kernels that :meth:`specialize` returned so far, by their parameter types."""
        return dict(self._specialized)

    def __repr__(self) -> str:
        return f"<kernel {self.__qualname__}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        from pygpulib.jit.pickling import reduce_wrapper

        rest = (self.options, self._declared, tuple(self.extensions))
        return reduce_wrapper(self, self.py_func, _rebuild_kernel, rest)


def _rebuild_kernel(
    py_func: FunctionType,
    options: CompileOptions,
    declared: tuple[types.FunctionSignature, ...],
    extensions: tuple[Extension, ...],
) -> Kernel:
    kernel = Kernel(py_func, options, declared)
    kernel.extensions.extend(extensions)
    return kernel


class ConfiguredKernel:
    """A kernel with a launch configuration: what ``kernel[grid, block]`` gives.

    Parameters
    ----------
    kernel : Kernel
        What to launch.
    config : LaunchConfig
        In how many threads, and on which stream.
    stream : object
        The stream as it was given, kept alive.
    """

    __slots__ = ("_short_cut", "_stream", "_types_seen", "config", "kernel")

    def __init__(self, kernel: Kernel, config: LaunchConfig, stream: object = None) -> None:
        self.kernel = kernel
        self.config = config
        self._stream = stream
        self._short_cut: Launcher = self.launch
        self._types_seen: dict[TypeList, bool] = {}

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Launch the kernel.

        Parameters
        ----------
        *args, **kwargs
            The kernel's arguments.

        Raises
        ------
        LaunchTypeError
            If an argument is missing or of a type that kernels do not take.
        CompileError
            If the kernel cannot be compiled for these arguments.

        Notes
        -----
        Host arrays are worked on in place where the device can address them, and else copied to
        the device before the launch and back after it.
        """
        self._short_cut(*args, **kwargs)

    @property
    def griddim(self) -> tuple[int, int, int]:
        """Blocks of the grid along each axis."""
        return self.config.shape.grid

    @property
    def blockdim(self) -> tuple[int, int, int]:
        """Threads of a block along each axis."""
        return self.config.shape.block

    @property
    def sharedmem(self) -> int:
        """Dynamic shared memory of a block in bytes."""
        return self.config.shape.shared_bytes

    def launch(self, *args: object, **kwargs: object) -> None:
        """Launch the kernel the long way, which takes arguments of all types."""
        kernel = self.kernel
        parameters = kernel.parameters
        given = parameters.bind(args, kwargs)
        if kernel.extensions:
            self._launch_extended(given)
            return
        argument_types, values = interpret_all(parameters.names_of(given), given)
        found = kernel.find(argument_types)
        self._run(found, given, values)
        self._note(argument_types, found)

    def _launch_extended(self, given: tuple[object, ...]) -> None:
        """Launch the kernel with arguments that its extensions change first."""
        kernel, stream = self.kernel, self.config.stream
        changed, after = apply_extensions(kernel.extensions, given, stream)
        argument_types, values = interpret_all(kernel.parameters.names_of(changed), changed)
        self._run(kernel.find(argument_types), changed, values)
        for action in after:
            action()

    def _run(
        self, found: Specialization, given: Sequence[object], values: Sequence[object]
    ) -> None:
        """Run a specialization; host arrays are copied where the device needs that."""
        stream = self.config.stream
        staging = Staging(stream, found.compiled.copies_host_arrays)
        words = pack_arguments(found.parameter_types, staging.replace_all(given, values))
        address = ctypes.addressof(words)
        order = in_order(given, values, stream) if needs_order(values) else _NOTHING
        try:
            with order:
                current_driver().launch(found.compiled, self.config.shape, address, stream)
        except DeviceLostError:
            # There is nothing to copy any more.
            raise
        except BaseException:
            # What the threads have done until one of them failed is seen, as in place.
            staging.copy_back()
            raise
        staging.copy_back()

    def _note(self, argument_types: TypeList, found: Specialization) -> None:
        """Make a short cut for arguments that come for the second time."""
        is_bound = self._types_seen.get(argument_types)
        if is_bound is None and len(self._types_seen) < _MAX_SHORT_CUTS:
            self._types_seen[argument_types] = False
        elif is_bound is False:
            self._types_seen[argument_types] = True
            short_cut = found.compiled.bind(
                self.config.shape,
                argument_types,
                found.parameter_types,
                self._short_cut,
                self.config.stream,
            )
            if short_cut is not None:
                self._short_cut = short_cut

    def __reduce__(self) -> tuple[object, ...]:
        shape = self.config.shape
        stream = self.config.stream
        return self.kernel.configure, (shape.grid, shape.block, stream, shape.shared_bytes)
