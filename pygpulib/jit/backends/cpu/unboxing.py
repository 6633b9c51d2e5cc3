"""Native code that takes the values of arguments out of Python's objects.

It checks the types of the objects, and leaves for the label ``slow`` whenever something is not as
expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pygpulib._record import field, record
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import DType, complex128, float16, float64, int64
from pygpulib.core.mapped import MappedArray
from pygpulib.jit import types
from pygpulib.jit.backends.protocol import HEADER_WORDS

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.layouts import ObjectLayouts

# NPY_ARRAY_C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE
_C_BIT, _F_BIT, _ALIGNED_BIT, _WRITEABLE_BIT = 0x1, 0x2, 0x100, 0x400
_LAYOUT_FLAGS = {
    "C": (_C_BIT, _C_BIT),
    "F": (_C_BIT | _F_BIT, _F_BIT),
    "A": (_C_BIT | _F_BIT, 0),
}


@record(frozen=False)
class ArgumentWriter:
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


def is_supported(argument: types.Type, parameter: types.Type, layouts: ObjectLayouts) -> bool:
    """Return whether native code can take an argument of a type for a parameter of another."""
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


def write_argument(
    writer: ArgumentWriter, obj: str, argument: types.Type, parameter: types.Type
) -> None:
    """Write what checks an argument and stores its words; `is_supported` holds for the types."""
    match argument, parameter:
        case types.ScalarType(source), types.ScalarType(target) if source.is_complex:
            _write_complex(writer, obj, source, target)
        case types.ScalarType(source), types.ScalarType(target):
            _write_scalar(writer, obj, source, target)
        case types.ArrayType(), types.ArrayType():
            _write_array(writer, obj, argument)
        case _:
            raise AssertionError(argument, parameter)


def _write_array(writer: ArgumentWriter, obj: str, argument: types.ArrayType) -> None:
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


def _write_scalar(writer: ArgumentWriter, obj: str, argument: DType, parameter: DType) -> None:
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


def _write_complex(writer: ArgumentWriter, obj: str, argument: DType, parameter: DType) -> None:
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


def _write_int64(writer: ArgumentWriter, obj: str, kind: str) -> str:
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


def _convert(writer: ArgumentWriter, value: str, source: DType, target: DType) -> str:
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
