"""The generators of the CUDA back end: those of the vendor's library, on device memory."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from pygpulib._bindings.curand import open_curand
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.device import Device, current_device
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.ordering import order_after
from pygpulib.errors import ArgumentError, DeviceMismatchError
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, gridDim, threadIdx
from pygpulib.rand.binomial import cumulative
from pygpulib.rand.compiling import Value, kernel
from pygpulib.rand.engine import BaseEngine, foreign_state
from pygpulib.rand.history import MAX_EVENTS, Setting
from pygpulib.rand.poisson_tables import find_in_cumulative, guide_to
from pygpulib.rand.request import Distribution, Request, make_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.rand.engine import AnyArray, EngineState
    from pygpulib.rand.kinds import Kind, Ordering

_FUNCTIONS = {
    (Distribution.RAW, "uint32"): "curandGenerate",
    (Distribution.RAW, "uint64"): "curandGenerateLongLong",
    (Distribution.UNIFORM, "float32"): "curandGenerateUniform",
    (Distribution.UNIFORM, "float64"): "curandGenerateUniformDouble",
    (Distribution.NORMAL, "float32"): "curandGenerateNormal",
    (Distribution.NORMAL, "float64"): "curandGenerateNormalDouble",
    (Distribution.LOGNORMAL, "float32"): "curandGenerateLogNormal",
    (Distribution.LOGNORMAL, "float64"): "curandGenerateLogNormalDouble",
    (Distribution.POISSON, "uint32"): "curandGeneratePoisson",
}

_SETTERS = {
    Setting.SEED: "curandSetPseudoRandomGeneratorSeed",
    Setting.OFFSET: "curandSetGeneratorOffset",
    Setting.ORDERING: "curandSetGeneratorOrdering",
    Setting.DIMENSIONS: "curandSetQuasiRandomGeneratorDimensions",
}

_THREADS = 256
_MAX_BLOCKS = 1024


@kernel
def _invert(uniform: Value, shift: Value, sums: Value, guide: Value, out: Value) -> None:
    """Write the quantiles of a discrete distribution for uniform numbers."""
    first = blockIdx.x * blockDim.x + threadIdx.x
    for i in range(first, out.size, gridDim.x * blockDim.x):
        place = np.uint64(i)
        out[place] = find_in_cumulative(uniform[place], shift, sums, guide)


class CurandEngine(BaseEngine):
    """A generator of cuRAND, on the device that is current when it is made.

    Notes
    -----
    The library does not tell the state of its generators. Their states are therefore histories,
    and :meth:`set_state` repeats one.
    """

    fills_host_memory = False
    has_history = True

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._library = open_curand("a random generator on a GPU")
        self._device: Device = current_device()
        self._driver = cast("CudaDriver", self._device.driver)
        self._stream = 0
        context = self._driver.contexts.current()
        self._handle = ctypes.c_void_p()
        self._library.curandCreateGenerator(ctypes.byref(self._handle), int(kind))
        destroy = partial(self._library.curandDestroyGenerator, self._handle)
        # Finalizers must not call the library: it may wait for the device.
        self._retire: Callable[[], None] = partial(context.retirement.add, context.handle, destroy)

    def __del__(self) -> None:
        retire = getattr(self, "_retire", None)
        if retire is not None:
            retire()

    # --------------------------------------------------------------------------- settings

    def set_seed(self, seed: int) -> None:
        """Start from another seed, as cuRAND does it."""
        super().set_seed(seed)
        self._tell(Setting.SEED, self.seed)

    def set_offset(self, offset: int) -> None:
        """Go to a position."""
        super().set_offset(offset)
        self._tell(Setting.OFFSET, self.offset)

    def set_ordering(self, ordering: Ordering) -> None:
        """Put the sub-sequences together in another order, as cuRAND does it."""
        super().set_ordering(ordering)
        self._tell(Setting.ORDERING, int(self.ordering))

    def set_dimensions(self, dimensions: int) -> None:
        """Set the number of dimensions of a quasi-random generator."""
        super().set_dimensions(dimensions)
        self._tell(Setting.DIMENSIONS, self.dimensions)

    def _tell(self, setting: Setting, value: int) -> None:
        """Set something of the library's generator."""
        with self._device:
            own = self._driver.contexts.current().pending.own
        # Other streams than the package's, which knows when they end, may no longer exist.
        with self._queueing(self._stream if self._stream in own else DEFAULT_STREAM):
            getattr(self._library, _SETTERS[setting])(self._handle, value)

    def _restart(self, *, keep_position: bool) -> None:
        """Leave it to the library."""

    # ---------------------------------------------------------------------------- numbers

    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:
        """Write the next numbers; see :meth:`Engine.fill`."""
        assert isinstance(out, ndarray)
        self.check(request)
        if out.device_ordinal != self._device.id:
            raise DeviceMismatchError(
                f"an array of device {out.device_ordinal} was to be filled by a generator of "
                f"device {self._device.id}",
                help="make another generator while that device is current",
            )
        if not out.size:
            return
        self.check_size(out.size)
        if request.distribution is Distribution.BINOMIAL:
            self._fill_binomial(request, out, stream)
        elif out.size % 2 and self.needs_pairs(request):
            self._fill_odd(request, out, stream)
        else:
            self._generate(request, out, stream)

    def _fill_odd(self, request: Request, out: ndarray, stream: int) -> None:
        """Write all but one number in place, and that from a pair."""
        whole = out.size - 1
        if whole:
            self._generate(request, out[:whole], stream)  # type: ignore[arg-type]
        pair = device_array(2, out.dtype, stream=stream)
        self._generate(request, pair, stream)
        out[whole:].copy_to_device(pair[:1], stream=stream)  # type: ignore[union-attr]

    def _fill_binomial(self, request: Request, out: ndarray, stream: int) -> None:
        """Write the quantiles of uniform numbers, for which the library has no function."""
        uniform = device_array(out.size, np.float64, stream=stream)
        self._generate(make_request(Distribution.UNIFORM, "float64"), uniform, stream)
        shift, sums = cumulative(int(request.parameters[0]), request.parameters[1])
        blocks = min(-(-out.size // _THREADS), _MAX_BLOCKS)
        table, guide = (to_device(each, stream=stream) for each in (sums, guide_to(sums)))
        _invert[blocks, _THREADS, stream](uniform, float(shift), table, guide, out)

    def _generate(self, request: Request, out: ndarray, stream: int) -> None:
        """Call the library's function."""
        function = getattr(self._library, _FUNCTIONS[request.distribution, request.dtype])
        with self._queueing(stream):
            order_after([out.buffer], stream)
            function(self._handle, out.address, out.size, *request.parameters)
        self.note_numbers(request, out.size)

    @contextmanager
    def _queueing(self, stream: int) -> Iterator[None]:
        """Return a context in which the library queues work of this generator on a stream."""
        with self._device:
            if stream != self._stream:
                # The generator's state must not change before another stream is done with it.
                # That stream may no longer exist, so all are waited for.
                self._driver.synchronize()
            context = self._driver.contexts.current()
            if stream not in context.pending.own:
                context.pending.prepare(stream)
            if stream != self._stream:
                self._library.curandSetStream(self._handle, stream)
                self._stream = stream
            yield
            context.pending.mark(stream)

    # ------------------------------------------------------------------------------ state

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere.

        Raises
        ------
        ArgumentError
            If too much was asked for by turns.
        """
        state = self._state(())
        if state.history is None:
            raise ArgumentError(
                f"the state of a generator {self.rules.name} is not known any more",
                detail=f"by turns, more than {MAX_EVENTS} times something else was asked of it "
                "since it was started",
                help="start it anew now and then, with an offset or else with another seed, or use "
                "rand.Generator",
            )
        return state

    def set_state(self, state: EngineState) -> None:
        """Go on from a state of an engine of the same kind and back end."""
        self._check_kind(state)
        if state.history is None:
            raise foreign_state(state)
        fresh = type(self)(self.kind)
        fresh.repeat(state.history)
        self.__dict__, fresh.__dict__ = fresh.__dict__, self.__dict__

    def _scratch(self, size: int, dtype: str) -> AnyArray:
        return device_array(size, dtype)


def create(kind: Kind) -> CurandEngine:
    """Return a new generator that fills arrays in the memory of the current device.

    Parameters
    ----------
    kind : Kind
        Which one.
    """
    return CurandEngine(kind)
