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
from pygpulib.errors import ArgumentError, DeviceMismatchError
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, gridDim, threadIdx
from pygpulib.rand.binomial import cumulative
from pygpulib.rand.compiling import Value, kernel
from pygpulib.rand.engine import BaseEngine
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

# What happened to a generator, as the state tells it: a word for what, and a number.
_SEED, _OFFSET, _ORDERING, _DIMENSIONS, _FILL = range(5)

# The requests that stand for all of their kind when numbers are generated once more.
_POISSON_BY_NORMALS = 2000.0
_REPLAYED = (
    make_request(Distribution.UNIFORM, "float32"),
    make_request(Distribution.UNIFORM, "float64"),
    make_request(Distribution.NORMAL, "float32", 0.0, 1.0),
    make_request(Distribution.NORMAL, "float64", 0.0, 1.0),
    make_request(Distribution.POISSON, "uint32", _POISSON_BY_NORMALS),
)
_REPLAY_SIZE = 1 << 22
_MAX_EVENTS = 1 << 14

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
    The library does not tell the state of its generators. What was asked since the last offset is
    therefore noted, and :meth:`set_state` asks for it once more. Programs that never set an offset
    must not fill the memory with notes, so these end after some thousands.
    """

    fills_host_memory = False

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._library = open_curand("a random generator on a GPU")
        self._device: Device = current_device()
        self._driver = cast("CudaDriver", self._device.driver)
        self._stream = 0
        self._history: list[tuple[int, int, int]] = []
        self._has_forgotten = False
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
        self._tell(_SEED, self.seed)

    def set_offset(self, offset: int) -> None:
        """Go to a position."""
        super().set_offset(offset)
        # Only what was set counts from here on.
        self._keep_settings()
        self._has_forgotten = False
        self._tell(_OFFSET, self.offset)

    def set_ordering(self, ordering: Ordering) -> None:
        """Put the sub-sequences together in another order, as cuRAND does it."""
        super().set_ordering(ordering)
        self._tell(_ORDERING, int(self.ordering))

    def set_dimensions(self, dimensions: int) -> None:
        """Set the number of dimensions of a quasi-random generator."""
        super().set_dimensions(dimensions)
        self._tell(_DIMENSIONS, self.dimensions)

    def _tell(self, what: int, value: int) -> None:
        """Set something of the library's generator."""
        name = {
            _SEED: "curandSetPseudoRandomGeneratorSeed",
            _OFFSET: "curandSetGeneratorOffset",
            _ORDERING: "curandSetGeneratorOrdering",
            _DIMENSIONS: "curandSetQuasiRandomGeneratorDimensions",
        }[what]
        with self._queueing(self._stream):
            getattr(self._library, name)(self._handle, value)
        self._append((what, value, 0))

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

    def needs_pairs(self, request: Request) -> bool:
        """Whether the library only makes even numbers of what is asked for."""
        is_normal = request.distribution in {Distribution.NORMAL, Distribution.LOGNORMAL}
        return self.rules.pairs_normals and is_normal

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
            function(self._handle, out.gpu_data.address, out.size, *request.parameters)
        self._note(_index_of(request), out.size)

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

    def _note(self, index: int, size: int) -> None:
        last = self._history[-1] if self._history else (-1, 0, 0)
        if last[:2] == (_FILL, index):
            self._history[-1] = (_FILL, index, last[2] + size)
        elif not self._has_forgotten:
            self._append((_FILL, index, size))

    def _append(self, event: tuple[int, int, int]) -> None:
        if len(self._history) >= _MAX_EVENTS:
            self._has_forgotten |= any(what == _FILL for what, _, _ in self._history)
            self._keep_settings()
        if not (self._has_forgotten and event[0] == _FILL):
            self._history.append(event)

    def _keep_settings(self) -> None:
        """Forget all but the last setting of each kind."""
        settings = {each[0]: each for each in self._history if each[0] not in (_FILL, _OFFSET)}
        self._history = list(settings.values())

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere.

        Raises
        ------
        ArgumentError
            If too much was asked for by turns.
        """
        if self._has_forgotten:
            raise ArgumentError(
                f"the state of a generator {self.rules.name} is not known any more",
                detail=f"by turns, more than {_MAX_EVENTS} times something else was asked of it "
                "since its offset was set",
                help="set its offset now and then, or use rand.Generator, whose state is short",
            )
        return self._state(tuple(number for event in self._history for number in event))

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned, on the same back end."""
        if state.memory or len(state.position) % 3:
            raise ArgumentError(
                "the state of a generator comes from another back end",
                help="use a generator of the same kind on the back end that the state is of",
            )
        fresh = type(self)(self.kind)
        fresh._take_settings(state)
        for what, value, size in zip(*[iter(state.position)] * 3, strict=True):
            if what == _FILL:
                fresh._replay(_REPLAYED[value], size)
            else:
                fresh._tell(what, value)
        fresh._take_settings(state)
        self.__dict__, fresh.__dict__ = fresh.__dict__, self.__dict__

    def _replay(self, request: Request, size: int) -> None:
        """Generate numbers that nobody wants."""
        step = _REPLAY_SIZE - _REPLAY_SIZE % self.dimensions
        numbers = device_array(min(size, step), request.dtype)
        for begin in range(0, size, step):
            part = numbers[: min(step, size - begin)]
            self._generate(request, part, 0)  # type: ignore[arg-type]


def _index_of(request: Request) -> int:
    """Return which of the requests above changes the state of a generator like another one."""
    single = request.dtype == "float32"
    match request.distribution:
        case Distribution.UNIFORM:
            return 0 if single else 1
        case Distribution.NORMAL | Distribution.LOGNORMAL:
            return 2 if single else 3
        case Distribution.POISSON if request.parameters[0] >= _POISSON_BY_NORMALS:
            return 4
        case _:
            return 0


def create(kind: Kind) -> CurandEngine:
    """Return a new generator that fills arrays in the memory of the current device.

    Parameters
    ----------
    kind : Kind
        Which one.
    """
    return CurandEngine(kind)
