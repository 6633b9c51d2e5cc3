"""Code for older processors than this one, run on this one."""

from __future__ import annotations

import platform
import random

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.jit.backends.cpu.target import CpuTarget, CpuVariant, describe_target, host_target
from pygpulib.jit.ir.ops import BinaryKind, Register
from tests.helpers import cpu_programs
from tests.helpers.cpu_programs import run_cpu, runner
from tests.helpers.ir_kernels import Arrays
from tests.helpers.ir_programs import assert_same, build_program

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="these processors are x86-64"
)

SSE2 = ("sse", "sse2", "cmov", "cx8", "fxsr", "mmx", "64bit")
AVX2 = (*SSE2, "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "bmi", "popcnt")


@pytest.fixture(params=[SSE2, AVX2], ids=["sse2", "avx2"])
def target(request, monkeypatch) -> CpuTarget:
    host = host_target()
    names = {feature[1:] for feature in host.features.split(",")}
    if not {f"+{name}" for name in request.param} <= set(host.features.split(",")):
        pytest.skip("this processor is older still")
    features = {name: name in request.param for name in names}
    older = describe_target(host.triple, "x86-64", features, host.llvm_version)
    monkeypatch.setattr(cpu_programs, "host_target", lambda: older)
    return older


@pytest.mark.parametrize("width", [1, 4, 16, 32])
def test_random_programs(target, width):
    for seed in range(6):
        program = build_program(random.Random(seed))
        variant = CpuVariant(0, width, program.block[0] % width == 0)
        assert_same(program, program.function, runner(variant))


def convert(source, target):
    kernel = Arrays(source, target)
    b = kernel.b
    block, size = (
        b.cast(b.register(register), dtypes.int64)
        for register in (Register.CTAID_X, Register.NTID_X)
    )
    i = b.binary(BinaryKind.ADD, b.binary(BinaryKind.MULTIPLY, block, size), kernel.tid)
    kernel.store(1, b.cast(kernel.load(0, i), target), i)
    return kernel.function()


def test_every_half_widens_and_narrows_exactly(target):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    singles = np.zeros(halves.size, np.float32)
    run_cpu(convert(dtypes.float16, dtypes.float32), (64, 1, 1), (1024, 1, 1), (halves, singles))
    np.testing.assert_array_equal(singles, halves.astype(np.float32))
    back = np.zeros_like(halves)
    run_cpu(convert(dtypes.float32, dtypes.float16), (64, 1, 1), (1024, 1, 1), (singles, back))
    np.testing.assert_array_equal(back, halves)


def test_singles_round_to_the_nearest_half(target):
    rng = np.random.default_rng(0)
    between = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = (between[1:] + between[:-1]) / 2
    near = np.concatenate([ties, np.nextafter(ties, np.float32(9e9)), np.nextafter(ties, -ties)])
    wild = rng.integers(0, 1 << 32, 30000, dtype=np.uint32).view(np.float32)
    singles = np.concatenate([near, -near, wild, np.float32([65519.9, 65520, 1e30, 1e-30])])
    singles = np.resize(singles, -(-singles.size // 256) * 256)
    halves = np.zeros(singles.size, np.float16)
    grid = (singles.size // 256, 1, 1)
    run_cpu(convert(dtypes.float32, dtypes.float16), grid, (256, 1, 1), (singles, halves))
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(halves, singles.astype(np.float16))
