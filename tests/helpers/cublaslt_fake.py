"""A cublasLt on the fake driver: it computes what descriptors say, with NumPy.

The numbers of attributes, their sizes and defaults are those of the vendor's header, written down
here once more: nothing of the package's tables is used but the prototypes.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings import cublaslt
from pygpulib._bindings.library import Library
from tests.fakecuda.driver.fake import without_collection
from tests.helpers import blas_reference
from tests.helpers.cublas_batches import COMPUTE_TYPES, DATA_TYPES, OPERATIONS
from tests.helpers.simulated_memory import SimulatedMemory

if TYPE_CHECKING:
    from tests.fakecuda.driver import FakeCuda

NOT_INITIALIZED, ALLOC_FAILED, INVALID_VALUE, NOT_SUPPORTED = 1, 3, 7, 15
# By number: name, bytes, default.
DESCRIPTION = {
    2: ("pointer_mode", 4, 0),
    3: ("transa", 4, 0),
    4: ("transb", 4, 0),
    7: ("epilogue", 4, 1),
    8: ("bias", 8, 0),
}
LAYOUT = {1: ("order", 4, 0), 5: ("count", 4, 1), 6: ("distance", 8, 0)}
PREFERENCE = {
    1: ("workspace", 8, 0),
    3: ("reductions", 4, 7),
    5: ("A", 4, 256),
    6: ("B", 4, 256),
    7: ("C", 4, 256),
    8: ("D", 4, 256),
}
BIAS, RELU, GELU = 4, 2, 32
EPILOGUES = {1, RELU, BIAS, RELU | BIAS, GELU, GELU | BIAS}
# What alpha and beta are for an arithmetic.
SCALE_TYPES = {64: 2, 65: 2, 68: 0, 69: 0, 70: 1, 71: 1, 72: 10, 74: 0, 75: 0, 77: 0}
NEEDED_WORKSPACE = 1024


class RefusedError(Exception):
    """A call that returns a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def make_matrix(memory: SimulatedMemory, layout: dict[str, Any], address: int, i: int) -> Any:
    """Return a matrix of a stack as its layout says."""
    dtype = np.dtype(DATA_TYPES[layout["type"]])
    rows, columns, leading = layout["rows"], layout["columns"], layout["leading"]
    place = address + i * layout["distance"] * dtype.itemsize
    if layout["order"] == 1:
        return memory.matrix(place, columns, rows, leading, dtype).T
    return memory.matrix(place, rows, columns, leading, dtype)


