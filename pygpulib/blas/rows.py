"""The rows of the table of routines; `pygpulib.blas.routines` says what the words mean."""

from __future__ import annotations

_ALL, _REAL, _COMPLEX = "SDCZ", "SD", "CZ"

# name, letters, full names where they are not letter + name, arguments, arrays, family, summary
ROWS: tuple[tuple[str, str, str, str, str, str, str], ...] = (
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
"""Every routine: name, letters, full names, arguments, arrays, family, summary."""
