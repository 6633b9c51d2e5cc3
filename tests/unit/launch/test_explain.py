import math

import numpy as np

from pygpulib import cuda, types
from pygpulib.jit.backends.findings import AccessKind


def line_of(function, text):
    """Return the number of the only line of a kernel's source with some text."""
    code = function.py_func.__code__
    with open(code.co_filename) as file:
        lines = file.read().splitlines()
    first = code.co_firstlineno
    return next(n for n in range(first, len(lines) + 1) if text in lines[n - 1])


def accesses(layout):
    return [(each.action, each.array, each.kind, each.stride_bytes) for each in layout.accesses]


@cuda.jit
def pattern(x, y, n):
    i = cuda.grid(1)
    y[i] = x[n]  # first
    y[3 * i] = x[i]  # second
    y[i] = x[x[i]]  # third
    y[n - i] = x[2 * i + 1]  # fourth


def test_every_kind_of_access():
    x = np.zeros(2000, np.int32)
    pattern.compile("void(uint32[::1], float64[::1], uint32)")
    (layout,) = pattern.explain().layouts
    assert (layout.block, layout.axis, layout.is_full) == ((256, 1, 1), "x", True)
    kinds = {(each.action, each.array, each.span.line): each for each in layout.accesses}

    def find(action, array, text):
        return kinds[action, array, line_of(pattern, text)]

    assert find("load", "x", "# first").kind is AccessKind.UNIFORM
    assert find("store", "y", "# first").kind is AccessKind.CONTIGUOUS
    assert find("store", "y", "# second").stride_bytes == 24
    assert find("store", "y", "# second").kind is AccessKind.STRIDED
    assert find("load", "x", "# second").kind is AccessKind.CONTIGUOUS
    assert str(find("load", "x", "# second")) == "load x: uint32, contiguous"
    assert str(find("store", "y", "# second")) == "store y: float64, strided, 24 bytes apart"
    assert find("load", "x", "# fourth").stride_bytes == 8
    assert x.size == 2000


@cuda.jit
def transpose(a, out):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[j, i] = a[i, j]


def test_the_axis_decides():
    a = np.zeros((64, 64), np.float32)
    transpose[(1, 2), (64, 8)](a, a.T.copy())
    transpose[(32, 32), (2, 23)](a, a.T.copy())
    first, second = transpose.explain().layouts
    assert (first.block, first.axis, first.is_full) == ((64, 8, 1), "x", True)
    assert (second.block, second.axis, second.is_full) == ((2, 23, 1), "y", False)
    assert second.lanes in (16, 32)  # by what the processor has
    kinds = [{each.array: each.kind for each in layout.accesses} for layout in (first, second)]
    assert kinds == [
        {"a": AccessKind.SCATTERED, "out": AccessKind.CONTIGUOUS},
        {"a": AccessKind.CONTIGUOUS, "out": AccessKind.SCATTERED},
    ]


@cuda.jit
def everything(x, counts, n):
    i = cuda.grid(1)
    shared = cuda.shared.array(64, types.float32)
    total = 0.0
    for k in range(n):  # even
        total += x[k]
    while total > i:  # ragged
        total -= 1.5
    shared[i % 64] = math.lgamma(x[i])
    cuda.syncthreads()
    x[i] = total + shared[0]
    cuda.atomic.add(counts, 0, 1)


def test_the_rest():
    x = np.ones(64, np.float32)
    everything[1, 64](x, np.zeros(1, np.int32), 3)
    found = everything.explain()
    assert found.kernel == "everything"
    assert found.parameters[0] == ("x", "array(float32, 1d, C)")
    assert found.resources.shared_bytes == 256
    assert found.resources.local_bytes == 0
    assert not found.copies_host_arrays
    (barrier,) = found.barriers
    assert (barrier.kind, barrier.span.line) == ("block", line_of(everything, "syncthreads"))
    types_ = {(each.span.line, each.name): each.type for each in found.assignments}
    assert types_[line_of(everything, "total = 0.0"), "total"] == "float64"
    assert types_[line_of(everything, "# even"), "k"] == "int64"
    assert line_of(everything, "total += x[k]") in {span.line for span in found.widenings}
    (layout,) = found.layouts
    loops = {each.span.line: each.is_divergent for each in layout.loops}
    assert loops == {line_of(everything, "# even"): False, line_of(everything, "# ragged"): True}
    (call,) = layout.lane_calls
    assert (call.name, call.symbol) == ("lgamma", "lgammaf")
    atomics = [each for each in layout.accesses if each.action == "atomic"]
    assert [(each.array, each.kind) for each in atomics] == [("counts", AccessKind.UNIFORM)]
    assert layout.was_cached is None


def test_the_text():
    kernel = cuda.jit(everything.py_func)
    kernel.compile("void(float32[::1], int32[::1], int64)")
    text = str(kernel.explain())
    line = line_of(everything, "# even")
    assert text.splitlines()[:4] == [
        f"kernel everything, {__file__}",
        "types",
        "  parameter  x: array(float32, 1d, C)",
        "  parameter  counts: array(int32, 1d, C)",
    ]
    for part in (
        "\nmemory and barriers\n",
        "\n  shared     256 bytes per block\n",
        "\n  arguments  arrays of the host are used in place\n",
        "\nblocks of 256 x 1 x 1 threads\n",
        "threads along x as one vector\n",
        "\n  machine code not in the cache on disk\n",
        f"\n  line {line:<5} loop: all lanes take the same iterations\n",
        f"\n  line {line + 2:<5} loop: divergent, lanes leave it at different times\n",
        "lgamma: calls lgammaf once per thread\n",
        "barrier: block\n",
        f"\n  line {line + 1:<5} a smaller float becomes float64\n",
    ):
        assert part in text


@cuda.jit
def vote(out):
    i = cuda.threadIdx.x
    out[i] = cuda.any_sync(0xFFFFFFFF, i == 3)


@cuda.jit
def lock(mutex, out):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    out[0] += math.lgamma(out[cuda.threadIdx.x % 1])
    cuda.atomic.exch(mutex, 0, 0)


def test_warps_and_kernels_that_run_thread_by_thread():
    vote[1, (8, 8)](np.zeros(64))
    found = vote.explain()
    assert (found.layouts[0].axis, found.layouts[0].lanes) == ("warp", 32)
    assert "run 32 threads in the order of their numbers as one vector" in str(found)
    lock.compile("void(int32[::1], float64[::1])")
    found = lock.explain()
    assert found.layouts[0].lanes == 1
    assert found.layouts[0].lane_calls == []
    assert "\n  run thread by thread\n" in str(found)


def test_device_functions_of_other_files_are_named():
    from tests.helpers import device_functions

    @cuda.jit
    def caller(a):
        a[0] = device_functions.twice(a[0])

    caller.compile("void(float64[:])")
    found = caller.explain()
    names = {each.name: each.span.filename for each in found.assignments}
    assert names == {"doubled": device_functions.__file__}
    assert f"  {device_functions.__file__}:9 doubled: float64" in str(found)


def test_the_newest_specialization_is_the_default():
    kernel = cuda.jit(transpose.py_func)
    kernel.compile("void(float32[:, ::1], float32[:, ::1])")
    kernel.compile("void(int8[:, ::1], int8[:, ::1])")
    assert "int8" in kernel.explain().parameters[0][1]
    key = kernel.signatures[0]
    assert "float32" in kernel.explain(key).parameters[0][1]
    assert kernel.explain(signature=key) == kernel.explain(key)
