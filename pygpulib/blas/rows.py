"""The table of routines; `pygpulib.blas.routines` says what the words mean.

Three lines for each routine: its name, the letters of its dtypes, and its full names where they are
not letter and name; arguments, arrays and family; and what it does.
"""

from __future__ import annotations

Row = tuple[str, str, str, str, str, str, str]

_TEXT = r"""
# level 1
nrm2: SDCZ Snrm2 Dnrm2 Scnrm2 Dznrm2
    n x incx result | x:n | vectors
    Return the Euclidean length of a vector, without overflow on the way.
asum: SDCZ Sasum Dasum Scasum Dzasum
    n x incx result | x:n | vectors
    Return the sum of \|re(x)\| + \|im(x)\| over a vector.
amax: SDCZ Isamax Idamax Icamax Izamax
    n x incx result | x:n | vectors
    Return the index of the first element with the largest \|re(x)\| + \|im(x)\|.
amin: SDCZ Isamin Idamin Icamin Izamin
    n x incx result | x:n | vectors
    Return the index of the first element with the smallest \|re(x)\| + \|im(x)\|.
dot: SDCZ Sdot Ddot Cdotu Zdotu
    n x incx y incy result | x:n y:n | vectors
    Return the dot product of two vectors, neither of them conjugated.
dotc: SDCZ Sdot Ddot Cdotc Zdotc
    n x incx y incy result | x:n y:n | vectors
    Return the dot product of two vectors, the first one conjugated.
scal: SDCZ
    n alpha x incx | x!:n | vectors
    x = alpha x
axpy: SDCZ
    n alpha x incx y incy | x:n y!:n | vectors
    y = alpha x + y
copy: SDCZ
    n x incx y incy | x:n y=:n | vectors
    y = x
swap: SDCZ
    n x incx y incy | x!:n y!:n | vectors
    x, y = y, x
rot: SDCZ
    n x incx y incy c~ s | x!:n y!:n | vectors
    x, y = c x + s y, c y - conj(s) x
rotm: SD
    n x incx y incy param | x!:n y!:n | vectors
    Apply a modified Givens rotation to pairs of elements.

# level 2
gbmv: SDCZ
    trans m n kl ku alpha A lda x incx beta y incy | A:band,n x:cols y*:rows | band
    y = alpha op(A) x + beta y for a band matrix
gemv: SDCZ
    trans m n alpha A lda x incx beta y incy | A:m,n x:cols y*:rows | gemv
    y = alpha op(A) x + beta y
ger: SDCZ Sger Dger Cgeru Zgeru
    m n alpha x incx y incy A lda | x:m y:n A+:m,n | ger
    A = alpha x y^T + A
geru: CZ
    m n alpha x incx y incy A lda | x:m y:n A+:m,n | ger
    A = alpha x y^T + A
gerc: CZ
    m n alpha x incx y incy A lda | x:m y:n A+:m,n | gerc
    A = alpha x y^H + A
sbmv: SD
    uplo n k alpha A lda x incx beta y incy | A:band,n x:n y*:n | band
    y = alpha A x + beta y for a symmetric band matrix
hbmv: CZ
    uplo n k alpha A lda x incx beta y incy | A:band,n x:n y*:n | band
    y = alpha A x + beta y for a Hermitian band matrix
spmv: SD
    uplo n alpha AP x incx beta y incy | AP:packed x:n y*:n | vectors
    y = alpha A x + beta y for a packed symmetric matrix
hpmv: CZ
    uplo n alpha AP x incx beta y incy | AP:packed x:n y*:n | vectors
    y = alpha A x + beta y for a packed Hermitian matrix
symv: SDCZ
    uplo n alpha A lda x incx beta y incy | A:n,n x:n y*:n | symv
    y = alpha A x + beta y for a symmetric matrix
hemv: CZ
    uplo n alpha A lda x incx beta y incy | A:n,n x:n y*:n | hemv
    y = alpha A x + beta y for a Hermitian matrix
tbmv: SDCZ
    uplo trans diag n k A lda x incx | A:band,n x!:n | band
    x = op(A) x for a triangular band matrix
tbsv: SDCZ
    uplo trans diag n k A lda x incx | A:band,n x!:n | band
    Solve op(A) x = b in place for a triangular band matrix
tpmv: SDCZ
    uplo trans diag n AP x incx | AP:packed x!:n | vectors
    x = op(A) x for a packed triangular matrix
tpsv: SDCZ
    uplo trans diag n AP x incx | AP:packed x!:n | vectors
    Solve op(A) x = b in place for a packed triangular matrix
trmv: SDCZ
    uplo trans diag n A lda x incx | A:n,n x!:n | trmv
    x = op(A) x for a triangular matrix
trsv: SDCZ
    uplo trans diag n A lda x incx | A:n,n x!:n | trmv
    Solve op(A) x = b in place for a triangular matrix
syr: SDCZ
    uplo n alpha x incx A lda | x:n A+:n,n | syr
    A = alpha x x^T + A, in one triangle
her: CZ
    uplo n alpha~ x incx A lda | x:n A+:n,n | her
    A = alpha x x^H + A, in one triangle
spr: SD
    uplo n alpha x incx AP | x:n AP+:packed | vectors
    A = alpha x x^T + A, packed
hpr: CZ
    uplo n alpha~ x incx AP | x:n AP+:packed | vectors
    A = alpha x x^H + A, packed
syr2: SDCZ
    uplo n alpha x incx y incy A lda | x:n y:n A+:n,n | syr
    A = alpha (x y^T + y x^T) + A, in one triangle
her2: CZ
    uplo n alpha x incx y incy A lda | x:n y:n A+:n,n | her2
    A = alpha x y^H + conj(alpha) y x^H + A, in one triangle
spr2: SD
    uplo n alpha x incx y incy AP | x:n y:n AP+:packed | vectors
    A = alpha (x y^T + y x^T) + A, packed
hpr2: CZ
    uplo n alpha x incx y incy AP | x:n y:n AP+:packed | vectors
    A = alpha x y^H + conj(alpha) y x^H + A, packed

# level 3
gemm: SDCZ
    transa transb m n k alpha A lda B ldb beta C ldc | A/transa:m,k B/transb:k,n C*:m,n | gemm
    C = alpha op(A) op(B) + beta C
gemm3m: CZ
    transa transb m n k alpha A lda B ldb beta C ldc | A/transa:m,k B/transb:k,n C*:m,n | gemm
    C = alpha op(A) op(B) + beta C, with three real products instead of four
symm: SDCZ
    side uplo m n alpha A lda B ldb beta C ldc | A:order,order B:m,n C*:m,n | symm
    C = alpha A B + beta C, or alpha B A + beta C for side 'R', for a symmetric A
hemm: CZ
    side uplo m n alpha A lda B ldb beta C ldc | A:order,order B:m,n C*:m,n | hemm
    C = alpha A B + beta C, or alpha B A + beta C for side 'R', for a Hermitian A
syrk: SDCZ
    uplo trans n k alpha A lda beta C ldc | A/trans:n,k C*:n,n | rank_k
    C = alpha op(A) op(A)^T + beta C, in one triangle
herk: CZ
    uplo trans n k alpha~ A lda beta~ C ldc | A/trans:n,k C*:n,n | rank_k
    C = alpha op(A) op(A)^H + beta C, in one triangle
syr2k: SDCZ
    uplo trans n k alpha A lda B ldb beta C ldc | A/trans:n,k B/trans:n,k C*:n,n | rank_k
    C = alpha (op(A) op(B)^T + op(B) op(A)^T) + beta C, in one triangle
her2k: CZ
    uplo trans n k alpha A lda B ldb beta~ C ldc | A/trans:n,k B/trans:n,k C*:n,n | rank_k
    C = alpha op(A) op(B)^H + conj(alpha) op(B) op(A)^H + beta C, in one triangle
syrkx: SDCZ
    uplo trans n k alpha A lda B ldb beta C ldc | A/trans:n,k B/trans:n,k C*:n,n | rank_k
    C = alpha op(A) op(B)^T + beta C, in one triangle
herkx: CZ
    uplo trans n k alpha A lda B ldb beta~ C ldc | A/trans:n,k B/trans:n,k C*:n,n | rank_k
    C = alpha op(A) op(B)^H + beta C, in one triangle
trmm: SDCZ
    side uplo trans diag m n alpha A lda B ldb C ldc | A:order,order B:m,n C=:m,n | trmm
    C = alpha op(A) B, or alpha B op(A) for side 'R', for a triangular A
trsm: SDCZ
    side uplo trans diag m n alpha A lda B ldb | A:order,order B!:m,n | trsm
    Solve op(A) X = alpha B, or X op(A) = alpha B for side 'R', in place of B

# extensions
geam: SDCZ
    transa transb m n alpha A lda beta B ldb C ldc | A/transa:m,n B/transb:m,n C=:m,n | geam
    C = alpha op(A) + beta op(B)
dgmm: SDCZ
    side m n A lda x incx C ldc | A:m,n x:order C=:m,n | dgmm
    C = diag(x) A, or A diag(x) for side 'R'
tpttr: SDCZ
    uplo n AP A lda | AP:packed A+:n,n | unpack
    Write a packed triangle to a matrix
trttp: SDCZ
    uplo n A lda AP | A:n,n AP=:packed | unpack
    Pack a triangle of a matrix
"""


def _read(text: str) -> tuple[Row, ...]:
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    rows = []
    for head, call, summary in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        name, _, spelling = head.partition(": ")
        letters, _, names = spelling.partition(" ")
        arguments, arrays, family = call.split(" | ")
        rows.append((name, letters, names or name, arguments, arrays, family, summary))
    return tuple(rows)


ROWS = _read(_TEXT)
"""Every routine: name, letters, full names, arguments, arrays, family, summary."""
