"""What every routine of BLAS does, as formulas over dense arrays of NumPy."""

from __future__ import annotations

import numpy as np


def op(letter, matrix):
    """Return a matrix as one of BLAS's letters says."""
    return {"N": matrix, "T": matrix.T, "C": matrix.conj().T}[letter]


def keep_triangle(uplo, matrix, k=0):
    """Return a matrix with zeros outside a triangle."""
    return np.tril(matrix, -k) if uplo == "L" else np.triu(matrix, k)


def symmetric(uplo, matrix):
    """Return the symmetric matrix of which one triangle is given."""
    triangle = keep_triangle(uplo, matrix, 1)
    return triangle + triangle.T + np.diag(np.diagonal(matrix))


def hermitian(uplo, matrix):
    """Return the Hermitian matrix of which one triangle is given."""
    triangle = keep_triangle(uplo, matrix, 1)
    return triangle + triangle.conj().T + np.diag(np.diagonal(matrix).real)


def triangular(uplo, diag, matrix):
    """Return a triangle as a matrix."""
    found = keep_triangle(uplo, matrix)
    if diag == "U":
        np.fill_diagonal(found, 1)
    return found


def from_band(band, rows, below, above):
    """Return the matrix whose diagonals band storage holds."""
    columns = band.shape[1]
    found = np.zeros((rows, columns), band.dtype)
    for i in range(rows):
        for j in range(max(0, i - below), min(columns, i + above + 1)):
            found[i, j] = band[above + i - j, j]
    return found


def positions(uplo, n):
    """Return rows and columns of a packed triangle's elements, in its order."""
    pairs = [(i, j) for j in range(n) for i in (range(j, n) if uplo == "L" else range(j + 1))]
    return np.array(pairs, int).reshape(-1, 2).T


def unpack(uplo, packed, n):
    """Return a matrix with a packed triangle and zeros."""
    found = np.zeros((n, n), packed.dtype)
    found[tuple(positions(uplo, n))] = packed
    return found


def blend(product, beta, old):
    """Return what a routine writes; old values do not count where beta is zero."""
    return product + (beta * old if beta else 0)


def into_triangle(uplo, old, new):
    """Return a matrix of which one triangle is replaced."""
    mask = keep_triangle(uplo, np.ones(old.shape, bool))
    return np.where(mask, new, old)


def _real_diagonal(matrix):
    found = matrix.copy()
    np.fill_diagonal(found, np.diagonal(matrix).real)
    return found


def _band_matrix(name, a):
    if name == "gbmv":
        return from_band(a["A"], a["m"], a["kl"], a["ku"])
    k = a["A"].shape[0] - 1
    n = a["A"].shape[1]
    is_lower = a["uplo"] == "L"
    return from_band(a["A"], n, k if is_lower else 0, 0 if is_lower else k)


def _square(name, a):
    """Return the matrix that a routine multiplies with, op applied."""
    storage = name[1] if name[0] in "sht" and name[1] in "bp" else ""
    if storage == "b" or name == "gbmv":
        matrix = _band_matrix(name, a)
    elif storage == "p":
        matrix = unpack(a["uplo"], a["AP"], len(a["x"]))
    else:
        matrix = a["A"]
    if name[0] == "s":
        return symmetric(a["uplo"], matrix)
    if name[0] == "h":
        return hermitian(a["uplo"], matrix)
    if name[0] == "t":
        return op(a["trans"], triangular(a["uplo"], a["diag"], matrix))
    return op(a["trans"], matrix)


def _solve(matrix, right):
    return np.linalg.solve(matrix, right) if len(matrix) else right


def _rank_one(name, a):
    x, y = a.get("x"), a.get("y")
    alpha = a["alpha"]
    if not alpha:
        # By BLAS's book, factors are not read then.
        return np.zeros((len(x), len(x if y is None else y)), x.dtype)
    if name in ("ger", "geru"):
        return alpha * np.outer(x, y)
    if name == "gerc":
        return alpha * np.outer(x, y.conj())
    if name in ("syr", "spr"):
        return alpha * np.outer(x, x)
    if name in ("her", "hpr"):
        return alpha * np.outer(x, x.conj())
    if name in ("syr2", "spr2"):
        return alpha * (np.outer(x, y) + np.outer(y, x))
    assert name in ("her2", "hpr2")
    return alpha * np.outer(x, y.conj()) + np.conj(alpha) * np.outer(y, x.conj())


def _rank_k(name, a):
    letter, alpha = a["trans"], a["alpha"]
    x = op(letter, a["A"])
    y = op(letter, a["B"]) if "B" in a else x
    if not alpha:
        return np.zeros((len(x), len(x)), x.dtype)
    other = np.conj if name.startswith("he") else np.array
    product = alpha * (x @ other(y).T)
    if name.endswith("2k"):
        product = product + (np.conj(alpha) if name == "her2k" else alpha) * (y @ other(x).T)
    return product


