"""Kernels on a simulated GPU: loading, launching, reports and short cuts."""

# ruff: noqa: T201

import ctypes
import gc
import math
import threading

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.device import current_driver
from pygpulib.core.driver import LaunchShape
from pygpulib.core.dtypes import int64
from pygpulib.errors import LaunchError, LaunchTypeError, PyGpuLibWarning
from pygpulib.jit.backends.cuda import kernel as kernel_module
from pygpulib.jit.backends.cuda import launch_record, ptx_cache
from pygpulib.jit.backends.cuda.kernel import entry_name
from pygpulib.jit.backends.cuda.launch_record import split_lines
from pygpulib.jit.cache import DiskCache
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.launch import pack_arguments

pytestmark = pytest.mark.fake_gpus(use_assembler=False)


def compiled(kernel):
    """Return the kernel of the only specialization."""
    (found,) = kernel.overloads.values()
    return found.compiled


def loads(fake):
    return [call for call in fake.calls if call.name == "cuModuleLoadDataEx"]


def test_a_kernel_runs(fake_cuda):
    @cuda.jit
    def combine(out, x, y, factor):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * factor + math.sin(y[i])

    x, y = np.arange(50.0), np.linspace(-3, 3, 50)
    out = cuda.device_array(50)
    combine[4, 16](out, cuda.to_device(x), cuda.to_device(y), 0.5)
    assert np.allclose(out.copy_to_host(), x * 0.5 + np.sin(y), rtol=1e-15)
    assert len(loads(fake_cuda)) == 1


def test_it_is_compiled_for_the_generation_of_the_device(fake_cuda):
    @cuda.jit
    def fill(out):
        out[0] = 1

    fill[1, 1](cuda.device_array(1))
    assert ".target sm_80" in fill.inspect_asm(fill.signatures[0])
    assert "ptx_kernel" in fill.inspect_llvm(fill.signatures[0])


@pytest.mark.fake_gpus(device_count=2)
def test_it_is_loaded_once_per_device_and_compiled_once(fake_cuda):
    @cuda.jit
    def fill(out, value):
        out[cuda.grid(1)] = value

    for ordinal in (0, 1, 0, 1):
        with cuda.gpus[ordinal]:
            out = cuda.device_array(4)
            fill[1, 4](out, 7.0 + ordinal)
            assert out.copy_to_host().tolist() == [7.0 + ordinal] * 4
    assert len(loads(fake_cuda)) == 2
    assert len(compiled(fill)._code._texts) == 1


def test_a_forgotten_kernel_is_unloaded(fake_cuda):
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 1

    out = cuda.device_array(4)
    for _ in range(4):
        fill[1, 4](out)
    cuda.synchronize()
    del fill
    gc.collect()
    cuda.device_array(1)
    cuda.synchronize()
    unloaded = [call for call in fake_cuda.calls if call.name == "cuModuleUnload"]
    assert len(unloaded) == 1


def test_advice_reaches_the_code(fake_cuda):
    def fill(out):
        out[cuda.grid(1)] = 1

    kernel = cuda.jit(fill, launch_bounds=(128, 2), max_registers=40)
    kernel[1, 4](cuda.device_array(4))
    ptx = kernel.inspect_asm(kernel.signatures[0])
    assert ".maxntid 128" in ptx
    assert ".minnctapersm 2" in ptx
    assert ".maxnreg 40" in ptx
    unoptimized = cuda.jit(fill, opt=False)
    unoptimized[1, 4](cuda.device_array(4))
    assert len(unoptimized.inspect_asm(unoptimized.signatures[0])) > len(ptx)


def test_names_of_entries():
    assert entry_name("größe") == "gr__e"
    assert entry_name("plain_2") == "plain_2"


# -------------------------------------------------------------------------------- short cuts


@pytest.mark.parametrize(
    "value",
    [
        3,
        -(1 << 63),
        np.int8(-5),
        np.uint8(250),
        np.uint64((1 << 64) - 1),
        np.int64(-1),
        True,
        2.5,
        np.float64(-0.0),
        np.float32(1.5),
        np.float16(0.25),
        float("nan"),
    ],
    ids=lambda value: f"{type(value).__name__} {value}",
)
def test_numbers_arrive_the_same_on_all_ways(fake_cuda, value):
    @cuda.jit
    def store(out, value):
        out[0] = value

    configured = store[1, 1]
    results = []
    for _ in range(4):
        out = cuda.to_device(np.zeros(1, np.asarray(value).dtype))
        configured(out, value)
        results.append(out.copy_to_host().tobytes())
    assert configured._short_cut != configured.launch
    assert results == [np.asarray(value).tobytes()] * 4


