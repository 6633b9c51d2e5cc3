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
        Numbers that are real for complex arrays, too.
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


_ALL, _REAL, _COMPLEX = "SDCZ", "SD", "CZ"

# name, letters, full names where they are not letter + name, arguments, arrays, family, summary
_ROWS: tuple[tuple[str, str, str, str, str, str, str], ...] = (
    # ------------------------------------------------------------------------- level 1
    (
        "nrm2",
        _ALL,
        "Snrm2 Dnrm2 Scnrm2 Dznrm2",
        "n x incx result",
        "x:n",
        "vectors",
        "Return the Euclidean length of a vector, without overflow on the way.",
    ),
    (
        "asum",
        _ALL,
        "Sasum Dasum Scasum Dzasum",
        "n x incx result",
        "x:n",
        "vectors",
        "Return the sum of \\|re(x)\\| + \\|im(x)\\| over a vector.",
    ),
    (
        "amax",
        _ALL,
        "Isamax Idamax Icamax Izamax",
        "n x incx result",
        "x:n",
        "vectors",
        "Return the index of the first element with the largest \\|re(x)\\| + \\|im(x)\\|.",
    ),
    (
        "amin",
        _ALL,
        "Isamin Idamin Icamin Izamin",
        "n x incx result",
        "x:n",
        "vectors",
        "Return the index of the first element with the smallest \\|re(x)\\| + \\|im(x)\\|.",
    ),
    (
        "dot",
        _ALL,
        "Sdot Ddot Cdotu Zdotu",
        "n x incx y incy result",
        "x:n y:n",
        "vectors",
        "Return the dot product of two vectors, neither of them conjugated.",
    ),
    (
        "dotc",
        _ALL,
        "Sdot Ddot Cdotc Zdotc",
        "n x incx y incy result",
        "x:n y:n",
        "vectors",
        "Return the dot product of two vectors, the first one conjugated.",
    ),
    ("scal", _ALL, "scal", "n alpha x incx", "x!:n", "vectors", "x = alpha x"),
    ("axpy", _ALL, "axpy", "n alpha x incx y incy", "x:n y!:n", "vectors", "y = alpha x + y"),
    ("copy", _ALL, "copy", "n x incx y incy", "x:n y=:n", "vectors", "y = x"),
    ("swap", _ALL, "swap", "n x incx y incy", "x!:n y!:n", "vectors", "x, y = y, x"),
    (
        "rot",
        _ALL,
        "rot",
        "n x incx y incy c~ s",
        "x!:n y!:n",
        "vectors",
        "x, y = c x + s y, c y - conj(s) x",
    ),
    (
        "rotm",
        _REAL,
        "rotm",
        "n x incx y incy param",
        "x!:n y!:n",
        "vectors",
        "Apply a modified Givens rotation to pairs of elements.",
    ),
    # ------------------------------------------------------------------------- level 2
    (
        "gbmv",
        _ALL,
        "gbmv",
        "trans m n kl ku alpha A lda x incx beta y incy",
        "A:band,n x:cols y*:rows",
        "band",
        "y = alpha op(A) x + beta y for a band matrix",
    ),
    (
        "gemv",
        _ALL,
        "gemv",
        "trans m n alpha A lda x incx beta y incy",
        "A:m,n x:cols y*:rows",
        "gemv",
        "y = alpha op(A) x + beta y",
    ),
    (
        "ger",
        _ALL,
        "Sger Dger Cgeru Zgeru",
        "m n alpha x incx y incy A lda",
        "x:m y:n A+:m,n",
        "ger",
        "A = alpha x y^T + A",
    ),
    (
        "geru",
        _COMPLEX,
        "geru",
        "m n alpha x incx y incy A lda",
        "x:m y:n A+:m,n",
        "ger",
        "A = alpha x y^T + A",
    ),
    (
        "gerc",
        _COMPLEX,
        "gerc",
        "m n alpha x incx y incy A lda",
        "x:m y:n A+:m,n",
        "gerc",
        "A = alpha x y^H + A",
    ),
    *[
        (
            f"{prefix}bmv",
            letters,
            f"{prefix}bmv",
            "uplo n k alpha A lda x incx beta y incy",
            "A:band,n x:n y*:n",
            "band",
            f"y = alpha A x + beta y for a {kind} band matrix",
        )
        for prefix, letters, kind in (("s", _REAL, "symmetric"), ("h", _COMPLEX, "Hermitian"))
    ],
    *[
        (
            f"{prefix}pmv",
            letters,
            f"{prefix}pmv",
            "uplo n alpha AP x incx beta y incy",
            "AP:packed x:n y*:n",
            "vectors",
            f"y = alpha A x + beta y for a packed {kind} matrix",
        )
        for prefix, letters, kind in (("s", _REAL, "symmetric"), ("h", _COMPLEX, "Hermitian"))
    ],
    *[
        (
            f"{prefix}mv",
            letters,
            f"{prefix}mv",
            "uplo n alpha A lda x incx beta y incy",
            "A:n,n x:n y*:n",
            family,
            f"y = alpha A x + beta y for a {kind} matrix",
        )
        for prefix, letters, family, kind in (
            ("sy", _ALL, "symv", "symmetric"),
            ("he", _COMPLEX, "hemv", "Hermitian"),
        )
    ],
    *[
        (
            f"tb{verb}v",
            _ALL,
            f"tb{verb}v",
            "uplo trans diag n k A lda x incx",
            "A:band,n x!:n",
            "band",
            f"{text} for a triangular band matrix",
        )
        for verb, text in (("m", "x = op(A) x"), ("s", "Solve op(A) x = b in place"))
    ],
    *[
        (
            f"tp{verb}v",
            _ALL,
            f"tp{verb}v",
            "uplo trans diag n AP x incx",
            "AP:packed x!:n",
            "vectors",
            f"{text} for a packed triangular matrix",
        )
        for verb, text in (("m", "x = op(A) x"), ("s", "Solve op(A) x = b in place"))
    ],
    *[
        (
            f"tr{verb}v",
            _ALL,
            f"tr{verb}v",
            "uplo trans diag n A lda x incx",
            "A:n,n x!:n",
            "trmv",
            f"{text} for a triangular matrix",
        )
        for verb, text in (("m", "x = op(A) x"), ("s", "Solve op(A) x = b in place"))
    ],
    (
        "syr",
        _ALL,
        "syr",
        "uplo n alpha x incx A lda",
        "x:n A+:n,n",
        "syr",
        "A = alpha x x^T + A, in one triangle",
    ),
    (
        "her",
        _COMPLEX,
        "her",
        "uplo n alpha~ x incx A lda",
        "x:n A+:n,n",
        "her",
        "A = alpha x x^H + A, in one triangle",
    ),
    (
        "spr",
        _REAL,
        "spr",
        "uplo n alpha x incx AP",
        "x:n AP+:packed",
        "vectors",
        "A = alpha x x^T + A, packed",
    ),
    (
        "hpr",
        _COMPLEX,
        "hpr",
        "uplo n alpha~ x incx AP",
        "x:n AP+:packed",
        "vectors",
        "A = alpha x x^H + A, packed",
    ),
    (
        "syr2",
        _ALL,
        "syr2",
        "uplo n alpha x incx y incy A lda",
        "x:n y:n A+:n,n",
        "syr",
        "A = alpha (x y^T + y x^T) + A, in one triangle",
    ),
    (
        "her2",
        _COMPLEX,
        "her2",
        "uplo n alpha x incx y incy A lda",
        "x:n y:n A+:n,n",
        "her2",
        "A = alpha x y^H + conj(alpha) y x^H + A, in one triangle",
    ),
    (
        "spr2",
        _REAL,
        "spr2",
        "uplo n alpha x incx y incy AP",
        "x:n y:n AP+:packed",
        "vectors",
        "A = alpha (x y^T + y x^T) + A, packed",
    ),
    (
        "hpr2",
        _COMPLEX,
        "hpr2",
        "uplo n alpha x incx y incy AP",
        "x:n y:n AP+:packed",
        "vectors",
        "A = alpha x y^H + conj(alpha) y x^H + A, packed",
    ),
    # ------------------------------------------------------------------------- level 3
    *[
        (
            name,
            letters,
            name,
            "transa transb m n k alpha A lda B ldb beta C ldc",
            "A/transa:m,k B/transb:k,n C*:m,n",
            "gemm",
            f"C = alpha op(A) op(B) + beta C{note}",
        )
        for name, letters, note in (
            ("gemm", _ALL, ""),
            ("gemm3m", _COMPLEX, ", with three real products instead of four"),
        )
    ],
    *[
        (
            f"{prefix}mm",
            letters,
            f"{prefix}mm",
            "side uplo m n alpha A lda B ldb beta C ldc",
            "A:order,order B:m,n C*:m,n",
            f"{prefix}mm",
            f"C = alpha A B + beta C, or alpha B A + beta C for side 'R', for a {kind} A",
        )
        for prefix, letters, kind in (("sy", _ALL, "symmetric"), ("he", _COMPLEX, "Hermitian"))
    ],
    (
        "syrk",
        _ALL,
        "syrk",
        "uplo trans n k alpha A lda beta C ldc",
        "A/trans:n,k C*:n,n",
        "rank_k",
        "C = alpha op(A) op(A)^T + beta C, in one triangle",
    ),
    (
        "herk",
        _COMPLEX,
        "herk",
        "uplo trans n k alpha~ A lda beta~ C ldc",
        "A/trans:n,k C*:n,n",
        "rank_k",
        "C = alpha op(A) op(A)^H + beta C, in one triangle",
    ),
    *[
        (
            name,
            letters,
            name,
            f"uplo trans n k alpha A lda B ldb {beta} C ldc",
            "A/trans:n,k B/trans:n,k C*:n,n",
            "rank_k",
            f"C = {text} + beta C, in one triangle",
        )
        for name, letters, beta, text in (
            ("syr2k", _ALL, "beta", "alpha (op(A) op(B)^T + op(B) op(A)^T)"),
            ("her2k", _COMPLEX, "beta~", "alpha op(A) op(B)^H + conj(alpha) op(B) op(A)^H"),
            ("syrkx", _ALL, "beta", "alpha op(A) op(B)^T"),
            ("herkx", _COMPLEX, "beta~", "alpha op(A) op(B)^H"),
        )
    ],
    (
        "trmm",
        _ALL,
        "trmm",
        "side uplo trans diag m n alpha A lda B ldb C ldc",
        "A:order,order B:m,n C=:m,n",
        "trmm",
        "C = alpha op(A) B, or alpha B op(A) for side 'R', for a triangular A",
    ),
    (
        "trsm",
        _ALL,
        "trsm",
        "side uplo trans diag m n alpha A lda B ldb",
        "A:order,order B!:m,n",
        "trsm",
        "Solve op(A) X = alpha B, or X op(A) = alpha B for side 'R', in place of B",
    ),
    # ---------------------------------------------------------------------- extensions
    (
        "geam",
        _ALL,
        "geam",
        "transa transb m n alpha A lda beta B ldb C ldc",
        "A/transa:m,n B/transb:m,n C=:m,n",
        "geam",
        "C = alpha op(A) + beta op(B)",
    ),
    (
        "dgmm",
        _ALL,
        "dgmm",
        "side m n A lda x incx C ldc",
        "A:m,n x:order C=:m,n",
        "dgmm",
        "C = diag(x) A, or A diag(x) for side 'R'",
    ),
    (
        "tpttr",
        _ALL,
        "tpttr",
        "uplo n AP A lda",
        "AP:packed A+:n,n",
        "unpack",
        "Write a packed triangle to a matrix",
    ),
    (
        "trttp",
        _ALL,
        "trttp",
        "uplo n A lda AP",
        "A:n,n AP=:packed",
        "unpack",
        "Pack a triangle of a matrix",
    ),
)

# What was new in the second version of the interface has no other name.
_WITHOUT_SUFFIX = {"geam", "dgmm", "tpttr", "trttp", "syrkx", "herkx", "gemm3m"}


def _make(row: tuple[str, str, str, str, str, str, str]) -> Routine:
    name, letters, names, native, arrays, family, summary = row
    words = native.split()
    return Routine(
        name,
        _spell(names, letters),
        tuple([word.rstrip("~") for word in words]),
        frozenset([word[:-1] for word in words if word.endswith("~")]),
        tuple([_read_operand(word) for word in arrays.split()]),
        family,
        summary,
        "" if name in _WITHOUT_SUFFIX else "_v2",
    )


ROUTINES = {row[0]: _make(row) for row in _ROWS}
"""Every routine by its name."""

MIXED_ROUTINES = {
    name: _make((name, _COMPLEX, names, native, arrays, "vectors", summary))
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
