"""Short vectors of numbers in kernels."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError, UnsupportedSyntaxError
from pygpulib.jit.vector_types import VECTOR_TYPES
from tests.helpers.bodies import launch

C_NAMES = "char short int long longlong uchar ushort uint ulong ulonglong float double"


def test_names():
    longs = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    for name in [*longs, "float32", "float64"]:
        for count in range(1, 5):
            vector = getattr(cuda, f"{name}x{count}")
            assert str(vector) == f"{name}x{count}"
            for alias in vector.aliases:
                assert getattr(cuda, alias) is vector
    assert set(C_NAMES.split()) == {name[:-1] for name in VECTOR_TYPES if "x" not in name}
    assert cuda.float4 is cuda.float32x4
    assert cuda.float32x4.aliases == ("float4",)
    assert cuda.long2.aliases == ("long2", "longlong2")


def test_elements():
    def body(i, a):
        v = cuda.float32x4(1, 2.5, a[3], i)
        w = cuda.double3(cuda.float64x2(v.x, v.y), 7)
        u = cuda.uchar2(300, -1)
        a[0] = v.x + 10 * v.y + 100 * v.z + v.w
        a[1] = w.x + 10 * w.y + 100 * w.z
        a[2] = u.x + 1000 * u.y
        a[3] = cuda.int4(cuda.int2(1, 2), cuda.int2(3, 4)).w + len(v)

    a = np.full(4, 3.0)
    launch(body, 1, a)
    assert a.tolist() == [1 + 25 + 300, 1 + 25 + 700, 44 + 255_000, 8]


def test_arithmetic():
    def body(i, a):
        v, w = cuda.float2(1, 2), cuda.float2(10, 20)
        s = v + w * 2 - 1
        t = -(w / v)
        u = 3 * cuda.int2(2, 5) // 4
        q = cuda.int2(1, 2) / 2
        a[0], a[1], a[2], a[3] = s.x, s.y, t.x, t.y
        a[4], a[5], a[6], a[7] = u.x, u.y, q.x, q.y

    a = np.zeros(8)
    launch(body, 1, a)
    assert a.tolist() == [20, 41, -10, -10, 1, 3, 0.5, 1]


@cuda.jit(device=True)
def rotate(v):
    if v.x > 2:
        return cuda.float3(v.y, v.z, v.x)
    return v


def test_variables_and_results():
    def body(i, a):
        v = cuda.float3(i, i + 1, i + 2)
        for k in range(3):
            v = rotate(v) + (1 if i % 2 else 0.5)
            if k == i:
                v = cuda.float3(a[0], v.x, v.y)
        a[1 + i] = v.x + 10 * v.y + 100 * v.z

    def reference(i):
        v = [i, i + 1, i + 2]
        for k in range(3):
            v = [v[1], v[2], v[0]] if v[0] > 2 else v
            v = [part + (1 if i % 2 else 0.5) for part in v]
            if k == i:
                v = [0.25, v[0], v[1]]
        return v[0] + 10 * v[1] + 100 * v[2]

    a = np.full(6, 0.25)
    launch(body, 5, a)
    assert a[1:].tolist() == [reference(i) for i in range(5)]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (lambda i, a: cuda.float4(1, 2), KernelTypeError, "float32x4 does not take (int64, int64)"),
        (lambda i, a: cuda.float2(1, "a"), KernelTypeError, "float32x2 does not take (int64, the"),
        (lambda i, a: cuda.float2(1, 2).z, KernelTypeError, "float32x2 has no attribute 'z'"),
        (
            lambda i, a: cuda.float2(1, 2) + cuda.float3(1, 2, 3),
            KernelTypeError,
            "+ does not take float32x2 and float32x3",
        ),
        (lambda i, a: cuda.float2(1, 2)[0], KernelTypeError, "float32x2 cannot be indexed"),
    ],
)
def test_what_vectors_do_not_take(body, error, words):
    with pytest.raises(error) as caught:
        launch(body, 1, np.zeros(3))
    assert words in str(caught.value)


def test_elements_are_not_assigned():
    def body(i, a):
        v = cuda.float2(1, 2)
        v.x = 3

    with pytest.raises(UnsupportedSyntaxError, match="assigning to the attribute 'x'"):
        launch(body, 1, np.zeros(3))
