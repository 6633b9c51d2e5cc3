"""Kernels that LLVM compiles, run by the interpreter."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from tests.fakecuda.llvm_programs import TARGETS, compile_to_ptx
from tests.fakecuda.ptx_programs import Device

SAXPY = """
define ptx_kernel void @k(i32 %n, float %a, ptr %x, ptr %y) {
  %i = call i32 @number()
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %j = sext i32 %i to i64
  %px = getelementptr float, ptr %x, i64 %j
  %py = getelementptr float, ptr %y, i64 %j
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %m = fmul contract float %a, %vx
  %r = fadd contract float %m, %vy
  store float %r, ptr %py
  br label %end
end:
  ret void
}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [1, 127, 128, 1000])
def test_saxpy(target, count):
    device = Device()
    x, y = (np.random.default_rng(s).random(count, np.float32) for s in (0, 1))
    px, py = device.put(x), device.put(y)
    text = compile_to_ptx(SAXPY, target)
    assert f".target {target}" in text
    device.run(text, np.int32(count), np.float32(2.5), px, py, grid=8, block=128)
    fused = (np.float64(2.5) * x + y).astype(np.float32)
    np.testing.assert_allclose(device.get(py), fused, rtol=1e-7)


REDUCTION = """
@buffer = internal addrspace(3) global [256 x float] undef, align 4
define ptx_kernel void @k(ptr %x, ptr %out) {
entry:
  %i = call i32 @number()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %px = getelementptr float, ptr %x, i32 %i
  %v = load float, ptr %px
  %mine = getelementptr [256 x float], ptr addrspace(3) @buffer, i32 0, i32 %t
  store float %v, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier0()
  br label %loop
loop:
  %s = phi i32 [128, %entry], [%half, %next]
  %active = icmp slt i32 %t, %s
  br i1 %active, label %add, label %next
add:
  %j = add i32 %t, %s
  %other = getelementptr [256 x float], ptr addrspace(3) @buffer, i32 0, i32 %j
  %p = load float, ptr addrspace(3) %mine
  %q = load float, ptr addrspace(3) %other
  %sum = fadd float %p, %q
  store float %sum, ptr addrspace(3) %mine
  br label %next
next:
  call void @llvm.nvvm.barrier0()
  %half = lshr i32 %s, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %loop, label %last
last:
  %first = icmp eq i32 %t, 0
  br i1 %first, label %store, label %end
store:
  %r = load float, ptr addrspace(3) @buffer
  %po = getelementptr float, ptr %out, i32 %b
  store float %r, ptr %po
  br label %end
end:
  ret void
}
"""


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
@pytest.mark.parametrize("target", TARGETS)
def test_reduction_in_shared_memory(target, schedule):
    device = Device()
    x = np.random.default_rng(0).random(512, np.float32)
    px, out = device.put(x), device.put(np.zeros(2, np.float32))
    text = compile_to_ptx(REDUCTION, target)
    device.run(text, px, out, grid=2, block=256, schedule=schedule, race_check=True)
    np.testing.assert_allclose(device.get(out), x.reshape(2, 256).sum(1), rtol=1e-6)


