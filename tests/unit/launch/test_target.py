import itertools

import pytest

from pygpulib.jit.backends.cpu.target import (
    CpuVariant,
    choose_variant,
    describe_target,
    host_target,
    plain_target,
)


def test_host_target_is_cached_and_described():
    target = host_target()
    assert target is host_target()
    assert target.vector_bytes in (16, 32, 64)
    assert target.architecture in target.triple
    assert target.llvm_version >= (15,)
    assert plain_target().triple == target.triple
    assert plain_target().features == ""


@pytest.mark.parametrize(
    ("triple", "features", "vector_bytes", "has_gather", "has_float16"),
    [
        ("x86_64-linux-gnu", {"sse2": True}, 16, False, False),
        ("x86_64-linux-gnu", {"avx": True, "avx2": False}, 32, False, False),
        ("x86_64-linux-gnu", {"avx": True, "avx2": True, "f16c": True}, 32, True, True),
        ("x86_64-linux-gnu", {"avx": True, "avx2": True, "avx512f": True}, 64, True, True),
        ("aarch64-linux-gnu", {"neon": True}, 16, False, True),
        ("arm64-apple-darwin", {}, 16, False, True),
    ],
)
def test_describe_target(triple, features, vector_bytes, has_gather, has_float16):
    target = describe_target(triple, "model", features, (20, 1, 0))
    assert target.vector_bytes == vector_bytes
    assert target.has_gather is has_gather
    assert target.has_float16 is has_float16


def test_features_are_spelled_for_llvm():
    target = describe_target("x86_64-x", "m", {"b": False, "a": True}, (1,))
    assert target.features == "+a,-b"


@pytest.mark.parametrize(
    ("block", "axes", "width", "expected"),
    [
        ((256, 1, 1), (0, 1, 2), 32, CpuVariant(0, 32, True)),
        ((100, 1, 1), (0, 1, 2), 32, CpuVariant(0, 32, False)),
        ((16, 16, 1), (0, 1, 2), 32, CpuVariant(0, 16, True)),
        ((16, 16, 1), (1, 0, 2), 32, CpuVariant(1, 16, True)),
        ((5, 1, 1), (0, 1, 2), 32, CpuVariant(0, 8, False)),
        ((1, 1, 1), (0, 1, 2), 32, CpuVariant(0, 1, True)),
        ((1, 256, 1), (0, 1, 2), 32, CpuVariant(1, 32, True)),
        ((2, 1, 64), (0, 1, 2), 16, CpuVariant(2, 16, True)),
        ((2, 2, 1), (1, 0, 2), 16, CpuVariant(1, 2, True)),
    ],
)
def test_choose_variant(block, axes, width, expected):
    assert choose_variant(block, axes, width) == expected


def test_a_variant_covers_every_block_with_a_power_of_two():
    sizes = (1, 2, 3, 4, 7, 8, 33)
    for block in itertools.product(sizes, repeat=3):
        variant = choose_variant(block, (0, 1, 2), 16)
        assert variant.width in (1, 2, 4, 8, 16)
        assert variant.full == (block[variant.axis] % variant.width == 0)
        assert block[variant.axis] >= variant.width or variant.width < 2 * block[variant.axis]
