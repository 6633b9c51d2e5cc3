"""The record of an intrinsic: the one place that says everything about it.

The decorator :func:`intrinsic` returns the decorated function unchanged (its body is the
reference meaning on Python numbers) and files a record that the front end, the verifier, the
passes, both code generators, the interpreter, the tests and the documentation read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.core.foreign_code import ForeignCode
from pygpulib.jit.ir.ops import Effect

F = TypeVar("F", bound=Callable[..., object])

Rule = Callable[[tuple[DType, ...]], "Signature | None"]
"""From operand dtypes (never complex) to the signature that applies, or None."""


@record(eq=True)
class Signature:
    """Operand types after conversion, and result types, of one use of an intrinsic."""

    operands: tuple[DType, ...]
    results: tuple[DType, ...]


@record(eq=True)
class LLVM:
    """Lower to an overloaded LLVM intrinsic that is one instruction on vectors too.

    ``llvm.<name>.<type of the first operand>``; ``flags`` are trailing constant operands with their
    types, as LLVM writes them (``i1 false``).
    """

    name: str
    flags: tuple[str, ...] = ()


@record(eq=True)
class Extern:
    """Call a C function per lane, or a function of the device library.

    ``symbols`` maps the dtype of the first operand to a symbol.
    """

    symbols: Mapping[DType, str]


@record(eq=True)
class Compose:
    """Expand to a function written in the kernel language, per dtype of the first operand."""

    functions: Mapping[DType, Callable[..., object]]


@record(eq=True)
class Emit:
    """The code generator has code of its own for it, under this name."""

    name: str


@record(eq=True)
class Foreign:
    """Call a function in another language, which is linked with the kernel.

    Attributes
    ----------
    symbol : str
        Its name.
    returns_status : bool
        Whether it returns a status, and writes its result to an address that comes first.
    parts : tuple of ForeignCode
        Where it is defined.
    """

    symbol: str
    returns_status: bool
    parts: tuple[ForeignCode, ...]


@record(eq=True)
class Unsupported:
    """Say that the back end cannot do it, and why."""

    reason: str


Lowering = LLVM | Extern | Compose | Emit | Foreign | Unsupported


class WarpResult(Enum):
    """Whether the lanes of a warp all get the same result."""

    VARYING = "varying"
    UNIFORM = "uniform"
    AS_LAST_OPERAND = "as the last operand"


@record
class Intrinsic:
    """Everything that is known about one intrinsic.

    Attributes
    ----------
    name : str
        Unique; what the printer shows.
    reference : callable
        The meaning, on Python or NumPy scalars already converted to the operand types.
    rule : Rule
        The typing rule.
    effect : Effect
        What else it does.
    cpu, cuda : Lowering
        How each code generator does it.
    ulp : mapping of DType to float
        Promised bound on the error, in units in the last place of the result.
    samples : str
        Name of the input generator that the tests use (``"real"``, ``"positive"``, ...).
    spellings : tuple
        The Python objects that mean it in a kernel (``math.sin``, ``numpy.sin``, ...).
    warp_result : WarpResult
        For intrinsics of a warp: whether all its lanes get the same.
    """

    name: str
    reference: Callable[..., object]
    rule: Rule
    effect: Effect
    cpu: Lowering
    cuda: Lowering
    ulp: Mapping[DType, float] = field(default_factory=dict)
    samples: str = "real"
    spellings: tuple[object, ...] = ()
    warp_result: WarpResult = WarpResult.VARYING


REGISTRY: dict[str, Intrinsic] = {}
_BY_SPELLING: dict[int, Intrinsic] = {}


def intrinsic(  # noqa: PLR0913 - one keyword per field of the record
    *,
    rule: Rule,
    cpu: Lowering,
    cuda: Lowering,
    effect: Effect = Effect.NONE,
    ulp: Mapping[DType, float] | None = None,
    samples: str = "real",
    spellings: tuple[object, ...] = (),
    name: str = "",
    warp_result: WarpResult = WarpResult.VARYING,
) -> Callable[[F], F]:
    """Register the decorated function as the reference meaning of a new intrinsic.

    Parameters
    ----------
    rule, cpu, cuda, effect, ulp, samples, warp_result
        See :class:`Intrinsic`.
    spellings : tuple
        Python objects other than the function itself that mean the intrinsic.
    name : str, optional
        Default: the function's name without a trailing underscore.

    Returns
    -------
    callable
        A decorator that gives the function back unchanged.
    """

    def register(function: F) -> F:
        record = Intrinsic(
            name=name or function.__name__.rstrip("_"),
            reference=function,
            rule=rule,
            effect=effect,
            cpu=cpu,
            cuda=cuda,
            ulp=ulp or {},
            samples=samples,
            spellings=(*spellings, function),
            warp_result=warp_result,
        )
        if record.name in REGISTRY:
            raise ValueError(f"two intrinsics are named {record.name}")
        REGISTRY[record.name] = record
        for spelling in record.spellings:
            _BY_SPELLING[id(spelling)] = record
        return function

    return register


def add_spelling(spelling: object, record: Intrinsic) -> None:
    """Let a Python object mean an intrinsic that is no part of the language."""
    assert any(each is spelling for each in record.spellings), "nothing else keeps it alive"
    _BY_SPELLING[id(spelling)] = record


def find_intrinsic(spelling: object) -> Intrinsic | None:
    """Return the intrinsic that a Python object means in a kernel, if any."""
    return _BY_SPELLING.get(id(spelling))
