"""Kernels of the back end's calling convention written by hand, without a front end."""

import ctypes

import numpy as np

from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.target import host_target

# Adds `worker + 1` to element `block` of the int64 array that the first argument word points to.
COUNT_TEXT = """
define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) nounwind {
entry:
  %array_at = getelementptr i64, ptr %words, i64 8
  %array = load ptr, ptr %array_at
  %mark = add i64 %worker, 1
  br label %loop
loop:
  %block = phi i64 [%first, %entry], [%next, %loop]
  %place = getelementptr i64, ptr %array, i64 %block
  %old = atomicrmw add ptr %place, i64 %mark monotonic
  %next = add i64 %block, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def copy_words_text(count):
    """Return a kernel that copies `count` words of its block to where the last of them points."""
    return f"""
define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) nounwind {{
entry:
  %target_at = getelementptr i64, ptr %words, i64 {count - 1}
  %target_word = load i64, ptr %target_at
  %target = inttoptr i64 %target_word to ptr
  br label %loop
loop:
  %index = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr i64, ptr %words, i64 %index
  %word = load i64, ptr %from
  %to = getelementptr i64, ptr %target, i64 %index
  store i64 %word, ptr %to
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def load_kernel(text):
    """Return the address of a hand-written kernel."""
    return engine.load(engine.assemble(text, host_target()), "kernel")


def count_blocks(run, address, blocks):
    """Run the counting kernel; return one mark per block."""
    marks = np.zeros(max(blocks, 1), np.int64)
    words = (ctypes.c_int64 * 9)()
    words[8] = marks.ctypes.data
    run(address, ctypes.addressof(words), blocks)
    return marks