def _level_one(name, a):
    x, y = a.get("x"), a.get("y")
    match name:
        case "scal":
            return {"x": a["alpha"] * x}
        case "axpy":
            return {"y": a["alpha"] * x + y}
        case "copy":
            return {"y": x}
        case "swap":
            return {"x": y, "y": x}
        case "rot":
            return {"x": a["c"] * x + a["s"] * y, "y": a["c"] * y - np.conj(a["s"]) * x}
        case "rotm":
            flag, h11, h21, h12, h22 = a["param"]
            if flag == -2:
                return {"x": x, "y": y}
            if flag == 0:
                h11 = h22 = 1
            elif flag == 1:
                h12, h21 = 1, -1
            return {"x": h11 * x + h12 * y, "y": h21 * x + h22 * y}
    return None


def number(name, a):
    """Return the number that a routine returns."""
    x = a["x"]
    size = np.abs(x.real) + np.abs(x.imag)
    match name:
        case "nrm2":
            return np.sqrt((np.abs(x) ** 2).sum())
        case "asum":
            return size.sum()
        case "amax":
            return size.argmax()
        case "amin":
            return size.argmin()
        case "dot":
            return (x * a["y"]).sum()
        case "dotc":
            return (x.conj() * a["y"]).sum()
    raise KeyError(name)


def _products(name, a):
    match name:
        case "gemm" | "gemm3m":
            product = a["alpha"] * (op(a["transa"], a["A"]) @ op(a["transb"], a["B"]))
            return {"C": blend(product, a["beta"], a["C"])}
        case "symm" | "hemm":
            square = (symmetric if name == "symm" else hermitian)(a["uplo"], a["A"])
            product = square @ a["B"] if a["side"] == "L" else a["B"] @ square
            return {"C": blend(a["alpha"] * product, a["beta"], a["C"])}
        case "trmm" | "trsm" if not a["alpha"]:
            # By BLAS's book, nothing is read then.
            return {"C" if name == "trmm" else "B": np.zeros_like(a["B"])}
        case "trmm":
            square = op(a["trans"], triangular(a["uplo"], a["diag"], a["A"]))
            return {"C": a["alpha"] * (square @ a["B"] if a["side"] == "L" else a["B"] @ square)}
        case "trsm":
            square = op(a["trans"], triangular(a["uplo"], a["diag"], a["A"]))
            right = a["alpha"] * a["B"]
            if a["side"] == "L":
                return {"B": _solve(square, right)}
            return {"B": _solve(square.T, right.T).T}
        case "geam":
            first = a["alpha"] * op(a["transa"], a["A"])
            return {"C": first + a["beta"] * op(a["transb"], a["B"])}
        case "dgmm":
            factor = a["x"][:, None] if a["side"] == "L" else a["x"]
            return {"C": a["A"] * factor}
    return None


def _is_left_alone(name, a):
    """Return whether nothing is added, so that a Hermitian diagonal keeps imaginary parts, too."""
    if "C" not in a:
        return not a["alpha"]
    is_nothing = not a["alpha"] or not op(a["trans"], a["A"]).shape[1]
    return is_nothing and a["beta"] == 1


def outputs(name, a):
    """Return what a routine writes, by the names of its arrays.

    `a` holds its arguments by name: letters, numbers and dense arrays.
    """
    found = _level_one(name, a) or _products(name, a)
    if found is not None:
        return found
    if name == "tpttr":
        n = len(a["A"])
        return {"A": into_triangle(a["uplo"], a["A"], unpack(a["uplo"], a["AP"], n))}
    if name == "trttp":
        return {"AP": a["A"][tuple(positions(a["uplo"], len(a["A"])))]}
    if name[-1] == "v" and "beta" in a:
        return {"y": blend(a["alpha"] * (_square(name, a) @ a["x"]), a["beta"], a["y"])}
    if name[-1] == "v":
        square = _square(name, a)
        return {"x": _solve(square, a["x"]) if name[-2] == "s" else square @ a["x"]}
    return _update(name, a)


def _update(name, a):
    """Return the matrix that something is added to, or one triangle of it."""
    if _is_left_alone(name, a):
        written = next(each for each in ("C", "AP", "A") if each in a)
        return {written: a[written]}
    if "AP" in a:
        n = len(a["x"])
        new = unpack(a["uplo"], a["AP"], n) + _rank_one(name, a)
        if name.startswith("h"):
            new = _real_diagonal(new)
        return {"AP": new[tuple(positions(a["uplo"], n))]}
    if "C" in a:
        new = blend(_rank_k(name, a), a["beta"], a["C"])
        new = _real_diagonal(new) if name.startswith("he") else new
        return {"C": into_triangle(a["uplo"], a["C"], new)}
    new = a["A"] + _rank_one(name, a)
    if name.startswith("ge"):
        return {"A": new}
    new = _real_diagonal(new) if name.startswith("he") else new
    return {"A": into_triangle(a["uplo"], a["A"], new)}
