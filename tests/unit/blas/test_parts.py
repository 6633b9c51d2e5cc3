"""Calls that are done in parts because they are too large for BLAS's integers."""

from __future__ import annotations

import ctypes
import itertools
import struct

import numpy as np
import pytest

from pygpulib import blas
from pygpulib.blas import fortran
from pygpulib.blas.routines import ROUTINES
from pygpulib.errors import ArgumentError
from tests.helpers.blas_cases import make_values, tolerance
from tests.helpers.blas_reference import number, outputs

VECTORS = ["axpy", "scal", "copy", "swap", "rot", "rotm", "nrm2", "amax", "dot", "dotc", "asum"]
LARGEST = 7


@pytest.fixture
def small_integers(monkeypatch):
    """Let BLAS count to seven; return the integers of each of its calls."""
    calls = []

    class Narrow:
        def __init__(self, layout):
            self._layout = struct.Struct(layout)
            self.size = self._layout.size

        def pack_into(self, memory, offset, *words):
            if any(type(word) is int and abs(word) > LARGEST for word in words):
                raise struct.error("too large")
            calls.append([word for word in words if type(word) is int])
            self._layout.pack_into(memory, offset, *words)

    class Module:
        error = struct.error
        calcsize = staticmethod(struct.calcsize)
        Struct = Narrow

    monkeypatch.setattr(fortran, "struct", Module)
    monkeypatch.setattr(fortran, "_LARGEST", LARGEST)
    return calls


def routine_of(name, letter):
    routine = ROUTINES[name]
    return fortran.FortranRoutine(routine, letter, routine.names[letter].lower())


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_cut(small_integers, name):
    calls = small_integers
    routine = ROUTINES[name]
    rng = np.random.default_rng(len(name))
    for letter, step, size in itertools.product(routine.names, (1, 2, -3), (7, 8, 15, 40)):
        if step < 0 and len(routine.operands) < 2:
            continue  # BLAS does nothing then
        sizes = {"m": size, "n": size, "k": size, "kl": 1, "ku": 1}
        given = make_values(routine, letter, {}, sizes, rng)
        entry = routine_of(name, letter)
        values = {key: value for key, value in given.items() if key not in ("x", "y")}
        values["n"], kept = size, {}
        if "param" in values:
            values["param"] = values["param"].ctypes
        for each in (operand.name for operand in routine.operands):
            spread = np.zeros(size * abs(step), given[each].dtype)
            view = spread[:: abs(step)][:: 1 if step > 0 else -1]
            view[...] = given[each]
            kept[each] = spread, view
            # BLAS wants where the vector begins in memory, whatever the step.
            values[each], values[f"inc{each}"] = spread.ctypes.data, step
        for key in ("alpha", "c", "s"):
            if key in values:
                values[key] = complex(values[key]) if letter in "CZ" else float(values[key])
                if key in routine.real_numbers:
                    values[key] = values[key].real
        calls.clear()
        result = entry(values)
        assert len(calls) == -(-size // LARGEST)
        close = {"rtol": tolerance(letter), "atol": tolerance(letter)}
        if routine.returns_number:
            expected = number(name, given)
            np.testing.assert_allclose(result - (name == "amax"), expected, **close)
            continue
        for each, expected in outputs(name, given).items():
            np.testing.assert_allclose(kept[each][1], expected, **close)


def test_the_largest_element_is_the_first_of_its_size(small_integers):
    x = np.zeros(30)
    x[[9, 20]] = -3, 3
    entry = routine_of("amax", "D")
    assert entry({"n": 30, "x": x.ctypes.data, "incx": 1}) == 10


@pytest.mark.parametrize("transa", "NTC")
@pytest.mark.parametrize("transb", "NTC")
@pytest.mark.parametrize("letter", "DC")
def test_products_are_cut_where_columns_are_counted(small_integers, letter, transa, transb):
    calls = small_integers
    rng = np.random.default_rng(1)
    dtype = {"D": "f8", "C": "c8"}[letter]
    entry = routine_of("gemm", letter)
    for m, n, k in itertools.product((2, 9), repeat=3):
        stored = [
            (m, k) if transa == "N" else (k, m),
            (k, n) if transb == "N" else (n, k),
            (m, n),
        ]
        a, b, c = (
            np.asarray(rng.random(shape) + 1j * rng.random(shape)).astype(dtype, order="F")
            if letter == "C"
            else np.asfortranarray(rng.random(shape))
            for shape in stored
        )
        turn = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}
        expected = 2 * turn[transa](a) @ turn[transb](b) + 3 * c
        values = {"transa": transa, "transb": transb, "m": m, "n": n, "k": k}
        values |= {"alpha": 2.0, "beta": 3.0}
        for name, array in (("A", a), ("B", b), ("C", c)):
            values |= {name: array.ctypes.data, f"ld{name.lower()}": array.shape[0]}
        before = c.copy()
        calls.clear()
        if max(array.shape[0] for array in (a, b, c)) > LARGEST:
            with pytest.raises(ArgumentError) as caught:
                entry(values)
            message = "gemm: the arrays are too large for this machine's BLAS"
            assert str(caught.value).splitlines()[0] == message
            np.testing.assert_array_equal(c, before)
            assert calls == []
            continue
        entry(values)
        np.testing.assert_allclose(c, expected, rtol=1e-5)
        assert len(calls) == (2 if n > LARGEST else 1) * (2 if k > LARGEST else 1)


