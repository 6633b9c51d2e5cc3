"""Products whose elements are finished in the same call: cublasLt on arrays in device memory.

The library is told of everything in descriptors, asked once which algorithm it suggests, and the
descriptors are kept for products of the same kind.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

from pygpulib._bindings import cublaslt
from pygpulib._bindings.cublaslt import DESCRIPTION, LAYOUT, PREFERENCE
from pygpulib._record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib._bindings.library import Library

    Attributes = dict[str, tuple[int, Any]]

_MOST_PLANS = 64


def open_cublaslt() -> Library | None:
    """Return the library, or None if it is not installed."""
    return cublaslt.find_cublaslt()


@record(eq=True)
class Matrix:
    """How a matrix, or a stack of them, lies in memory: columns are contiguous.

    Attributes
    ----------
    data_type : int
        The library's number of the dtype.
    rows, columns, leading : int
        Its shape, and the elements from one column to the next.
    distance : int
        Elements from one matrix to the next, 0 if there is only one.
    alignment : int
        What its address is known to be a multiple of.
    """

    data_type: int
    rows: int
    columns: int
    leading: int
    distance: int
    alignment: int


@record(eq=True)
class Kind:
    """All that decides how a product is computed; the same for many products.

    Attributes
    ----------
    compute_type, scale_type : int
        The library's numbers of the arithmetic, and of the dtype of alpha and beta.
    operations : tuple of int
        Whether the factors are transposed.
    pointer_mode : int
        Whether alpha and beta are on the host.
    epilogue : int
        What is done to the elements.
    bias_alignment : int
        What the address of the bias is a multiple of.
    count : int
        The number of products.
    matrices : tuple of Matrix
        A, B, C and D: D = f(alpha op(A) op(B) + beta C + bias).
    reduction_schemes : int
        How parts of a sum may be added.
    """

    compute_type: int
    scale_type: int
    operations: tuple[int, int]
    pointer_mode: int
    epilogue: int
    bias_alignment: int
    count: int
    matrices: tuple[Matrix, Matrix, Matrix, Matrix]
    reduction_schemes: int


@record
class Plan:
    """What the library has to be given for a kind of products.

    Attributes
    ----------
    description : c_void_p
        What is computed.
    layouts : list of c_void_p
        Where A, B, C and D are.
    suggestion : Suggestion
        The algorithm.
    """

    description: ctypes.c_void_p
    layouts: list[ctypes.c_void_p]
    suggestion: cublaslt.Suggestion


def alignment_of(address: int, most: int = 256) -> int:
    """Return the largest power of two that an address is a multiple of, up to a bound.

    Examples
    --------
    >>> alignment_of(24), alignment_of(4096)
    (8, 256)
    """
    return min(address & -address, most) if address else most


class LightHandle:
    """cublasLt's state for one device in one thread.

    Parameters
    ----------
    library : Library
        The library.

    Attributes
    ----------
    retire : callable or None
        Gives the handle up once it is no longer used.
    """

    def __init__(self, library: Library) -> None:
        self.pointer = ctypes.c_void_p()
        self.retire: Callable[[], None] | None = None
        self._library = library
        self._plans: dict[Kind, Plan | None] = {}

    def __del__(self) -> None:
        if getattr(self, "retire", None) is not None:
            assert self.retire is not None
            self.retire()

    def create(self) -> None:
        """Make the library's own handle."""
        self._library.cublasLtCreate(ctypes.byref(self.pointer))

    def destroyer(self) -> Callable[[], None]:
        """Return what gives everything up; it does not keep this object alive."""
        return partial(_destroy, self._library, self.pointer, self._plans)

    def find_plan(self, kind: Kind, bias: int, workspace_bytes: int) -> Plan | None:
        """Return how a product is computed, or None if the library cannot do it.

        Parameters
        ----------
        kind : Kind
            The product.
        bias : int
            Address of the bias, 0 if there is none.
        workspace_bytes : int
            Size of the memory that the library may use.
        """
        if kind in self._plans:
            return self._plans[kind]
        if len(self._plans) >= _MOST_PLANS:
            _forget(self._library, self._plans)
        plan = self._plans[kind] = self._make_plan(kind, bias, workspace_bytes)
        return plan

    def multiply(
        self,
        plan: Plan,
        bias: int,
        numbers: tuple[int, int],
        addresses: tuple[int, int, int, int],
        workspace: tuple[int, int],
        stream: int,
    ) -> None:
        """Queue a product.

        Parameters
        ----------
        plan : Plan
            How it is computed.
        bias : int
            Address of the bias, 0 if there is none.
        numbers : tuple of int
            Addresses of alpha and beta.
        addresses : tuple of int
            Where A, B, C and D begin.
        workspace : tuple of int
            Address and size of memory that the library may use.
        stream : int
            Where it is queued.
        """
        if bias:
            self._describe(plan.description, bias_pointer=bias)
        a, b, c, d = zip(addresses, plan.layouts, strict=True)
        self._library.cublasLtMatmul(
            self.pointer,
            plan.description,
            numbers[0],
            *a,
            *b,
            numbers[1],
            *c,
            *d,
            ctypes.byref(plan.suggestion.algorithm),
            *workspace,
            stream,
        )

    # -------------------------------------------------------------------------- descriptors

    def _make_plan(self, kind: Kind, bias: int, workspace_bytes: int) -> Plan | None:
        library = self._library
        description = ctypes.c_void_p()
        library.cublasLtMatmulDescCreate(
            ctypes.byref(description), kind.compute_type, kind.scale_type
        )
        plan = Plan(description, [], cublaslt.Suggestion())
        try:
            self._describe(
                description,
                pointer_mode=kind.pointer_mode,
                transa=kind.operations[0],
                transb=kind.operations[1],
                epilogue=kind.epilogue,
            )
            if bias:
                # Its alignment counts when an algorithm is looked for.
                self._describe(description, bias_pointer=bias)
            for matrix in kind.matrices:
                plan.layouts.append(self._lay_out(matrix, kind.count))
            is_found = self._ask(kind, plan, workspace_bytes)
        except BaseException:
            _drop(library, plan)
            raise
        if not is_found:
            _drop(library, plan)
            return None
        return plan

    def _lay_out(self, matrix: Matrix, count: int) -> ctypes.c_void_p:
        library, layout = self._library, ctypes.c_void_p()
        library.cublasLtMatrixLayoutCreate(
            ctypes.byref(layout), matrix.data_type, matrix.rows, matrix.columns, matrix.leading
        )
        values = {"order": cublaslt.COLUMN_MAJOR}
        if count > 1:
            values |= {"batch_count": count, "batch_offset": matrix.distance}
        _set(library.cublasLtMatrixLayoutSetAttribute, layout, LAYOUT, values)
        return layout

    def _describe(self, description: ctypes.c_void_p, **values: int) -> None:
        setter = self._library.cublasLtMatmulDescSetAttribute
        _set(setter, description, DESCRIPTION, values)

    def _ask(self, kind: Kind, plan: Plan, workspace_bytes: int) -> bool:
        """Ask for an algorithm; return whether there is one."""
        library, preference = self._library, ctypes.c_void_p()
        library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference))
        try:
            alignments = {
                f"alignment_{letter}": matrix.alignment
                for letter, matrix in zip("abcd", kind.matrices, strict=True)
            }
            values = {
                "workspace_bytes": workspace_bytes,
                "reduction_schemes": kind.reduction_schemes,
                **alignments,
            }
            _set(library.cublasLtMatmulPreferenceSetAttribute, preference, PREFERENCE, values)
            found = ctypes.c_int()
            name = "cublasLtMatmulAlgoGetHeuristic"
            status = library.cublasLtMatmulAlgoGetHeuristic(
                self.pointer,
                plan.description,
                *plan.layouts,
                preference,
                1,
                ctypes.byref(plan.suggestion),
                ctypes.byref(found),
            )
        finally:
            library.cublasLtMatmulPreferenceDestroy(preference)
        if status and status not in _REFUSALS:
            library.check(name, status)
        return not status and found.value > 0 and not plan.suggestion.state


# NOT_SUPPORTED, and INVALID_VALUE for what older versions do not know.
_REFUSALS = (cublaslt.NOT_SUPPORTED, 7)


def _set(
    setter: Callable[..., int],
    target: ctypes.c_void_p,
    attributes: Attributes,
    values: dict[str, int],
) -> None:
    """Set attributes of a descriptor."""
    for name, value in values.items():
        number, kind = attributes[name]
        memory = kind(value)
        setter(target, number, ctypes.byref(memory), ctypes.sizeof(memory))


def _drop(library: Library, plan: Plan) -> None:
    for layout in plan.layouts:
        library.cublasLtMatrixLayoutDestroy(layout)
    library.cublasLtMatmulDescDestroy(plan.description)


def _forget(library: Library, plans: dict[Kind, Plan | None]) -> None:
    """Forget all plans: the library has read what queued products need."""
    for plan in plans.values():
        if plan is not None:
            _drop(library, plan)
    plans.clear()


def _destroy(library: Library, handle: ctypes.c_void_p, plans: dict[Kind, Plan | None]) -> None:
    _forget(library, plans)
    library.cublasLtDestroy(handle)
