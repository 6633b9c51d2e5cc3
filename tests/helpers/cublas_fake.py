"""A cuBLAS on the fake driver: the true calls of ctypes, computed with formulas.

Device memory of the fake driver is memory of the process under the same addresses. What a routine
does is queued on the fake stream, and its arrays must lie in device memory.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings import cublas
from pygpulib._bindings.library import Library
from pygpulib.blas import cuda_functions, cuda_lt
from pygpulib.blas.cuda_functions import function_name, routine_functions
from pygpulib.blas.routines import DTYPES, MIXED_ROUTINES, ROUTINES, Form
from tests.fakecuda.driver.fake import without_collection
from tests.helpers import blas_reference
from tests.helpers.cublas_batches import FACTORIZATIONS, MIXED, PRODUCTS, Batches
from tests.helpers.cublaslt_fake import FakeCublasLt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from tests.fakecuda.driver import FakeCuda

LETTERS = {
    "trans": {0: "N", 1: "T", 2: "C"},
    "transa": {0: "N", 1: "T", 2: "C"},
    "transb": {0: "N", 1: "T", 2: "C"},
    "uplo": {0: "L", 1: "U"},
    "side": {0: "L", 1: "R"},
    "diag": {0: "N", 1: "U"},
}
NUMBERS = ("alpha", "beta", "c", "s")
OTHERS = {
    "cublasCreate_v2": "create",
    "cublasDestroy_v2": "destroy",
    "cublasGetVersion_v2": "tell_version",
    "cublasSetStream_v2": "set_stream",
    "cublasSetWorkspace_v2": "set_workspace",
    "cublasSetPointerMode_v2": "set_pointer_mode",
    "cublasSetMathMode": "set_math_mode",
    "cublasSetAtomicsMode": "set_atomics_mode",
}
NOT_INITIALIZED, INVALID_VALUE = 1, 7


class RefusedError(Exception):
    """A call that returns a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class State:
    """What a handle holds."""

    def __init__(self) -> None:
        self.stream = 0
        self.mode = 0
        self.math = 0
        self.workspace = 0


