"""Generations of GPUs."""

import re

import llvmlite.binding as llvm
import pytest

from pygpulib.errors import NoDeviceError
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import (
    OLDEST,
    CudaTarget,
    known_generations,
    known_target,
    sm_name,
)

EMPTY_KERNEL = "define ptx_kernel void @k() { ret void }"


def test_names():
    assert known_target((8, 0)).sm == "sm_80"
    assert sm_name((12, 1)) == "sm_121"


def test_a_known_generation_is_taken_as_it_is():
    for generation in known_generations():
        assert known_target(generation).compute_capability == generation


@pytest.mark.parametrize(
    ("device", "compiled"), [((7, 6), (7, 5)), ((8, 1), (8, 0)), ((9, 9), (9, 0))]
)
def test_an_unknown_generation_gets_the_newest_before_it(device, compiled):
    assert known_target(device).compute_capability == compiled


def test_a_future_generation_gets_the_newest_of_all():
    assert known_target((1000, 0)).compute_capability == known_generations()[-1]


def test_an_old_gpu_is_refused():
    with pytest.raises(NoDeviceError) as caught:
        known_target((7, 0))
    assert str(caught.value) == (
        "GPUs of compute capability 7.0 are not supported\n"
        "expected 7.5 or newer\n"
        "help: set PYGPULIB_BACKEND=cpu: the same program runs on the processor"
    )


def test_bounds_are_kept():
    target = known_target((8, 0), max_registers=64, max_threads_per_block=256, min_blocks=2)
    assert target == CudaTarget((8, 0), 64, 256, 2)


def test_llvm_knows_every_generation():
    # An unknown one is no error for LLVM: it makes code in the oldest PTX version, 3.2.
    versions = {}
    for generation in known_generations():
        ptx = compile_ptx(EMPTY_KERNEL, known_target(generation))
        assert f".target {sm_name(generation)}" in ptx
        versions[generation] = float(re.search(r"\.version (\S+)", ptx)[1])
    assert versions[OLDEST] == 6.3
    assert min(versions.values()) == 6.3


def test_what_is_called_known_is_not_more_than_llvm_has():
    assert known_generations()[0] == OLDEST
    assert ((8, 8) in known_generations()) == (llvm.llvm_version_info[0] >= 22)
