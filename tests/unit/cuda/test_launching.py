import collections
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.core.device import current_driver
from pygpulib.errors import (
    ArgumentError,
    LaunchError,
    LaunchTypeError,
    PerformanceWarning,
    SpecializationError,
    UndefinedNameError,
)
from pygpulib.jit import dispatcher
from pygpulib.jit.backends.cpu.layouts import enable_layouts

Pair = collections.namedtuple("Pair", "left right")


@pytest.fixture(params=["native", "plain"])
def launcher(request):
    """Every launch takes the short cut through native code in one run, and in the other none."""
    enable_layouts(request.param == "native")
    yield request.param
    enable_layouts(True)


def fresh_scale():
    @cuda.jit
    def scale(out, values, factor=2.0, offset=0):
        i = cuda.grid(1)
        if i < values.size:
            out[i] = values[i] * factor + offset

    return scale


ARRAYS = {
    "plain": np.arange(10.0),
    "strided": np.arange(30.0)[::3],
    "reversed": np.arange(10.0)[::-1],
    "float32": np.arange(10, dtype="f4"),
    "int8": np.arange(10, dtype="i1"),
    "uint64": np.arange(10, dtype="u8"),
    "bool": np.arange(10) % 2 == 0,
    "readonly": np.broadcast_to(np.float64(3), (10,)),
    "empty": np.zeros(0),
}


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS.keys())
@pytest.mark.parametrize("factor", [2.0, 3, True, np.float32(0.5), np.int16(-2)])
@pytest.mark.parametrize("on_device", [False, True])
def test_results_do_not_depend_on_the_way_of_launching(launcher, values, factor, on_device):
    scale = fresh_scale()
    expected = values * float(factor) + 1
    if on_device:
        values = cuda.to_device(np.ascontiguousarray(values))
    for grid, block in ((1, 16), (5, 2)):
        # The second call makes the short cut, the third one takes it.
        for _ in range(3):
            out = np.zeros(len(values))
            assert scale[grid, block](out, values, factor, 1) is None
            assert out.tolist() == expected.tolist()


def test_one_configuration_serves_arguments_of_many_types(launcher):
    scale = fresh_scale()
    launch = scale[2, 8]
    for _ in range(4):
        for values in ARRAYS.values():
            for factor in (2.0, 3, np.float32(0.5)):
                out = np.zeros(len(values))
                launch(out, values, factor)
                assert out.tolist() == (values * float(factor)).tolist()


def test_keywords_and_defaults(launcher):
    scale, values = fresh_scale(), np.arange(4.0)
    for _ in range(3):
        for kwargs, expected in [
            ({}, values * 2),
            ({"factor": 4.0}, values * 4),
            ({"offset": 5}, values * 2 + 5),
            ({"offset": 1, "factor": 3.0}, values * 3 + 1),
        ]:
            out = np.zeros(4)
            scale[1, 4](out, values, **kwargs)
            assert out.tolist() == expected.tolist()
            out = np.zeros(4)
            scale[1, 4](values=values, out=out, **kwargs)
            assert out.tolist() == expected.tolist()
            out = np.zeros(4)
            scale[1, 4](out, values, kwargs.get("factor", 2.0), kwargs.get("offset", 0))
            assert out.tolist() == expected.tolist()


def test_tuples_and_complex_numbers(launcher):
    @cuda.jit
    def kernel(out, pair, z, nothing):
        if nothing is None:
            out[0] = pair.left[0] + pair.right * z

    for _ in range(3):
        out = np.zeros(1, complex)
        kernel[1, 1](out, Pair(np.array([5.0]), 2), 1 + 2j, None)
        assert out[0] == 7 + 4j


def test_arguments_of_a_call_are_checked():
    scale, values = fresh_scale(), np.arange(4.0)
    with pytest.raises(LaunchTypeError, match="the kernel scale lacks 1 argument: values"):
        scale[1, 4](values)
    with pytest.raises(LaunchTypeError, match="takes 4 arguments but 5 were given"):
        scale[1, 4](values, values, 1, 2, 3)
    with pytest.raises(LaunchTypeError, match="has no argument 'facto'"):
        scale[1, 4](values, values, facto=2)
    with pytest.raises(LaunchTypeError, match=r"the argument 'factor' \(position 3\) is of"):
        scale[1, 4](values, values, {})
    assert not scale.overloads


