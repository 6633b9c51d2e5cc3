"""Barriers and fences: what the front end makes of them."""

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics import sync as cuda
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import compile_for


def ops_of(kernel, *args):
    return list(walk(compile_for(kernel, *args).body))


def test_each_function_is_its_operation():
    def kernel(a):
        cuda.syncthreads()
        a[0] = cuda.syncthreads_count(a[0] > 0)
        a[1] = cuda.syncthreads_and(True)
        a[2] = cuda.syncthreads_or(predicate=2)
        cuda.syncwarp()
        cuda.syncwarp(0xFF)
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()
        cuda.nanosleep(100)

    ops = ops_of(kernel, np.zeros(3))
    kinds = [op.kind.name for op in ops if isinstance(op, ir.Barrier)]
    assert kinds == ["BLOCK", "BLOCK_COUNT", "BLOCK_AND", "BLOCK_OR", "WARP", "WARP"]
    scopes = [op.scope.name for op in ops if isinstance(op, ir.Fence)]
    assert scopes == ["BLOCK", "DEVICE", "SYSTEM"]


def test_masks_are_words():
    def kernel(mask):
        cuda.syncwarp(mask)

    for dtype in (np.int64, np.uint8, np.int32):
        (barrier,) = [op for op in ops_of(kernel, dtype(1)) if isinstance(op, ir.Barrier)]
        assert barrier.predicate.type.name == "uint32"


def bad_arguments(a):
    cuda.syncthreads(1)


def bad_missing(a):
    cuda.syncthreads_count()


def bad_predicate(a):
    cuda.syncthreads_or(a[0])


def bad_array(a):
    cuda.syncthreads_and(a)


def bad_mask(a):
    cuda.syncwarp("all")


def bad_fence(a):
    cuda.threadfence(0)


def bad_sleep(a):
    cuda.nanosleep(1.5)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (bad_arguments, ["cuda.syncthreads"]),
        (bad_missing, ["cuda.syncthreads_count", "predicate"]),
        (bad_predicate, ["cuda.syncthreads_or does not take float64", "write a comparison"]),
        (bad_array, ["cuda.syncthreads_and does not take array(float64, 1d, C)"]),
        (bad_mask, ["cuda.syncwarp does not take the string 'all'", "bits of an integer"]),
        (bad_fence, ["cuda.threadfence"]),
        (bad_sleep, ["cuda.nanosleep does not take float64", "int(...)"]),
    ],
)
def test_what_is_refused(kernel, words):
    with pytest.raises(KernelTypeError) as caught:
        compile_function(kernel, (types.float64[::1],), CompileOptions())
    assert words[0] in str(caught.value).splitlines()[0]
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        cuda.syncthreads,
        lambda: cuda.syncthreads_count(1),
        lambda: cuda.syncthreads_and(1),
        lambda: cuda.syncthreads_or(1),
        cuda.syncwarp,
        cuda.threadfence,
        cuda.threadfence_block,
        cuda.threadfence_system,
        lambda: cuda.nanosleep(1),
    ],
)
def test_the_host_has_no_threads(call):
    with pytest.raises(PyGpuLibError, match=r"cuda\.\w+ has a value only inside a kernel"):
        call()
