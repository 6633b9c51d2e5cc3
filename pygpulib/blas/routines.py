"""Every routine of BLAS as one row of a table.

A row names the arguments in the order of the C and Fortran interfaces, which is the same for both,
and says what the arrays hold. Everything else follows from it: the checks of shapes, the functions
of this package, the methods of its classes, and the calls of the libraries.

The words of a row
------------------
``native``
    The arguments. ``~`` marks a number that is real for complex arrays, too.
``arrays``
    One word per array, ``name[/op]mark:lengths``. ``op`` is the argument that says whether the
    array is used transposed. Lengths are sizes among the arguments; ``rows`` and ``cols`` are those
    of op(A), ``order`` is the size that ``side`` selects, ``band`` counts the diagonals that band
    storage keeps, and ``packed`` the elements of a triangle.
``mark``
    ``!`` changed in place; ``+`` added to, zeros if it is not given; ``*`` changed, and not read
    if beta is 0; ``=`` only written.
"""

from __future__ import annotations

from enum import Enum

from pygpulib._record import record
from pygpulib.blas.rows import ROWS, Row

LETTERS = {"float32": "S", "float64": "D", "complex64": "C", "complex128": "Z"}
"""BLAS's letter of each dtype."""

DTYPES = {letter: name for name, letter in LETTERS.items()}

FLAGS = {
    "trans": "NTC",
    "transa": "NTC",
    "transb": "NTC",
    "uplo": "LU",
    "side": "LR",
    "diag": "NU",
}
"""The arguments that are one of a few letters, and those letters."""

SIZES = ("m", "n", "k", "kl", "ku")
NUMBERS = ("alpha", "beta", "c", "s")


class Role(Enum):
    """What a routine does to an array."""

    READ = ""
    CHANGED = "!"
    ADDED_TO = "+"
    BLENDED = "*"
    WRITTEN = "="


class Form(Enum):
    """What an array holds."""

    VECTOR = 1
    MATRIX = 2
    BAND = 3
    PACKED = 4


@record
class Operand:
    """An array among the arguments of a routine.

    Attributes
    ----------
    name : str
        Its name.
    form : Form
        What it holds.
    role : Role
        What the routine does to it.
    lengths : tuple of str
        The sizes that its axes have.
    op : str
        The argument that says whether it is used transposed, or empty.
    """

    name: str
    form: Form
    role: Role
    lengths: tuple[str, ...]
    op: str

    @property
    def is_output(self) -> bool:
        """Whether the routine writes to it."""
        return self.role is not Role.READ

    @property
    def is_optional(self) -> bool:
        """Whether the functions make a new array where none is given."""
        return self.role in (Role.ADDED_TO, Role.BLENDED, Role.WRITTEN)

    @property
    def stride(self) -> str:
        """The argument that says how far apart its elements or columns are; packed: none."""
        if self.form is Form.PACKED:
            return ""
        return f"inc{self.name}" if self.form is Form.VECTOR else f"ld{self.name.lower()}"


@record
class Routine:
    """A routine for several dtypes.

    Attributes
    ----------
    name : str
        Its name without the letter of a dtype.
    names : dict of str to str
        Its full names by the letters of dtypes.
    native : tuple of str
        Its arguments in the order of C and Fortran.
    real_numbers : frozenset of str
        Numbers that are always real: for complex arrays, too, or because there are none of these.
    operands : tuple of Operand
        Its arrays in the order of the arguments.
    family : str
        How arrays of other layouts are brought into BLAS's.
    summary : str
        What it does.
    suffix : str
        How cuBLAS's name of it ends.
    """

    name: str
    names: dict[str, str]
    native: tuple[str, ...]
    real_numbers: frozenset[str]
    operands: tuple[Operand, ...]
    family: str
    summary: str
    suffix: str

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The arrays that it writes to."""
        return tuple([operand for operand in self.operands if operand.is_output])

    @property
    def returns_number(self) -> bool:
        """Whether it has a number for its result."""
        return self.native[-1] == "result"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that no array tells: all but distances."""
        hidden = {operand.stride for operand in self.operands} | {"result"}
        return tuple([name for name in self.native if name not in hidden])


def _read_operand(word: str) -> Operand:
    head, _, tail = word.partition(":")
    mark = head[-1] if head[-1] in "!+*=" else ""
    name, _, op = head.rstrip("!+*=").partition("/")
    lengths = tuple(tail.split(","))
    if lengths == ("packed",):
        form = Form.PACKED
    elif lengths[0] == "band":
        form = Form.BAND
    else:
        form = Form.MATRIX if len(lengths) == 2 else Form.VECTOR
    return Operand(name, form, Role(mark), lengths, op)


def _spell(name: str, letters: str) -> dict[str, str]:
    """Return the full names of a routine; ``Snrm2 Dnrm2`` spells them out."""
    given = name.split()
    if len(given) > 1:
        return dict(zip(letters, given, strict=True))
    return {letter: letter + name for letter in letters}


# What was new in the second version of the interface has no other name.
_WITHOUT_SUFFIX = {"geam", "dgmm", "tpttr", "trttp", "syrkx", "herkx", "gemm3m"}


def _make(row: Row) -> Routine:
    name, letters, names, native, arrays, family, summary = row
    words = native.split()
    plain = tuple([word.rstrip("~") for word in words])
    is_real = letters == "SD"
    return Routine(
        name,
        _spell(names, letters),
        plain,
        frozenset(NUMBERS).intersection(
            plain if is_real else [word[:-1] for word in words if word.endswith("~")]
        ),
        tuple([_read_operand(word) for word in arrays.split()]),
        family,
        summary,
        "" if name in _WITHOUT_SUFFIX else "_v2",
    )


ROUTINES = {row[0]: _make(row) for row in ROWS}
"""Every routine by its name."""

MIXED_ROUTINES = {
    name: _make((name, "CZ", names, native, arrays, "vectors", summary))
    for name, names, native, arrays, summary in (
        ("rscal", "Csscal Zdscal", "n alpha~ x incx", "x!:n", "x = alpha x with a real alpha"),
        (
            "rrot",
            "Csrot Zdrot",
            "n x incx y incy c~ s~",
            "x!:n y!:n",
            "x, y = c x + s y, c y - s x with a real s",
        ),
    )
}
"""Routines for complex vectors and real numbers; the bindings have them, under their full names."""