def test_a_call_without_a_configuration():
    scale = fresh_scale()
    with pytest.raises(LaunchError) as caught:
        scale(1, 2)
    text = str(caught.value)
    assert "launch configuration was not specified for the kernel scale" in text
    assert "scale[32, 256](out, values, factor, offset)" in text


@pytest.mark.parametrize("config", [64, (64,), (1, 2, 0, 0, 5), ()])
def test_a_configuration_of_the_wrong_length(config):
    with pytest.raises(LaunchError, match="must specify at least the griddim and blockdim"):
        fresh_scale()[config]


def test_configurations_are_remembered_and_alike():
    scale = fresh_scale()
    assert scale[3, 32] is scale[3, 32]
    assert scale[[3, 1], 32].config == scale[(3, 1, 1), 32].config == scale[3, (32,)].config
    assert scale.configure(3, 32, 0, 16).config == scale[3, 32, cuda.default_stream(), 16].config
    for blocks in range(1, 300):
        scale[blocks, 32]
    assert len(scale._configured) <= 128


def test_a_grid_in_three_dimensions():
    @cuda.jit
    def number(out):
        x, y, z = cuda.grid(3)
        out[z, y, x] = x + 10 * y + 100 * z

    out = np.zeros((4, 6, 8), np.int64)
    number[(4, 3, 2), (2, 2, 2)](out)
    z, y, x = np.indices(out.shape)
    assert (out == x + 10 * y + 100 * z).all()


def test_one_specialization_per_list_of_types():
    scale = fresh_scale()
    out, values = np.zeros(4), np.arange(4.0)
    for factor in (2.0, 3.0, 2, 3):
        scale[1, 4](out, values, factor)
    double, packed = types.float64, types.float64[::1]
    assert scale.signatures == [
        (packed, packed, double, types.int64),
        (packed, packed, types.int64, types.int64),
    ]
    assert list(scale.overloads) == scale.signatures
    assert not scale.specialized


def test_many_threads_compile_once(monkeypatch):
    compiled = []
    original = dispatcher._compile

    def count(*arguments):
        compiled.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(dispatcher, "_compile", count)
    scale, values = fresh_scale(), np.arange(100.0)
    barrier = threading.Barrier(6)
    outs = [np.zeros(100) for _ in range(6)]

    def launch(out):
        barrier.wait()
        for _ in range(20):
            scale[4, 32](out, values)

    threads = [threading.Thread(target=launch, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert all((out == values * 2).all() for out in outs)


def test_a_failed_compilation_leaves_nothing_behind():
    @cuda.jit
    def wrong(a):
        a[0] = undefined_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(UndefinedNameError, match="undefined_name"):
            wrong[1, 1](np.zeros(1))
    assert wrong.overloads == {}


# ------------------------------------------------------------------------------------ signatures


def test_a_declared_kernel_converts_numbers(launcher):
    @cuda.jit("void(float64[:], float32, int32)")
    def kernel(out, value, index):
        out[index] = value

    assert kernel.specialized
    assert kernel.signatures == [(types.f8[:], types.f4, types.i4)]
    for _ in range(3):
        for value in (0.1, 1, True, np.float64(0.1), np.int8(3)):
            out = np.zeros(4)[::2]
            kernel[1, 1](out, value, 1)
            assert out.tolist() == [0, np.float32(value)]
            out = np.zeros(2)
            kernel[1, 1](out, value, np.uint8(1))
            assert out.tolist() == [0, np.float32(value)]
    assert len(kernel.overloads) == 1


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((np.zeros(2), 1.0, 1.0), "array(float64, 1d, C), float64, float64"),
        ((np.zeros(2), 1j, 1), "array(float64, 1d, C), complex128, int64"),
        ((np.zeros(2, "f4"), 1.0, 1), "array(float32, 1d, C), float64, int64"),
        ((np.zeros((2, 2)), 1.0, 1), "array(float64, 2d, C), float64, int64"),
        ((np.broadcast_to(np.float64(1), (2,)), 1.0, 1), "array(float64, 1d, A, readonly)"),
    ],
)
def test_a_declared_kernel_refuses_other_types(arguments, shown):
    @cuda.jit("void(float64[:], float32, int32)")
    def kernel(out, value, index):
        out[index] = value

    for _ in range(2):
        with pytest.raises(LaunchTypeError) as caught:
            kernel[1, 1](*arguments)
        assert f"No matching definition for argument type(s) {shown}" in str(caught.value)


