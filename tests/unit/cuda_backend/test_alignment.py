"""Accesses of several elements at once: what kernels are worth it, and which launches get it."""

# ruff: noqa: T201

import random
import re
import struct
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.core.driver_cuda import CudaDriver
from pygpulib.jit.backends.cuda import ptx_cache
from pygpulib.jit.backends.cuda.alignment import PLAIN, find_alignments, fitting_alignments
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.overlap import Place, are_apart, find_pairs
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.cache import DiskCache
from pygpulib.jit.options import CompileOptions
from tests.fakecuda.assemble import assemble
from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx import MisalignedAddress, launch, parse_module
from tests.helpers.cuda_programs import GENERATIONS, compile_prepared

pytestmark = pytest.mark.fake_gpus(use_assembler=False)

# These tests are about values and code, not about when things happen.
EAGER = pytest.mark.parametrize("fake_driver", ["eager"], indirect=True)

JOINED = re.compile(r"\b(ld|st)\.global(?:\.nc)?\.v(\d)\.\w(\d+)")


def joined(ptx):
    """Return the instructions for several elements of global memory."""
    return JOINED.findall(ptx)


def code_of(kernel):
    """Return the newest PTX of the only specialization."""
    return kernel.inspect_asm(kernel.signatures[-1])


# ------------------------------------------------------------------------------------ kernels


def copy4(out, a):
    i = 4 * cuda.grid(1)
    if i + 3 < out.size:
        x, y, z, w = a[i], a[i + 1], a[i + 2], a[i + 3]
        out[i], out[i + 1], out[i + 2], out[i + 3] = w, z, y, x


def copy2(out, a):
    i = 2 * cuda.grid(1)
    if i + 1 < out.size:
        x, y = a[i], a[i + 1]
        out[i], out[i + 1] = y, x


def add_in_loop(out, a):
    i = cuda.grid(1)
    if i < out.size:
        total = out[i]
        for k in range(4):
            total += a[4 * i + k]
        out[i] = total


def add_all(out, a):
    i = cuda.grid(1)
    if i < out.size:
        total = out[i]
        for k in range(a.size):
            total += a[k]
        out[i] = total


def rows(out, a):
    i, row = cuda.threadIdx.x, cuda.blockIdx.x
    if 2 * i + 1 < a.shape[1]:
        out[row, i] = a[row, 2 * i] + a[row, 2 * i + 1]


def masked(out, a):
    i = cuda.grid(1)
    k = i & ~1
    if k + 1 < a.size and i < out.size:
        out[i] = a[k] + a[k + 1]


