import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import DTypeError


@pytest.mark.parametrize("row", dtypes.ALL_DTYPES, ids=str)
def test_a_row_agrees_with_numpy(row):
    host = row.numpy
    assert (host.name, host.itemsize, host.kind) == (row.name, row.size_bytes, row.kind.value)
    assert np.dtype(row.code if not row.is_bool else "?") == host
    assert row.bits == 8 * host.itemsize
    flags = row.is_bool, row.is_integer, row.is_float, row.is_complex
    assert sum(flags) == 1
    assert row.is_signed == (host.kind == "i")
    assert repr(row) == str(row) == row.name
    assert row.component.numpy == np.zeros(1, host).real.dtype


@pytest.mark.parametrize("row", dtypes.ALL_DTYPES, ids=str)
def test_a_row_is_found_by_everything_that_names_its_dtype(row):
    for spelling in (row.numpy, row.name, row.numpy.type, row.numpy.str):
        assert dtypes.from_numpy(spelling) is row
        assert dtypes.storage_dtype(spelling) == row.numpy


def test_rows_are_equal_by_name():
    assert dtypes.float32 != dtypes.float64
    assert len(set(dtypes.ALL_DTYPES)) == len(dtypes.ALL_DTYPES)


NAMES = ", ".join(row.name for row in dtypes.ALL_DTYPES)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dtypes.from_numpy("M8[s]"),
            "arrays of dtype datetime64[s] are not supported\n"
            f"expected one of: {NAMES}, in native byte order\n"
            "help: convert with a.astype(...) first",
        ),
        (
            lambda: dtypes.from_numpy("int33"),
            "'int33' is not a dtype\n"
            "help: pass a NumPy dtype such as numpy.float32, or its name as a string",
        ),
        (
            lambda: dtypes.storage_dtype("int33"),
            "'int33' is not a dtype\n"
            "help: pass a NumPy dtype such as numpy.float32, or its name as a string",
        ),
        (
            lambda: dtypes.storage_dtype([("a", "O")]),
            "arrays of dtype [('a', 'O')] cannot be stored on a device\n"
            "expected elements that are plain bytes, without Python objects\n"
            "help: convert with a.astype(...) first",
        ),
    ],
)
def test_refusal_says_what_is_wrong(call, message):
    with pytest.raises(DTypeError) as raised:
        call()
    assert str(raised.value) == message
