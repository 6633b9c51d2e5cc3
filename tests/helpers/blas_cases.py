"""Arguments for every routine of BLAS, with arrays in every layout."""

from __future__ import annotations

import itertools

import numpy as np

from pygpulib import cuda
from pygpulib.blas.routines import DTYPES, FLAGS, Form

MARK = 77.0
"""What lies between and around the elements of arrays."""

# Each: the shape of the memory around an array, its order, and the part that is the array. Parts of
# memory with one axis more or less have other lengths than the array.
_MATRICES = {
    "C": (lambda m, n: (m, n), "C", lambda p, m, n: p),
    "F": (lambda m, n: (m, n), "F", lambda p, m, n: p),
    "row-sliced": (lambda m, n: (2 * m + 2, n), "C", lambda p, m, n: p[1 : 2 * m + 1 : 2]),
    "column-sliced": (lambda m, n: (m, n + 3), "C", lambda p, m, n: p[:, 2 : n + 2]),
    "transposed slice": (lambda m, n: (n + 1, m + 2), "C", lambda p, m, n: p[:n, 1 : m + 1].T),
    "strided": (
        lambda m, n: (2 * m + 1, 3 * n + 1),
        "C",
        lambda p, m, n: p[: 2 * m : 2, 1 : 3 * n + 1 : 3],
    ),
    "reversed rows": (lambda m, n: (m, n), "C", lambda p, m, n: p[::-1]),
    "reversed columns": (lambda m, n: (m, n), "F", lambda p, m, n: p[:, ::-1]),
}
_VECTORS = {
    "plain": (lambda n: (n,), "C", lambda p, n: p),
    "strided": (lambda n: (3 * n + 2,), "C", lambda p, n: p[1 : 3 * n + 1 : 3]),
    "reversed": (lambda n: (2 * n + 1,), "C", lambda p, n: p[1::2][::-1]),
    "column": (lambda n: (n, 3), "C", lambda p, n: p[:, 1]),
}
MATRIX_LAYOUTS = (*_MATRICES, "unaligned")
VECTOR_LAYOUTS = (*_VECTORS, "unaligned")


def lay_out_on_device(values, layout):
    """Return a device array of given values in a layout, and the memory around it."""
    if layout == "unaligned":
        layout = "strided"
    _, parent = lay_out(values, layout)
    table = _MATRICES if values.ndim == 2 else _VECTORS
    memory = cuda.to_device(parent)
    return table[layout][2](memory, *values.shape), memory


def lay_out(values, layout):
    """Return an array of given values in a layout, and the memory around it."""
    if layout == "unaligned":
        parent = np.full(values.nbytes + values.itemsize, 7, np.uint8)
        view = parent[1 : 1 + values.nbytes].view(values.dtype).reshape(values.shape)
    else:
        table = _MATRICES if values.ndim == 2 else _VECTORS
        surround, order, select = table[layout]
        parent = np.full(surround(*values.shape), MARK, values.dtype, order)
        view = select(parent, *values.shape)
    view[...] = values
    return view, parent


def flag_choices(routine):
    """Yield every combination of a routine's letters."""
    names = [name for name in routine.native if name in FLAGS]
    for letters in itertools.product(*[FLAGS[name] for name in names]):
        yield dict(zip(names, letters, strict=True))


def is_refused(routine, letter, flags):
    """Return whether BLAS has no such combination."""
    if routine.family != "rank_k" or letter in "SD":
        return False
    return flags["trans"] == ("T" if routine.name.startswith("he") else "C")


SIZES = (
    {"m": 3, "n": 4, "k": 5, "kl": 1, "ku": 2},
    {"m": 7, "n": 2, "k": 3, "kl": 2, "ku": 0},
    {"m": 1, "n": 1, "k": 1, "kl": 0, "ku": 0},
    {"m": 2, "n": 9, "k": 1, "kl": 0, "ku": 1},
    {"m": 4, "n": 3, "k": 0, "kl": 1, "ku": 1},
    {"m": 0, "n": 3, "k": 2, "kl": 0, "ku": 0},
    {"m": 5, "n": 0, "k": 2, "kl": 1, "ku": 0},
    {"m": 33, "n": 17, "k": 40, "kl": 4, "ku": 3},
)


def make_values(routine, letter, flags, sizes, rng):
    """Return dense arrays and numbers for the arguments of a routine."""
    dtype = np.dtype(DTYPES[letter])

    def random(shape):
        found = rng.uniform(-1, 1, shape)
        if dtype.kind == "c":
            found = found + 1j * rng.uniform(-1, 1, shape)
        return found.astype(dtype)

    arguments = dict(flags)
    lengths = {
        **sizes,
        "rows": sizes["m" if flags.get("trans", "N") == "N" else "n"],
        "cols": sizes["n" if flags.get("trans", "N") == "N" else "m"],
        "order": sizes["m" if flags.get("side") == "L" else "n"],
        "band": sizes["kl"] + sizes["ku"] + 1 if routine.name == "gbmv" else sizes["k"] + 1,
        "packed": sizes["n"] * (sizes["n"] + 1) // 2,
    }
    for operand in routine.operands:
        shape = tuple(lengths[name] for name in operand.lengths)
        if operand.op and flags[operand.op] != "N":
            shape = shape[::-1]
        arguments[operand.name] = random(shape)
    if routine.name in ("trsv", "tbsv", "tpsv", "trsm"):
        _make_solvable(routine, flags, arguments)
    for name in ("alpha", "beta", "c", "s"):
        if name in routine.native:
            is_real = name in routine.real_numbers or dtype.kind != "c"
            arguments[name] = 0.75 if is_real else complex(0.75, -0.5)
    if routine.name == "rotm":
        arguments["param"] = np.array([-1.0, 0.5, -2.0, 3.0, 0.25], dtype)
    if routine.name == "gbmv":
        arguments |= {name: sizes[name] for name in ("m", "kl", "ku")}
    return arguments


def _make_solvable(routine, flags, arguments):
    """Make the diagonal large, so that errors do not grow."""
    first = routine.operands[0]
    array = arguments[first.name]
    if first.form is Form.MATRIX:
        array *= 0.3
        np.fill_diagonal(array, 3)
    elif first.form is Form.BAND:
        array *= 0.3
        array[0 if flags["uplo"] == "L" else -1] = 3
    else:
        array *= 0.3
        n = len(arguments["x"])
        for j in range(n):
            array[_diagonal_position(flags["uplo"], n, j)] = 3


def _diagonal_position(uplo, n, j):
    return j * n - j * (j - 1) // 2 if uplo == "L" else j * (j + 3) // 2


def tolerance(letter, size=40):
    """Return how far results may be off, for elements of about one."""
    return float(np.finfo(DTYPES[letter]).eps) * 8 * max(size, 8)
