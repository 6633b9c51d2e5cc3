"""PTX for other programs, made without a GPU."""

import importlib
import math
import re
import struct

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConfigurationWarning,
    KernelTypeError,
    Span,
    UnsupportedFeatureError,
)
from pygpulib.jit.backends.cuda.assemble import assemble
from pygpulib.jit.backends.cuda.line_info import write_module
from pygpulib.jit.backends.cuda.module import Module
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.backends.cuda.thread import ThreadCode
from pygpulib.jit.ir import ops as ir
from pygpulib.types import complex64, complex128, float32, float64, int16, int32, int64, uint32
from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx import launch, parse_module
from tests.helpers.packages import needs_vendor_packages


def add(x, y):
    return x + y


def add_arrays(r, x, y):
    i = cuda.grid(1)
    if i < len(r):
        r[i] = x[i] + y[i]


@cuda.jit(device=True)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def call_function(ptx, name, arguments, result_bits):
    """Call a function of PTX with C's ABI from a kernel of our own; return the result's bytes."""
    header = re.search(rf"\.func\s+\(\.param ([^)]*) func_retval0[^)]*\) {name}\(", ptx)
    assert header, ptx
    loads, passes = [], []
    kinds = re.search(rf"\.func .*? {name}\((.*?)\)\s*{{", ptx, re.DOTALL)[1]
    for position, kind in enumerate(re.findall(r"\.param \.b(\d+)", kinds)):
        passes.append(f".param .b{kind} a{position};")
        passes.append(f"ld.param.b{kind} %v{position}, [caller_param_{position + 1}];")
        passes.append(f"st.param.b{kind} [a{position}], %v{position};")
        loads.append(f".param .b{kind} caller_param_{position + 1}")
    registers = " ".join(
        f".reg .b{kind} %v{position};"
        for position, kind in enumerate(re.findall(r"\.param \.b(\d+)", kinds))
    )
    names = ", ".join(f"a{position}" for position in range(len(loads)))
    caller = f"""
.visible .entry caller(.param .u64 caller_param_0{"".join(f", {load}" for load in loads)})
{{
  .reg .b64 %out;
  .reg .b{result_bits} %result;
  {registers}
  ld.param.u64 %out, [caller_param_0];
  {{
    {chr(10).join(passes)}
    .param .b{result_bits} retval0;
    call.uni (retval0), {name}, ({names});
    ld.param.b{result_bits} %result, [retval0];
  }}
  st.global.b{result_bits} [%out], %result;
  ret;
}}
"""
    memory = DeviceMemory(1 << 20)
    out = memory.allocate(64)
    module = parse_module(ptx + caller)
    given = [struct.pack("<Q", out), *arguments]
    launch(module, "caller", given, grid=(1, 1, 1), block=(1, 1, 1), memory=memory)
    return memory.read(out, result_bits // 8)


# -------------------------------------------------------------------------- device functions


def test_a_device_function_with_cs_abi():
    ptx, result = cuda.compile(add, (float32, float32))
    assert result == float32
    assert ".target sm_75" in ptx
    assert ".entry" not in ptx
    assert re.search(r"\.visible\s+\.func\s+\(\.param\s+\.b32\s+func_retval0\)\s+add\(", ptx)
    assert "param_2" not in ptx
    bits = call_function(ptx, "add", [struct.pack("<f", 1.5), struct.pack("<f", 2.25)], 32)
    assert struct.unpack("<f", bits) == (3.75,)


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ((int32, int32), int64),
        (int32(int32, int32), int32),
        (int16(int16, int16), int16),
        ("uint32(uint32, uint32)", uint32),
        (float64(int32, int32), float64),
    ],
)
def test_results_have_the_declared_type(signature, expected):
    ptx, result = cuda.compile(add, signature)
    assert result == expected
    size = max(expected.bitwidth, 32)
    assert re.search(rf"\.func\s+\(\.param\s+\.b{size}\s+func_retval0\)", ptx)