def test_a_kernel_with_several_signatures_takes_the_best():
    @cuda.jit(["void(f8[:], f8)", "void(f8[:], i8)"])
    def kernel(out, value):
        out[0] = value / 2

    assert not kernel.specialized
    out = np.zeros(1)
    for value in (3, 3.0, np.float32(3)):
        kernel[1, 1](out, value)
        assert out[0] == 1.5
    with pytest.raises(SpecializationError, match="declared with signatures and takes no others"):
        kernel.compile("void(f4[:], f4)")


def test_compile_and_specialize():
    scale, values = fresh_scale(), np.arange(4.0)
    made = scale.compile("void(f8[:], f8[:], f8, f8)")
    assert scale.overloads[made.parameter_types] is made
    special = scale.specialize(values, values, 2.0, 1)
    assert special.specialized
    out = np.zeros(4)
    special[1, 4](out, values, 3, 2)
    assert out.tolist() == [2, 5, 8, 11]
    with pytest.raises(LaunchTypeError, match="No matching definition"):
        special[1, 4](out, values.astype("f4"), 3, 2)
    with pytest.raises(SpecializationError, match="Dispatcher already specialized"):
        special.specialize(values, values, 2.0, 1)


# ---------------------------------------------------------------------------------------- others


@pytest.mark.parametrize("count", [0, 1, 31, 256, 257, 1000])
@pytest.mark.parametrize("tpb", [0, 1, 128])
def test_forall(count, tpb):
    @cuda.jit
    def mark(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] += 1

    out = np.zeros(count)
    mark.forall(count, tpb)(out)
    assert out.tolist() == [1] * count
    with pytest.raises(LaunchTypeError, match="lacks 1 argument"):
        mark.forall(count, tpb)()


def test_forall_of_fewer_than_no_tasks():
    with pytest.raises(ArgumentError, match="Can't create ForAll with negative task count: -1"):
        fresh_scale().forall(-1)


def test_streams():
    scale, values = fresh_scale(), np.arange(4.0)
    stream, out = cuda.stream(), cuda.device_array(4)
    scale[1, 4, stream](out, values)
    scale[1, 4, 0, 64](out, out)
    stream.synchronize()
    assert out.copy_to_host().tolist() == [0, 4, 8, 12]


def test_launches_go_through_the_driver_with_their_stream(monkeypatch):
    seen = []
    driver = current_driver()
    original = type(driver).launch

    def launch(self, executable, shape, address, stream):
        seen.append((shape.grid, stream))
        original(self, executable, shape, address, stream)

    monkeypatch.setattr(type(driver), "launch", launch)
    stream = cuda.stream()
    fresh_scale()[3, 4, stream](np.zeros(4), np.zeros(4))
    assert seen == [((3, 1, 1), stream.handle)]


def test_inspection(capsys):
    scale, values = fresh_scale(), np.arange(4.0)
    assert scale.inspect_llvm() == {}
    scale[1, 4](values, values)
    (types_list,) = scale.signatures
    assert "define" in scale.inspect_llvm()[types_list]
    assert scale.inspect_asm(types_list) == scale.inspect_asm()[types_list]
    scale.inspect_types()
    assert "scale (array(float64, 1d, C), " in capsys.readouterr().out
    with pytest.raises(SpecializationError, match=r"scale was not compiled for \(float32\)"):
        scale.inspect_llvm("(f4,)")
    special = cuda.jit("void(f8[:])")(lambda a: None)
    assert "define" in special.inspect_llvm()


