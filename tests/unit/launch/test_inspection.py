import copy
import io
import pickle

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import SpecializationError
from pygpulib.jit.dispatcher import Kernel

TABLE = np.arange(10, dtype=np.float32)


@cuda.jit
def scale(a, factor):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= factor


@pytest.fixture
def kernel():
    """A kernel compiled for two lists of types."""
    found = cuda.jit(scale)
    for dtype in (np.float32, np.int64):
        found[1, 8](np.ones(8, dtype), dtype(2))
    return found


SINGLE = (types.float32[::1], types.float32)
WIDE = (types.int64[::1], types.int64)


def test_overloads(kernel):
    assert list(kernel.overloads) == kernel.signatures == [SINGLE, WIDE]
    assert [str(each) for each in kernel.nopython_signatures] == [
        "none(array(float32, 1d, C), float32)",
        "none(array(int64, 1d, C), int64)",
    ]
    found = kernel.overloads[SINGLE]
    assert repr(found) == f"<{kernel.__name__} compiled for ({', '.join(map(str, SINGLE))})>"
    assert found.signature.parameters == found.argument_types == SINGLE
    assert found.entry_name == "scale"
    # A copy: the kernel's own cannot be changed through it.
    kernel.overloads.clear()
    assert len(kernel.overloads) == 2


@pytest.mark.parametrize(
    ("method", "own"),
    [
        ("inspect_llvm", "define"),
        ("inspect_asm", "ret"),
        ("inspect_ir", "function scale"),
    ],
)
def test_code_of_one_and_of_all(kernel, method, own):
    texts = getattr(kernel, method)()
    assert list(texts) == [SINGLE, WIDE]
    for signature, text in texts.items():
        assert own in text
        assert getattr(kernel, method)(signature) == text
        assert getattr(kernel, method)(signature=signature) == text
    assert texts[SINGLE] != texts[WIDE]
    assert own in getattr(kernel.specialize(*SINGLE), method)()
    assert getattr(cuda.jit(scale), method)() == {}


def test_overloads_show_their_code(kernel):
    assert kernel.overloads[WIDE].inspect_llvm() == kernel.inspect_llvm(WIDE)
    assert kernel.overloads[WIDE].inspect_asm() == kernel.inspect_asm(WIDE)


def test_asking_for_what_was_not_compiled(kernel):
    wanted = (types.float64[::1], types.float64)
    for method in ("inspect_llvm", "inspect_types", "get_regs_per_thread", "explain"):
        with pytest.raises(SpecializationError) as caught:
            getattr(kernel, method)(signature=wanted)
        assert str(caught.value) == (
            "the kernel scale was not compiled for (array(float64, 1d, C), float64)\n"
            "it was compiled for:\n"
            "  (array(float32, 1d, C), float32)\n"
            "  (array(int64, 1d, C), int64)\n"
            "help: launch it with such arguments first, or call compile(...)"
        )
    with pytest.raises(SpecializationError) as caught:
        cuda.jit(scale).inspect_asm(wanted)
    assert "it was compiled for" not in str(caught.value)
    with pytest.raises(SpecializationError) as caught:
        cuda.jit(scale).explain()
    assert str(caught.value) == (
        "the kernel scale has not been compiled yet\nhelp: launch it first, or call compile(...)"
    )


@cuda.jit
def greedy(out):
    shared = cuda.shared.array(25, types.float32)
    local = cuda.local.array(6, types.int64)
    i = cuda.threadIdx.x
    for k in range(6):
        local[k] = k * i
    shared[i] = local[i % 6] + TABLE[i % 10]
    cuda.syncthreads()
    out[i] = shared[24 - i]


@pytest.mark.cpu_only("the numbers are those of the processor's code")
def test_memory():
    out = np.zeros(25)
    greedy[1, 25](out)
    key = (types.float64[::1],)
    questions = {
        "regs_per_thread": 0,
        "const_mem_size": 40,
        "shared_mem_per_block": 100,
        "local_mem_per_thread": 48,
        "max_threads_per_block": 1024,
    }
    single = greedy.specialize(out)
    for name, answer in questions.items():
        method = f"get_{name}"
        assert getattr(greedy, method)() == {key: answer}
        assert getattr(greedy, method)(key) == answer
        assert getattr(greedy, method)("void(float64[::1])") == answer
        assert getattr(single, method)() == answer
        assert getattr(greedy.overloads[key], name) == answer


# ------------------------------------------------------------------------------- annotated source


@cuda.jit(device=True)
def halve(value):
    half = value * 0.5
    return half + 0


@cuda.jit
def busy(a, n):
    i = cuda.grid(1)
    total = 0
    for k in range(n):
        total += a[k]
        if k > 3:
            total = halve(total)
    first, (second, third) = i, (i + 1, 2.5)
    if i < a.size:
        a[i] = total + first + second + third


def test_inspect_types():
    kernel = cuda.jit(busy)
    kernel[1, 4](np.ones(4, np.float32), 3)
    kernel[1, 4](np.ones((4,), np.int16), 3)
    stream = io.StringIO()
    kernel.inspect_types(file=stream)
    first, second, rest = stream.getvalue().split("\n\n")
    assert rest == ""
    assert first.startswith("busy (array(float32, 1d, C), int64)\n")
    assert second.startswith("busy (array(int16, 1d, C), int64)\n")
    assert without_numbers(first) == EXPECTED
    assert "#   total: int64\n" in without_numbers(second)


def without_numbers(text):
    """Return the lines behind the signature, without the numbers that they start with."""
    return "".join(f"{line[7:]}\n" for line in text.splitlines()[1:] if ".py:" not in line)


EXPECTED = """\
def busy(a, n):
#   a: array(float32, 1d, C)
#   n: int64
    i = cuda.grid(1)
    #   i: int64
    total = 0
    #   total: int64
    for k in range(n):
    #   k: int64
        total += a[k]
        #   total: float64
        if k > 3:
            total = halve(total)
            #   total: float64
    first, (second, third) = i, (i + 1, 2.5)
    #   first: int64
    #   second: int64
    #   third: float64
    if i < a.size:
        a[i] = total + first + second + third
def halve(value):
    half = value * 0.5
    #   half: float64
    return half + 0
"""


def test_annotated_lines_have_their_numbers(kernel):
    stream = io.StringIO()
    kernel.inspect_types(stream, WIDE)
    start = scale.py_func.__code__.co_firstlineno + 1
    assert stream.getvalue().splitlines()[1:3] == [
        f"{__file__}:{start}",
        f"{start:5}  def scale(a, factor):",
    ]


def test_inspect_types_of_one_signature_goes_to_the_standard_output(kernel, capsys):
    kernel.inspect_types(signature=WIDE, pretty=False)
    out = capsys.readouterr().out
    assert out.count("scale (") == 1
    assert "a: array(int64, 1d, C)" in out


# ---------------------------------------------------------------------------------------- copies


def test_copies_of_kernels():
    kernel = cuda.jit(scale, fastmath=True, cache=False)
    for twin in (copy.deepcopy(kernel), copy.copy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert isinstance(twin, Kernel)
        assert twin.options == kernel.options
        host = np.ones(5)
        twin[1, 8](host, 3.0)
        assert host.tolist() == [3] * 5
    # What a module holds under its name is one object.
    assert copy.deepcopy(scale) is scale
    assert copy.deepcopy({"k": kernel[1, 8]})["k"].config.shape == kernel[1, 8].config.shape