def test_results_are_converted():
    ptx, _ = cuda.compile(add, float64(int32, int32))
    bits = call_function(ptx, "add", [struct.pack("<i", -3), struct.pack("<i", 1)], 64)
    assert struct.unpack("<d", bits) == (-2.0,)


def test_truth_values_are_bytes():
    ptx, result = cuda.compile(lambda a, b: a < b, (int32, int32), abi_info={"abi_name": "less"})
    assert result == types.boolean
    for a, b in ((1, 2), (2, 1)):
        bits = call_function(ptx, "less", [struct.pack("<i", a), struct.pack("<i", b)], 32)
        assert bits[0] == (a < b)


def test_a_function_that_calls_itself():
    ptx, _ = cuda.compile(fibonacci, int64(int64))
    bits = call_function(ptx, "fibonacci", [struct.pack("<q", 10)], 64)
    assert struct.unpack("<q", bits) == (55,)


def test_mathematical_functions_are_in_it():
    def sine(x):
        return math.sin(x)

    ptx, _ = cuda.compile(sine, (float64,))
    assert "__nv_" not in ptx
    bits = call_function(ptx, "sine", [struct.pack("<d", 0.5)], 64)
    assert struct.unpack("<d", bits)[0] == pytest.approx(math.sin(0.5), rel=1e-15)


def test_complex_numbers_are_structures():
    for type_, size in ((complex64, 8), (complex128, 16)):
        ptx, result = cuda.compile(lambda z: z * z, (type_,))
        assert result == type_
        assert re.search(rf"\.b8 func_retval0\[{size}\]", ptx)


def test_arrays_are_pointers_lengths_and_strides():
    ptx, _ = cuda.compile(lambda a, i: a[i, i], (float32[:, :], int64), abi_info={"abi_name": "f"})
    assert "f_param_5" in ptx
    assert "f_param_6" not in ptx


def test_numbas_abi_returns_a_status():
    ptx, result = cuda.compile_ptx(add, (float64, float64), device=True)
    assert result == float64
    assert re.search(r"\.func\s+\(\.param\s+\.b32\s+func_retval0\)\s+add\(", ptx)
    assert "add_param_2" in ptx
    assert re.search(r"st\.b64|st\.f64", ptx)


def test_names():
    ptx, _ = cuda.compile(lambda x: x, int32(int32), abi_info={"abi_name": "_Z4funci"})
    assert " _Z4funci(" in ptx
    ptx, _ = cuda.compile(lambda x: x, int32(int32))
    assert " _lambda_(" in ptx


def test_nothing_is_returned():
    def store(a, x):
        a[0] = x

    ptx, result = cuda.compile(store, (float32[::1], float32))
    assert result == types.void
    assert "func_retval" not in ptx


def test_fast_mathematics():
    def f(x, y, z, d):
        return math.sqrt((x * y + z) / d)

    ptx, _ = cuda.compile(f, (float32,) * 4)
    for instruction in ("fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"):
        assert instruction in ptx
    ptx, _ = cuda.compile(f, (float32,) * 4, fastmath=True)
    for instruction in ("fma.rn.ftz.f32", "div.approx.ftz.f32", "sqrt.approx.ftz.f32"):
        assert instruction in ptx


# -------------------------------------------------------------------------------------- kernels


def test_a_kernel():
    ptx, result = cuda.compile_ptx(add_arrays, (float32[::1],) * 3)
    assert result == types.void
    assert ".visible .entry add_arrays(" in ptx
    assert ".func" not in ptx
    memory = DeviceMemory(1 << 20)
    arrays = [memory.allocate(4 * 10) for _ in range(3)]
    for address, start in zip(arrays[1:], (0, 5), strict=True):
        memory.write(address, np.arange(start, start + 10, dtype=np.float32).tobytes())
    arguments = [
        struct.pack("<Q" if part == 0 else "<q", value)
        for address in arrays
        for part, value in enumerate((address, 10, 4))
    ]
    module = parse_module(ptx)
    launch(module, "add_arrays", arguments, grid=(1, 1, 1), block=(16, 1, 1), memory=memory)
    result = np.frombuffer(memory.read(arrays[0], 40), np.float32)
    assert (result == np.arange(10) * 2 + 5).all()