@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("step", [1, -2])
def test_products_with_vectors_are_cut(small_integers, trans, step):
    calls = small_integers
    rng = np.random.default_rng(2)
    entry = routine_of("gemv", "Z")
    for m, n in ((3, 20), (7, 8), (3, 3)):
        a = np.asfortranarray(rng.random((m, n)) + 1j * rng.random((m, n)))
        lengths = (n, m) if trans == "N" else (m, n)
        x, y = (
            rng.random(size * abs(step)).astype("c16")[:: abs(step)][:: 1 if step > 0 else -1]
            for size in lengths
        )
        op = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}[trans]
        expected = 2j * op(a) @ x + 0.5 * y
        values = {"trans": trans, "m": m, "n": n, "alpha": 2j, "beta": 0.5 + 0j}
        values |= {"A": a.ctypes.data, "lda": m}
        for name, array in (("x", x), ("y", y)):
            start = array if step > 0 else array[::-1]
            values |= {name: start.ctypes.data, f"inc{name}": step}
        calls.clear()
        entry(values)
        np.testing.assert_allclose(y, expected)
        assert len(calls) == -(-n // LARGEST)


def test_what_cannot_be_cut_is_refused(small_integers):
    x = np.ones(20)
    with pytest.raises(ArgumentError) as caught:
        routine_of("scal", "D")({"n": 2, "alpha": 2.0, "x": x.ctypes.data, "incx": 8})
    assert str(caught.value) == (
        "scal: the arrays are too large for this machine's BLAS\n"
        "incx is 8, and SciPy's BLAS counts to 7"
    )
    a = np.ones((9, 9), order="F")
    values = {"uplo": "L", "n": 9, "alpha": 1.0, "x": x.ctypes.data, "incx": 1}
    with pytest.raises(ArgumentError, match="syr: the arrays are too large"):
        routine_of("syr", "D")(values | {"A": a.ctypes.data, "lda": 9})
    assert blas.asum(x) == 20


def test_vectors_that_no_int_counts(monkeypatch):
    entry, calls = routine_of("asum", "S"), []

    def record(n, x, incx):
        calls.append((ctypes.c_int.from_address(n).value, x, ctypes.c_int.from_address(incx).value))
        return 2.5

    # Nobody reads the memory, which need not be there.
    monkeypatch.setattr(entry, "_call", record)
    largest, start = 2**31 - 1, 4096
    assert entry({"n": 2 * largest + 5, "x": start, "incx": 3}) == 7.5
    assert calls == [
        (largest, start, 3),
        (largest, start + 12 * largest, 3),
        (5, start + 24 * largest, 3),
    ]
