"""What the Fortran BLAS lacks and cuBLAS has, from NumPy and from routines that it has."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.fortran import FortranRoutine, check_size, find_function
from pygpulib.blas.layout import turn
from pygpulib.blas.routines import DTYPES, ROUTINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.routines import Routine

    Entry = Callable[[dict[str, Any]], Any]

Host = np.ndarray[Any, Any]


def host_matrix(address: int, rows: int, columns: int, leading: int, dtype: object) -> Host:
    """Return the memory of a matrix with contiguous columns as an array."""
    element: np.dtype[Any] = np.dtype(dtype)  # type: ignore[call-overload]
    if not rows or not columns:
        return np.empty((rows, columns), element)
    size = (leading * (columns - 1) + rows) * element.itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    strides = element.itemsize, leading * element.itemsize
    return np.ndarray((rows, columns), element, memory, 0, strides)


def host_vector(address: int, count: int, increment: int, dtype: object) -> Host:
    """Return the memory of a vector as an array; a negative increment counts from the end."""
    if increment < 0:
        return host_vector(address, count, -increment, dtype)[::-1]
    row: Host = host_matrix(address, 1, count, increment, dtype)[0]
    return row


def _stored(
    values: dict[str, Any], name: str, flag: str, shape: tuple[int, int], dtype: str
) -> Host:
    """Return op(A), of a shape, as an array."""
    letter = values[flag]
    rows, columns = shape if letter == "N" else shape[::-1]
    matrix = host_matrix(values[name], rows, columns, values[f"ld{name.lower()}"], dtype)
    turned: Host = turn(letter, matrix)
    return turned


def _amin(_routine: Routine, letter: str) -> Entry:
    dtype = DTYPES[letter]

    def call(values: dict[str, Any]) -> int:
        count = values["n"]
        if count < 1 or values["incx"] < 1:
            return 0
        x = host_vector(values["x"], count, values["incx"], dtype)
        return int(np.argmin(np.abs(x.real) + np.abs(x.imag))) + 1

    return call


def _geam(_routine: Routine, letter: str) -> Entry:
    dtype = DTYPES[letter]

    def call(values: dict[str, Any]) -> None:
        shape = values["m"], values["n"]
        output = host_matrix(values["C"], *shape, values["ldc"], dtype)
        alpha, beta = values["alpha"], values["beta"]
        # A factor of zero means that the matrix is not read.
        parts = [
            factor * _stored(values, name, flag, shape, dtype)
            for name, flag, factor in (("A", "transa", alpha), ("B", "transb", beta))
            if factor
        ]
        output[...] = sum(parts[1:], parts[0]) if parts else 0

    return call


def _dgmm(_routine: Routine, letter: str) -> Entry:
    dtype = DTYPES[letter]

    def call(values: dict[str, Any]) -> None:
        rows, columns = values["m"], values["n"]
        output = host_matrix(values["C"], rows, columns, values["ldc"], dtype)
        source = host_matrix(values["A"], rows, columns, values["lda"], dtype)
        is_left = values["side"] == "L"
        x = host_vector(values["x"], rows if is_left else columns, values["incx"], dtype)
        np.multiply(source, x[:, None] if is_left else x, out=output)

    return call


def _product_of_triangle(routine: Routine, letter: str) -> Entry:
    """Do what syrkx and herkx do: one triangle of a product, blended with the old values."""
    dtype = DTYPES[letter]
    is_hermitian = routine.name == "herkx"

    def call(values: dict[str, Any]) -> None:
        shape = values["n"], values["k"]
        if values["beta"] == 1 and not (values["alpha"] and values["k"]):
            # As syrk and herk: not even a diagonal's imaginary parts are written.
            return
        a = _stored(values, "A", "trans", shape, dtype)
        b = _stored(values, "B", "trans", shape, dtype)
        output = host_matrix(values["C"], values["n"], values["n"], values["ldc"], dtype)
        if values["alpha"]:
            made = values["alpha"] * (a @ (b.T.conj() if is_hermitian else b.T))
        else:
            made = np.zeros(output.shape, dtype)
        if values["beta"]:
            made += values["beta"] * output
        if is_hermitian:
            np.fill_diagonal(made, np.diagonal(made).real)
        triangle = np.tril if values["uplo"] == "L" else np.triu
        np.copyto(output, made, where=triangle(np.ones(output.shape, bool)))

    return call


def _syr2(_routine: Routine, letter: str) -> Entry | None:
    if letter in "SD":
        return None
    dtype = DTYPES[letter]

    def call(values: dict[str, Any]) -> None:
        if not values["alpha"]:
            return
        count = values["n"]
        output = host_matrix(values["A"], count, count, values["lda"], dtype)
        x = host_vector(values["x"], count, values["incx"], dtype)
        y = host_vector(values["y"], count, values["incy"], dtype)
        product = values["alpha"] * np.outer(x, y)
        triangle = np.tril if values["uplo"] == "L" else np.triu
        output += triangle(product + product.T)

    return call


def _gemm3m(_routine: Routine, letter: str) -> Entry:
    return FortranRoutine(ROUTINES["gemm"], letter, f"{letter.lower()}gemm")


def _trmm(_routine: Routine, letter: str) -> Entry:
    in_place = FortranRoutine(ROUTINES["trsm"], letter, f"{letter.lower()}trmm")
    dtype = DTYPES[letter]

    def call(values: dict[str, Any]) -> None:
        if values["B"] != values["C"] or values["ldb"] != values["ldc"]:
            shape = values["m"], values["n"]
            source = host_matrix(values["B"], *shape, values["ldb"], dtype)
            host_matrix(values["C"], *shape, values["ldc"], dtype)[...] = source
        in_place({**values, "B": values["C"], "ldb": values["ldc"]})

    return call


def _from_lapack(routine: Routine, letter: str) -> Entry:
    """Call a routine of LAPACK, which has a status for a last argument."""
    names = routine.native
    call = find_function(routine.names[letter].lower(), len(names) + 1)

    def entry(values: dict[str, Any]) -> None:
        uplo = ctypes.c_char(values["uplo"].encode())
        integers = {}
        for name in ("n", "lda"):
            check_size(routine.name, name, values[name])
            integers[name] = ctypes.c_int(values[name])
        status = ctypes.c_int()
        pointers = [
            ctypes.addressof(integers[name]) if name in integers else values[name]
            for name in names[1:]
        ]
        call(ctypes.addressof(uplo), *pointers, ctypes.addressof(status))

    return entry


REPLACEMENTS: dict[str, Callable[[Routine, str], Entry | None]] = {
    "amin": _amin,
    "geam": _geam,
    "dgmm": _dgmm,
    "syrkx": _product_of_triangle,
    "herkx": _product_of_triangle,
    "syr2": _syr2,
    "gemm3m": _gemm3m,
    "trmm": _trmm,
    "tpttr": _from_lapack,
    "trttp": _from_lapack,
}
"""Makes what stands in for a routine, or None where there is one for the dtype."""