def test_kernels_and_device_functions_can_be_given():
    assert ".entry add_arrays(" in cuda.compile_ptx(cuda.jit(add_arrays), (float32[:],) * 3)[0]
    assert " add(" in cuda.compile(cuda.jit(device=True)(add), (float32, float32))[0]


@pytest.mark.parametrize(("bounds", "least"), [(128, False), ((128,), False), ((128, 2), True)])
def test_launch_bounds(bounds, least):
    ptx, _ = cuda.compile_ptx(add_arrays, (float32[:],) * 3, launch_bounds=bounds)
    assert re.search(r"\.maxntid\s+128", ptx)
    assert (".minnctapersm" in ptx) == least


def test_too_many_launch_bounds():
    with pytest.raises(ArgumentError, match="Got 4 launch bounds"):
        cuda.compile_ptx(add_arrays, (float32[:],) * 3, launch_bounds=(128, 2, 4, 8))


def test_a_kernel_for_debugging_has_a_record():
    ptx, _ = cuda.compile_ptx(add_arrays, (float32[:],) * 3, debug=True)
    assert "add_arrays_param_9" in ptx


def test_compile_all_gives_a_list():
    (ptx,), result = cuda.compile_all(add, (float32, float32), output="ptx")
    assert result == float32
    assert ".func" in ptx


@needs_vendor_packages
def test_the_assembler_takes_it():
    for ptx in (
        cuda.compile(fibonacci, int64(int64), cc=(8, 0))[0],
        cuda.compile(lambda z: z * z, (complex64,), cc=(8, 0))[0],
        cuda.compile_ptx(add_arrays, (float32[:],) * 3, cc=(8, 0), debug=True)[0],
    ):
        assert assemble(ptx, "sm_80").startswith(b"\x7fELF")


# -------------------------------------------------------------------------------- generations


@pytest.mark.parametrize(
    ("cc", "name"), [((8, 0), "sm_80"), ((9, 0, "a"), "sm_90a"), ((12, 0), "sm_120")]
)
def test_generations(cc, name):
    assert f".target {name}\n" in cuda.compile_ptx(lambda: None, (), cc=cc)[0]


@pytest.mark.parametrize("cc", [(6, 0), (8, 0, "a"), (9, 0, "x"), (99, 0)])
def test_generations_that_do_not_exist(cc):
    with pytest.raises(ArgumentError) as caught:
        cuda.compile_ptx(lambda: None, (), cc=cc)
    message = str(caught.value)
    assert message.startswith(f"the argument cc is {cc!r}, which names no generation of GPUs")
    assert "expected one of 7.5, 8.0, " in message


def test_a_generation_that_is_no_tuple():
    with pytest.raises(ArgumentTypeError, match="the argument cc is 80\nexpected a tuple"):
        cuda.compile_ptx(lambda: None, (), cc=80)


@pytest.mark.fake_gpus(use_assembler=False, compute_capability=(9, 0))
def test_the_current_device(fake_cuda):
    assert ".target sm_90\n" in cuda.compile_for_current_device(add, (int32, int32))[0]
    ptx, _ = cuda.compile_ptx_for_current_device(add_arrays, (float32[:],) * 3)
    assert ".target sm_90\n" in ptx


# ------------------------------------------------------------------------------------- errors


def test_a_kernel_that_returns_something():
    with pytest.raises(KernelTypeError) as caught:
        cuda.compile_ptx(lambda x, y: x[0] + y[0], (uint32[::1], uint32[::1]))
    assert str(caught.value) == (
        "<lambda> returns uint64\n"
        "CUDA kernel must have void return type.\n"
        "help: compile it as a device function, with device=True"
    )


def test_results_that_cannot_be_converted():
    with pytest.raises(KernelTypeError) as caught:
        cuda.compile(lambda x: (x, x), float32(float32))
    assert str(caught.value).endswith("and the signature says float32\nonly numbers are converted")


