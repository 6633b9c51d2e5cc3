"""Products with finished elements: one call of cublasLt, as its descriptors say."""

from __future__ import annotations

import gc
import itertools

import ml_dtypes
import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas import cuda_lt
from pygpulib.blas.binding import CuBLASError
from pygpulib.errors import ShapeError
from tests.helpers.blas_cases import MATRIX_LAYOUTS, lay_out_on_device
from tests.helpers.cublas_fake import replace_cublas

KINDS = {"float16": "f2", "bfloat16": ml_dtypes.bfloat16, "float32": "f4", "float64": "f8"}
ERRORS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}
FUNCTIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}
EPILOGUES = {
    (None, False): 1,
    (None, True): 4,
    ("relu", False): 2,
    ("relu", True): 6,
    ("gelu", False): 32,
    ("gelu", True): 36,
}


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def draw(rng, shape, kind="float32"):
    return rng.uniform(-1, 1, shape).astype(KINDS[kind])


def queued_work(fake):
    """Return what a fake driver was asked to do, apart from memory."""
    return [
        call.name
        for call in fake.calls
        if any(word in call.name for word in ("Launch", "Memcpy", "Memset", "Synchronize"))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("has_bias", [False, True])
def test_all_is_one_call(library, fake_cuda, kind, activation, has_bias):
    rng = np.random.default_rng(5)
    a, b, c, bias = (draw(rng, shape, kind) for shape in ((3, 4), (4, 2), (3, 2), (2,)))
    stream = cuda.stream()
    given = [cuda.to_device(each, stream=stream) for each in (a, b, c, bias)]
    stream.synchronize()
    options = {"alpha": 2, "beta": -3, "C": given[2], "activation": activation}
    options |= {"bias": given[3]} if has_bias else {}
    blas.matmul(*given[:2], **options, stream=stream)
    library.light.calls.clear(), library.calls.clear(), fake_cuda.calls.clear()
    got = blas.matmul(*given[:2], **options, stream=stream)
    assert queued_work(fake_cuda) == []
    assert library.light.calls == [("cublasLtMatmul", stream.handle)]
    assert library.calls == []
    asked = library.light.products[-1]
    assert asked["product"]["epilogue"] == EPILOGUES[activation, has_bias]
    # The product of rows is that of columns the other way round, and nothing is transposed.
    assert (asked["product"]["transa"], asked["product"]["transb"]) == (0, 0)
    shapes = [(each["rows"], each["columns"]) for each in asked["matrices"]]
    assert shapes == [(2, 4), (4, 3), (2, 3), (2, 3)]
    wide = [each.astype("f8") for each in (a, b, c, bias)]
    expected = FUNCTIONS[activation](2 * wide[0] @ wide[1] - 3 * wide[2] + has_bias * wide[3])
    close = ERRORS[kind]
    np.testing.assert_allclose(got.copy_to_host(stream=stream).astype("f8"), expected, close, close)


def test_factors_of_any_layout_and_sizes(library):
    rng = np.random.default_rng(6)
    names = [name for name in MATRIX_LAYOUTS if name != "unaligned"]
    sizes = itertools.product((1, 2, 5), (1, 3), (1, 4))
    for turn, (m, n, k) in enumerate(sizes):
        a, b, c, bias = (draw(rng, shape) for shape in ((m, k), (k, n), (m, n), (n,)))
        given = [
            lay_out_on_device(each, names[(turn * (i + 3) + i) % len(names)])[0]
            for i, each in enumerate((a, b, c))
        ]
        got = blas.matmul(
            *given[:2], beta=2, C=given[2], bias=cuda.to_device(bias), activation="relu"
        )
        expected = np.maximum(a.astype("f8") @ b + 2 * c + bias, 0)
        np.testing.assert_allclose(got.copy_to_host(), expected, 1e-5, 1e-6)
    assert len(library.light.calls) == 12
    assert not [name for name, _ in library.calls if "Gemm" in name]


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_stacks_are_one_call(library, kind):
    rng = np.random.default_rng(7)
    a, b, bias = (draw(rng, shape, kind) for shape in ((5, 3, 4), (5, 4, 2), (2,)))
    c = draw(rng, (5, 3, 2), kind)
    cases = [
        ((a, b), (a, b)),
        ((a, b[0]), (a, b[:1])),
        ((a[0], b), (a[:1], b)),
        ((a[:1], b), (a[:1], b)),
        ((a[::-1], b[::2].repeat(2, 0)[:5]), (a[::-1], b[::2].repeat(2, 0)[:5])),
    ]
    close = ERRORS[kind] * 4
    for given, wide in cases:
        on_device = [cuda.to_device(each) for each in given]
        expected = wide[0].astype("f8") @ wide[1].astype("f8") + c.astype("f8") + bias
        options = {"beta": 1, "C": cuda.to_device(c), "bias": cuda.to_device(bias)}
        got = blas.matmul(*on_device, **options)
        np.testing.assert_allclose(got.copy_to_host().astype("f8"), expected, close, close)
    assert len(library.light.calls) == 5
    assert {each["matrices"][3]["count"] for each in library.light.products} == {5}
    library.light.offers = lambda _: False
    library.calls.clear()
    got = blas.matmul(cuda.to_device(a[:4]), cuda.to_device(b[0]), bias=cuda.to_device(bias))
    expected = a[:4].astype("f8") @ b[0].astype("f8") + bias
    np.testing.assert_allclose(got.copy_to_host().astype("f8"), expected, close, close)
    assert [name for name, _ in library.calls] == ["cublasGemmStridedBatchedEx"]


def test_stacks_are_products_without_an_epilogue_too(library):
    a, b = np.ones((3, 2, 4), "f4"), np.ones((4, 5), "f4")
    got = blas.matmul(cuda.to_device(a), cuda.to_device(b))
    np.testing.assert_array_equal(got.copy_to_host(), np.full((3, 2, 5), 4))
    assert [name for name, _ in library.calls] == ["cublasGemmStridedBatchedEx"]
    assert library.light.calls == []


def test_numbers_in_device_memory_are_read_there(library, fake_cuda):
    stream = cuda.stream()
    a, bias = (cuda.to_device(np.ones(s, "f4"), stream=stream) for s in ((2, 2), (2,)))
    number = cuda.to_device(np.array(3.0), stream=stream)
    blas.matmul(a, a, alpha=number, bias=bias, stream=stream)
    stream.synchronize()
    fake_cuda.calls.clear()
    got = blas.matmul(a, a, alpha=number, bias=bias, stream=stream)
    assert not [name for name in queued_work(fake_cuda) if "Sync" in name or "DtoH" in name]
    np.testing.assert_array_equal(got.copy_to_host(stream=stream), np.full((2, 2), 7))
    assert library.light.products[-1]["product"]["pointer_mode"] == 1


def test_descriptors_are_kept_and_given_back(library):
    a = cuda.to_device(np.ones((4, 4), "f4"))
    for _ in range(3):
        blas.matmul(a, a, activation="relu")
    assert library.light.searches == 1
    # A product, and four layouts; preferences are needed only once.
    kinds = sorted(each["kind"] for each in library.light.alive.values())
    assert kinds == ["handle", *["matrix"] * 4, "product"]
    for size in range(1, 80):
        x = cuda.to_device(np.ones((1, size), "f4"))
        blas.matmul(x, x.T, activation="relu")
    assert len(library.light.alive) <= 1 + 5 * 64


def test_handles_are_given_back(fake_cuda, monkeypatch):
    import threading

    library = replace_cublas(monkeypatch, fake_cuda)
    a = cuda.to_device(np.ones((4, 4), "f4"))

    def work():
        blas.matmul(a, a, activation="gelu")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    del thread
    gc.collect()
    cuda.synchronize()
    assert library.light.alive == {}
    assert library.states == {}


def test_alignment_is_part_of_what_is_asked(library):
    base = cuda.to_device(np.ones((4, 9), "f4"))
    bias = cuda.to_device(np.arange(12, dtype="f4"))
    for shift in (0, 1, 2, 0, 1):
        part = base[:, shift : shift + 4]
        row = bias[shift : shift + 4]
        got = blas.matmul(part, part, bias=row)
        np.testing.assert_array_equal(got.copy_to_host()[0], 4 + np.arange(shift, shift + 4))
    assert library.light.searches == 3


@pytest.mark.parametrize("mode", ["default", "tf32", "pedantic"])
def test_precision_is_that_of_the_thread(library, mode):
    a = cuda.to_device(np.ones((2, 2), "f4"))
    with blas.math_mode(mode):
        blas.matmul(a, a, activation="relu")
    assert (
        library.light.products[-1]["product"]["compute"]
        == {
            "default": 68,
            "tf32": 77,
            "pedantic": 69,
        }[mode]
    )
    assert library.light.products[-1]["product"]["scale"] == 0


def test_sums_are_not_rounded_in_between(library):
    for kind, schemes in (("float16", 2), ("float32", 3), ("float64", 3)):
        a = cuda.to_device(np.ones((2, 2), KINDS[kind]))
        blas.matmul(a, a, activation="relu")
        assert library.light.products[-1]["reductions"] == schemes
    a = cuda.to_device(np.ones((2, 2), "f2"))
    blas.matmul(a, a, activation="relu", dtype="f4")
    assert library.light.products[-1]["reductions"] == 3


def test_other_dtypes_of_what_is_added(library):
    rng = np.random.default_rng(8)
    a, b = draw(rng, (3, 4), "float16"), draw(rng, (4, 2), "float16")
    bias, c = rng.random(2), rng.random((3, 2))
    wide = a.astype("f8") @ b.astype("f8")
    # A bias that would be rounded to the result's dtype is added before the result is.
    got = blas.matmul(cuda.to_device(a), cuda.to_device(b), bias=cuda.to_device(bias))
    assert library.light.calls == []
    np.testing.assert_allclose(got.copy_to_host(), wide + bias, 1e-3)
    got = blas.matmul(
        cuda.to_device(a), cuda.to_device(b), beta=1, C=cuda.to_device(c), bias=bias, dtype="f4"
    )
    assert len(library.light.calls) == 1
    np.testing.assert_allclose(got.copy_to_host(), wide + c + bias, 1e-5)


@pytest.mark.parametrize("why", ["no algorithm", "an older version", "no library"])
def test_without_an_algorithm_a_kernel_finishes(library, monkeypatch, why):
    if why == "no library":
        monkeypatch.setattr(cuda_lt, "open_cublaslt", lambda: None)
    elif why == "an older version":
        library.light.refused["cublasLtMatmulAlgoGetHeuristic"] = [7, 7]
    else:
        library.light.offers = lambda _: False
    a, eye, bias = np.array([[1.0, -2], [3, 4]], "f4"), np.eye(2, dtype="f4"), [1, 2]
    for _ in range(2):
        got = blas.matmul(cuda.to_device(a), cuda.to_device(eye), activation="relu")
        np.testing.assert_array_equal(got.copy_to_host(), [[1, 0], [3, 4]])
        got = blas.matmul(cuda.to_device(a[:1]), cuda.to_device(eye), bias=bias)
        np.testing.assert_array_equal(got.copy_to_host(), [[2, 0]])
    assert [name for name, _ in library.calls if "Gemm" in name] == ["cublasGemmEx"] * 4


def test_infinity_and_what_is_no_number_are_finished(library):
    library.light.offers = lambda _: False
    a = np.array([[-np.inf], [np.nan], [-0.0], [np.inf]], "f4")
    one = cuda.to_device(np.ones((1, 1), "f4"))
    got = blas.matmul(cuda.to_device(a), one, activation="relu")
    np.testing.assert_array_equal(got.copy_to_host(), [[0], [np.nan], [0], [np.inf]])


def test_refusals_are_errors(library):
    a = cuda.to_device(np.ones((2, 2), "f4"))
    library.light.refused["cublasLtMatmul"] = [13]
    with pytest.raises(CuBLASError) as caught:
        blas.matmul(a, a, activation="relu")
    assert str(caught.value) == (
        "cublasLt could not multiply matrices: a kernel failed\n"
        "cublasLtMatmul returned CUBLAS_STATUS_EXECUTION_FAILED (13)"
    )
    library.light.refused["cublasLtMatmulAlgoGetHeuristic"] = [14]
    with pytest.raises(CuBLASError) as caught:
        blas.matmul(a, a, activation="gelu")
    assert str(caught.value).startswith("cublasLt could not look for an algorithm: ")
    # What had been described is forgotten.
    assert len(library.light.alive) == 1 + 5


def test_empty_products_and_those_of_nothing(library):
    bias = cuda.to_device(np.array([-1.0, 2]))
    for shape in ((3, 0), (0, 3)):
        a, b = np.ones(shape), np.ones((shape[1], 2))
        got = blas.matmul(cuda.to_device(a), cuda.to_device(b), bias=bias, activation="relu")
        np.testing.assert_array_equal(got.copy_to_host(), np.maximum(a @ b + [-1, 2], 0))
    unread = cuda.to_device(np.full((2, 2), np.nan))
    got = blas.matmul(unread, unread, alpha=0, bias=bias)
    np.testing.assert_array_equal(got.copy_to_host(), [[-1, 2]] * 2)
    assert library.light.calls == []


def test_stacks_have_to_fit():
    a, b = np.ones((3, 2, 4)), np.ones((2, 4, 5))
    cases = {
        "matmul: the stacks are of different lengths: A has 3, B has 2\n"
        "expected the same number of problems in each, or one for all": ((a, b), {}),
        "matmul: the argument A has 4 axes\n"
        "expected two axes, or three of a stack; its shape is (1, 3, 2, 4)": ((a[None], b), {}),
        "matmul: the argument C has shape (2, 5)\nexpected (3, 2, 5) for these factors": (
            (a, b[0]),
            {"C": np.ones((2, 5)), "beta": 1},
        ),
    }
    for message, (given, options) in cases.items():
        with pytest.raises(ShapeError) as caught:
            blas.matmul(*given, **options)
        assert str(caught.value) == message
    np.testing.assert_array_equal(blas.matmul(a, b[:1]), a @ b[:1])
