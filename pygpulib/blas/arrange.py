"""How a call with arrays of any orientation becomes one that BLAS has.

Where an output is *flipped* (its rows are contiguous), BLAS computes the transpose of the result:
products change the order of their factors, sides and triangles swap. Factors are used transposed as
their own orientation demands. Only what BLAS has no letter for, a matrix conjugated but not
transposed, needs a copy in the other orientation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.blas.routines import ROUTINES, Form

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.call import Call, Placed

_OTHER = {"L": "U", "U": "L"}
_OTHER_SIDE = {"L": "R", "R": "L"}


def arrange(call: Call) -> None:
    """Place the arrays of a call, outputs first, and adapt its letters and sizes."""
    _FAMILIES[call.routine.family](call)


def _letter(is_transposed: bool, is_conjugated: bool) -> str:
    """Return BLAS's letter for what is done to a matrix; empty if there is none."""
    if is_conjugated:
        return "C" if is_transposed else ""
    return "T" if is_transposed else "N"


def _factor(call: Call, name: str, letter: str, transposed: bool = False) -> tuple[Placed, str]:
    """Return op(A), or its transpose, as a placed matrix and the letter that makes it."""
    placed = call.matrix(name)
    conjugated = letter == "C" and call.is_complex
    wanted = (letter != "N") != transposed
    found = _letter(wanted != placed.is_flipped, conjugated)
    if not found:
        placed, found = call.transposed(placed), "C"
    return placed, found


def _exchange(call: Call, first: str, second: str) -> None:
    values = call.values
    values[first], values[second] = values[second], values[first]


def _turn(call: Call, name: str, others: dict[str, str]) -> None:
    call.values[name] = others[call.values[name]]


def _place_vectors(call: Call) -> None:
    """Place all vectors and packed triangles, outputs first."""
    for operand in sorted(call.routine.operands, key=lambda each: not each.is_output):
        if operand.form in (Form.VECTOR, Form.PACKED):
            call.put(operand.name, call.vector(operand.name))


def _band(call: Call) -> None:
    """Band storage is columns, whatever the order of the array: rows would be another one."""
    _place_vectors(call)
    call.put("A", call.matrix("A", flipped=False))


def _gemv(call: Call) -> None:
    _place_vectors(call)
    placed, letter = _factor(call, "A", call.values["trans"])
    call.put("A", placed)
    call.values["trans"] = letter
    if placed.is_flipped:
        _exchange(call, "m", "n")


def _ger(call: Call) -> None:
    placed = call.matrix("A")
    call.put("A", placed)
    x, y = call.vector("x"), call.vector("y")
    if placed.is_flipped:
        _exchange(call, "m", "n")
        x, y = y, x
    call.put("x", x)
    call.put("y", y)


def _gerc(call: Call) -> None:
    placed = call.matrix("A")
    call.put("A", placed)
    x, y = call.vector("x"), call.vector("y")
    if placed.is_flipped:
        # The transpose of x y^H is conj(y) x^T, for which there is the other routine.
        _exchange(call, "m", "n")
        x, y = call.conjugated(y), x
        call.routine = ROUTINES["geru"]
    call.put("x", x)
    call.put("y", y)


def _symv(call: Call) -> None:
    _place_vectors(call)
    placed = call.matrix("A")
    call.put("A", placed)
    if placed.is_flipped:
        _turn(call, "uplo", _OTHER)


def _hemv(call: Call) -> None:
    _place_vectors(call)
    call.put("A", call.matrix("A", flipped=False))


def _trmv(call: Call) -> None:
    _place_vectors(call)
    placed, letter = _factor(call, "A", call.values["trans"])
    call.put("A", placed)
    call.values["trans"] = letter
    if placed.is_flipped:
        _turn(call, "uplo", _OTHER)


def _syr(call: Call) -> None:
    placed = call.matrix("A")
    call.put("A", placed)
    if placed.is_flipped:
        _turn(call, "uplo", _OTHER)
    for operand in call.routine.operands:
        if operand.form is Form.VECTOR:
            call.put(operand.name, call.vector(operand.name))


def _her(call: Call) -> None:
    placed = call.matrix("A")
    call.put("A", placed)
    x = call.vector("x")
    if placed.is_flipped:
        # The transpose of x x^H is conj(x) conj(x)^H.
        _turn(call, "uplo", _OTHER)
        x = call.conjugated(x)
    call.put("x", x)


def _her2(call: Call) -> None:
    placed = call.matrix("A")
    call.put("A", placed)
    x, y = call.vector("x"), call.vector("y")
    if placed.is_flipped:
        _turn(call, "uplo", _OTHER)
        x, y = call.conjugated(y), call.conjugated(x)
    call.put("x", x)
    call.put("y", y)