def test_arrays_are_not_returned():
    with pytest.raises(KernelTypeError) as caught:
        cuda.compile(lambda a: a, (float32[:],))
    assert str(caught.value) == (
        "<lambda> returns array(float32, 1d, A)\n"
        "functions for kernels of others return numbers, or tuples of them"
    )


def test_functions_that_report():
    def fails(x):
        if x < 0:
            raise ValueError("negative")
        return x

    assert cuda.compile(fails, (float32,))[1] == float32
    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.compile(fails, (float32,), debug=True)
    assert str(caught.value) == (
        "the device function fails raises exceptions or prints, and is compiled for kernels of "
        "others\nonly kernels of this package report to the host\n"
        "help: compile it with debug=False, and without print"
    )


def test_arrays_from_outside():
    outside = cuda.to_device(np.zeros(3))
    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.compile(lambda i: outside[i], (int32,))
    assert str(caught.value) == (
        "_lambda_ uses a device array from outside\nits address holds in this process only\n"
        "help: pass the array as an argument"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"abi": "fastcall"}, "Unsupported ABI: fastcall\nexpected 'c' or 'numba'"),
        ({"device": False}, "The C ABI is not supported for kernels"),
        ({"output": "cubin"}, "Unsupported output type: cubin\nexpected 'ptx'"),
        ({"output": "ltoir"}, "cuda.compile cannot give LTO-IR"),
    ],
)
def test_what_cannot_be_had(options, message):
    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.compile(add, (int32, int32), **options)
    assert str(caught.value).startswith(message)


def test_forced_inlining():
    with pytest.raises(ArgumentError, match="Can only designate forced inlining in LTO-IR"):
        cuda.compile(add, (int32, int32), forceinline=True)


@pytest.mark.parametrize("name", ["debug", "lineinfo", "device", "fastmath", "opt"])
@pytest.mark.parametrize("value", ["yes", 7])
def test_what_is_neither_true_nor_false(name, value):
    with pytest.raises(ArgumentError, match=f"the option {name} of cuda.compile is {value!r}\n"):
        cuda.compile(add, (int32, int32), **{name: value})


@pytest.mark.parametrize(
    "function", [cuda.compile, cuda.compile_all, cuda.compile_ptx], ids=lambda f: f.__name__
)
def test_options_that_do_not_exist(function):
    with pytest.raises(ArgumentTypeError) as caught:
        function(add, (int32, int32), output="ptx", fastmat=True)
    assert str(caught.value) == (
        "cuda.compile has no option 'fastmat'\n"
        "its options are: abi, abi_info, cc, debug, device, fastmath, forceinline, launch_bounds, "
        "lineinfo, opt, output\n"
        "help: did you mean 'fastmath'?"
    )


@pytest.mark.parametrize("abi", ["c", "numba"])
@pytest.mark.parametrize(
    "info", ["add", ["abi_name"], {"name": "add"}, {"abi_name": "add", "x": 1}, {"abi_name": 1}]
)
def test_wrong_names(abi, info):
    with pytest.raises(ArgumentError) as caught:
        cuda.compile(add, (int32, int32), abi=abi, abi_info=info)
    assert str(caught.value) == (
        f"the option abi_info of cuda.compile is {info!r}\n"
        'expected a dictionary with no other key than "abi_name", which is a string\n'
        'help: write abi_info={"abi_name": "name"}, or leave it out'
    )


def test_options_that_do_not_go_together():
    with pytest.warns(ConfigurationWarning, match="debug=True and opt=True"):
        cuda.compile_ptx(add_arrays, (float32[:],) * 3, debug=True, opt=True)


# -------------------------------------------------------------------------------------- lines


@cuda.jit(device=True)
def square(x):
    return x * x


def line_numbers(ptx):
    return {int(line) for line in re.findall(r"\.loc\s+\d+ (\d+)", ptx)}