class FakeCublas(Batches):
    """Stands in for the open library.

    Attributes
    ----------
    calls : list
        Names and streams of the routines that were called.
    modes, maths, atomics : list of int
        The pointer modes, math modes and atomics modes that were set.
    created : list of int
        The handles.
    refused, refused_next : dict
        Statuses of functions that are to fail, always and the next times.
    workspaces : set of str
        Descriptions of the memory that handles were given.
    light : FakeCublasLt
        The library for products with finished elements.
    """

    _name = "libcublas.fake"

    def __init__(self, driver: FakeCuda) -> None:
        super().__init__(driver)
        self.light = FakeCublasLt(driver)
        self.calls: list[tuple[str, int]] = []
        self.states: dict[int, State] = {}
        self.modes: list[int] = []
        self.maths: list[int] = []
        self.created: list[int] = []
        self.atomics: list[int] = []
        self.refused: dict[str, int] = {}
        self.refused_next: dict[str, list[int]] = {}
        self.workspaces: set[str] = set()
        self._numbers = itertools.count(0x7000_0000, 0x10)
        self._kept: dict[str, Any] = {}
        self._routines = {
            function_name(routine, letter, is_long): (routine, letter)
            for routine in (*ROUTINES.values(), *MIXED_ROUTINES.values())
            for letter in routine.names
            for is_long in (False, True)
        }
        self._batches = {
            f"cublas{letter}{name}{suffix}": (name, letter)
            for name in (*PRODUCTS, *FACTORIZATIONS)
            for letter in DTYPES
            for suffix in ("", "_64")
        }
        self._table = {**cublas.FUNCTIONS, **routine_functions()}

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            if name not in self._table:
                raise AttributeError(name)
            types = self._table[name].arguments
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *types)
            self._kept[name] = prototype(self._entry(name))
        return self._kept[name]

    def _entry(self, name: str) -> Any:
        def entry(*arguments: Any) -> int:
            if name in self.refused:
                return self.refused[name]
            if self.refused_next.get(name):
                return self.refused_next[name].pop()
            try:
                with self.driver.system.lock, without_collection():
                    if name in self._routines:
                        self._run(name, *arguments)
                    elif name in self._batches:
                        handle, *rest = arguments
                        self.run_batch(name, self._state(handle), *self._batches[name], *rest)
                    elif name.removesuffix("_64") in MIXED:
                        self.run_mixed(name, self._state(arguments[0]), *arguments[1:])
                    else:
                        getattr(self, OTHERS[name])(*arguments)
            except RefusedError as refusal:
                return refusal.status
            except Exception:
                self.driver.internal_errors.append(f"{name}: {traceback.format_exc()}")
                return 14
            return 0

        return entry

    def _state(self, handle: int | None) -> State:
        if handle not in self.states:
            raise RefusedError(NOT_INITIALIZED)
        return self.states[handle]

    # ------------------------------------------------------------------------------ handles

    def create(self, handle: Any) -> None:
        self.driver.system.current()
        handle[0] = next(self._numbers)
        self.states[handle[0]] = State()
        self.created.append(handle[0])

    def destroy(self, handle: int | None) -> None:
        self._state(handle)
        del self.states[handle]

    def tell_version(self, handle: int | None, version: Any) -> None:
        version[0] = 131000

    def set_stream(self, handle: int | None, stream: int | None) -> None:
        state = self._state(handle)
        state.stream = stream or 0
        state.workspace = 0

    def set_workspace(self, handle: int | None, address: int, size: int) -> None:
        # It may be memory that the stream has still to allocate.
        block = self.driver.system.blocks.containing(address, size)
        assert block is not None
        self.workspaces.add(repr(block))
        self._state(handle).workspace = address

    def set_pointer_mode(self, handle: int | None, mode: int) -> None:
        self._state(handle).mode = mode
        self.modes.append(mode)

    def set_math_mode(self, handle: int | None, mode: int) -> None:
        self._state(handle).math = mode
        self.maths.append(mode)

    def set_atomics_mode(self, handle: int | None, mode: int) -> None:
        self._state(handle)
        self.atomics.append(mode)

    # ----------------------------------------------------------------------------- routines

    def _run(self, name: str, handle: int | None, *arguments: Any) -> None:
        state = self._state(handle)
        assert state.workspace, "the workspace was not set after the stream"
        routine, letter = self._routines[name]
        native = dict(zip(routine.native, arguments, strict=True))
        on_device = state.mode == 1
        self.calls.append((name, state.stream))
        scalars = None if on_device else self._scalars(routine, letter, native)
        stream = self.driver.system.stream(state.stream)

        def run() -> None:
            numbers = scalars or self._scalars(routine, letter, native, on_device=True)
            self._compute(routine, letter, native, numbers)
            if on_device:
                after = self._scalars(routine, letter, native, on_device=True)
                assert repr(after) == repr(numbers), "an output lies where numbers do"

        work = self.driver.system.work.submit(stream, name, run)
        if routine.returns_number:
            self.driver.system.work.drain(work)

    def submit(self, name: str, state: Any, step: Any) -> None:
        assert state.workspace, "the workspace was not set after the stream"
        self.calls.append((name, state.stream))
        self.driver.system.work.submit(self.driver.system.stream(state.stream), name, step)

    def _scalars(
        self, routine: Any, letter: str, native: dict[str, Any], on_device: bool = False
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        dtype = np.dtype(DTYPES[letter])
        for name, value in native.items():
            if name in LETTERS:
                if value not in LETTERS[name]:
                    raise RefusedError(INVALID_VALUE)
                found[name] = LETTERS[name][value]
            elif name in NUMBERS:
                is_real = name in routine.real_numbers
                element = np.zeros(0, dtype).real.dtype if is_real else dtype
                if on_device:
                    self.check(value, element.itemsize)
                    self.check_alignment(value, element)
                found[name] = self.view(value, (1,), (element.itemsize,), element)[0].item()
            elif name == "param":
                found[name] = self.view(value, (5,), (dtype.itemsize,), dtype).copy()
            elif name in ("m", "n", "k", "kl", "ku"):
                if value < 0:
                    raise RefusedError(INVALID_VALUE)
                found[name] = value
        return found

    def _compute(
        self, routine: Any, letter: str, native: dict[str, Any], values: dict[str, Any]
    ) -> None:
        dtype = np.dtype(DTYPES[letter])
        views = {
            operand.name: self._array(operand, native, values, dtype)
            for operand in routine.operands
        }
        wide = "c16" if dtype.kind == "c" else "f8"
        given = values | {name: view.astype(wide) for name, view in views.items()}
        name = {"rscal": "scal", "rrot": "rot"}.get(routine.name, routine.name)
        if routine.returns_number:
            result = blas_reference.number(name, given) if given["n"] else 0
            is_index = name in ("amax", "amin")
            kind = np.zeros(0, dtype).real.dtype if name in ("nrm2", "asum") else dtype
            kind = np.dtype(np.int32) if is_index else kind
            self.view(native["result"], (1,), (8,), kind)[0] = result + is_index
            return
        for target, made in blas_reference.outputs(name, given).items():
            views[target][...] = made

    def _array(
        self, operand: Any, native: dict[str, Any], values: dict[str, Any], dtype: Any
    ) -> Any:
        shape = self._shape(operand, native, values)
        itemsize = dtype.itemsize
        address = native[operand.name]
        if operand.form is Form.VECTOR:
            step = native[operand.stride]
            strides = (step * itemsize,)
            if step < 0:
                address -= (shape[0] - 1) * strides[0]
        elif operand.form is Form.PACKED:
            strides = (itemsize,)
        else:
            leading = native[operand.stride]
            if leading < max(shape[0], 1):
                raise AssertionError(f"{operand.stride} is {leading} for {shape}")
            strides = (itemsize, leading * itemsize)
        self.check_span(address, shape, strides, itemsize)
        self.check_alignment(address, dtype)
        return self.view(address, shape, strides, dtype)

    def _shape(self, operand: Any, native: dict[str, Any], values: dict[str, Any]) -> Any:
        m, n, k = (native.get(name, 0) for name in "mnk")
        is_plain = values.get("trans", "N") == "N"
        table = {
            "m": m,
            "n": n,
            "k": k,
            "rows": m if is_plain else n,
            "cols": n if is_plain else m,
            "order": m if values.get("side") == "L" else n,
            "band": native["kl"] + native["ku"] + 1 if "kl" in native else k + 1,
            "packed": n * (n + 1) // 2,
        }
        shape = tuple(table[name] for name in operand.lengths)
        return shape[::-1] if operand.op and values[operand.op] != "N" else shape


def replace_cublas(monkeypatch: pytest.MonkeyPatch, driver: FakeCuda) -> FakeCublas:
    """Make the package use a fake library with a fake driver, for the time of a test."""
    fake = FakeCublas(driver)
    monkeypatch.setattr(cuda_functions, "open_cublas", _opener(fake))
    monkeypatch.setattr(cuda_lt, "open_cublaslt", _light_opener(fake))
    return fake


@contextmanager
def cublas_in_use(driver: FakeCuda) -> Iterator[FakeCublas]:
    """Make the package use a fake library with a fake driver, inside of a block."""
    fake = FakeCublas(driver)
    before = cuda_functions.open_cublas, cuda_lt.open_cublaslt
    cuda_functions.open_cublas = _opener(fake)  # type: ignore[assignment]
    cuda_lt.open_cublaslt = _light_opener(fake)
    try:
        yield fake
    finally:
        cuda_functions.open_cublas, cuda_lt.open_cublaslt = before


def _opener(fake: FakeCublas) -> Callable[[], Library]:
    functions = {**cublas.FUNCTIONS, **routine_functions()}

    def check_status(name: str, status: int) -> None:
        if status:
            raise cublas.error_of(status, functions[name].action, name)

    library = Library("cuBLAS", fake, functions, check_status, "fake")  # type: ignore[arg-type]
    return lambda: library


def _light_opener(fake: FakeCublas) -> Callable[[], Library]:
    library = fake.light.open()
    return lambda: library
