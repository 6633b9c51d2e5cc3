"""Native functions that Python calls to launch a kernel.

An entry checks the types of its arguments, takes their values out of the objects, gives up the
interpreter's lock and runs the kernel. It knows types and nothing of the kernel, so that all
kernels with such parameters share its code; the kernel and the launch shape come with the Python
function object that is made around it, as a *binding*: an array of 8-byte words with the grid
(0-2), the block (3-5), 0, the dynamic shared memory, the kernel's address and the number of
blocks. Whatever an entry does not expect it hands to a Python callable, and to another one the
launch record of a kernel that had something to report.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._record import field, record
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import DType, complex128, float16, float64, int64
from pygpulib.core.locks import Lock
from pygpulib.core.mapped import MappedArray
from pygpulib.jit import types
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.layouts import ObjectLayouts, object_layouts
from pygpulib.jit.backends.cpu.objects import find_object
from pygpulib.jit.backends.cpu.pool import shared_pool
from pygpulib.jit.backends.cpu.reports import PRINT_WORD, RECORD_WORDS
from pygpulib.jit.backends.cpu.target import plain_target
from pygpulib.jit.backends.protocol import HEADER_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.driver import LaunchShape
    from pygpulib.jit.backends.cpu.pool import Pool
    from pygpulib.jit.backends.protocol import Launcher

TypeList = tuple[types.Type, ...]

# Where the argument block has the address of the launch record.
_RECORD_WORD = 6

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002

_PYTHON_FUNCTIONS = (
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

# NPY_ARRAY_C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE
_C_BIT, _F_BIT, _ALIGNED_BIT, _WRITEABLE_BIT = 0x1, 0x2, 0x100, 0x400
_LAYOUT_FLAGS = {
    "C": (_C_BIT, _C_BIT),
    "F": (_C_BIT | _F_BIT, _F_BIT),
    "A": (_C_BIT | _F_BIT, 0),
}


@record(frozen=False)
class _Writer:
    """The body of an entry while it is written: straight code that leaves on a surprise."""

    layouts: ObjectLayouts
    lines: list[str] = field(default_factory=list)
    count: int = 0
    words: int = HEADER_WORDS
    objects: dict[int, str] = field(default_factory=dict)

    def symbol(self, obj: object) -> str:
        """Return a symbol for the address of an object, which is another one in each process."""
        return self.objects.setdefault(id(obj), f"@object{len(self.objects)}")

    def emit(self, text: str) -> str:
        """Append an instruction with a result, and return the result's name."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def load(self, pointer: str, offset: int, type_: str = "ptr") -> str:
        """Read a part of an object."""
        place = self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.emit(f"load {type_}, ptr {place}, align 1")

    def label(self) -> str:
        """Return a new label."""
        self.count += 1
        return f"l{self.count}"

    def require(self, condition: str) -> None:
        """Leave unless a condition holds."""
        go_on = self.label()
        self.lines.append(f"  br i1 {condition}, label %{go_on}, label %slow")
        self.lines.append(f"{go_on}:")

    def is_object(self, address: str, obj: object) -> str:
        """Compare an address with that of an object."""
        return self.emit(f"icmp eq i64 {address}, ptrtoint (ptr {self.symbol(obj)} to i64)")

    def require_equal(self, type_: str, value: str, wanted: object) -> None:
        """Leave unless a value is a certain one."""
        self.require(self.emit(f"icmp eq {type_} {value}, {wanted}"))

    def type_of(self, obj: str) -> str:
        """Return the address of an object's type."""
        return self.load(obj, self.layouts.type, "i64")

    def store(self, type_: str, value: str) -> None:
        """Write the next argument word."""
        place = self.emit(f"getelementptr i64, ptr %words, i64 {self.words}")
        self.lines.append(f"  store {type_} {value}, ptr {place}")
        self.words += 1