class FakeCublasLt(SimulatedMemory):
    """Stands in for the open library.

    Attributes
    ----------
    calls : list
        Names and streams of the products that were queued.
    products : list of dict
        What was asked for.
    searches : int
        How often an algorithm was looked for.
    offers : callable
        Whether there is an algorithm for a product.
    refused : dict
        Statuses of functions that are to fail, and how often.
    alive : dict
        Handles and descriptors that were not given back.
    """

    _name = "libcublasLt.fake"

    def __init__(self, driver: FakeCuda) -> None:
        super().__init__(driver)
        self.calls: list[tuple[str, int]] = []
        self.products: list[dict[str, Any]] = []
        self.searches = 0
        self.offers = lambda _: True
        self.refused: dict[str, list[int]] = {}
        self.alive: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(0x7200_0000, 0x10)
        self._algorithms: dict[int, Any] = {}
        self._kept: dict[str, Any] = {}

    def open(self) -> Library:
        return Library("cublasLt", self, cublaslt.FUNCTIONS, cublaslt.check_status, "fake")  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            function = cublaslt.FUNCTIONS[name]
            prototype = ctypes.CFUNCTYPE(function.result, *function.arguments)
            self._kept[name] = prototype(self._entry(name))
        return self._kept[name]

    def _entry(self, name: str) -> Any:
        kind = name.removeprefix("cublasLt")

        def entry(*arguments: Any) -> int:
            if self.refused.get(name):
                return self.refused[name].pop()
            try:
                with self.driver.system.lock, without_collection():
                    return getattr(self, kind)(*arguments) or 0
            except RefusedError as refusal:
                return refusal.status
            except Exception:
                self.driver.internal_errors.append(f"{name}: {traceback.format_exc()}")
                return 14

        return entry

    def _make(self, kind: str, place: Any, **values: Any) -> None:
        place[0] = next(self._numbers)
        self.alive[place[0]] = {"kind": kind, **values}

    def _find(self, kind: str, number: int | None) -> dict[str, Any]:
        found = self.alive.get(number or 0)
        if found is None or found["kind"] != kind:
            raise RefusedError(NOT_INITIALIZED if kind == "handle" else INVALID_VALUE)
        return found

    def _drop(self, kind: str, number: int | None) -> None:
        self._find(kind, number)
        del self.alive[number or 0]

    def _set(
        self, kind: str, table: Any, number: int, attribute: int, value: int, size: int
    ) -> None:
        name, wanted, _ = table[attribute]
        if size != wanted:
            raise RefusedError(INVALID_VALUE)
        kinds = {4: ctypes.c_int32, 8: ctypes.c_int64}
        self._find(kind, number)[name] = kinds[size].from_address(value).value

    # ---------------------------------------------------------------------- the C functions

    def Create(self, handle: Any) -> None:  # noqa: N802
        self.driver.system.current()
        self._make("handle", handle)

    def Destroy(self, handle: int | None) -> None:  # noqa: N802
        self._drop("handle", handle)

    def GetVersion(self) -> int:  # noqa: N802
        return 131000

    def MatmulDescCreate(self, place: Any, compute: int, scale: int) -> None:  # noqa: N802
        defaults = {name: default for name, _, default in DESCRIPTION.values()}
        self._make("product", place, compute=compute, scale=scale, **defaults)

    def MatmulDescDestroy(self, number: int | None) -> None:  # noqa: N802
        self._drop("product", number)

    def MatmulDescSetAttribute(self, *arguments: Any) -> None:  # noqa: N802
        self._set("product", DESCRIPTION, *arguments)

    def MatrixLayoutCreate(  # noqa: N802
        self, place: Any, kind: int, rows: int, columns: int, leading: int
    ) -> None:
        defaults = {name: default for name, _, default in LAYOUT.values()}
        values = {"type": kind, "rows": rows, "columns": columns, "leading": leading}
        self._make("matrix", place, **values, **defaults)

    def MatrixLayoutDestroy(self, number: int | None) -> None:  # noqa: N802
        self._drop("matrix", number)

    def MatrixLayoutSetAttribute(self, *arguments: Any) -> None:  # noqa: N802
        self._set("matrix", LAYOUT, *arguments)

    def MatmulPreferenceCreate(self, place: Any) -> None:  # noqa: N802
        defaults = {name: default for name, _, default in PREFERENCE.values()}
        self._make("preference", place, **defaults)

    def MatmulPreferenceDestroy(self, number: int | None) -> None:  # noqa: N802
        self._drop("preference", number)

    def MatmulPreferenceSetAttribute(self, *arguments: Any) -> None:  # noqa: N802
        self._set("preference", PREFERENCE, *arguments)

    def MatmulAlgoGetHeuristic(  # noqa: N802
        self, handle: Any, product: Any, *rest: Any
    ) -> None:
        *layouts, preference, wanted, results, count = rest
        self._find("handle", handle)
        described = self._describe(product, layouts)
        limits = dict(self._find("preference", preference))
        self.searches += 1
        count[0] = 0
        if wanted < 1:
            raise RefusedError(INVALID_VALUE)
        if not self.offers(described):
            raise RefusedError(NOT_SUPPORTED)
        needed = min(NEEDED_WORKSPACE, limits["workspace"])
        number = next(self._numbers)
        bias = described["product"].pop("bias")
        limits["bias"] = min(bias & -bias, 256)
        self._algorithms[number] = described, limits, needed
        results[0].algorithm.data[0] = number
        results[0].workspace_bytes = needed
        results[0].state = 0
        count[0] = 1

    def Matmul(self, handle: Any, product: Any, *rest: Any) -> None:  # noqa: N802
        alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, *rest = rest
        algorithm, workspace, size, stream = rest
        self._find("handle", handle)
        described = self._describe(product, (layout_a, layout_b, layout_c, layout_d))
        bias = described["product"].pop("bias")
        wanted, limits, needed = self._algorithms[algorithm[0].data[0]]
        assert described == wanted, "the algorithm is one for another product"
        assert size >= needed
        if needed:
            assert self.driver.system.blocks.containing(workspace, size) is not None
        for letter, address in (("A", a), ("B", b), ("C", c), ("D", d), ("bias", bias)):
            if limits[letter]:
                assert not address % limits[letter], f"{letter} is not aligned as promised"
        stream = stream or 0
        self.calls.append(("cublasLtMatmul", stream))
        self.products.append(described | {"reductions": limits["reductions"]})
        self._queue(described, (alpha, beta), (a, b, c, d), bias, stream)

    # ------------------------------------------------------------------------------ products

    def _describe(self, product: Any, layouts: Any) -> dict[str, Any]:
        """Return all that descriptors say, if it fits together."""
        found = dict(self._find("product", product))
        matrices = [dict(self._find("matrix", each)) for each in layouts]
        shapes = [(each["rows"], each["columns"]) for each in matrices]
        for i, letter in enumerate(("transa", "transb")):
            if found[letter]:
                shapes[i] = shapes[i][::-1]
        (m, k), (inner, n), *others = shapes
        counts = {each["count"] for each in matrices}
        types = [each["type"] for each in matrices]
        is_right = (
            inner == k
            and others == [(m, n)] * 2
            and len(counts) == 1
            and types[2] == types[3]
            and found["epilogue"] in EPILOGUES
            and SCALE_TYPES[found["compute"]] == found["scale"]
            and bool(found["epilogue"] & BIAS) == bool(found["bias"])
        )
        if not is_right:
            raise AssertionError(f"descriptors do not fit: {found}, {matrices}")
        return {"product": found, "matrices": matrices}

    def _queue(self, described: Any, numbers: Any, places: Any, bias: int, stream: int) -> None:
        product, matrices = described["product"], described["matrices"]
        scale = np.dtype(DATA_TYPES[product["scale"]])
        inner = COMPUTE_TYPES[product["compute"]][1]
        on_device = product["pointer_mode"] == 1
        scalars = None if on_device else [self.number(each, scale) for each in numbers]

        def run() -> None:
            alpha, beta = scalars or [self.number(each, scale, on_device=True) for each in numbers]
            for i in range(matrices[0]["count"]):
                a, b, c, d = (
                    make_matrix(self, layout, place, i)
                    for layout, place in zip(matrices, places, strict=True)
                )
                first, second = (
                    blas_reference.op(OPERATIONS[product[letter]], each).astype(inner)
                    for letter, each in (("transa", a), ("transb", b))
                )
                value = blas_reference.blend(alpha * (first @ second), beta, c.astype(inner))
                d[...] = self._finish(value, product["epilogue"], bias, d).astype(d.dtype)

        self.driver.system.work.submit(self.driver.system.stream(stream), "cublasLtMatmul", run)

    def _finish(self, value: Any, epilogue: int, bias: int, output: Any) -> Any:
        if epilogue & BIAS:
            # One element for each row of the matrix of columns.
            size, dtype = output.shape[0], output.dtype
            self.check(bias, size * dtype.itemsize)
            self.check_alignment(bias, dtype)
            value = value + self.view(bias, (size,), (dtype.itemsize,), dtype).astype("f8")[:, None]
        if epilogue & RELU:
            return np.maximum(value, 0)
        if epilogue & GELU:
            return 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi) * (value + 0.044715 * value**3)))
        return value