def test_lines_of_kernels_and_what_they_call():
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = square(a[i])

    first = kernel.__code__.co_firstlineno
    ptx, _ = cuda.compile_ptx(kernel, (float32[::1],), lineinfo=True)
    assert re.search(r'\.file.*test_compile_api\.py"', ptx)
    wanted = {first + 1, first + 3, square.py_func.__code__.co_firstlineno + 2}
    assert wanted <= line_numbers(ptx)
    assert ".loc" not in cuda.compile_ptx(kernel, (float32[::1],))[0]
    # Code for debugging has them, too, for the tools that look for wrong accesses.
    ptx, _ = cuda.compile_ptx(kernel, (float32[::1],), debug=True)
    assert wanted <= line_numbers(ptx)


def test_instructions_of_inlined_functions_are_of_their_own_lines(tmp_path, monkeypatch):
    path = tmp_path / "elsewhere_of_lines.py"
    source = ["from pygpulib import cuda", "", "@cuda.jit(device=True)", "def root(x):"]
    source += ["    y = divide(x)", "    return y ** 0.5", "", "@cuda.jit(device=True)"]
    source += ["def divide(x):", "    return x / 3.25", ""]
    path.write_text("\n".join(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    root = importlib.import_module("elsewhere_of_lines").root

    def kernel(a):
        a[0] = root(square(a[0])) - 7.5

    ptx, _ = cuda.compile_ptx(kernel, (float64[::1],), lineinfo=True)
    files = dict(re.findall(r'\.file\s+(\d+) "(.*)"', ptx))
    places, here = {}, ("", 0)
    for line in ptx.splitlines():
        if found := re.match(r"\s*\.loc\s+(\d+) (\d+)", line):
            here = files[found[1]], int(found[2])
        elif found := re.match(r"\s*(mul|div|sqrt|add)\.\S*f64", line):
            places[found[1]] = here
    assert places["mul"] == (__file__, square.py_func.__code__.co_firstlineno + 2)
    assert places["div"] == (str(path), 10)
    assert places["sqrt"] == (str(path), 6)
    assert places["add"] == (__file__, kernel.__code__.co_firstlineno + 1)


def test_lines_of_device_functions():
    ptx, _ = cuda.compile(fibonacci, int64(int64), lineinfo=True)
    assert fibonacci.py_func.__code__.co_firstlineno + 2 in line_numbers(ptx)


@needs_vendor_packages
def test_the_assembler_takes_lines():
    ptx, _ = cuda.compile_ptx(add_arrays, (float32[:],) * 3, cc=(8, 0), lineinfo=True)
    plain, _ = cuda.compile_ptx(add_arrays, (float32[:],) * 3, cc=(8, 0))
    assert len(assemble(ptx, "sm_80", ["-lineinfo"])) > len(assemble(plain, "sm_80"))


def test_a_file_with_an_odd_name():
    code = ThreadCode()
    code.mark(Span('odd "näme"\\\n.py', 3, 0, 3, 1))
    code.do("ret void")
    module = Module(ir.Function("k", (), ir.Block((), ())), known_target((8, 0)), "k")
    text = write_module(module, [(code, "define ptx_kernel void @k()")], lineinfo=True)
    assert r'!DIFile(filename: "odd \22n\C3\A4me\22\5C\0A.py"' in text
    assert ".loc\t1 3 1" in compile_ptx(text, known_target((8, 0)))


def test_code_without_a_source_has_no_lines():
    code = ThreadCode()
    code.do("ret void")
    module = Module(ir.Function("k", (), ir.Block((), ())), known_target((8, 0)), "k")
    text = write_module(module, [(code, "define ptx_kernel void @k()")], lineinfo=True)
    assert ".loc" not in compile_ptx(text, known_target((8, 0)))


def test_unoptimized():
    ptx, _ = cuda.compile_ptx(add_arrays, (float32[:],) * 3, opt=False)
    assert len(ptx) > len(cuda.compile_ptx(add_arrays, (float32[:],) * 3)[0])
