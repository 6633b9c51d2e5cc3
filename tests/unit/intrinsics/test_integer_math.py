import numpy as np
import pytest

from pygpulib.core.dtypes import ALL_DTYPES
from pygpulib.jit.intrinsics.integer_math import brev, clz, ffs, popc
from tests.helpers import native
from tests.helpers.samples import samples

INTEGERS = [dtype for dtype in ALL_DTYPES if dtype.is_integer]


def digits(x: np.integer, width: int) -> str:
    """Return the bits of an integer, highest first."""
    return format(int(x) % 2**width, f"0{width}b")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (popc, lambda bits: bits.count("1")),
        (clz, lambda bits: len(bits) - len(bits.lstrip("0"))),
        (ffs, lambda bits: len(bits) - bits.rindex("1") if "1" in bits else 0),
    ],
    ids=["popc", "clz", "ffs"],
)
def test_bits_are_counted(function, meaning, dtype):
    (x,) = samples("integer", dtype, 100)
    out = np.empty(len(x), np.uint32 if function is ffs else dtype.numpy)
    native.over(function, (x,), out)
    expected = [meaning(digits(value, dtype.bits)) for value in x]
    assert out.tolist() == expected
    assert [function(value) for value in x] == expected


@pytest.mark.parametrize("dtype", [row for row in INTEGERS if row.bits >= 32], ids=str)
def test_bits_are_reversed(dtype):
    (x,) = samples("integer", dtype, 100)
    out = np.empty(len(x), f"uint{dtype.bits}")
    native.over(brev, (x,), out)
    assert out.tolist() == [int(digits(value, dtype.bits)[::-1], 2) for value in x]
