"""What computes: the interface of a back end, and which one a call gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pygpulib._record import record
from pygpulib.core.engines import Engines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pygpulib.blas.routines import Routine
    from pygpulib.core.array import ndarray
    from pygpulib.core.layout import Shape

AnyArray = Any
"""An array where the engine computes: of NumPy for the CPU, of this package on a GPU."""

DType = np.dtype[np.generic]

GELU_SCALE = 0.7978845608028654
GELU_CUBE = 0.044715
"""gelu(x) = x (1 + tanh(GELU_SCALE (x + GELU_CUBE x^3))) / 2, the former being sqrt(2 / pi)."""


@record
class Product:
    """What is done to the factors of a product in mixed precision.

    Attributes
    ----------
    transa, transb : str
        The letters of the factors.
    alpha, beta : number
        The factors of the product and of the old values.
    compute : str
        The arithmetic: one of those in `pygpulib.blas.mixed`.
    """

    transa: str
    transb: str
    alpha: Any
    beta: Any
    compute: str


@record
class Finish:
    """A product whose elements are finished: f(alpha A B + beta C + bias).

    Attributes
    ----------
    product : Product
        How the factors are multiplied.
    a, b : array
        The factors: matrices, or stacks of them where the result is one.
    addend : array or None
        C, of the result's shape and dtype.
    bias : array or None
        What is added to every row, of the result's dtype.
    activation : str or None
        The function.
    out : array
        The result, which is packed.
    """

    product: Product
    a: AnyArray
    b: AnyArray
    addend: AnyArray | None
    bias: AnyArray | None
    activation: str | None
    out: AnyArray


class Batched(Protocol):
    """What an engine does with stacks of matrices, whose first axis counts the problems.

    Attributes
    ----------
    takes_lists : bool
        Whether it multiplies matrices that lie anywhere at once.
    """

    takes_lists: bool

    def gemm_lists(
        self,
        letters: tuple[str, str],
        numbers: tuple[Any, Any],
        triples: list[tuple[AnyArray, AnyArray, AnyArray]],
        stream: int,
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c for each triple; these do not overlap."""
        ...

    def gemm(
        self,
        transa: str,
        transb: str,
        alpha: Any,
        a: AnyArray,
        b: AnyArray,
        beta: Any,
        c: AnyArray,
        stream: int,
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c; a stack of one is used for every problem."""
        ...

    def getrf(self, factors: AnyArray, pivots: AnyArray, info: AnyArray, stream: int) -> None:
        """Factor matrices in place; those here and below have contiguous columns."""
        ...

    def getrs(
        self, trans: str, factors: AnyArray, pivots: AnyArray, right: AnyArray, stream: int
    ) -> None:
        """Solve in place of the right sides."""
        ...

    def getri(
        self, factors: AnyArray, pivots: AnyArray, inverses: AnyArray, info: AnyArray, stream: int
    ) -> None:
        """Write the inverses."""
        ...

    def geqrf(self, factors: AnyArray, tau: AnyArray, stream: int) -> None:
        """Factor matrices in place."""
        ...

    def gels(self, matrices: AnyArray, right: AnyArray, info: AnyArray, stream: int) -> None:
        """Solve in place of the right sides' first rows; the matrices are lost."""
        ...


class Engine(Protocol):
    """A back end of the library.

    It computes with arrays of its own kind, which `adopt` makes of anybody's. All work goes to a
    stream, which is given as the driver's number.
    """

    @property
    def version(self) -> int:
        """The version of cuBLAS whose routines there are: 131000 is 13.10.0."""
        ...

    @property
    def short_ways(self) -> Mapping[str, Callable[..., Any]]:
        """By the names of functions, what does them with little ado, or returns None.

        The arguments are those of the function, in their order and without the stream.
        """
        ...

    @property
    def batched(self) -> Batched:
        """What it does with stacks."""
        ...

    def adopt(self, array: np.ndarray[Any, Any] | ndarray, stream: int) -> AnyArray:
        """Return an array as one of the engine's; a copy only where it cannot use the memory."""
        ...

    def publish(
        self, native: AnyArray, target: np.ndarray[Any, Any] | ndarray, stream: int
    ) -> None:
        """Bring what was computed back to where it was adopted from, if that is other memory."""
        ...

    def address(self, array: AnyArray) -> int:
        """Return the address of the first element."""
        ...

    def empty(self, shape: Shape, dtype: DType, order: str, stream: int) -> AnyArray:
        """Return a new array."""
        ...

    def copy(self, array: AnyArray, dtype: DType, order: str, stream: int) -> AnyArray:
        """Return a packed copy of an array, converted."""
        ...

    def assign(self, target: AnyArray, source: AnyArray, stream: int) -> None:
        """Copy between two arrays of the same shape and dtype."""
        ...

    def conjugate(self, array: AnyArray, stream: int) -> AnyArray:
        """Return a new vector with conjugated elements."""
        ...

    def scale(self, array: AnyArray, factor: object, stream: int) -> None:
        """Multiply an array in place; 0 and zeros make zeros whatever it held."""
        ...

    def number(self, value: object, dtype: DType, is_real: bool) -> object:
        """Return a number, or an array that holds one or a few, as `run` takes it."""
        ...

    def multiply_mixed(
        self, product: Product, a: AnyArray, b: AnyArray, c: AnyArray, stream: int
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c."""
        ...

    def multiply_and_finish(self, wanted: Finish, stream: int) -> bool:
        """Do a product with finished elements in one go; return whether that was possible."""
        ...

    def finish(
        self,
        work: AnyArray,
        bias: AnyArray | None,
        activation: str | None,
        out: AnyArray,
        stream: int,
    ) -> None:
        """Write f(work + bias) to out; what is in the first is lost."""
        ...

    def run(self, routine: Routine, letter: str, values: dict[str, Any], stream: int) -> Any:
        """Do a routine of BLAS.

        Parameters
        ----------
        routine : Routine
            What to do.
        letter : str
            Which dtype.
        values : dict
            Its arguments by name: letters of flags, sizes and distances as int, numbers as
            `number` returned them, arrays as addresses.
        stream : int
            Where the work is queued.

        Returns
        -------
        object
            The number that the routine returns, None if there is none.
        """
        ...


_ENGINES: Engines[Engine] = Engines(
    "BLAS", {"cpu": "pygpulib.blas.cpu", "cuda": "pygpulib.blas.cuda"}
)

current_engine = _ENGINES.current
