from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import DTypeError

REALS = [row for row in dtypes.ALL_DTYPES if not row.is_complex]


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


@pytest.mark.parametrize("row", dtypes.SMALL_FLOATS, ids=str)
def test_a_small_float_agrees_with_its_package(row):
    host = row.numpy
    info = ml_dtypes.finfo(host)
    assert (host, host.itemsize) == (np.dtype(getattr(ml_dtypes, row.name)), row.size_bytes)
    assert row.is_small
    assert row.is_float
    assert row.is_storage == (host.itemsize == 1)
    least = np.abs(np.arange(1 << row.bits).astype(f"u{row.size_bytes}").view(host).astype("f4"))
    assert row.float_format == (
        info.nmant + 1,
        int(np.log2(float(info.max))),
        int(np.log2(least[least > 0].min())),
        float(info.max),
    )
    for spelling in (host, row.name, host.type):
        assert dtypes.from_numpy(spelling) is row
        assert dtypes.storage_dtype(spelling) == host
    assert dtypes.is_number(host)
    assert dtypes.find_small(host) is row


def test_formats_of_numpys_floats():
    for row in (dtypes.float16, dtypes.float32, dtypes.float64):
        info = np.finfo(row.numpy)
        least = int(np.log2(info.smallest_subnormal))
        assert row.float_format == (info.nmant + 1, info.maxexp - 1, least, float(info.max))
        assert not row.is_small
        assert dtypes.find_small(row.numpy) is None


@pytest.mark.parametrize("target", [*REALS, *dtypes.SMALL_FLOATS], ids=str)
@pytest.mark.parametrize("source", [*REALS, *dtypes.SMALL_FLOATS], ids=str)
def test_which_conversions_keep_all_values(source, target):
    if source.is_float or target.is_bool:
        numbers = floats_of(source) if source.is_float else [0.0, 1.0]
    else:
        numbers = range(2) if source.is_bool else ends_of(source)
    expected = source == target or (
        all(holds(target, number) for number in numbers)
        and not (source.is_float and not target.is_float)
        and not (target.is_bool and not source.is_bool)
    )
    assert dtypes.keeps_values(source, target) == expected


def floats_of(row):
    """Return the numbers of a float type that are the hardest to hold."""
    form = row.float_format
    return [form.largest, 2.0**form.min_exponent, 2.0 - 2.0 ** (1 - form.precision)]


def ends_of(row):
    """Return the integers of a type with the most bits that are set."""
    info = np.iinfo(row.numpy)
    return [info.max, info.min]


def holds(row, number):
    """Return whether a number is one of a type's, in exact arithmetic."""
    if row.is_bool:
        return number in (0, 1)
    if row.is_integer:
        info = np.iinfo(row.numpy)
        return number == int(number) and info.min <= number <= info.max
    form = row.float_format
    if number == 0:
        return True
    exact = Fraction(number)
    unit = Fraction(2) ** form.min_exponent
    steps = abs(exact) / unit
    if steps.denominator != 1 or abs(exact) > Fraction(form.largest):
        return False
    whole = steps.numerator
    return (whole // (whole & -whole)).bit_length() <= form.precision


def test_small_floats_meet_others():
    rules = {
        (dtypes.bfloat16, dtypes.int64): dtypes.bfloat16,
        (dtypes.bool_, dtypes.float8_e5m2): dtypes.float8_e5m2,
        (dtypes.bfloat16, dtypes.float16): dtypes.float32,
        (dtypes.bfloat16, dtypes.float32): dtypes.float32,
        (dtypes.bfloat16, dtypes.float64): dtypes.float64,
        (dtypes.bfloat16, dtypes.complex64): dtypes.complex64,
        (dtypes.float8_e5m2, dtypes.float8_e4m3fn): dtypes.float32,
        (dtypes.float8_e5m2, dtypes.float16): dtypes.float16,
        (dtypes.float8_e8m0fnu, dtypes.float16): dtypes.float32,
        (dtypes.float8_e8m0fnu, dtypes.bfloat16): dtypes.bfloat16,
    }
    for (left, right), expected in rules.items():
        assert dtypes.promote(left, right) is dtypes.promote(right, left) is expected


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
