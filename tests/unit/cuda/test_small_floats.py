"""bfloat16 and 8-bit floats where programs meet them: arrays, arguments, ufuncs, printing."""

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.core.dtypes import SMALL_FLOATS
from pygpulib.errors import DTypeError, KernelTypeError, LaunchTypeError
from pygpulib.ufuncs import guvectorize, vectorize

BF16 = ml_dtypes.bfloat16
JUST_ABOVE_HALF_WAY = 1 + 2.0**-8 + 2.0**-40


@pytest.mark.parametrize("row", SMALL_FLOATS, ids=str)
def test_device_arrays(row):
    host = np.array([1, 2, 4, 8]).astype(row.numpy)
    device = cuda.to_device(host)
    assert (device.dtype, device.nbytes) == (row.numpy, 4 * row.size_bytes)
    assert device.copy_to_host().tolist() == [1, 2, 4, 8]
    assert cuda.device_array_like(host).dtype == cuda.device_array(4, row.name).dtype == row.numpy
    device[1:3] = np.array([16, 32])
    device[0] = 2.0
    assert device.copy_to_host().tolist() == [2, 16, 32, 8]
    assert device[1] == 16
    assert isinstance(device[1], row.numpy.type)
    wide = cuda.to_device(np.zeros(4, np.float32))
    wide[:] = device
    assert wide.copy_to_host().tolist() == [2, 16, 32, 8]
    whole = device.view(f"u{row.size_bytes}").copy_to_host()
    assert (whole.view(row.numpy) == device.copy_to_host()).all()


def test_memory_of_other_kinds():
    for array in (cuda.pinned_array(3, BF16), cuda.mapped_array(3, "bfloat16")):
        array[:] = [1, 2, 3]
        assert array.astype(float).tolist() == [1, 2, 3]


@pytest.mark.parametrize("row", SMALL_FLOATS, ids=str)
def test_types(row):
    type_ = types.from_dtype(row.name)
    assert type_ == types.from_dtype(row.numpy) == getattr(types, row.name)
    assert type_.dtype is row
    assert (types.as_dtype(type_), type_.bitwidth) == (row.numpy, row.bits)
    assert cuda.typeof(row.numpy.type(1)) == type_
    assert cuda.typeof(np.zeros((2, 3), row.numpy)) == type_[:, ::1]
    assert isinstance(type_, types.Float)
    assert isinstance(type_(1.7), row.numpy.type)
    assert (type_.__name__, str(type_[::1])) == (row.name, f"array({row}, 1d, C)")


def test_arguments():
    @cuda.jit
    def kernel(scalar, cls, out):
        out[0], out[1] = scalar, scalar + 1
        out[2] = cls(3.14)

    out = np.zeros(3)
    for number in (2.5, -1.25):
        kernel[1, 1](BF16(number), BF16, out)
        assert out.tolist() == [number, number + 1, 3.140625]


def test_declared_types():
    @cuda.jit("void(bfloat16[::1], bfloat16, float8_e5m2)")
    def kernel(out, number, small):
        out[0], out[1] = number, small

    out = np.zeros(2, BF16)
    # What is passed is rounded once, as in a kernel, and what is too large for 8 bits saturates.
    kernel[1, 1](out, JUST_ABOVE_HALF_WAY, 1e9)
    assert out.astype(float).tolist() == [1 + 2.0**-7, 57344]


def test_constants_and_records():
    factors = np.array([0.5, 2], BF16)
    half = BF16(0.5)
    record = np.dtype([("small", BF16), ("wide", np.float32)])

    @cuda.jit
    def kernel(rows):
        i = cuda.grid(1)
        table = cuda.const.array_like(factors)
        rows[i].wide = rows[i].small * table[i] + half
        rows[i].small += factors[i]

    rows = np.zeros(2, record)
    rows["small"] = [1, 3]
    kernel[1, 2](rows)
    assert rows["wide"].tolist() == [1, 6.5]
    assert rows["small"].tolist() == [1.5, 5]


