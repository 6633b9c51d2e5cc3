"""Products of matrices given as lists: one call of cuBLAS where they agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.helpers.blas_cases import MATRIX_LAYOUTS, VECTOR_LAYOUTS, lay_out_on_device
from tests.helpers.cublas_fake import replace_cublas

OPERATIONS = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def draw(rng, shape, dtype):
    made = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.uniform(-1, 1, shape)
    return made.astype(dtype)


def products(library):
    return [name for name, _ in library.calls if "gemm" in name.lower()]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_lists_of_one_layout_are_one_call(library, fake_cuda, dtype):
    rng = np.random.default_rng(3)
    stream = cuda.stream()
    letter = {"f4": "S", "f8": "D", "c8": "C", "c16": "Z"}[dtype]
    for transa, transb in itertools.product("NTC", repeat=2):
        shapes = [(3, 4), (4, 2), (3, 2)]
        shapes[0] = shapes[0] if transa == "N" else shapes[0][::-1]
        shapes[1] = shapes[1] if transb == "N" else shapes[1][::-1]
        host = [[draw(rng, shape, dtype) for _ in range(5)] for shape in shapes]
        a, b, c = ([cuda.to_device(each, stream=stream) for each in one] for one in host)
        stream.synchronize()
        library.calls.clear(), fake_cuda.calls.clear()
        got = blas.gemm_batched(transa, transb, 2, a, b, -1, c, stream=stream)
        assert all(one is other for one, other in zip(got, c, strict=True))
        waits = [call.name for call in fake_cuda.calls if "Synchronize" in call.name]
        copies = [call.name for call in fake_cuda.calls if "Memcpy" in call.name]
        assert (waits, len(copies)) == ([], 1)
        assert (f"cublas{letter}gemmBatched", stream.handle) in library.calls
        assert products(library) == [f"cublas{letter}gemmBatched"]
        for one, two, old, new in zip(*host, got, strict=True):
            expected = 2 * OPERATIONS[transa](one) @ OPERATIONS[transb](two) - old
            np.testing.assert_allclose(new.copy_to_host(stream=stream), expected, **CLOSE)


@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_every_layout_is_a_group(library, dtype):
    rng = np.random.default_rng(4)
    names = list(MATRIX_LAYOUTS)
    for transa, transb in (("N", "N"), ("T", "C"), ("C", "N")):
        lists = ([], [], [])
        host = ([], [], [])
        for i in range(18):
            m, n, k = 1 + i % 3, 1 + i % 2, 1 + i % 4
            shapes = ((m, k), (k, n), (m, n))
            for place, (letter, shape) in enumerate(
                zip((transa, transb, "N"), shapes, strict=True)
            ):
                array = draw(rng, shape if letter == "N" else shape[::-1], dtype)
                host[place].append(array)
                layout = names[(i * (place + 1)) % len(names)]
                lists[place].append(lay_out_on_device(array, layout)[0])
        library.calls.clear()
        got = blas.gemm_batched(transa, transb, 1, *lists[:2], 3, lists[2])
        assert len(products(library)) < 18
        assert {name[-11:] for name in products(library)} == {"gemmBatched"}
        for one, two, old, new in zip(*host, got, strict=True):
            expected = OPERATIONS[transa](one) @ OPERATIONS[transb](two) + 3 * old
            np.testing.assert_allclose(new.copy_to_host(), expected, **CLOSE)


def test_new_outputs_and_numbers_on_the_device(library, fake_cuda):
    a = [cuda.to_device(np.full((2, 2), float(i))) for i in range(3)]
    alpha = cuda.to_device(np.array(2, "f4"))
    blas.gemm_batched("N", "N", alpha, a, a)
    fake_cuda.calls.clear()
    got = blas.gemm_batched("N", "N", alpha, a, a)
    assert not [call for call in fake_cuda.calls if "Synchronize" in call.name]
    for i, each in enumerate(got):
        np.testing.assert_array_equal(each.copy_to_host(), np.full((2, 2), 4.0 * i * i))
    assert library.modes == [1]
    unread = [cuda.to_device(np.full((2, 2), np.nan))] * 2
    got = blas.gemm_batched("N", "N", 0, unread, unread)
    np.testing.assert_array_equal(got[1].copy_to_host(), np.zeros((2, 2)))


def test_products_that_touch_each_other_come_in_order(library):
    def run(place):
        a = np.arange(4.0).reshape(2, 2)
        one, two = place(a), place(a + 1)
        # The second product reads what the first writes, and the third adds to it.
        out = place(np.zeros((2, 2)))
        blas.gemm_batched("N", "N", 1, [one, out, two], [two, one, one], 1, [out, two, out])
        return [np.asarray(each) for each in (out, two)]

    for got, expected in zip(run(cuda.to_device), run(np.array), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert "cublasDgemmBatched" not in products(library)


def test_other_lists_are_done_one_by_one(library):
    a = np.arange(4.0).reshape(2, 2)
    on_device = cuda.to_device(a)
    cases = [
        ([a, a], [a, a], None),
        ([a, on_device], [on_device, a], None),
        ([on_device] * 2, [cuda.to_device(a.astype("f4")), on_device], None),
        ([cuda.to_device(np.zeros((2, 0)))], [cuda.to_device(np.zeros((0, 2)))], None),
    ]
    for first, second, output in cases:
        got = blas.gemm_batched("N", "N", 1, first, second, 0, output)
        for one, two, new in zip(first, second, got, strict=True):
            np.testing.assert_array_equal(np.asarray(new), np.asarray(one) @ np.asarray(two))
    assert blas.gemm_batched("N", "N", 1, [], []) == []
    got = blas.gemm_batched("N", "N", 1j, [on_device], [on_device])
    np.testing.assert_array_equal(got[0].copy_to_host(), 1j * a @ a)
    with pytest.raises(ShapeError, match="gemm_batched: the argument B has shape"):
        blas.gemm_batched("N", "N", 1, [on_device], [cuda.to_device(np.ones((3, 2)))])
    with pytest.raises(ArgumentError, match="gemm_batched: the argument alpha is not a number"):
        blas.gemm_batched("N", "N", "x", [on_device], [on_device])


@pytest.mark.parametrize("trans", "NTC")
def test_lists_of_vectors(library, fake_cuda, trans):
    rng = np.random.default_rng(5)
    names = list(VECTOR_LAYOUTS)
    matrices = [draw(rng, (3, 4) if trans == "N" else (4, 3), "c16") for _ in range(6)]
    x = [draw(rng, 4, "c16") for _ in range(6)]
    y = [draw(rng, 3, "c16") for _ in range(6)]
    expected = [
        2 * OPERATIONS[trans](one) @ two - three
        for one, two, three in zip(matrices, x, y, strict=True)
    ]
    a = [cuda.to_device(each) for each in matrices]
    given_x = [lay_out_on_device(each, names[i % len(names)])[0] for i, each in enumerate(x)]
    given_y = [lay_out_on_device(each, names[i % len(names)])[0] for i, each in enumerate(y)]
    got = blas.gemv_batched(trans, 2, a, given_x, -1, given_y)
    for one, other, wanted in zip(got, given_y, expected, strict=True):
        assert one is other
        np.testing.assert_allclose(one.copy_to_host(), wanted, **CLOSE)
    assert {name for name in products(library) if "geam" not in name} == {"cublasZgemmBatched"}
    library.calls.clear()
    plain = [cuda.to_device(each) for each in x]
    got = blas.gemv_batched(trans, 1, tuple(a), plain)
    assert products(library) == ["cublasZgemmBatched"]
    for one, two, new in zip(matrices, x, got, strict=True):
        assert new.shape == (3,)
        np.testing.assert_allclose(new.copy_to_host(), OPERATIONS[trans](one) @ two, **CLOSE)
    on_host = blas.gemv_batched(trans, 2, matrices, x, -1, [each.copy() for each in y])
    for one, wanted in zip(on_host, expected, strict=True):
        np.testing.assert_allclose(one, wanted, **CLOSE)


def test_mistakes_in_lists_are_named(library):
    a, x = np.ones((2, 2)), np.ones(2)
    cases = {
        "gemv_batched: the sequences are of different lengths\nA has 1 arrays, x 2": (
            ShapeError,
            lambda: blas.gemv_batched("N", 1, [a], [x, x]),
        ),
        "gemv_batched: the argument x is a int\nexpected a sequence of arrays": (
            ArgumentTypeError,
            lambda: blas.gemv_batched("N", 1, [a], 3),
        ),
        "gemm_batched: the sequences are of different lengths\nA has 1 matrices, B 1, C 2": (
            ShapeError,
            lambda: blas.gemm_batched("N", "N", 1, [a], [a], 0, [a, a]),
        ),
    }
    for message, (kind, call) in cases.items():
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == message
