"""The text of native functions that Python calls to launch a kernel.

An entry checks the types of its arguments, takes their values out of the objects, gives up the
interpreter's lock and runs the kernel. It knows types and nothing of the kernel, so that all
kernels with such parameters share its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.reports import PRINT_WORD, RECORD_WORDS
from pygpulib.jit.backends.cpu.unboxing import ArgumentWriter, write_argument

if TYPE_CHECKING:
    from pygpulib.jit import types
    from pygpulib.jit.backends.cpu.layouts import ObjectLayouts

TypeList = tuple["types.Type", ...]

# Where the argument block has the address of the launch record.
_RECORD_WORD = 6

_RECORD_BYTES = 8 * RECORD_WORDS

PYTHON_FUNCTIONS = (
    "PyBytes_AsString",
    "PyBytes_FromStringAndSize",
    "PyComplex_ImagAsDouble",
    "PyComplex_RealAsDouble",
    "PyErr_CheckSignals",
    "PyErr_SetNone",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyLong_AsLongLongAndOverflow",
    "PyObject_Vectorcall",
    "PyTuple_GetItem",
    "Py_DecRef",
    "Py_IncRef",
)
"""Functions of Python whose addresses an entry needs."""

_DECLARATIONS = """
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_SetNone(ptr)
declare i64 @pool_run(ptr, ptr, i64)
declare i64 @time(ptr)
@pool_ready = external global i64
"""

_PREPARE_RECORD = f"""\
  call void @llvm.memset.p0.i64(ptr align 64 %record, i8 0, i64 {_RECORD_BYTES}, i1 false)
  %record_at = getelementptr i64, ptr %words, i64 {_RECORD_WORD}
  store ptr %record, ptr %record_at"""

# A copy of the record goes to Python, because the callable may outlive this call.
_READ_RECORD = f"""\
  %claimed = load i64, ptr %record
  %printed_at = getelementptr i64, ptr %record, i64 {PRINT_WORD}
  %printed = load i64, ptr %printed_at
  %either = or i64 %claimed, %printed
  %has_news = icmp ne i64 %either, 0
  br i1 %has_news, label %news, label %silent
news:
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %record, i64 {_RECORD_BYTES})
  %has_bytes = icmp ne ptr %bytes, null
  br i1 %has_bytes, label %report, label %failed
report:
  store ptr %bytes, ptr %bytes_at
  %reporter = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %reported = call ptr @PyObject_Vectorcall(ptr %reporter, ptr %bytes_at, i64 1, ptr null)
  call void @Py_DecRef(ptr %bytes)
  %is_reported = icmp ne ptr %reported, null
  br i1 %is_reported, label %told, label %failed
told:
  call void @Py_DecRef(ptr %reported)
  br label %silent"""


def entry_text(
    argument_types: TypeList,
    parameter_types: TypeList,
    layouts: ObjectLayouts,
    *,
    has_pool: bool,
    has_report: bool,
) -> tuple[str, dict[str, int]]:
    """Return the LLVM IR of an entry, and the addresses of the objects that it refers to.

    It is a function ``(self, args, nargs, kwnames)``. ``self`` is a tuple: the binding, the
    callable for what is not expected and, if ``has_report``, the one for launch records.
    """
    writer = ArgumentWriter(layouts)
    writer.require_equal("i64", "%nargs", len(argument_types))
    writer.require_equal("ptr", "%kwnames", "null")
    for position, pair in enumerate(zip(argument_types, parameter_types, strict=True)):
        write_argument(writer, writer.load("%args", 8 * position), *pair)
    checks = "\n".join(writer.lines)
    none, interrupt = writer.symbol(None), writer.symbol(KeyboardInterrupt)
    symbols = writer.objects.values()
    declarations = "\n".join(f"{symbol} = external global i8" for symbol in symbols)
    text = f"""{_DECLARATIONS}
{declarations}
define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{
  %words = alloca [{writer.words} x i64], align 16
  %overflow = alloca i32
  %record = alloca [{RECORD_WORDS} x i64], align 64
  %bytes_at = alloca ptr
  %never = alloca i64
  store i64 0, ptr %never
  %bound = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %binding = call ptr @PyBytes_AsString(ptr %bound)
{checks}
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %binding, i64 64, i1 false)
{_PREPARE_RECORD if has_report else ""}
{_run_text(has_pool)}
{_READ_RECORD if has_report else "  br label %silent"}
{_ending_text(none, interrupt)}
}}
"""
    return text, {symbol[1:]: address for address, symbol in writer.objects.items()}


def _run_text(has_pool: bool) -> str:
    """Return the part of an entry that runs the kernel on the argument words."""
    parallel = (
        "%stopped = call i64 @pool_run(ptr %kernel, ptr %words, i64 %blocks)"
        if has_pool
        else "call void %kernel(ptr %words, i64 0, i64 %blocks, i64 0, ptr %never)"
    )
    # Where the threads are not there yet, or their number changed, Python sees to it.
    ready = "load atomic i64, ptr @pool_ready monotonic, align 8" if has_pool else "add i64 0, 0"
    now = "call i64 @time(ptr null)" if has_pool else "add i64 0, 0"
    stopped = "%stopped" if has_pool else "0"
    return f"""\
  %kernel_at = getelementptr i64, ptr %binding, i64 8
  %kernel = load ptr, ptr %kernel_at, align 1
  %blocks_at = getelementptr i64, ptr %binding, i64 9
  %blocks = load i64, ptr %blocks_at, align 1
  %is_single = icmp eq i64 %blocks, 1
  br i1 %is_single, label %single, label %several
single:
  %single_thread = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %words, i64 0, i64 1, i64 0, ptr %never)
  call void @PyEval_RestoreThread(ptr %single_thread)
  br label %done
several:
  %ready = {ready}
  %now = {now}
  %is_ready = icmp eq i64 %ready, %now
  br i1 %is_ready, label %parallel, label %slow
parallel:
  %thread = call ptr @PyEval_SaveThread()
  {parallel}
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  %interrupted = phi i64 [0, %single], [{stopped}, %parallel]"""


def _ending_text(none: str, interrupt: str) -> str:
    """Return the part of an entry that returns to Python, which knows its objects by symbols."""
    return f"""\
silent:
  %was_interrupted = icmp ne i64 %interrupted, 0
  br i1 %was_interrupted, label %interrupt, label %through
interrupt:
  ; Python's handler raises the exception in the main thread.
  %signals = call i32 @PyErr_CheckSignals()
  %has_raised = icmp ne i32 %signals, 0
  br i1 %has_raised, label %failed, label %raise
raise:
  call void @PyErr_SetNone(ptr {interrupt})
  br label %failed
failed:
  ret ptr null
through:
  call void @Py_IncRef(ptr {none})
  ret ptr {none}
slow:
  %fallback = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %result = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %result"""