def _write_array(writer: _Writer, obj: str, argument: types.ArrayType) -> None:
    """Check and take apart an array of NumPy or of this package."""
    layouts = writer.layouts
    is_device = writer.is_object(writer.type_of(obj), ndarray)
    # An array of this package stands for the NumPy view in it. Read only if there is one.
    device, plain = writer.label(), writer.label()
    origin = writer.label()
    writer.lines.append(f"  br label %{origin}\n{origin}:")
    writer.lines.append(f"  br i1 {is_device}, label %{device}, label %{plain}\n{device}:")
    view = writer.load(obj, layouts.device_view)
    is_set = writer.emit(f"icmp ne ptr {view}, null")
    writer.lines.append(f"  br i1 {is_set}, label %{plain}, label %slow\n{plain}:")
    array = writer.emit(f"phi ptr [{obj}, %{origin}], [{view}, %{device}]")
    kind = writer.type_of(array)
    is_numpy, is_mapped = writer.is_object(kind, np.ndarray), writer.is_object(kind, MappedArray)
    writer.require(writer.emit(f"or i1 {is_numpy}, {is_mapped}"))
    dtype = writer.load(array, layouts.array_dtype, "i64")
    writer.require(writer.is_object(dtype, argument.dtype.numpy))
    ndim = writer.load(array, layouts.array_ndim, "i32")
    writer.require_equal("i32", ndim, argument.ndim)
    mask, wanted = _LAYOUT_FLAGS[argument.layout]
    flags = writer.load(array, layouts.array_flags, "i32")
    masked = writer.emit(f"and i32 {flags}, {mask | _ALIGNED_BIT | _WRITEABLE_BIT}")
    wanted |= _ALIGNED_BIT | (0 if argument.readonly else _WRITEABLE_BIT)
    writer.require_equal("i32", masked, wanted)
    writer.store("ptr", writer.load(array, layouts.array_data))
    if argument.ndim:
        for part in (layouts.array_shape, layouts.array_strides):
            lengths = writer.load(array, part)
            for axis in range(argument.ndim):
                writer.store("i64", writer.load(lengths, 8 * axis, "i64"))


def _write_scalar(writer: _Writer, obj: str, argument: DType, parameter: DType) -> None:
    """Check and unbox a number, and convert it to the parameter's type."""
    kind = writer.type_of(obj)
    if argument.is_bool:
        writer.require(writer.is_object(kind, bool))
        is_true = writer.emit(f"icmp eq ptr {obj}, {writer.symbol(True)}")
        value = writer.emit(f"zext i1 {is_true} to i8")
    elif argument == float64:
        # numpy.float64 derives from float.
        plain = writer.is_object(kind, float)
        derived = writer.is_object(kind, np.float64)
        writer.require(writer.emit(f"or i1 {plain}, {derived}"))
        value = writer.emit(f"call double @PyFloat_AsDouble(ptr {obj})")
    elif argument == int64:
        value = _write_int64(writer, obj, kind)
    else:
        writer.require(writer.is_object(kind, argument.numpy.type))
        place = writer.layouts.place_of_number(argument)
        assert place is not None
        value = writer.load(obj, place, argument.llvm)
    writer.store(_memory_type(parameter), _convert(writer, value, argument, parameter))


def _write_complex(writer: _Writer, obj: str, argument: DType, parameter: DType) -> None:
    """Check and unbox a complex number, and convert its parts to the parameter's."""
    kind = writer.type_of(obj)
    source, target = argument.component, parameter.component
    if argument == complex128:
        # numpy.complex128 derives from complex.
        plain = writer.is_object(kind, complex)
        derived = writer.is_object(kind, np.complex128)
        writer.require(writer.emit(f"or i1 {plain}, {derived}"))
        real = writer.emit(f"call double @PyComplex_RealAsDouble(ptr {obj})")
        imag = writer.emit(f"call double @PyComplex_ImagAsDouble(ptr {obj})")
    else:
        writer.require(writer.is_object(kind, argument.numpy.type))
        place = writer.layouts.place_of_number(argument)
        assert place is not None
        real = writer.load(obj, place, source.llvm)
        imag = writer.load(obj, place + source.size_bytes, source.llvm)
    for part in (real, imag):
        writer.store(target.llvm, _convert(writer, part, source, target))


def _write_int64(writer: _Writer, obj: str, kind: str) -> str:
    numpy_place = writer.layouts.scalars.get(int64)
    is_int = writer.is_object(kind, int)
    if numpy_place is None:
        writer.require(is_int)
        numpy_place = 0
    python, numpy, check, done = (writer.label() for _ in range(4))
    writer.lines.append(f"  br i1 {is_int}, label %{python}, label %{check}\n{python}:")
    converted = writer.emit(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {obj}, ptr %overflow)")
    overflow = writer.emit("load i32, ptr %overflow")
    fits = writer.emit(f"icmp eq i32 {overflow}, 0")
    writer.lines.append(f"  br i1 {fits}, label %{done}, label %slow\n{check}:")
    is_numpy = writer.is_object(kind, np.int64)
    writer.lines.append(f"  br i1 {is_numpy}, label %{numpy}, label %slow\n{numpy}:")
    loaded = writer.load(obj, numpy_place, "i64")
    writer.lines.append(f"  br label %{done}\n{done}:")
    return writer.emit(f"phi i64 [{converted}, %{python}], [{loaded}, %{numpy}]")


def _memory_type(dtype: DType) -> str:
    return "i8" if dtype.is_bool else dtype.llvm