def test_arrays_of_all_layouts_take_the_short_cut(fake_cuda):
    @cuda.jit
    def add_one(a):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] += 1

    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    configured = add_one[(1, 1), (8, 8)]
    for view in (np.s_[:, :], np.s_[::2, ::3], np.s_[::-1, 1:]):
        device = cuda.to_device(host)
        expected = host.copy()
        expected[view] += 3
        part = device[view]
        for _ in range(3):
            configured(part)
        assert (device.copy_to_host() == expected).all()


def test_what_is_not_as_expected_goes_the_long_way(fake_cuda):
    @cuda.jit
    def scale(out, factor):
        out[cuda.grid(1)] *= factor

    out = cuda.to_device(np.ones(4))
    configured = scale[1, 4]
    for _ in range(3):
        configured(out, 2.0)
    single = cuda.to_device(np.ones(4, np.float32))
    configured(single, 2.0)
    configured(out, 3)
    configured(out, factor=2.0)
    host = np.ones(4)
    configured(host, 5.0)
    with pytest.raises(TypeError, match="factor"):
        configured(out)
    assert out.copy_to_host().tolist() == [48.0] * 4
    assert single.copy_to_host().tolist() == [2.0] * 4
    assert host.tolist() == [5.0] * 4


def test_numbers_that_do_not_fit_take_the_long_way(fake_cuda):
    @cuda.jit("void(float32[::1], float32, int32)")
    def store(out, value, number):
        out[0] = value
        out[1] = number

    out = cuda.device_array(2, np.float32)
    configured = store[1, 1]
    for value, number in ((1.0, 5), (2.0, 6), (3.0, 7), (1e300, (1 << 32) + 9)):
        configured(out, value, number)
        with np.errstate(over="ignore"):
            assert out.copy_to_host().tolist() == [np.float32(value), number % (1 << 32)]