def test_types_seen_by_a_kernel():
    @cuda.jit
    def kernel(x, out):
        out[0] = isinstance(x[0], types.bfloat16)
        out[1] = isinstance(x[0], BF16)
        out[2] = isinstance(x[0] + np.float32(1), types.float32)
        out[3] = x[0].dtype == np.dtype("bfloat16")
        out[4] = isinstance(x[0] * 2, float) and isinstance(x[0] * 2, BF16)
        out[5] = isinstance(x[0], types.float16)

    out = np.zeros(6, bool)
    kernel[1, 1](np.zeros(1, BF16), out)
    assert out.tolist() == [True] * 5 + [False]


def test_weak_literals_take_the_type():
    @cuda.jit(literals="weak")
    def kernel(x, out):
        out[0] = x[0] * 1.01
        total = 0.0
        for number in x:
            total += number
        out[1] = isinstance(total, BF16)

    out = np.zeros(2)
    kernel[1, 1](np.array([3, 5], BF16), out)
    assert out.tolist() == [3.03125, 1]


def test_printing(capsys):
    @cuda.jit
    def kernel(x, small):
        print("x =", x[0], small, f"{x[0]:.3f}", "%.1f" % x[1])  # noqa: T201, UP031

    kernel[1, 1](np.array([0.1, 2.5], BF16), ml_dtypes.float8_e4m3fn(1.5))
    cuda.synchronize()
    assert capsys.readouterr().out == "x = 0.100098 1.5 0.100 2.5\n"


def test_errors_of_kernels_show_numbers():
    @cuda.jit(debug=True)
    def kernel(x):
        if x[0] > 0:
            raise ValueError("bad", x[0])

    with pytest.raises(ValueError, match=r"^bad, 0\.1001\n"):
        kernel[1, 1](np.array([0.1], BF16))


def test_ufuncs():
    @vectorize(["bfloat16(bfloat16, bfloat16)", "float32(float32, float32)"])
    def add(x, y):
        return x + y

    x = np.array([0.5, 1, 3], BF16)
    assert (add(x, x).dtype, add(x, x).tolist()) == (BF16, [1, 2, 6])
    assert (add(x, 1).dtype, add(x, 0.5).dtype) == (BF16, BF16)
    assert add(x, np.float32(1)).dtype == np.float32
    assert add(cuda.to_device(x), x).copy_to_host().tolist() == [1, 2, 6]
    assert add.reduce(x) == 4.5

    @guvectorize(["void(bfloat16[:], float8_e5m2[:], bfloat16[:])"], "(n),(n)->(n)")
    def scale(x, factor, out):
        for i in range(x.size):
            out[i] = x[i] * factor[i]

    assert scale(x, np.full(3, 2, ml_dtypes.float8_e5m2)).tolist() == [1, 2, 6]


def test_reduce():
    total = cuda.reduce(lambda a, b: a + b)
    x = np.arange(1, 17).astype(BF16)
    for array in (x, cuda.to_device(x)):
        assert total(array) == 136


def test_refusals():
    @cuda.jit
    def shift(x):
        x[0] = x[0] << 1

    with pytest.raises(KernelTypeError, match=r"the operator << does not take bfloat16 and int64"):
        shift[1, 1](np.zeros(1, BF16))

    @cuda.jit
    def add(x):
        cuda.atomic.add(x, 0, 1)

    with pytest.raises(KernelTypeError, match=r"atomic.add does not take an array of float8_e5m2"):
        add[1, 1](np.zeros(1, ml_dtypes.float8_e5m2))

    # Others of the package's types have no meaning in kernels.
    with pytest.raises(LaunchTypeError, match=r"an array of dtype int4, which kernels do not take"):
        add[1, 1](np.zeros(1, ml_dtypes.int4))
    with pytest.raises(DTypeError, match=r"^arrays of dtype float8_e4m3b11fnuz are not supported"):
        types.from_dtype(ml_dtypes.float8_e4m3b11fnuz)
