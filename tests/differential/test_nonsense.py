"""Functions and launches that make no sense: errors of this package, and never a crash."""

import math
import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib import cuda, types
from pygpulib.errors import CompileError, DeviceError, InternalError, PyGpuLibError
from tests.helpers.garbage import make_function

SEEDS = st.integers(0, 2**32)
SIGNATURES = [
    (types.float64[:], types.int64, types.float32),
    (types.complex64[:, :], types.float64, types.boolean),
    (types.int8[:], types.uint64[:, ::1], types.none),
    (types.int32[::1], types.TupleType((types.float32, types.int64)), types.int16),
]


def failure_of(action: Callable[[], object]) -> PyGpuLibError | None:
    """Return the error that an action ends in, if it is one that users may get."""
    try:
        action()
    except InternalError:
        raise
    except PyGpuLibError as error:
        return error
    return None


def check_function(seed: int) -> None:
    """Compile a function down to machine code, or get a message that helps."""
    function, text = make_function(Random(seed))
    kernel = cuda.jit(function)
    for signature in SIGNATURES:
        error = failure_of(lambda signature=signature: kernel.compile(signature))
        if error is None:
            kernel.inspect_asm(signature)
            continue
        assert isinstance(error, CompileError), text
        assert error.span is not None, text
        first, *rest = str(error).splitlines()
        assert re.match(r"\S+( \S+)?:\d+: ", first), text
        assert any(line.startswith("help: ") for line in rest), f"{error}\n{text}"


@given(SEEDS)
def test_functions(seed):
    for offset in range(8):
        check_function(seed + offset)


@pytest.mark.fuzz
@given(SEEDS)
def test_many_functions(seed):
    check_function(seed)


# --------------------------------------------------------------------------------------- launches


class Stranger:
    """An object that kernels know nothing about."""


class Liar:
    """An object that promises an array and gives none."""

    __array_interface__ = "no"
    __cuda_array_interface__ = None
    __index__ = None
    __len__ = None


SIZES = [
    *(0, 1, 2, 3, 7, -1, 1025, 2**31, 10**30, True, 2.0, 1.5, math.nan, None, "4", b"", ()),
    *((1, 2), (1, 2, 3), (1, 2, 3, 4), [2, 2], [], (1, "x"), (None,), (2, 0), (2, -1), (1, 1, 65)),
    *((32, 33), (1.0, 2), np.int64(3), np.array([2, 3]), np.float32(2), {}, {1}, range(3)),
    *(Stranger(), Liar(), object, 1j, (1,) * 100, slice(3)),
]
ARGUMENTS = [
    *(1, -1, 2**63, 2**64, 10**40, 0.5, math.inf, 1j, True, None, "text", b"bytes", (), (1, 2.5)),
    *((1, ("x",)), [1, 2], {}, {1: 2}, Stranger(), Liar(), Stranger, len, np, ..., slice(3)),
    *(np.zeros(4), np.zeros((2, 2), "f4"), np.zeros(0), np.zeros(()), np.zeros(3, "U2")),
    *(np.zeros(3, object), np.zeros(3, "M8[s]"), np.zeros(3, ">f8"), np.zeros(3, "i4,f8")),
    *(np.zeros(17, np.uint8)[1:].view("f8"), np.broadcast_to(np.float64(1), 5), np.float16(1)),
    *(np.datetime64("2020-01-01"), np.longdouble(1), np.zeros(2, np.longdouble), np.str_("x")),
    *(np.ma.masked_array([1.0], [True]), cuda.to_device(np.zeros(3)), cuda.stream(), cuda.jit),
    *(np.zeros((1,) * 20), np.zeros(4)[::-2], memoryview(b"abcd"), np.bool_(1), range(3)),
]


def check_launch(seed: int) -> None:
    """Launch with anything in any place."""
    random = Random(seed)

    @cuda.jit
    def kernel(a, b, c=2):
        if cuda.grid(1) < 0:
            a[0] = b

    config = [1, 1]
    for _ in range(random.choice([0, 1, 1, 2])):
        config[random.randrange(2)] = random.choice(SIZES)
    config += [random.choice([0, None, *SIZES]) for _ in range(random.choice([0, 0, 0, 1, 2, 3]))]
    arguments = [random.choice(ARGUMENTS) for _ in range(random.choice([0, 1, 2, 2, 2, 3, 3, 4]))]
    keywords = {
        name: random.choice(ARGUMENTS) for name in ("b", "c", "d") if random.random() < 0.08
    }
    before = repr(arguments)
    errors = [
        failure_of(lambda: kernel[tuple(config)](*arguments, **keywords))
        for _ in range(3)  # the short cuts of later calls must be as strict
    ]
    assert str(errors[0]) == str(errors[1]) == str(errors[2])
    assert repr(arguments) == before


@given(SEEDS)
def test_launches(seed):
    for offset in range(20):
        check_launch(seed + offset)


@pytest.mark.fuzz
@given(SEEDS)
def test_many_launches(seed):
    check_launch(seed)


@given(st.binary(max_size=40))
def test_signatures_of_random_text(data):
    text = data.decode("latin-1")
    for given_text in (text, f"void({text})", f"void(float32[{text}])"):
        error = failure_of(lambda given_text=given_text: cuda.jit(given_text)(lambda a: None))
        assert not isinstance(error, DeviceError)
