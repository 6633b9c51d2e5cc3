"""Products given as lists, and stacks: what is refused, and that nothing is written then."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

PLACES = pytest.mark.parametrize("place", [np.copy, cuda.to_device], ids=["host", "device"])


class Shared:
    """An array of another library."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def frozen(shape):
    made = np.zeros(shape)
    made.flags.writeable = False
    return made


WRONG = [
    (
        np.zeros((3, 3)),
        ShapeError,
        r"the argument {} has shape \(3, 3\)|the argument {} has 2 axes",
    ),
    (np.zeros((1, 1, 1)), ShapeError, "the argument {} has 3 axes"),
    (None, ArgumentError, "the argument beta is given, and {} is not"),
    (np.zeros(2, int), DTypeError, "the argument {} has the unsupported dtype int64"),
    ("x", ArgumentTypeError, "the argument {} is a str"),
]


@PLACES
@pytest.mark.parametrize(("wrong", "kind", "message"), WRONG)
@pytest.mark.parametrize("name", ["C", "y"])
def test_nothing_is_written_if_one_output_is_wrong(place, wrong, kind, message, name):
    shape = (2, 2) if name == "C" else (2,)
    first = [place(np.zeros(shape)) for _ in range(2)]
    last = place(wrong) if isinstance(wrong, np.ndarray) else wrong
    ones, vectors = [place(np.ones((2, 2)))] * 3, [place(np.ones(2))] * 3
    calls = {
        "C": lambda: blas.gemm_batched("N", "N", 1, ones, ones, 2, [*first, last]),
        "y": lambda: blas.gemv_batched("N", 1, ones, vectors, 2, [*first, last]),
    }
    with pytest.raises(kind, match=message.format(name, name)):
        calls[name]()
    assert not any(np.asarray(each).any() for each in first)


@PLACES
@pytest.mark.parametrize(
    ("factor", "problem"),
    [
        (np.ones(2, np.int32), "the argument {} has the unsupported dtype int32"),
        (3, "the argument {} is a int"),
        (np.ones((3, 3)), "the argument {} has "),
    ],
)
def test_mistakes_of_factors_are_told_in_the_words_of_the_call(place, factor, problem):
    a, b = place(np.ones((2, 2))), place(factor) if isinstance(factor, np.ndarray) else factor
    for name, argument, call in (
        ("gemm", "B", lambda: blas.gemm_batched("N", "N", 1, [a], [b])),
        ("gemv", "x", lambda: blas.gemv_batched("N", 1, [a], [b])),
    ):
        with pytest.raises((ArgumentError, ArgumentTypeError, DTypeError, ShapeError)) as caught:
            call()
        assert str(caught.value).startswith(f"{name}_batched: {problem.format(argument)}")


@PLACES
def test_numbers_stay_what_they_are_while_products_are_written(place):
    a, host = place(np.eye(2)), np.array([2.0, 3.0])
    x = cuda.to_device(host)
    alpha, beta = x[:1].reshape(()), x[1:].reshape(())
    vectors = [place(np.array([1.0, 5.0]))] * 2
    outputs = [x, cuda.to_device(np.ones(2))]
    blas.gemv_batched("N", alpha, [a, a], vectors, beta, outputs)
    np.testing.assert_array_equal(outputs[0].copy_to_host(), [2 * 1 + 3 * 2, 2 * 5 + 3 * 3])
    np.testing.assert_array_equal(outputs[1].copy_to_host(), [2 * 1 + 3, 2 * 5 + 3])


def test_nothing_is_written_if_one_output_is_read_only():
    first = [np.zeros((2, 2)) for _ in range(2)]
    ones = [np.ones((2, 2))] * 3
    with pytest.raises(ArgumentError, match="gemm_batched: the argument C is read-only"):
        blas.gemm_batched("N", "N", 1, ones, ones, 2, [*first, frozen((2, 2))])
    assert not any(each.any() for each in first)
    # It is left alone where the result is of another dtype.
    got = blas.gemm_batched("N", "N", 1j, ones[:2], ones[:2], 2, [first[0], frozen((2, 2))])
    np.testing.assert_array_equal(got, np.full((2, 2, 2), 2j))