MIXED = """
define internal i32 @fibonacci(i32 %n) noinline {
  %small = icmp slt i32 %n, 2
  br i1 %small, label %base, label %more
base:
  ret i32 %n
more:
  %a = sub i32 %n, 1
  %b = sub i32 %n, 2
  %x = call i32 @fibonacci(i32 %a)
  %y = call i32 @fibonacci(i32 %b)
  %r = add i32 %x, %y
  ret i32 %r
}
define internal i32 @choose(i32 %i, i32 %v) noinline {
  switch i32 %i, label %other [
    i32 0, label %l0
    i32 1, label %l1
    i32 2, label %l2
    i32 3, label %l3
    i32 4, label %l4
    i32 5, label %l5
  ]
l0: ret i32 77
l1: %r1 = mul i32 %v, 3
  ret i32 %r1
l2: %r2 = udiv i32 %v, 7
  ret i32 %r2
l3: %r3 = xor i32 %v, 21845
  ret i32 %r3
l4: %r4 = call i32 @fibonacci(i32 %i)
  ret i32 %r4
l5: %r5 = urem i32 %v, 10
  ret i32 %r5
other: ret i32 -1
}
define ptx_kernel void @k(ptr %out, ptr %wide) {
  %i = call i32 @number()
  %kind = urem i32 %i, 7
  %v = mul i32 %i, 1234567
  %chosen = call i32 @choose(i32 %kind, i32 %v)
  %table = alloca [8 x i32]
  br label %fill
fill:
  %n = phi i32 [0, %0], [%n1, %fill]
  %place = getelementptr [8 x i32], ptr %table, i32 0, i32 %n
  %square = mul i32 %n, %n
  store volatile i32 %square, ptr %place
  %n1 = add i32 %n, 1
  %again = icmp ult i32 %n1, 8
  br i1 %again, label %fill, label %done
done:
  %which = and i32 %i, 7
  %slot = getelementptr [8 x i32], ptr %table, i32 0, i32 %which
  %read = load volatile i32, ptr %slot
  %limit = urem i32 %i, 10
  %f = call i32 @fibonacci(i32 %limit)
  %p0 = getelementptr {i32, i32, i32}, ptr %out, i32 %i, i32 0
  %p1 = getelementptr {i32, i32, i32}, ptr %out, i32 %i, i32 1
  %p2 = getelementptr {i32, i32, i32}, ptr %out, i32 %i, i32 2
  store i32 %chosen, ptr %p0
  store i32 %read, ptr %p1
  store i32 %f, ptr %p2
  %z = zext i32 %v to i128
  %big = mul i128 %z, 340282366920938463463374607431768
  %cut = add i128 %big, 18446744073709551615
  %pw = getelementptr i128, ptr %wide, i32 %i
  store i128 %cut, ptr %pw, align 16
  ret void
}
"""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_switches_recursion_local_arrays_and_wide_integers(target, level):
    device = Device()
    out, wide = device.put(np.zeros((96, 3), np.int32)), device.put(np.zeros((96, 2), np.uint64))
    device.run(compile_to_ptx(MIXED, target, level=level), out, wide, grid=2, block=48)
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    for i, (row, words) in enumerate(
        zip(device.get(out).tolist(), device.get(wide).tolist(), strict=True)
    ):
        v = i * 1234567
        chosen = [77, v * 3, v // 7, v ^ 21845, 3, v % 10, -1][i % 7]
        assert row == [(chosen + 2**31) % 2**32 - 2**31, (i & 7) ** 2, fibonacci[i % 10]]
        exact = (v * 340282366920938463463374607431768 + 2**64 - 1) % 2**128
        assert words == [exact % 2**64, exact >> 64]


HALVES = """
define ptx_kernel void @k(ptr %x, ptr %y) {
  %i = call i32 @number()
  %px = getelementptr <4 x half>, ptr %x, i32 %i
  %py = getelementptr <4 x half>, ptr %y, i32 %i
  %a = load <4 x half>, ptr %px
  %b = load <4 x half>, ptr %py
  %p = fmul <4 x half> %a, %b
  %s = fsub <4 x half> %p, %a
  store <4 x half> %s, ptr %py
  ret void
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_vectors_of_halves(target):
    device = Device()
    x, y = (np.random.default_rng(s).uniform(-3, 3, 256).astype(np.float16) for s in (0, 1))
    px, py = device.put(x), device.put(y)
    device.run(compile_to_ptx(HALVES, target), px, py, block=64)
    np.testing.assert_array_equal(device.get(py), x * y - x)


ATOMICS = """
define ptx_kernel void @k(ptr %i, ptr %f, ptr %m, ptr %q) {
entry:
  %g = call i32 @number()
  %1 = atomicrmw add ptr %i, i32 1 seq_cst
  %2 = atomicrmw fadd ptr %f, double 0.5 monotonic
  %3 = atomicrmw umax ptr %m, i32 %g monotonic
  br label %again
again:
  %old = load atomic volatile i64, ptr %q acquire, align 8
  %new = add i64 %old, 3
  %pair = cmpxchg ptr %q, i64 %old, i64 %new acq_rel monotonic
  %done = extractvalue {i64, i1} %pair, 1
  br i1 %done, label %end, label %again
end:
  ret void
}
"""


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_atomic_operations(target, schedule):
    device = Device()
    arrays = [np.zeros(1, np.int32), np.zeros(1), np.zeros(1, np.uint32), np.zeros(1, np.int64)]
    addresses = [device.put(a) for a in arrays]
    device.run(compile_to_ptx(ATOMICS, target), *addresses, grid=2, block=40, schedule=schedule)
    assert [device.get(a)[0] for a in addresses] == [80, 40, 79, 240]


# ------------------------------------------------------------------------------- libdevice

# Name, exact function, range of arguments, units in the last place allowed for f64 and f32.
FUNCTIONS = {
    "sin": (mpmath.sin, -50, 50, 2, 2),
    "cos": (mpmath.cos, -1e6, 1e6, 2, 2),
    "tan": (mpmath.tan, -50, 50, 3, 4),
    "atan": (mpmath.atan, -20, 20, 2, 3),
    "tanh": (mpmath.tanh, -5, 5, 2, 3),
    "exp": (mpmath.exp, -50, 50, 2, 3),
    "expm1": (mpmath.expm1, -5, 5, 2, 2),
    "log": (mpmath.log, 1e-3, 1000, 2, 2),
    "cbrt": (mpmath.cbrt, 0, 50, 2, 2),
    "erf": (mpmath.erf, -4, 4, 3, 3),
    "tgamma": (mpmath.gamma, 0.1, 20, 11, 6),
    "sqrt": (mpmath.sqrt, 0, 100, 0.6, 0.6),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 0.01, 100, 2, 3),
    "sinpi": (mpmath.sinpi, -10, 10, 2, 2),
}
UNARY = """
declare {type} @__nv_{name}({type})
define ptx_kernel void @{name}(ptr %x, ptr %out) {{
  %i = call i32 @number()
  %px = getelementptr {type}, ptr %x, i32 %i
  %v = load {type}, ptr %px
  %r = call {type} @__nv_{name}({type} %v)
  %po = getelementptr {type}, ptr %out, i32 %i
  store {type} %r, ptr %po
  ret void
}}
"""


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_libdevice(name, target):
    source = "".join(
        UNARY.format(name=function + suffix, type=kind)
        for function in FUNCTIONS
        for suffix, kind in (("", "double"), ("f", "float"))
    )
    text = compile_to_ptx(source, target, libdevice=True)
    exact, low, high, double_ulps, float_ulps = FUNCTIONS[name]
    for suffix, dtype, ulps in (("", np.float64, double_ulps), ("f", np.float32, float_ulps)):
        device = Device()
        x = np.random.default_rng(0).uniform(low, high, 60).astype(dtype)
        px, out = device.put(x), device.put(np.zeros_like(x))
        device.run(text, px, out, block=60, name=name + suffix)
        with mpmath.workdps(40):
            for value, found in zip(x.tolist(), device.get(out).tolist(), strict=True):
                want = exact(mpmath.mpf(value))
                unit = np.spacing(dtype(abs(float(want))))
                assert math.isfinite(found)
                assert abs(mpmath.mpf(found) - want) <= ulps * float(unit), value
