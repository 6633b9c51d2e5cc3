"""Kernels linked with PTX that others made, on a fake driver."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import DeviceError, ImageError, UnsupportedFeatureError
from tests.fakecuda.driver import Code

HEADER = """.version 6.3
.target sm_70
.address_size 64
"""


def of_c(body, result="b32", parameters=(".param .b32 x",), name="f"):
    listed = ", ".join(parameters)
    return f"""{HEADER}
.visible .func (.param .{result} out) {name}({listed})
{{
{body}
    ret;
}}
"""


ADD_ONE = of_c(
    """    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    add.s32 %r2, %r1, 1;
    st.param.b32 [out], %r2;"""
)


def python_code(function, signature):
    ptx, _ = cuda.compile_ptx(function, signature, device=True, abi="numba", cc=(8, 0))
    return cuda.PTXSource(ptx, function.__name__)


def test_c_code(fake_cuda):
    f = cuda.declare_device("f", "int32(int32)", link=cuda.PTXSource(ADD_ONE), abi="c")

    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = f(a[i]) * 2

    a = np.arange(10, dtype=np.int32)
    kernel[2, 8](a)
    assert a.tolist() == [2 * (i + 1) for i in range(10)]
    assert ".extern .func" in next(iter(kernel.inspect_asm().values()))


def test_a_file_that_the_kernel_names(fake_cuda, tmp_path):
    path = tmp_path / "code.ptx"
    path.write_text(ADD_ONE)
    f = cuda.declare_device("f", "int32(int32)", abi="c")

    @cuda.jit(link=[str(path)])
    def kernel(a):
        for i in range(a.size):
            a[i] = f(a[i])

    a = np.arange(4, dtype=np.int32)
    kernel[1, 1](a)
    assert a.tolist() == [1, 2, 3, 4]


def test_the_way_numba_calls(fake_cuda):
    def mix(x, n, is_negative):
        return -x * n if is_negative else x * n

    def is_odd(n):
        return n % 2 == 1

    signature, of_truth = "float64(float64, int8, boolean)", "boolean(int64)"
    foreign_mix = cuda.declare_device("mix", signature, link=python_code(mix, signature))
    foreign_odd = cuda.declare_device("is_odd", of_truth, link=[python_code(is_odd, of_truth)])

    @cuda.jit
    def kernel(a):
        for i in range(a.size):
            if foreign_odd(i):
                a[i] = foreign_mix(a[i], -i, i > 2)

    a = np.arange(5) + 0.5
    kernel[1, 1](a)
    assert a.tolist() == [0.5, -1.5, 2.5, 3.5 * 3, 4.5]


def test_code_without_a_result(fake_cuda):
    def nothing(n):
        pass

    signature = "void(int32)"
    as_numba = cuda.declare_device("nothing", signature, link=python_code(nothing, signature))
    other = f"{HEADER}.visible .func other(.param .b32 x)\n{{ ret; }}\n"
    in_c = cuda.declare_device("other", "void(int32)", link=cuda.PTXSource(other), abi="c")

    @cuda.jit
    def kernel(a):
        as_numba(1)
        in_c(a[0])
        a[0] = 5

    a = np.zeros(1, np.int32)
    kernel[1, 1](a)
    assert a[0] == 5


def test_a_wrong_number_of_arguments(fake_cuda):
    f = cuda.declare_device("f", "int32(int32)", link=cuda.PTXSource(ADD_ONE), abi="c")

    @cuda.jit
    def kernel(a):
        a[0] = f(a[0], 1)

    with pytest.raises(TypeError, match=r"test_foreign_code\.py:\d+: f"):
        kernel[1, 1](np.zeros(1, np.int32))


def refuse(link, error, match):
    f = cuda.declare_device("f", "int32(int32)", link=link, abi="c")

    @cuda.jit
    def kernel(a):
        a[0] = f(a[0])

    with pytest.raises(error, match=match) as caught:
        kernel[1, 1](np.zeros(1, np.int32))
    return caught.value


def test_functions_that_nobody_defines(fake_cuda):
    other = cuda.PTXSource(ADD_ONE.replace(" f(", " g("), "other.ptx")
    error = refuse(other, ImageError, r"\(the kernel kernel, other\.ptx\)")
    assert "cuLinkComplete returned" in error.detail
    assert "'f'" in error.detail  # what the linker says
    assert "very names" in error.help
    names = [each.name for each in fake_cuda.calls]
    assert names.count("cuLinkCreate_v2") == names.count("cuLinkDestroy") == 1


def test_code_that_is_not_linked(fake_cuda):
    refuse(cuda.CUSource("", "f.cu"), UnsupportedFeatureError, r"f\.cu is CUDA C\+\+, which")
    refuse("f.cu", UnsupportedFeatureError, r"f\.cu is CUDA C\+\+, which")
    refuse(cuda.LTOIR(b""), UnsupportedFeatureError, r"<unnamed-ltoir> is intermediate code")
    refuse("/nowhere/f.ptx", ImageError, r"the file /nowhere/f\.ptx, .* cannot be read")


@pytest.mark.parametrize(
    ("code", "number"),
    [(cuda.Cubin, 0), (cuda.Fatbin, 2), (cuda.Object, 3), (cuda.Archive, 4)],
)
def test_kinds_reach_the_driver(fake_cuda, code, number):
    # The fake driver refuses all but PTX.

    refuse(code(b"\0\1", "binary"), DeviceError, r"\(the kernel kernel, binary\)")
    *_, last = (each for each in fake_cuda.calls if each.name == "cuLinkAddData_v2")
    assert last.arguments["type"] == number


def test_without_foreign_code_nothing_is_linked(fake_cuda):
    @cuda.jit
    def kernel(a):
        a[0] = 1

    kernel[1, 1](np.zeros(1, np.int32))
    assert not [each for each in fake_cuda.calls if each.name.startswith("cuLink")]


@pytest.mark.parametrize(
    "name", ["cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy"]
)
def test_a_linker_that_fails(fake_cuda, name):
    fake_cuda.fail(name, Code.OPERATING_SYSTEM, on_call=1)
    error = refuse(cuda.PTXSource(ADD_ONE), DeviceError, f"{name} returned CUDA_ERROR_OPERATING_")
    assert error.code == Code.OPERATING_SYSTEM
    names = [each.name for each in fake_cuda.calls]
    assert names.count("cuLinkDestroy") == (name != "cuLinkCreate_v2")
    # The next one is made anew.
    test_c_code(fake_cuda)


def test_a_literal_and_other_types_are_converted(fake_cuda):
    f = cuda.declare_device("f", "int32(int32)", link=cuda.PTXSource(ADD_ONE), abi="c")

    def body(a):
        a[0] = f(3)
        a[1] = f(a[0] * 1.5)
        a[2] = f(True)
        a[3] = f(3) / 2

    for literals in ("numba", "weak"):
        a = np.zeros(4)
        cuda.jit(body, literals=literals)[1, 1](a)
        assert a.tolist() == [4, 7, 2, 2]