def _convert(writer: _Writer, value: str, source: DType, target: DType) -> str:
    """Convert a number; truth values are bytes here."""
    if source == target:
        return value
    before, after = _memory_type(source), _memory_type(target)
    if target.is_float:
        if source.is_float:
            action = "fpext" if source.bits < target.bits else "fptrunc"
        else:
            action = "sitofp" if source.is_signed else "uitofp"
    else:
        widening = "sext" if source.is_signed else "zext"
        action = widening if source.bits < target.bits else "trunc"
        if source.bits == target.bits:
            action = "bitcast"
    return writer.emit(f"{action} {before} {value} to {after}")


def _is_supported(argument: types.Type, parameter: types.Type, layouts: ObjectLayouts) -> bool:
    match argument, parameter:
        case types.ArrayType(), types.ArrayType():
            # A record's alignment shows only in the address.
            return isinstance(argument.element, DType)
        case types.ScalarType(source), types.ScalarType(target):
            is_python = source.is_bool or source in (int64, float64, complex128)
            is_read = is_python or layouts.place_of_number(source) is not None
            # A real number that becomes a complex one takes the long way.
            is_kept = source.is_complex == target.is_complex
            return is_read and is_kept and _is_converted(source.component, target.component)
        case _:
            return False


def _is_converted(source: DType, target: DType) -> bool:
    """Return whether an entry converts numbers of one type to another."""
    if source == target:
        return True
    # Those of float16 take a function of the run-time library.
    is_plain = not (source.is_small or target.is_small or float16 in (source, target))
    # What a float that is too large becomes as an integer, Python says.
    return is_plain and (target.is_float or not source.is_float)


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
    writer = _Writer(layouts)
    writer.require_equal("i64", "%nargs", len(argument_types))
    writer.require_equal("ptr", "%kwnames", "null")
    for position, pair in enumerate(zip(argument_types, parameter_types, strict=True)):
        obj = writer.load("%args", 8 * position)
        match pair:
            case types.ScalarType(source), types.ScalarType(target) if source.is_complex:
                _write_complex(writer, obj, source, target)
            case types.ScalarType(source), types.ScalarType(target):
                _write_scalar(writer, obj, source, target)
            case types.ArrayType() as argument, types.ArrayType():
                _write_array(writer, obj, argument)
            case _:
                raise AssertionError(pair)
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
  ret ptr %result
}}
"""
    return text, {symbol[1:]: address for address, symbol in writer.objects.items()}


_RECORD_BYTES = 8 * RECORD_WORDS

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


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


# The definitions must outlive every function object made from them, and there are few.
_definitions: dict[tuple[TypeList, TypeList, bool, bool], _MethodDefinition] = {}
_lock = Lock()


def _definition(
    argument_types: TypeList,
    parameter_types: TypeList,
    layouts: ObjectLayouts,
    pool: Pool | None,
    has_report: bool,
) -> _MethodDefinition:
    key = (argument_types, parameter_types, pool is not None, has_report)
    with _lock:
        if key not in _definitions:
            imports = {name: _python_address(name) for name in _PYTHON_FUNCTIONS}
            if pool is not None:
                imports["pool_run"] = pool.run_address
                imports["pool_ready"] = pool.ready_address
            text, objects = entry_text(
                argument_types,
                parameter_types,
                layouts,
                has_pool=pool is not None,
                has_report=has_report,
            )
            code = find_object(text, plain_target(), 0).code
            address = engine.load(code, "entry", imports | objects)
            _definitions[key] = _MethodDefinition(
                b"launch", address, _METH_FASTCALL_KEYWORDS, b"Launch a kernel."
            )
        return _definitions[key]


def _python_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def make_entry(
    shape: LaunchShape,
    kernel_address: int,
    argument_types: TypeList,
    parameter_types: TypeList,
    fallback: Launcher,
    report: Callable[[bytes], None] | None = None,
) -> Launcher | None:
    """Return a function that launches a kernel in one shape.

    Parameters
    ----------
    shape : LaunchShape
        The launch shape.
    kernel_address : int
        Address of the kernel's code for that shape.
    argument_types, parameter_types : tuple of Type
        Types of the arguments that it takes, and what the kernel takes.
    fallback : callable
        What is called with other arguments.
    report : callable, optional
        What is called with the launch record, if the kernel prints or fails; it may raise.

    Returns
    -------
    callable or None
        None where this interpreter's objects cannot be read, or types are involved that native
        code does not take apart.
    """
    layouts = object_layouts()
    if layouts is None or not all(
        _is_supported(*pair, layouts) for pair in zip(argument_types, parameter_types, strict=True)
    ):
        return None
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    pool = shared_pool() if blocks > 1 else None
    has_report = report is not None
    definition = _definition(argument_types, parameter_types, layouts, pool, has_report)
    binding = struct.pack(
        "=10q", *shape.grid, *shape.block, 0, shape.shared_bytes, kernel_address, blocks
    )
    # A prototype of its own: the attributes of a function of pythonapi are shared by everybody.
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    create = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    made: Launcher = create(ctypes.addressof(definition), (binding, fallback, report), None)
    return made