def square(out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * a[i]


def saxpy(out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += 2 * a[i]


def stencil(out, a):
    i = cuda.grid(1)
    if 0 < i < out.size - 1:
        out[i] = a[i - 1] + a[i] + a[i + 1]


def grid_stride(out, a):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i] + 1


def strided(dtype, ndim=1):
    return np.zeros((4,) * ndim, dtype)[..., ::2]


@pytest.mark.parametrize(
    ("body", "arrays", "sizes"),
    [
        (copy4, np.zeros(4, np.float32), [16, 8]),
        (copy4, np.zeros(4, np.float64), [16]),
        (copy4, np.zeros(4, np.int16), [8, 4]),
        (copy4, np.zeros(4, np.int8), [4, 2]),
        (copy4, strided(np.float32), []),
        (copy2, np.zeros(4, np.float32), [8]),
        (copy2, np.zeros(4, np.complex64), [16, 8]),
        (add_in_loop, np.zeros(4, np.float32), [16, 8]),
        (add_all, np.zeros(4, np.float32), [16, 8]),
        (add_all, strided(np.float32), []),
        (rows, np.zeros((4, 4), np.float32), [8]),
        (masked, np.zeros(4, np.float64), [16]),
        (square, np.zeros(4, np.complex64), [8]),
        (square, np.zeros(4, np.complex128), [16]),
        (square, strided(np.complex128), [16]),
        (square, np.zeros(4, np.float32), []),
        (saxpy, np.zeros(4, np.float32), []),
        (stencil, np.zeros(4, np.float32), []),
        (grid_stride, np.zeros(4, np.float32), []),
    ],
    ids=lambda value: getattr(value, "__name__", None) or f"{getattr(value, 'dtype', value)}",
)
def test_which_kernels_have_variants(body, arrays, sizes):
    found = find_alignments(compile_prepared(body, arrays, arrays))
    assert list(dict.fromkeys(alignment.size_bytes for alignment in found)) == [*sizes, 1]
    assert [alignment.key for alignment in found if not alignment.apart] == [
        (size, False) for size in (*sizes, 1)
    ]
    assert found[-1] is PLAIN


def test_what_arguments_have_to_be_multiples_of():
    def kernel(out, a, first, n, unused):
        i = cuda.threadIdx.x
        row = cuda.blockIdx.x * n
        k = first + row + 2 * i
        if k + 1 < a.size:
            out[i] = a[k] + a[k + 1]

    arrays = np.zeros(4, np.float32), np.zeros(4, np.float32)
    function = compile_prepared(kernel, *arrays, np.uint32(0), np.uint64(0), 1)
    apart, wide, plain = find_alignments(function)
    assert (apart.key, wide.key) == ((8, True), (8, False))
    assert (apart.multiples, apart.ends, apart.mask) == (wide.multiples, wide.ends, wide.mask)
    names = [param.hint for param in function.params]
    multiples = {names[position]: number for position, number in wide.multiples.items()}
    assert multiples == {"a": 8, "first": 2, "n": 2}
    ends = {names[position]: number for position, number in wide.ends.items()}
    assert ends == {"first": 1 << 31, "n": 1 << 31}
    assert plain is PLAIN


def test_many_additions_are_no_problem():
    source = ["def kernel(out, a):", "    i = 4 * cuda.grid(1)", "    total = a[0]"]
    source += ["    i = i + a[i] * a[i + 1]", "    total += a[i]"] * 30
    source += ["    i = i + 1"] * 300 + ["    out[i] = total"]
    scope = {"cuda": cuda}
    exec("\n".join(source), scope)
    array = np.zeros(4, np.int64)
    function = compile_prepared(scope["kernel"], array, array)
    assert find_alignments(function)[-1] is PLAIN


def test_the_first_variant_that_fits_is_chosen():
    generator = random.Random(3)
    arrays = np.zeros((4, 4), np.float32), np.zeros((4, 4), np.float32)
    alignments = find_alignments(compile_prepared(rows, *arrays))
    alignments += find_alignments(compile_prepared(copy4, np.zeros(4, "i2"), np.zeros(4, "i2")))
    for _ in range(500):
        words = [generator.choice((0, 1, 2, 4, 8, 16, 24, -8, -1)) for _ in range(12)]
        words = [word + 16 * generator.randrange(1 << 50) for word in words]
        chosen = next(fitting_alignments(alignments, struct.pack("<12q", *words)))
        fitting = [
            each
            for each in alignments
            if all(words[at] % number == 0 for at, number in each.multiples.items())
            and all(0 <= words[at] < end for at, end in each.ends.items())
            and not each.apart
        ]
        assert chosen.key[0] == fitting[0].key[0]


# -------------------------------------------------------------------------------------- overlap


def words_of(array):
    return struct.pack(f"<Q{2 * array.ndim}q", array.ctypes.data, *array.shape, *array.strides)


def test_arrays_that_overlap_are_told_from_those_that_do_not():
    generator = random.Random(5)
    memory = np.zeros(4000, np.uint8)
    answers = []
    for _ in range(400):
        views = []
        for dtype in generator.sample(("i1", "f4", "c16", "S3"), 2):
            item = np.dtype(dtype).itemsize
            start, ndim = generator.randrange(0, 800, 16), generator.randrange(3)
            part = memory[start : start + 48 * generator.randint(1, 8)].view(dtype)
            part = part[:: generator.choice((1, 2, -1, -3))] if ndim else part[0:1].reshape(())
            if ndim == 2:
                part = part[: len(part) // 2 * 2].reshape(2, -1)[:, generator.randrange(3) :]
            views.append((part, item))
        (one, one_item), (other, other_item) = views
        first = Place(0, one.ndim, one_item)
        second = Place(1 + 2 * one.ndim, other.ndim, other_item)
        found = are_apart(((first, second),), words_of(one) + words_of(other))
        (low, high), (begin, end) = map(np.lib.array_utils.byte_bounds, (one, other))
        is_empty = one.size == 0 or other.size == 0
        assert found == (is_empty or high <= begin or end <= low)
        answers.append(found)
    assert 100 < sum(answers) < 300


def test_which_arrays_matter_to_each_other():
    def kernel(out, a, total, b, counts):
        i = 4 * cuda.grid(1)
        cuda.atomic.add(total, 0, 1)
        out[i] = a[i] + a[i + 1] + b[0, 0] + b[0, 1] + counts[0][0]

    single = np.zeros(4, np.float32)
    arrays = (single, single, np.zeros(1, np.int64), np.zeros((2, 2)), (np.zeros(1),))
    function = compile_prepared(kernel, *arrays)
    names = [param.hint for param in function.params]
    found = {frozenset(names[place.position] for place in pair) for pair in find_pairs(function)}
    written, others = {"out", "total"}, {"a", "b", "counts.0"}
    wanted = {frozenset((one, other)) for one in written for other in others}
    assert found == wanted | {frozenset(written)}
    assert find_pairs(compile_prepared(saxpy, single, single)) == (
        (Place(3, 1, 4), Place(0, 1, 4)),
    )


def add_one(out, a):
    i = 4 * cuda.grid(1)
    if i + 3 < a.size:
        for k in range(4):
            out[i + k] = a[i + k] + 1


def add_one_by_hand(out, a):
    i = 4 * cuda.grid(1)
    if i + 3 < a.size:
        out[i] = a[i] + 1
        out[i + 1] = a[i + 1] + 1
        out[i + 2] = a[i + 2] + 1
        out[i + 3] = a[i + 3] + 1


def add_rows(out, a):
    for row in range(a.shape[0]):
        for k in range(4):
            out[row, k] = a[row, k] + 1


@pytest.mark.parametrize("body", [add_one, add_one_by_hand])
def test_what_is_written_does_not_matter_to_other_arrays(body):
    array, target = np.zeros(4, np.float32), known_target((8, 0))
    function = compile_prepared(body, array, array)
    found = {
        each.key: joined(compile_ptx(emit_kernel(function, target, "k", alignment=each), target))
        for each in find_alignments(function)
    }
    assert found[16, True] == [("ld", "4", "32"), ("st", "4", "32")]
    assert found[16, False] == found[1, False] == []
    text = emit_kernel(function, target, "k", alignment=find_alignments(function)[0], lineinfo=True)
    assert joined(compile_ptx(text, target)) == found[16, True]


@EAGER
@pytest.mark.parametrize("body", [add_one, add_one_by_hand])
def test_arrays_that_overlap(fake_cuda, body):
    # One thread, whose accesses come in the order of the program.
    kernel = cuda.jit(body)
    host = np.arange(24, dtype=np.float32)
    scope = SimpleNamespace(grid=lambda _: 0)
    plain = FunctionType(body.__code__, {"cuda": scope, "range": range})
    configured = kernel[1, 1]
    for start in range(14):
        device, expected = cuda.to_device(host), host.copy()
        configured(device[start : start + 4], device[8:12])
        plain(expected[start : start + 4], expected[8:12])
        assert (device.copy_to_host() == expected).all(), start
    (found,) = kernel.overloads.values()
    assert {(16, True), (16, False), (8, True), (8, False), (1, False)} >= (
        found.compiled._code.used().keys()
    )
    assert (16, True) in found.compiled._code.used()
    assert (16, False) in found.compiled._code.used()


@EAGER
def test_rows_that_overlap(fake_cuda):
    kernel = cuda.jit(add_rows)
    host = np.arange(60, dtype=np.float32)
    for start in range(0, 40, 2):
        device, expected = cuda.to_device(host), host.copy()
        kernel[1, 1](device[start : start + 16].reshape(4, 4), device[20:36].reshape(4, 4))
        add_rows(expected[start : start + 16].reshape(4, 4), expected[20:36].reshape(4, 4))
        assert (device.copy_to_host() == expected).all(), start


def random_program(generator):
    """Return the source of a kernel whose loads and stores take turns."""
    step = generator.choice((1, 2, 4, 4, 8))
    lines = ["def kernel(out, a, b, n):", "    for i in range(3):"]
    for _ in range(generator.randint(1, 3)):
        array = generator.choice(("a", "b", "out"))
        read = f"{array}[{step} * i"
        match generator.randrange(3):
            case 0:
                offset = generator.choice(("", "", " + n"))
                for k in range(4):
                    lines += [f"        out[{step} * i{offset} + {k}] = {read} + {k}] + {k}"]
            case 1:
                lines += ["        for k in range(4):"]
                lines += [f"            out[{step} * i + k] = {read} + k] + 2 * b[k]"]
            case _:
                lines += [f"        x = {read}] + {read} + 1]", f"        b[{step} * i] = x"]
                lines += [f"        y = {read} + 2] + a[{step} * i + 3]"]
                lines += [f"        b[{step} * i + 1] = y"]
    return "\n".join(lines)


@EAGER
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_on_arrays_that_overlap(fake_cuda, seed):
    generator = random.Random(seed)
    source, scope = random_program(generator), {}
    exec(source, scope)
    kernel = cuda.jit(scope["kernel"])
    for dtype in ("float32", generator.choice(("int16", "float64", "int64", "complex64"))):
        host = np.array([generator.randrange(3) for _ in range(160)]).astype(dtype)
        for _ in range(6):
            starts = [generator.choice((0, 1, 2, 4, 8, 32, 64, 96)) for _ in range(3)]
            n = generator.randrange(5)
            device, expected = cuda.to_device(host), host.copy()
            kernel[1, 1](*(device[start : start + 40] for start in starts), n)
            scope["kernel"](*(expected[start : start + 40] for start in starts), n)
            assert (device.copy_to_host() == expected).all(), (source, dtype, starts, n)


# ---------------------------------------------------------------------------- code and assembly


def widths(ptx):
    """Return how many bytes are loaded and stored at once."""
    found = JOINED.findall(ptx)
    return {(how, int(count) * int(bits) // 8) for how, count, bits in found}


@pytest.mark.parametrize(
    ("body", "dtype", "loaded", "stored"),
    [
        (copy4, "float32", 16, 16),
        (copy4, "int64", 16, 16),
        (copy2, "complex64", 16, 16),
        (square, "complex64", 8, 8),
        (square, "complex128", 16, 16),
        (rows, "float32", 8, 0),
        (add_in_loop, "float32", 16, 0),
    ],
)
def test_all_generations_take_the_code(body, dtype, loaded, stored):
    array = np.zeros((4, 4) if body is rows else 4, dtype)
    function = compile_prepared(body, array, array, options=CompileOptions())
    for generation in GENERATIONS:
        target = known_target(generation)
        texts = [
            compile_ptx(emit_kernel(function, target, "k", alignment=each), target)
            for each in find_alignments(function)
        ]
        assert widths(texts[0]) == {("ld", loaded), *([("st", stored)] if stored else [])}
        assert widths(texts[-1]) == set()
        for text in texts:
            assemble(text, target.sm)


def test_small_elements_are_joined_to_words():
    for dtype in ("int8", "float16"):
        array = np.zeros(4, dtype)
        function = compile_prepared(copy4, array, array)
        target = known_target((8, 0))
        wide, *_, plain = (
            compile_ptx(emit_kernel(function, target, "k", alignment=each), target)
            for each in find_alignments(function)
        )
        assert len(re.findall(r"(?:ld|st)\.global", wide)) <= 4
        assert len(re.findall(r"(?:ld|st)\.global", plain)) == 8


def test_records_are_read_at_once():
    layout = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])

    def lengths(out, a):
        i = cuda.grid(1)
        if i < out.size:
            r = a[i]
            out[i] = r.x + r.y + r.z + r.w

    function = compile_prepared(lengths, np.zeros(4, np.float32), np.zeros(4, layout))
    wide = find_alignments(function)[0]
    target = known_target((8, 0))
    text = compile_ptx(emit_kernel(function, target, "k", alignment=wide), target)
    assert joined(text) == [("ld", "4", "32")]


def test_constant_memory_is_read_at_once():
    table = np.arange(64, dtype=np.float32).reshape(16, 4)

    def look_up(out):
        numbers = cuda.const.array_like(table)
        i = cuda.threadIdx.x
        out[i] = numbers[i, 0] * numbers[i, 1] + numbers[i, 2] * numbers[i, 3]

    function = compile_prepared(look_up, np.zeros(16, np.float32))
    target = known_target((8, 0))
    assert "ld.const.v4.b32" in compile_ptx(emit_kernel(function, target, "k"), target)


def test_addresses_that_do_not_fit_would_be_noticed():
    # What launches promise matters, and the simulated GPU is able to tell.
    array = np.zeros(4, np.float32)
    function = compile_prepared(copy4, array, array)
    target = known_target((8, 0))
    for alignment in find_alignments(function):
        text = emit_kernel(function, target, "k", alignment=alignment)
        memory = DeviceMemory()
        address = memory.allocate(64) + 4
        words = [address, 4, 4, address, 4, 4]
        module = parse_module(compile_ptx(text, target))
        arguments = [struct.pack("<q", word) for word in words]
        if alignment != PLAIN:
            with pytest.raises(MisalignedAddress):
                launch(module, "k", arguments, grid=1, block=1, memory=memory)
        else:
            launch(module, "k", arguments, grid=1, block=1, memory=memory)


def test_code_for_other_programs_expects_nothing():
    signature = types.void(types.float32[::1], types.float32[::1])
    ptx, _ = cuda.compile_ptx(copy4, signature, cc=(8, 0))
    assert joined(ptx) == []
    assert set(re.findall(r"\.align (\d+)", ptx)) <= {"1", "4"}


# ------------------------------------------------------------------------------------ launches


DTYPES = ("int8", "float16", "uint16", "float32", "int64", "float64", "complex64", "complex128")


@EAGER
@pytest.mark.parametrize("body", [copy4, copy2])
def test_arrays_at_every_offset(fake_cuda, body):
    for dtype in DTYPES:
        fake_cuda.calls.clear()
        check_offsets(fake_cuda, body, dtype)


def check_offsets(fake, body, dtype):
    kernel = cuda.jit(body)
    step = 4 if body is copy4 else 2
    host = np.arange(60).astype(dtype)
    a, out = cuda.to_device(host), cuda.to_device(np.zeros_like(host))
    configured = kernel[1, 32]
    seen = set()
    for offset in range(max(1, 16 // host.dtype.itemsize) + 1):
        for other in (0, offset):
            out[:] = 0
            configured(out[other : other + 40], a[offset : offset + 40])
            seen.add(tuple(joined(code_of(kernel))))
            expected = np.zeros_like(host)
            turned = host[offset : offset + 40].reshape(-1, step)[:, ::-1].ravel()
            expected[other : other + 40] = turned
            assert (out.copy_to_host() == expected).all(), (offset, other)
    (found,) = kernel.overloads.values()
    sizes = [alignment.size_bytes for alignment in found.compiled.facts.alignments]
    starts = range(0, 17, host.dtype.itemsize)
    used = {next(size for size in sizes if start % size == 0) for start in starts}
    loads = [call for call in fake.calls if call.name == "cuModuleLoadDataEx"]
    assert len(loads) == len(used)
    assert 1 < len(seen) <= len(used) or dtype in ("int8", "float16", "uint16", "complex128")


@EAGER
def test_bytes_at_every_address(fake_cuda):
    # Elements that are views of bytes lie anywhere that their type allows.
    kernel = cuda.jit(copy2)
    host = np.arange(200, dtype=np.uint8)
    for dtype in ("complex128", "complex64", "float64", "int32"):
        natural = np.dtype(dtype).alignment
        for start in range(0, 17, natural):
            raw, out = cuda.to_device(host), cuda.to_device(np.zeros(200, np.uint8))
            end = start + 8 * np.dtype(dtype).itemsize
            kernel[1, 8](out[start:end].view(dtype), raw[start:end].view(dtype))
            expected = np.zeros_like(host)
            turned = host[start:end].view(dtype).reshape(-1, 2)[:, ::-1].copy()
            expected[start:end] = turned.view(np.uint8).ravel()
            assert (out.copy_to_host() == expected).all(), (dtype, start)


@EAGER
def test_rows_of_every_length(fake_cuda):
    kernel = cuda.jit(rows)
    for length in range(2, 9):
        for skipped in (0, 1):
            host = np.arange(4.0 * length, dtype=np.float32).reshape(4, length)[skipped:]
            out = cuda.device_array((len(host), length // 2), np.float32)
            kernel[len(host), 8](out, cuda.to_device(host))
            even = length // 2 * 2
            expected = host[:, 0:even:2] + host[:, 1:even:2]
            assert (out.copy_to_host() == expected).all()
            wide = length % 2 == 0
            assert bool(joined(code_of(kernel))) == wide or length > 3


@EAGER
def test_offsets_and_lengths_that_are_numbers(fake_cuda):
    @cuda.jit
    def pairs(out, a, first, n):
        i, row = cuda.threadIdx.x, cuda.blockIdx.x
        k = first + row * n + 2 * i
        if k >= 0 and k + 1 < a.size and row * 4 + i < out.size:
            out[row * 4 + i] = a[k] * 100 + a[k + 1]

    host = np.arange(64.0)
    a, out = cuda.to_device(host), cuda.device_array(8)
    for first in range(4):
        for n in (8, 9, 10, 16, np.int64(11)):
            out[:] = 0
            pairs[2, 4](out, a, first, n)
            if first + n == 8:
                assert joined(code_of(pairs)) == [("ld", "2", "64")]
            k = first + np.array([[0], [int(n)]]) + 2 * np.arange(4)
            assert (out.copy_to_host() == (host[k] * 100 + host[k + 1]).ravel()).all()


@EAGER
def test_indices_that_count_from_the_end(fake_cuda):
    @cuda.jit
    def pairs(out, a, n):
        k = cuda.blockIdx.x * n + 2 * cuda.threadIdx.x
        out[4 * cuda.blockIdx.x + cuda.threadIdx.x] = a[k] * 100 + a[k + 1]

    host = np.arange(40.0)
    a, out = cuda.to_device(host), cuda.device_array(12)
    for type_ in (int, np.int32, np.int8, np.int64):
        for n in (8, 9, -8, -9, 0):
            pairs[3, 4](out, a, type_(n))
            k = n * np.arange(3)[:, np.newaxis] + 2 * np.arange(4)
            assert (out.copy_to_host() == (host[k] * 100 + host[k + 1]).ravel()).all()
        codes = [spec.compiled._code.used() for spec in pairs.overloads.values()]
        assert [len(joined(code)) for code in codes[-1].values()] == [1, 0]


@EAGER
def test_arrays_that_run_backwards(fake_cuda):
    kernel = cuda.jit(square)
    host = (np.arange(20) + 1j).astype(np.complex128)
    out = cuda.device_array(10, np.complex128)
    for step in (-1, -2, 2):
        part = np.s_[12::-1] if step == -1 else np.s_[::step]
        kernel[1, 16](out, cuda.to_device(host)[part][:10])
        assert (out.copy_to_host() == host[part][:10] ** 2).all()
    assert widths(code_of(kernel)) == {("ld", 16), ("st", 16)}


@EAGER
def test_unaligned_fields_of_records(fake_cuda):
    layouts = [
        np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")]),
        np.dtype([("tag", "u1"), ("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")]),
        np.dtype([("tag", "u1"), ("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")], align=True),
        np.dtype([("x", "f8"), ("tag", "u2"), ("y", "f8"), ("z", "c8"), ("w", "c16")]),
        np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f8")]),
    ]

    @cuda.jit
    def turn(out, a):
        i = cuda.grid(1)
        if i < out.size:
            x, y, z, w = a[i].x, a[i].y, a[i].z, a[i].w
            out[i].x, out[i].y, out[i].z, out[i].w = x + 1, y + x, z * 2, w + z

    for layout in layouts:
        host = np.zeros(9, layout)
        for number, name in enumerate("xyzw"):
            host[name] = np.arange(9) * (number + 1)
        for skipped in range(3):
            a = cuda.to_device(host)[skipped:]
            out = cuda.to_device(np.zeros(9, layout))
            turn[1, 16](out[: 9 - skipped], a)
            expected, part = np.zeros(9, layout), host[skipped:]
            for name, value in {
                "x": part["x"] + 1,
                "y": part["y"] + part["x"],
                "z": part["z"] * 2,
                "w": part["w"] + part["z"],
            }.items():
                expected[name][: 9 - skipped] = value
            assert (out.copy_to_host() == expected).all()


def random_body(generator):
    """Return the source of a kernel that accesses neighbours, and what it computes per thread."""
    factor = generator.choice((1, 2, 3, 4, 8))
    places = [generator.randrange(8) for _ in range(generator.randint(2, 6))]
    weights = [generator.randint(1, 9) for _ in places]
    terms = [f"{w} * a[{factor} * i + {p}]" for w, p in zip(weights, places, strict=True)]
    stores = generator.sample(range(4), generator.randint(1, 4))
    lines = ["def kernel(out, a):", "    i = cuda.grid(1)", f"    if {factor} * i + 7 < a.size:"]
    lines += [f"        total = {' + '.join(terms)}"]
    lines += [f"        out[4 * i + {place}] = total + {place}" for place in stores]

    def expect(out, a):
        for i in range(len(out) // 4):
            if factor * i + 7 < len(a):
                total = sum(
                    w * a[factor * i + p].item() for w, p in zip(weights, places, strict=True)
                )
                for place in stores:
                    out[4 * i + place] = total + place

    return "\n".join(lines), expect


@EAGER
@pytest.mark.parametrize("seed", range(6))
def test_random_accesses_to_random_slices(fake_cuda, seed):
    generator = random.Random(seed)
    source, expect = random_body(generator)
    scope = {"cuda": cuda}
    exec(source, scope)
    kernel = cuda.jit(scope["kernel"])
    for dtype in generator.sample(("float32", "int32", "float64", "complex64", "int64"), 3):
        host = np.array([generator.randrange(1000) for _ in range(80)]).astype(dtype)
        a, out = cuda.to_device(host), cuda.to_device(np.zeros(80, dtype))
        for _ in range(4):
            first, last = generator.randrange(6), generator.randrange(40, 80)
            step = generator.choice((1, 1, 1, 2, -1))
            at = generator.randrange(5)
            expected = np.zeros(80, dtype)
            expect(expected[at : at + 64], host[first:last][::step])
            out[:] = 0
            kernel[2, 8](out[at : at + 64], a[first:last][::step])
            assert (out.copy_to_host() == expected).all(), source


@EAGER
def test_a_last_vector_that_is_not_full(fake_cuda):
    # Three of four floats are asked for, and the fourth one need not exist.
    @cuda.jit
    def add3(out, a):
        i = 4 * cuda.grid(1)
        if i + 2 < a.size:
            out[cuda.grid(1)] = a[i] + a[i + 1] + a[i + 2]

    host = np.arange(7, dtype=np.float32)
    out = cuda.device_array(2, np.float32)
    add3[1, 2](out, cuda.to_device(host))
    assert out.copy_to_host().tolist() == [3.0, 15.0]
    assert joined(code_of(add3))


def test_kernels_that_report_have_variants(fake_cuda, capsys):
    @cuda.jit
    def check(out, a):
        i = 4 * cuda.grid(1)
        x, y, z, w = a[i], a[i + 1], a[i + 2], a[i + 3]
        if i == 0:
            print("first", x)
        out[i], out[i + 1], out[i + 2], out[i + 3] = x, y, z, w

    a, out = cuda.to_device(np.arange(12, dtype=np.float32)), cuda.device_array(12, np.float32)
    widths = []
    for offset in (0, 1, 2, 0):
        check[1, 2](out[:8], a[offset : offset + 8])
        widths.append(len(joined(code_of(check))))
        assert out[:8].copy_to_host().tolist() == list(range(offset, offset + 8))
    assert widths[0] == 2
    assert widths[1] == 0
    assert capsys.readouterr().out == "first 0.0\nfirst 1.0\nfirst 2.0\nfirst 0.0\n"


@EAGER
def test_variants_that_are_the_same_program_are_loaded_once(fake_cuda):
    @cuda.jit
    def apart(out, a):
        i = 2 * cuda.grid(1)
        x = a[i]
        cuda.syncthreads()
        out[i // 2] = x + a[i + 1]

    a, out = cuda.to_device(np.arange(9, dtype=np.float32)), cuda.device_array(4, np.float32)
    for offset in (0, 1):
        apart[1, 4](out, a[offset : offset + 8])
        assert out.copy_to_host().tolist() == [1 + 4 * i + 2 * offset for i in range(4)]
    (found,) = apart.overloads.values()
    used = found.compiled._code.used()
    assert used.keys() == {(8, True), (1, False)}
    assert len({re.sub(r"\.align \d+", "", code) for code in used.values()}) == 1
    # Overlapping arrays get the very same program as those that lie apart.
    apart[1, 1](a[:4], a[2:4])
    assert used.keys() < found.compiled._code.used().keys()
    loads = [call for call in fake_cuda.calls if call.name == "cuModuleLoadDataEx"]
    assert len(loads) == 2


@EAGER
@pytest.mark.parametrize("is_bound", [True, False])
def test_a_variant_that_has_no_registers_for_a_block_is_passed_by(fake_cuda, monkeypatch, is_bound):
    attribute, wide = CudaDriver.function_attribute, []

    def narrow(driver, function, name):
        if not wide:
            wide.append(function)
        is_narrow = name == "MAX_THREADS_PER_BLOCK" and function in wide
        return 64 if is_narrow else attribute(driver, function, name)

    monkeypatch.setattr(CudaDriver, "function_attribute", narrow)
    kernel = cuda.jit(copy4)
    host = np.arange(512, dtype=np.float32)
    expected = host.reshape(-1, 4)[:, ::-1].ravel()
    used = []
    for threads in (64, 128, 64):
        a, out = cuda.to_device(host), cuda.to_device(np.zeros_like(host))
        configured = kernel[512 // 4 // threads, threads]
        for _ in range(2 if is_bound else 1):
            configured(out, a)
        assert (out.copy_to_host() == expected).all()
        (found,) = kernel.overloads.values()
        used.append(list(found.compiled._code.used()))
    assert used[0] == [(16, True)]
    assert len(used[1]) > 1
    assert used[2] == used[1]
    # Where no variant has enough, it is the driver that says so, of the plain one.
    monkeypatch.setattr(CudaDriver, "function_attribute", lambda *_: 64)
    other = cuda.jit(copy4)
    other[1, 128](out, a)
    (found,) = other.overloads.values()
    assert list(found.compiled._code.used())[-1] == PLAIN.key


@EAGER
def test_blocks_that_wait_for_each_other_fit_whichever_variant_runs(fake_cuda, monkeypatch):
    @cuda.jit("void(float32[::1], float32[::1])")
    def copy_together(out, a):
        i = 4 * cuda.grid(1)
        together = cuda.cg.this_grid()
        x, y, z, w = a[i], a[i + 1], a[i + 2], a[i + 3]
        together.sync()
        out[i], out[i + 1], out[i + 2], out[i + 3] = w, z, y, x

    (found,) = copy_together.overloads.values()
    before = found.inspect_asm()
    most = {}

    def count_blocks(driver, function, threads, shared_bytes):
        return most.setdefault(function, (5, 3, 7)[len(most) % 3])

    monkeypatch.setattr(CudaDriver, "max_active_blocks", count_blocks)
    count = cuda.get_current_device().MULTIPROCESSOR_COUNT
    assert found.max_cooperative_grid_blocks(32) == min(most.values()) * count
    assert len(most) > 1
    assert found.inspect_asm() == before


@EAGER
def test_the_cache_on_disk_tells_variants_apart(fake_cuda, tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "cuda"))
    monkeypatch.setattr(ptx_cache, "open_cache", lambda kind: cache)
    host = np.arange(41, dtype=np.float32)
    for is_there in (False, True):
        kernel = cuda.jit(copy4)
        out, a = cuda.device_array(40, np.float32), cuda.to_device(host)
        for offset in (0, 1):
            kernel[1, 10](out, a[offset : offset + 40])
            expected = host[offset : offset + 40].reshape(-1, 4)[:, ::-1].ravel()
            assert (out.copy_to_host() == expected).all()
            assert bool(joined(code_of(kernel))) == (offset == 0)
        (found,) = kernel.overloads.values()
        hits = (found.compiled.cache_hits, found.compiled.cache_misses)
        assert hits == ((2, 0) if is_there else (0, 2))
    assert cache.info().files == 2


@EAGER
def test_code_that_is_not_optimized_has_no_variants(fake_cuda):
    kernel = cuda.jit(copy4, opt=False)
    out = cuda.device_array(4, np.float32)
    kernel[1, 1](out, cuda.to_device(np.arange(4, dtype=np.float32)))
    assert out.copy_to_host().tolist() == [3.0, 2.0, 1.0, 0.0]
    (found,) = kernel.overloads.values()
    assert found.compiled.facts.alignments == (PLAIN,)


@EAGER
def test_an_explanation_tells_what_is_accessed_at_once(fake_cuda):
    kernel, plain = cuda.jit(copy4), cuda.jit(saxpy)
    out, a = cuda.device_array(8, np.float32), cuda.to_device(np.arange(9, dtype=np.float32))
    kernel[1, 2](out, a[:8])
    text = str(kernel.explain())
    aligned = "neighbours: 1 load and 1 store of several elements, with arguments aligned to 16"
    assert f"{aligned} bytes" in text
    assert "not aligned" not in text
    kernel[1, 2](out, a[1:])
    text = str(kernel.explain())
    assert f"{aligned} bytes" in text
    assert "neighbours: accessed one by one, with arguments that are not aligned" in text
    plain[1, 8](out, a[:8])
    assert "neighbours" not in str(plain.explain())
