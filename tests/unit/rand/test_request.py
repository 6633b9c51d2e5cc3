"""Requests are read and checked once, with the rule in words."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.rand.request import Distribution, Request, make_request, read_integer


def test_requests_are_normalised():
    request = make_request(Distribution.NORMAL, np.dtype(np.float32), 1, np.float32(2))
    assert request == Request(Distribution.NORMAL, "float32", (1.0, 2.0))
    assert make_request(Distribution.RAW, "i4") == Request(Distribution.RAW, "uint32")
    assert make_request(Distribution.RAW, np.int64).dtype == "uint64"
    assert make_request(Distribution.POISSON, np.int32, 3).parameters == (3.0,)


def test_the_same_request_is_the_same_object():
    assert make_request(Distribution.UNIFORM, "f4") is make_request(Distribution.UNIFORM, "f4")


def test_numbers_that_cannot_be_remembered_by_value():
    request = make_request(Distribution.POISSON, "u4", np.array(5.0))
    assert request.parameters == (5.0,)


@pytest.mark.parametrize(
    ("distribution", "dtype", "parameters", "words"),
    [
        (Distribution.UNIFORM, "i4", (), "uniform random numbers were asked for as int32"),
        (Distribution.NORMAL, "f2", (0, 1), "expected float32 or float64"),
        (Distribution.RAW, "f4", (), "expected uint32 or uint64 or int32 or int64"),
        (Distribution.POISSON, "f8", (1,), "poisson random numbers were asked for as float64"),
        (Distribution.UNIFORM, ">f4", (), "asked for as >f4"),
    ],
)
def test_wrong_types(distribution, dtype, parameters, words):
    with pytest.raises(DTypeError, match=words):
        make_request(distribution, dtype, *parameters)


@pytest.mark.parametrize(
    ("distribution", "parameters", "words"),
    [
        (Distribution.NORMAL, (0, -1), "sigma is -1\nexpected a standard deviation"),
        (Distribution.LOGNORMAL, (0, float("nan")), "sigma is nan"),
        (Distribution.NORMAL, (float("nan"), 1), "mean is not a number"),
        (Distribution.POISSON, (0,), "lmbd is 0\nexpected a mean above 0 and at most 400000"),
        (Distribution.POISSON, (-3,), "lmbd is -3"),
        (Distribution.POISSON, (400001,), "lmbd is 400001"),
        (Distribution.POISSON, (float("nan"),), "lmbd is nan"),
        (Distribution.BINOMIAL, (-1, 0.5), "n is -1\nexpected a number of trials"),
        (Distribution.BINOMIAL, (2.5, 0.5), "n is 2.5"),
        (Distribution.BINOMIAL, (10, 1.5), "p is 1.5\nexpected a probability, from 0 to 1"),
    ],
)
def test_wrong_parameters(distribution, parameters, words):
    dtype = "f4" if distribution in (Distribution.NORMAL, Distribution.LOGNORMAL) else "u4"
    with pytest.raises(ArgumentError, match=words):
        make_request(distribution, dtype, *parameters)


def test_parameters_that_are_no_numbers():
    with pytest.raises(ArgumentTypeError, match="the argument mean is 'x'\nexpected a number"):
        make_request(Distribution.NORMAL, "f4", "x", 1)


def test_integers():
    assert read_integer("seed", np.uint8(7), 0, 10) == 7
    with pytest.raises(ArgumentError, match="seed is 11\nexpected an integer from 0 to 10"):
        read_integer("seed", 11, 0, 10)
    with pytest.raises(ArgumentTypeError, match=r"seed is 1.5\nexpected an integer"):
        read_integer("seed", 1.5, 0, 10)
