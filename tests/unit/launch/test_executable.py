import ctypes

import numpy as np
import pytest

from pygpulib.core.driver import LaunchShape
from pygpulib.core.dtypes import bool_, float64, int64
from pygpulib.errors import KernelFault, Span
from pygpulib.jit.backends.cpu.executable import CpuKernel
from pygpulib.jit.backends.cpu.target import CpuVariant, choose_variant
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir.ops import ErrorEntry
from tests.helpers.native_kernels import COUNT_TEXT, copy_words_text


def run(kernel, shape, words):
    block = (ctypes.c_int64 * (HEADER_WORDS + len(words)))(*([0] * HEADER_WORDS), *words)
    kernel.run(shape, ctypes.addressof(block))


def test_every_block_of_the_grid_runs():
    kernel = CpuKernel("count", lambda variant, name: COUNT_TEXT)
    for grid in ((1, 1, 1), (7, 1, 1), (5, 4, 3)):
        marks = np.zeros(np.prod(grid), np.int64)
        run(kernel, LaunchShape(grid, (4, 1, 1)), [marks.ctypes.data])
        assert marks.min() >= 1


def test_the_header():
    kernel = CpuKernel("copy", lambda variant, name: copy_words_text(9))
    words = np.zeros(9, np.int64)
    run(kernel, LaunchShape((1, 1, 1), (4, 3, 2), 160), [words.ctypes.data])
    assert words[:8].tolist() == [1, 1, 1, 4, 3, 2, 0, 160]


def test_one_variant_per_way_to_lay_out_a_block():
    asked = []

    def emit(variant, name):
        asked.append(variant)
        return COUNT_TEXT

    kernel = CpuKernel("count", emit, choose=lambda block: choose_variant(block, (1, 0, 2), 16))
    marks = np.zeros(1, np.int64)
    for block in ((8, 1, 1), (8, 64, 1), (8, 32, 1), (8, 33, 1), (8, 64, 1)):
        run(kernel, LaunchShape((1, 1, 1), block), [marks.ctypes.data])
    assert asked == [
        CpuVariant(0, 8, True),
        CpuVariant(1, 16, True),
        CpuVariant(1, 16, False),
    ]


class PickyError(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


ERRORS = (
    ErrorEntry(ValueError, "a plain {text}", Span("kernel.py", 12, 0, 12, 4)),
    ErrorEntry(IndexError, "index {0} and {1} and {2}", None),
    ErrorEntry(AssertionError, "", None),
    ErrorEntry(PickyError, "picky", None),
)


def failing_text(code, details=()):
    """Return a kernel that reports an error as block (1, 2, 3) and thread (4, 5, 6)."""
    stores = "\n".join(
        f"  %p{i} = getelementptr i64, ptr %record, i64 {i}\n  store i64 {word}, ptr %p{i}"
        for i, word in enumerate([1, code, 1, 2, 3, 4, 5, 6, len(details), *details])
    )
    return f"""
define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) {{
  %record_at = getelementptr i64, ptr %words, i64 6
  %record = load ptr, ptr %record_at
{stores}
  ret void
}}
"""


@pytest.mark.parametrize(
    ("code", "details", "exception", "words"),
    [
        (
            0,
            (),
            ValueError,
            ["a plain {text}\n", "block (1, 2, 3), thread (4, 5, 6)", "kernel.py:12"],
        ),
        (1, (7, 4612811918334230528, 1), IndexError, ["index 7 and 2.5 and True\n"]),
        (2, (), AssertionError, ["in the kernel fail, block"]),
        (3, (), KernelFault, ["PickyError: picky\n"]),
    ],
)
def test_a_fault_is_raised_on_the_host(code, details, exception, words):
    kernel = CpuKernel(
        "fail",
        lambda variant, name: failing_text(code, details),
        errors=ERRORS,
        detail_types={1: (int64, float64, bool_)},
    )
    with pytest.raises(exception) as caught:
        run(kernel, LaunchShape((1, 1, 1), (1, 1, 1)), [])
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_kernel_that_can_fail_and_does_not():
    kernel = CpuKernel("count", lambda variant, name: COUNT_TEXT, errors=ERRORS)
    marks = np.zeros(3, np.int64)
    shape = LaunchShape((3, 1, 1), (1, 1, 1))
    run(kernel, shape, [marks.ctypes.data])
    assert marks.min() >= 1


def test_a_kernel_whose_blocks_wait_for_each_other_has_no_short_cut():
    kernel = CpuKernel("count", lambda variant, name: COUNT_TEXT, is_cooperative=True)
    assert kernel.bind(LaunchShape((3, 1, 1), (1, 1, 1)), (), (), print, 0) is None


def test_texts_for_people_before_and_after_a_launch():
    kernel = CpuKernel("count", lambda variant, name: COUNT_TEXT)
    assert "@kernel" in kernel.llvm_text()
    assert "kernel" in kernel.assembly_text()