# -------------------------------------------------------------------------------------- pickling


@cuda.jit
def module_kernel(out):
    out[0] = double(21)


@cuda.jit(device=True)
def double(x):
    return 2 * x


def check_pickled(kernel, expected):
    copy = pickle.loads(pickle.dumps(kernel))
    out = np.zeros(1)
    copy[1, 1](out)
    assert out[0] == expected
    return copy


def test_importable_kernels_are_pickled_by_reference():
    assert check_pickled(module_kernel, 42) is module_kernel
    assert pickle.loads(pickle.dumps(double)) is double
    configured = pickle.loads(pickle.dumps(module_kernel[2, 3]))
    assert configured.kernel is module_kernel
    assert configured.config == module_kernel[2, 3].config


def test_kernels_made_in_functions_are_pickled_with_their_code():
    offset, power = 3, 2

    @cuda.jit(device=True)
    def raised(x):
        return x**power

    @cuda.jit("void(f8[:])", fastmath=True)
    def kernel(out):
        out[0] = double(raised(offset)) + np.float64(0.5)

    copy = check_pickled(kernel, 18.5)
    assert copy is not kernel
    assert copy.options == kernel.options
    assert copy.signatures == kernel.signatures
    assert copy.__name__ == "kernel"


def test_pickled_kernels_carry_their_source(tmp_path):
    script = tmp_path / "made.py"
    script.write_text(
        "import pickle, sys\n"
        "from pygpulib import cuda\n"
        "def make(c):\n"
        "    @cuda.jit\n"
        "    def kernel(a):\n"
        "        a[0] += c\n"
        "    return kernel\n"
        "sys.stdout.buffer.write(pickle.dumps(make(5)))\n"
    )
    made = subprocess.run([sys.executable, script], capture_output=True, check=True, timeout=300)
    script.unlink()
    kernel = pickle.loads(made.stdout)
    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 5


@pytest.fixture
def four_processors(monkeypatch):
    properties = cuda.get_current_device().properties
    monkeypatch.setitem(properties.attributes, "MULTIPROCESSOR_COUNT", 4)
    monkeypatch.setattr(cuda.config, "CUDA_LOW_OCCUPANCY_WARNINGS", True)


@pytest.mark.usefixtures("four_processors")
def test_small_grids_warn_if_the_program_asks_for_it():
    scale = fresh_scale()
    with pytest.warns(PerformanceWarning) as seen:
        configured = scale[(3, 1), 64]
    assert str(seen[0].message) == (
        "Grid size 3 of the kernel scale is less than the 4 blocks that the device runs at a time, "
        "which means low occupancy"
    )
    assert seen[0].filename == __file__
    configured(np.zeros(3), np.zeros(3))
    scale[(2, 2), 64](np.zeros(3), np.zeros(3))


def test_small_grids_do_not_warn_by_themselves(monkeypatch):
    properties = cuda.get_current_device().properties
    monkeypatch.setitem(properties.attributes, "MULTIPROCESSOR_COUNT", 4)
    fresh_scale()[1, 64](np.zeros(3), np.zeros(3))


def test_the_settings_show_what_they_are():
    assert repr(cuda.config).startswith("Settings(CUDA_ARRAY_INTERFACE_SYNC=True, ")
    with pytest.raises(AttributeError):
        cuda.config.CUDA_NO_SUCH_SETTING = 1


def test_a_stream_ends_with_its_last_user():
    kernel = fresh_scale()
    values, out = cuda.to_device(np.ones(3)), cuda.device_array(3)
    stream = cuda.stream()
    configured = kernel[1, 3, stream]
    assert kernel[1, 3, stream] is configured
    assert kernel[1, 3, stream, 16] is not configured
    alive = weakref.ref(stream)
    del stream
    gc.collect()
    for _ in range(3):
        configured(out, values)
    alive().synchronize()
    assert out.copy_to_host().tolist() == [2, 2, 2]
    del configured
    gc.collect()
    assert alive() is None