def _gemm(call: Call) -> None:
    values = call.values
    output = call.matrix("C")
    call.put("C", output)
    a, letter_a = _factor(call, "A", values["transa"], output.is_flipped)
    b, letter_b = _factor(call, "B", values["transb"], output.is_flipped)
    if output.is_flipped:
        _exchange(call, "m", "n")
        a, b, letter_a, letter_b = b, a, letter_b, letter_a
    call.put("A", a)
    call.put("B", b)
    values["transa"], values["transb"] = letter_a, letter_b


def _symm(call: Call) -> None:
    output = call.matrix("C")
    call.put("C", output)
    a = call.matrix("A")
    call.put("A", a)
    if a.is_flipped:
        _turn(call, "uplo", _OTHER)
    call.put("B", call.matrix("B", output.is_flipped))
    if output.is_flipped:
        _flip_sides(call)


def _hemm(call: Call) -> None:
    output = call.matrix("C")
    call.put("C", output)
    # The transpose of a Hermitian matrix is another one: it has to be there as such.
    call.put("A", call.matrix("A", output.is_flipped))
    call.put("B", call.matrix("B", output.is_flipped))
    if output.is_flipped:
        _turn(call, "uplo", _OTHER)
        _flip_sides(call)


def _flip_sides(call: Call) -> None:
    _turn(call, "side", _OTHER_SIDE)
    _exchange(call, "m", "n")


def _rank_k(call: Call) -> None:
    """C = op(A) op(A)^T and its relatives, whose factors share one letter."""
    values = call.values
    output = call.matrix("C")
    call.put("C", output)
    is_hermitian = call.routine.name.startswith("he")
    conjugates = is_hermitian and output.is_flipped
    names = [operand.name for operand in call.routine.operands if not operand.is_output]
    factors = []
    letter = ""
    for name in names:
        placed, letter = _half(call, name, conjugates, letter)
        factors.append(placed)
    if output.is_flipped:
        _turn(call, "uplo", _OTHER)
        factors.reverse()
    for name, placed in zip(names, factors, strict=True):
        call.put(name, placed)
    values["trans"] = letter


def _half(call: Call, name: str, conjugates: bool, wanted: str) -> tuple[Placed, str]:
    """Return op(A), conjugated if need be, with a letter that the routine takes."""
    letter = call.values["trans"]
    is_conjugated = (letter == "C" and call.is_complex) != conjugates
    placed = call.matrix(name)
    found = _letter((letter != "N") != placed.is_flipped, is_conjugated)
    is_hermitian = call.routine.name.startswith("he")
    refused = "T" if is_hermitian else "C"
    if found in ("", refused) or (wanted and found != wanted):
        placed = call.transposed(placed)
        found = _letter((letter != "N") != placed.is_flipped, is_conjugated)
    return placed, found


def _trmm(call: Call) -> None:
    output = call.matrix("C")
    call.put("C", output)
    call.put("B", call.matrix("B", output.is_flipped))
    _triangular_factor(call, output)


def _trsm(call: Call) -> None:
    output = call.matrix("B")
    call.put("B", output)
    _triangular_factor(call, output)


def _triangular_factor(call: Call, output: Placed) -> None:
    a, letter = _factor(call, "A", call.values["trans"], output.is_flipped)
    call.put("A", a)
    call.values["trans"] = letter
    if a.is_flipped:
        _turn(call, "uplo", _OTHER)
    if output.is_flipped:
        _flip_sides(call)


def _geam(call: Call) -> None:
    output = call.matrix("C")
    call.put("C", output)
    for name, flag in (("A", "transa"), ("B", "transb")):
        placed, letter = _factor(call, name, call.values[flag], output.is_flipped)
        call.put(name, placed)
        call.values[flag] = letter
    if output.is_flipped:
        _exchange(call, "m", "n")


def _dgmm(call: Call) -> None:
    output = call.matrix("C")
    call.put("C", output)
    call.put("A", call.matrix("A", output.is_flipped))
    call.put("x", call.vector("x"))
    if output.is_flipped:
        _flip_sides(call)


def _unpack(call: Call) -> None:
    """Packed triangles count along columns: the matrix has to have them."""
    for operand in sorted(call.routine.operands, key=lambda each: not each.is_output):
        is_packed = operand.form is Form.PACKED
        name = operand.name
        call.put(name, call.vector(name) if is_packed else call.matrix(name, flipped=False))


_FAMILIES: dict[str, Callable[[Call], None]] = {
    "vectors": _place_vectors,
    "band": _band,
    "gemv": _gemv,
    "ger": _ger,
    "gerc": _gerc,
    "symv": _symv,
    "hemv": _hemv,
    "trmv": _trmv,
    "syr": _syr,
    "her": _her,
    "her2": _her2,
    "gemm": _gemm,
    "symm": _symm,
    "hemm": _hemm,
    "rank_k": _rank_k,
    "trmm": _trmm,
    "trsm": _trsm,
    "geam": _geam,
    "dgmm": _dgmm,
    "unpack": _unpack,
}