@PLACES
def test_outputs_of_other_libraries_are_written_to(place, monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)
    ones = [place(np.ones((2, 2)))] * 2
    outputs = [cuda.to_device(np.ones((2, 2))) for _ in range(2)]
    blas.gemm_batched("N", "N", 1, ones, ones, 2, [Shared(each) for each in outputs])
    for each in outputs:
        np.testing.assert_array_equal(each.copy_to_host(), np.full((2, 2), 4.0))


STACK, VECTORS = np.ones((3, 2, 2)), np.ones((3, 2))
FACTORS = np.tile(np.eye(2), (3, 1, 1))
PIVOTS = np.ones((3, 2), np.int32)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: blas.gemm_batched("N", "N", 1, None, [STACK[0]]),
            ArgumentTypeError,
            "gemm_batched: the argument A is a NoneType\nexpected a sequence of matrices",
        ),
        (
            lambda: blas.gemm_strided_batched("N", "N", 1, STACK, STACK, 0, STACK[:2].copy()),
            ShapeError,
            "gemm_strided_batched: the argument C has shape (2, 2, 2)\n"
            "expected (3, 2, 2) for these factors",
        ),
        (
            lambda: blas.gemv_batched("N", 1, STACK, VECTORS, 0, VECTORS[:2].copy()),
            ShapeError,
            "gemv_batched: the argument y has shape (2, 2)\nexpected (3, 2) for these factors",
        ),
        (
            lambda: blas.gemv_batched("N", 1, STACK, VECTORS, 2),
            ArgumentError,
            "gemv_batched: the argument beta is given, and y is not\nbeta multiplies y\n"
            "help: give y, or leave beta out",
        ),
        (
            lambda: blas.getrs_batched("N", FACTORS, PIVOTS, np.ones((3, 2))),
            ShapeError,
            "getrs_batched: the argument B has shape (3, 2), which does not fit the other arguments"
            "\nexpected length 2 along axis 0: the order of the matrices",
        ),
        (
            lambda: blas.getrs_batched("N", FACTORS, PIVOTS, np.ones((2, 2))),
            ShapeError,
            "getrs_batched: the argument B has shape (2, 2), which does not fit the other arguments"
            "\nexpected 3 problems: one for each",
        ),
        (
            lambda: blas.getrs_batched("N", FACTORS, PIVOTS, np.ones((2, 2, 1))),
            ShapeError,
            "getrs_batched: the argument B has shape (2, 2, 1), which does not fit the other "
            "arguments\nexpected length 3 along axis 0: one for each",
        ),
    ],
)
def test_mistakes_of_stacks_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.cpu_only("only there LAPACK, which does not tell, is asked")
@PLACES
def test_a_matrix_of_nothing_but_zeros_has_no_full_rank(place):
    stack = place(np.stack([np.zeros((3, 2)), np.eye(3, 2)]))
    _, info = blas.gels_batched("N", stack, place(np.ones((2, 3, 1))))
    assert np.asarray(info).tolist() == [1, 0]


def test_matrices_of_numpy_are_arrays_of_two_axes():
    a = np.array([[4.0, 1], [2, 3]]).view(np.matrix)
    np.testing.assert_allclose(blas.gemm("N", "T", 1, a, a), np.asarray(a) @ np.asarray(a).T)
    factors, pivots, _ = blas.getrf_batched(a)
    inverse, _ = blas.getri_batched(factors, pivots)
    np.testing.assert_allclose(inverse[0] @ np.asarray(a), np.eye(2), atol=1e-15)
    out = np.zeros((2, 2)).view(np.matrix)
    assert blas.gemm("N", "N", 1, a, a, 0, out) is out
    np.testing.assert_allclose(np.asarray(out), np.asarray(a) @ np.asarray(a))
    with pytest.raises(ShapeError, match="gemv: the argument x has 2 axes"):
        blas.gemv("N", 1, a, a[0])