def test_several_threads_launch_at_once(fake_cuda):
    @cuda.jit
    def store(out, position, value):
        out[position] = value

    out = cuda.to_device(np.zeros(8, np.int64))
    configured = store[1, 1]
    for _ in range(3):
        configured(out, 0, 0)

    def work(position):
        for value in range(10):
            configured(out, position, 100 * position + value)

    threads = [threading.Thread(target=work, args=(position,)) for position in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out.copy_to_host().tolist() == [100 * position + 9 for position in range(8)]


@pytest.mark.fake_gpus(device_count=2)
def test_a_short_cut_is_for_one_device(fake_cuda):
    @cuda.jit
    def fill(out, value):
        out[cuda.grid(1)] = value

    configured = fill[1, 4]
    outs = []
    for ordinal in (0, 1):
        with cuda.gpus[ordinal]:
            outs.append(cuda.device_array(4))
    for value in range(4):
        for ordinal, out in enumerate(outs):
            with cuda.gpus[ordinal]:
                configured(out, float(value))
    for ordinal, out in enumerate(outs):
        with cuda.gpus[ordinal]:
            assert out.copy_to_host().tolist() == [3.0] * 4


# ------------------------------------------------------------------------------------ streams


def test_launches_go_to_their_stream(fake_cuda):
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 1

    stream = cuda.stream()
    out = cuda.device_array(4)
    for _ in range(3):
        fill[1, 4, stream](out)
    assert [launch.stream for launch in fake_cuda.launches] == [stream.handle] * 3


# ------------------------------------------------------------------------------------- shared


def test_dynamic_shared_memory_beyond_what_is_plain(fake_cuda):
    @cuda.jit
    def reverse(a):
        buffer = cuda.shared.array(0, np.float64)
        i = cuda.threadIdx.x
        buffer[i] = a[i]
        cuda.syncthreads()
        a[i] = buffer[a.size - 1 - i]

    a = cuda.to_device(np.arange(32.0))
    for size in (256, 100_000, 60_000, 120_000):
        reverse[1, 32, 0, size](a)
    assert a.copy_to_host().tolist() == list(range(32))
    asked = [call for call in fake_cuda.calls if call.name == "cuFuncSetAttribute"]
    assert len(asked) == 2


def test_shared_memory_of_both_kinds_beyond_what_is_plain(fake_cuda):
    @cuda.jit
    def reverse(a):
        fixed = cuda.shared.array(5_000, np.float64)
        buffer = cuda.shared.array(0, np.float64)
        i = cuda.threadIdx.x
        fixed[i], buffer[i] = a[i], -a[i]
        cuda.syncthreads()
        a[i] = fixed[a.size - 1 - i] + 2 * buffer[a.size - 1 - i]

    # Neither takes more than a block has without asking, but both together do.
    a = cuda.to_device(np.arange(32.0))
    for size in (9_152, 9_153, 126_912):
        reverse[1, 32, 0, size](a)
    assert a.copy_to_host().tolist() == [-31.0 + i for i in range(32)]
    asked = [call for call in fake_cuda.calls if call.name == "cuFuncSetAttribute"]
    assert len(asked) == 2
    with pytest.raises(LaunchError) as caught:
        reverse[1, 32, 0, 126_913](a)
    assert str(caught.value) == (
        "a block of reverse takes 166,913 bytes of shared memory: 40,000 for its arrays of a "
        "fixed size, 126,913 of dynamic shared memory\n"
        "the device has 166,912 bytes for a block\n"
        "help: pass 126912 or less as the launch's shared memory"
    )


def test_resources(fake_cuda):
    @cuda.jit
    def shares(a):
        buffer = cuda.shared.array(64, np.float64)
        buffer[cuda.threadIdx.x] = a[cuda.threadIdx.x]
        cuda.syncthreads()
        a[cuda.threadIdx.x] = buffer[0]

    shares[1, 64](cuda.device_array(64))
    (found,) = shares.overloads.values()
    assert found.shared_mem_per_block == 512
    assert found.regs_per_thread > 0
    assert found.max_threads_per_block == 1024
    text = str(shares.explain())
    assert "shared     512 bytes per block" in text
    assert "arrays of the host are copied for each launch" in text
    assert "blocks of 64 x 1 x 1 threads" in text


def test_an_explanation_shows_which_accesses_are_contiguous(fake_cuda):
    @cuda.jit
    def mix(out, a, table):
        i = cuda.threadIdx.x
        out[i] = a[3 * i] + table[0]

    mix[1, 32](cuda.device_array(32), cuda.device_array(96), cuda.device_array(1))
    text = str(mix.explain())
    assert "run 32 threads along x as one vector" in text
    assert "store out: float64, contiguous" in text
    assert "load a: float64, strided, 24 bytes apart" in text
    assert "load table: float64, the same element in all lanes" in text
    (layout,) = mix.explain().layouts
    assert layout.is_full


# ------------------------------------------------------------------------------------- errors


def test_an_exception_is_raised_where_the_kernel_is_launched(fake_cuda):
    @cuda.jit(debug=True)
    def check(a):
        i = cuda.grid(1)
        if a[i] < 0:
            raise ValueError("negative")
        a[i] = i

    a = cuda.to_device(np.ones(8))
    check[2, 4](a)
    a[5:6] = -1.0
    with pytest.raises(ValueError, match="negative") as caught:
        check[2, 4](a)
    text = str(caught.value)
    assert text.startswith("negative\nin the kernel check, block (1, 0, 0), thread (1, 0, 0), at ")


def test_an_index_that_is_out_of_bounds(fake_cuda):
    @cuda.jit(debug=True)
    def store(a, i):
        a[i] = 1

    with pytest.raises(IndexError, match=r"index 9 is out of bounds .* shape \(4,\)"):
        store[1, 1](cuda.device_array(4), 9)


# ------------------------------------------------------------------------------------- prints


def test_lines_appear_when_somebody_waits(fake_cuda, capsys):
    @cuda.jit
    def say(x):
        if cuda.threadIdx.x == 1:
            print("block", cuda.blockIdx.x, x, cuda.blockIdx.x > 0)

    say[3, 2](1.5)
    assert capsys.readouterr().out == ""
    cuda.synchronize()
    assert capsys.readouterr().out == "block 0 1.5 False\nblock 1 1.5 True\nblock 2 1.5 True\n"
    cuda.synchronize()
    assert capsys.readouterr().out == ""


def test_lines_come_before_the_error(fake_cuda, capsys):
    @cuda.jit(debug=True)
    def fails(a):
        print("before")
        a[7] = 1

    with pytest.raises(IndexError):
        fails[1, 1](cuda.device_array(1))
    assert capsys.readouterr().out == "before\n"


def test_lines_that_do_not_fit_are_counted(fake_cuda, capsys, monkeypatch):
    monkeypatch.setattr(launch_record, "PRINT_WORDS", 10)

    @cuda.jit
    def say():
        print(cuda.threadIdx.x)

    say[1, 8]()
    with pytest.warns(PyGpuLibWarning) as caught:
        cuda.synchronize()
    assert str(caught[0].message) == (
        "6 lines that the kernel say printed did not fit into its buffer of 80 bytes and got "
        "lost\nhelp: print from fewer threads"
    )
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_many_launches_that_print_do_not_pile_up(fake_cuda, capsys, monkeypatch):
    monkeypatch.setattr(kernel_module, "_MAX_PENDING", 3)

    @cuda.jit
    def say(n):
        print(n)

    stream = cuda.stream()
    for n in range(7):
        say[1, 1, stream](n)
        assert len(compiled(say)._pending) < 3
    assert capsys.readouterr().out.startswith("0\n1\n2\n")
    cuda.synchronize()
    assert capsys.readouterr().out.endswith("6\n")


def test_lines_are_ordered_by_block():
    number = ir.Value(int64)
    first, second = ir.Print(("a", "\n"), ()), ir.Print((None, "\n"), (number,))
    words = [3, 0, 2, 4, 1, 0, 17, 3, 0, 0]
    lines = [(op, list(operands)) for op, operands in split_lines(words, [first, second])]
    assert lines == [(second, [17]), (first, []), (first, [])]
    # A line that did not fit leaves a 0, or nothing at all.
    assert split_lines([0, 0], [first]) == []
    assert split_lines([4, 1], [first, second]) == []


# -------------------------------------------------------------------------------- cooperation


def add_up(a):
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    a[i] = i
    grid.sync()
    total = 0.0
    for k in range(a.size):
        total += a[k]
    grid.sync()
    a[i] = total


def test_blocks_wait_for_each_other(fake_cuda):
    a = cuda.to_device(np.zeros(16))
    kernel = cuda.jit(add_up)
    for _ in range(3):
        kernel[4, 4](a)
    assert a.copy_to_host().tolist() == [120.0] * 16
    names = {call.name for call in fake_cuda.calls if "Launch" in call.name}
    assert names == {"cuLaunchCooperativeKernel"}


def test_a_grid_that_does_not_fit_on_the_device(fake_cuda):
    kernel = cuda.jit(add_up)
    a = cuda.to_device(np.zeros(16))
    kernel[4, 4](a)
    (found,) = kernel.overloads.values()
    most = found.max_cooperative_grid_blocks(4)
    with pytest.raises(LaunchError) as caught:
        kernel[most + 1, 4](a)
    assert str(caught.value) == (
        f"the grid of a launch of add_up has {most + 1} blocks, which wait for each other\n"
        f"the device runs {most} such blocks at once\n"
        "help: use fewer blocks, and let each do more: "
        "kernel.overloads[...].max_cooperative_grid_blocks(block) tells how many"
    )


# -------------------------------------------------------------------------------------- cache


def test_ptx_is_kept_on_disk(fake_cuda, tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "cuda"))
    monkeypatch.setattr(ptx_cache, "open_cache", lambda kind: cache)

    def square(a):
        a[cuda.grid(1)] *= a[cuda.grid(1)]

    texts = []
    for hits in (0, 1):
        kernel = cuda.jit(square)
        kernel[1, 4](cuda.device_array(4))
        assert (compiled(kernel).cache_hits, compiled(kernel).cache_misses) == (hits, 1 - hits)
        texts.append(kernel.inspect_asm(kernel.signatures[0]))
    assert texts[0] == texts[1]
    assert cache.info().files == 1


def test_run_uses_the_default_stream(fake_cuda):
    @cuda.jit
    def nothing():
        pass

    nothing[1, 1]()
    words = pack_arguments((), ())
    compiled(nothing).run(LaunchShape((2, 1, 1), (1, 1, 1)), ctypes.addressof(words))
    current_driver().synchronize()
    assert [launch.stream for launch in fake_cuda.launches][-1] in (0, None)


@pytest.mark.skipif(
    np.dtype(np.longdouble) == np.float64, reason="long double is float64 on this machine"
)
def test_arrays_of_wider_numbers_are_to_be_converted(fake_cuda):
    @cuda.jit
    def fill(out):
        out[0] = 1

    array = cuda.to_device(np.zeros(2, np.longdouble))
    with pytest.raises(LaunchTypeError) as caught:
        fill[1, 1](array)
    assert str(caught.value).endswith(
        f"is an array of dtype {array.dtype}, which kernels do not take\n"
        "help: copy it to the device anew, with cuda.to_device(a.copy_to_host().astype(...))"
    )
