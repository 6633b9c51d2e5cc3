"""Records against NumPy's: fields, views of fields, assignment, arguments, constants."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import KernelTypeError, LaunchTypeError
from tests.helpers.bodies import launch, run_both
from tests.helpers.kernels import interpret

POINT = [("p", "i2"), ("q", "f8")]
FIELDS = [
    ("flag", "?"),
    ("small", "i1"),
    ("half", "f2"),
    ("x", "f4"),
    ("y", "i8"),
    ("z", "c8"),
    ("w", "c16"),
    ("name", "S5"),
    ("word", "U3"),
    ("when", "M8[s]"),
    ("table", "f4", (2, 3)),
    ("inner", POINT),
    ("points", POINT, 2),
]
ALIGNED, PACKED = np.dtype(FIELDS, align=True), np.dtype(FIELDS)
SIMPLE = np.dtype([("x", "f4"), ("y", "f4"), ("n", "i4")])


def fill(column, rng):
    """Put random values into an array of any dtype."""
    if column.dtype.names:
        for name in column.dtype.names:
            fill(column[name], rng)
    elif column.dtype.kind in "SU":
        column[...] = rng.choice(["abc", "", "q", "abcde"], column.shape)
    elif column.dtype.kind == "M":
        column[...] = rng.integers(-9, 9, column.shape)
    else:
        column[...] = rng.integers(0, 9, column.shape)


def records(dtype, count=9, seed=1):
    array = np.zeros(count, dtype)
    fill(array, np.random.default_rng(seed))
    return array


@pytest.mark.parametrize("dtype", [ALIGNED, PACKED], ids=["aligned", "packed"])
def test_fields_are_read_and_written(dtype):
    def body(i, a, b):
        r, s = a[i], b[i]
        s["flag"] = not r["flag"]
        s["small"] = r["small"] + np.int8(1)
        s["half"] = r["half"]
        s["x"] = r["x"] * np.float32(2)
        s["y"] = r["y"] - 5
        s["z"] = r["z"] * np.complex64(2j)
        s["w"] = r["w"] + 1j
        s["name"] = r["name"]
        s["word"] = r["word"]
        s["when"] = r["when"]
        s["inner"]["q"] = r["inner"]["p"] + 0.5

    run_both(body, 9, records(dtype), records(dtype, seed=2))


def test_arrays_in_records():
    def body(i, a, b):
        table = a[i]["table"]
        b[i]["table"][1, 2] = table[0, 1] + table[-1, 0]
        b[i]["points"][1]["p"] = len(table)
        a[i]["points"][0] = b[i]["inner"]
        a[i]["table"][0] = table[1]

    run_both(body, 9, records(ALIGNED), records(ALIGNED, seed=2))


@pytest.mark.parametrize("dtype", [ALIGNED, PACKED, SIMPLE], ids=["aligned", "packed", "simple"])
@pytest.mark.parametrize("step", [1, -2])
def test_whole_records(dtype, step):
    def body(i, a, b):
        b[i] = a[i]

    run_both(body, 5, records(dtype)[::step][:5].copy(), records(dtype, seed=2))
    a, b = records(dtype), records(dtype, seed=2)
    launch(body, 5, a[::step], b)
    assert (b[:5] == a[::step][:5]).all()


def test_large_records_are_copied():
    def body(i, a, b):
        b[i] = a[i]

    run_both(body, 3, records(np.dtype([("t", "f8", (7, 9)), ("k", "i4")])), records_like())


def records_like():
    return np.zeros(9, np.dtype([("t", "f8", (7, 9)), ("k", "i4")]))


def test_a_tuple_becomes_a_record():
    def body(i, a):
        a[i] = (i * 0.5, -i, 7)

    run_both(body, 9, records(SIMPLE))


def test_views_of_fields():
    def body(i, a, b):
        x = a["x"]
        b[i] = x[i] + a["n"][-1 - i] + len(x[::2])
        a["y"][i] = x.size
        a["x"][i] += 1

    run_both(body, 9, records(SIMPLE), np.zeros(9))


def test_views_of_fields_of_matrices_with_arrays():
    def body(i, a, b):
        table = a["table"]
        b[i] = table[i // 3, i % 3, 1, 2] + a["inner"]["q"][i // 3, i % 3] + table.ndim
        a["points"][i // 3, i % 3, 1]["p"] = 3

    run_both(body, 9, records(ALIGNED).reshape(3, 3), np.zeros(9))


def test_attributes_of_recarrays():
    def body(i, a, b):
        b[i] = a[i].x + a.y[i]
        a[i].n = i
        a[i].x += 1
        r = a[i]
        r.y *= 2

    run_both(body, 9, records(SIMPLE).view(np.recarray), np.zeros(9))


def test_whole_fields_are_filled_and_changed():
    def body(i, a):
        if i == 0:
            a["x"] = 3
            a.y = a.x
            a.n += 2

    run_both(body, 1, records(SIMPLE).view(np.recarray))


def test_records_by_number_and_length():
    def body(i, a, b):
        b[i] = a[i][0] + a[i][-1] + len(a[i])

    run_both(body, 9, records(SIMPLE), np.zeros(9))


def test_the_record_chosen_at_run_time():
    def body(i, a, b):
        r = a[i] if i % 2 else b[i]
        for k in range(0, 9, 4):
            if k == i:
                r = b[k]
        r["n"] = r["n"] + 10

    run_both(body, 9, records(SIMPLE), records(SIMPLE, seed=3))


def test_records_are_arguments_and_work_in_place():
    def body(i, r, t, out):
        r["x"] += 1
        t[1]["n"] = r["n"]
        out[0] = t[0] + r["y"]

    a, expected = records(SIMPLE), records(SIMPLE)
    out = np.zeros(1)
    launch(body, 1, a[2], (1.5, a[3]), out)
    expected[2]["x"] += 1
    expected[3]["n"] = expected[2]["n"]
    assert (a == expected).all()
    assert out[0] == 1.5 + expected[2]["y"]
    launch(body, 1, a.view(np.recarray)[2], (1.5, a[3]), out)
    assert a[2]["x"] == expected[2]["x"] + 1


def test_device_arrays_of_records():
    def body(i, a):
        a[i].x = a[i].n

    device = cuda.to_device(records(SIMPLE))
    launch(body, 9, device)
    host = device.copy_to_host()
    assert (host["x"] == host["n"]).all()

    def one(i, r):
        r.x = 77

    launch(one, 1, device[4])
    assert device.copy_to_host()["x"][4] == 77


def test_records_at_odd_addresses():
    def body(i, a):
        a[i]["y"] = a[i]["x"] + i

    whole = np.zeros(1 + 9 * SIMPLE.itemsize, np.uint8)
    a = whole[1:].view(SIMPLE)
    a[:] = records(SIMPLE)
    launch(body, 9, a)
    assert (a["y"] == a["x"] + np.arange(9)).all()


def test_shared_and_local_records():
    @cuda.jit
    def kernel(a):
        shared = cuda.shared.array(16, SIMPLE)
        local = cuda.local.array((2, 2), ALIGNED)
        i = cuda.threadIdx.x
        if i < a.size:
            shared[i] = a[i]
            local[1, 0].inner.q = i
        cuda.syncthreads()
        if i < a.size:
            a[i] = shared[a.size - 1 - i]
            a[i].x = local[1, 0].inner.q

    a = records(SIMPLE)
    kernel[1, 16](a)
    expected = records(SIMPLE)[::-1].copy()
    expected["x"] = np.arange(9)
    assert (a == expected).all()


TABLE = records(SIMPLE)
ROW = TABLE[3]


def test_constants():
    def body(i, out):
        out[i] = TABLE[i]["x"] + TABLE["n"][i] + ROW["y"]

    run_both(body, 9, np.zeros(9))


# ----------------------------------------------------------------------------------------- strings


@pytest.mark.parametrize("dtype", [ALIGNED, PACKED], ids=["aligned", "packed"])
def test_strings_compare_and_change(dtype):
    def body(i, a, out):
        out[i] = a[i]["name"] == b"abc"
        if a[i]["word"] != "q":
            out[i] += 2
        if a[i]["name"] == a[(i + 1) % 9]["name"]:
            out[i] += 4
        if a[i]["word"] == "much too long":
            out[i] += 8
        out[i] += 16 * len(a[i]["name"])
        if i % 3 == 0:
            a[i]["name"] = b"new"
            a[i]["word"] = "longer"
        elif i % 3 == 1:
            a[i]["name"] = a[(i + 1) % 9]["name"]

    run_both(body, 9, records(dtype), np.zeros(9, np.int64))


def test_strings_at_odd_addresses():
    def kernel(a, out):
        out[0] = a[0]["word"] == "abc"
        out[1] = len(a[1]["word"])
        a[1]["word"] = a[0]["word"]
        a[0]["word"] = "é"

    a = np.array([(1, "abc"), (2, "d")], [("n", "i1"), ("word", "U3")])
    out = np.zeros(2)
    # The interpreter checks the alignment of every access.
    assert interpret(kernel, a, out) is None
    assert out.tolist() == [1, 1]
    assert a["word"].tolist() == ["é", "abc"]


def test_arrays_of_strings():
    def body(i, a, out):
        out[i] = a[i] == "ab"
        a[i] = "xyz"

    run_both(body, 3, np.array(["ab", "a", "abc"]), np.zeros(3, np.bool_))


# ---------------------------------------------------------------------------------------- mistakes


def refused(body, *args, error=KernelTypeError):
    with pytest.raises(error) as caught:
        launch(body, 1, *args)
    return str(caught.value)


def test_an_unknown_field_is_named_with_the_known_ones():
    def read(i, a):
        a[i].x = a[i].nn

    message = refused(read, records(SIMPLE))
    assert "the record has no field 'nn'" in message
    assert "its fields are x: float32, y: float32, n: int32" in message
    assert message.endswith("help: did you mean 'n'?")

    def write(i, a):
        a[i]["zzz"] = 1

    assert "help: check the spelling" in refused(write, records(SIMPLE))

    def whole(i, a):
        a["zzz"][0] = 1

    assert "the record has no field 'zzz'" in refused(whole, records(SIMPLE))


def test_what_a_field_does_not_take():
    def body(i, a):
        a[i].n = 1j

    message = refused(body, records(SIMPLE))
    assert "complex128 cannot be stored in an element of the field 'n'" in message


def test_records_of_other_fields_do_not_fit():
    def body(i, a, b):
        a[i] = b[i]

    message = refused(body, records(SIMPLE), records(ALIGNED))
    assert "help: store a record of the same fields, or a tuple of one value per field" in message


def test_read_only_records():
    def body(i, a):
        a[i].n = 1

    a = records(SIMPLE)
    a.flags.writeable = False
    message = refused(body, a)
    assert "the field 'n' belongs to the array 'a', which is read-only" in message

    def constant(i, out):
        ROW.n = 1

    assert "is read-only" in refused(constant, np.zeros(1))


def test_views_of_fields_that_are_not_aligned():
    def body(i, a):
        a["x"][i] = 1

    odd = np.zeros(3, np.dtype([("b", "i1"), ("x", "f8")]))
    message = refused(body, odd)
    assert "the field 'x' of type float64 is not aligned in Record(b: int8, x: float64)" in message
    assert "align=True" in message


def test_an_index_that_names_no_field():
    def body(i, a):
        a[0][i] = 1

    assert "a record cannot be indexed with int64" in refused(body, records(SIMPLE))

    def numbers(i, a):
        a["x"] = 1

    assert "the array 'a' has no field 'x'" in refused(numbers, np.zeros(3))


def test_dtypes_that_kernels_do_not_have():
    def body(i, a):
        a[i] = a[i]

    message = refused(body, np.zeros(3, [("x", ">f8")]), error=LaunchTypeError)
    assert "which kernels do not take" in message


def test_types_of_records_in_signatures():
    record = types.from_dtype(SIMPLE)
    assert str(record) == "Record(x: float32, y: float32, n: int32)"

    @cuda.jit((record[:], types.float64[::1]))
    def kernel(a, out):
        out[0] = a[1].x

    out = np.zeros(1)
    kernel[1, 1](records(SIMPLE)[::2], out)
    assert out[0] == records(SIMPLE)[2]["x"]
