"""The element types: one row each, everything else derived.

NumPy has no bfloat16 and no 8-bit floats of its own: these come from the package ``ml_dtypes``,
which is imported when one of them is first used.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pygpulib._record import record
from pygpulib.errors import DTypeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Kind(Enum):
    """What family of numbers a dtype holds."""

    BOOL = "b"
    INT = "i"
    UINT = "u"
    FLOAT = "f"
    COMPLEX = "c"


class FloatFormat(NamedTuple):
    """The numbers of a floating-point type.

    Attributes
    ----------
    precision : int
        Significant bits, the one that is not stored included.
    max_exponent : int
        Largest ``e`` for which ``2**e`` is a number.
    min_exponent : int
        Smallest ``e`` for which ``2**e`` is a number, a subnormal one if there are any.
    largest : float
        The largest finite number.
    """

    precision: int
    max_exponent: int
    min_exponent: int
    largest: float


@record(eq=True)
class DType:
    """One element type.

    Attributes
    ----------
    name : str
        NumPy's name, for example ``"float32"``.
    kind : Kind
        Family.
    size_bytes : int
        Size of one element in memory.
    code : str
        Numba's short name, for example ``"f4"``.
    llvm : str
        LLVM's spelling of one element as a value; empty for complex numbers, which the
        compiler handles as pairs.
    cuda : str
        Name in CUDA's ``cudaDataType`` enumeration without its ``CUDA_`` prefix.
    blas : str
        BLAS letter, or empty.
    """

    name: str
    kind: Kind
    size_bytes: int
    code: str
    llvm: str
    cuda: str
    blas: str = ""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and other.name == self.name)

    @property
    def bits(self) -> int:
        """Size of one element in bits (8 for bool)."""
        return self.size_bytes * 8

    @property
    def is_bool(self) -> bool:
        """Whether this is the truth-value type."""
        return self.kind is Kind.BOOL

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer."""
        return self.kind is Kind.INT or self.kind is Kind.UINT

    @property
    def is_signed(self) -> bool:
        """Whether this is a signed integer."""
        return self.kind is Kind.INT

    @property
    def is_float(self) -> bool:
        """Whether this is a real floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type."""
        return self.kind is Kind.COMPLEX

    @property
    def is_small(self) -> bool:
        """Whether this is a float that NumPy does not have itself; it computes as float32."""
        return self.name in _SMALL

    @property
    def is_storage(self) -> bool:
        """Whether numbers of this type are only kept and converted: 8-bit floats."""
        return self.kind is Kind.FLOAT and self.size_bytes == 1

    @property
    def float_format(self) -> FloatFormat:
        """What numbers a real floating-point type has."""
        return _FORMATS[self.name]

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype, in native byte order."""
        found = _NUMPY.get(self.name)
        return _import_small(self.name) if found is None else found

    @property
    def component(self) -> DType:
        """The type of the real and imaginary part of a complex type; else the type itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


bool_ = DType("bool", Kind.BOOL, 1, "b1", "i1", "R_8U")
int8 = DType("int8", Kind.INT, 1, "i1", "i8", "R_8I")
int16 = DType("int16", Kind.INT, 2, "i2", "i16", "R_16I")
int32 = DType("int32", Kind.INT, 4, "i4", "i32", "R_32I")
int64 = DType("int64", Kind.INT, 8, "i8", "i64", "R_64I")
uint8 = DType("uint8", Kind.UINT, 1, "u1", "i8", "R_8U")
uint16 = DType("uint16", Kind.UINT, 2, "u2", "i16", "R_16U")
uint32 = DType("uint32", Kind.UINT, 4, "u4", "i32", "R_32U")
uint64 = DType("uint64", Kind.UINT, 8, "u8", "i64", "R_64U")
float16 = DType("float16", Kind.FLOAT, 2, "f2", "half", "R_16F", "h")
float32 = DType("float32", Kind.FLOAT, 4, "f4", "float", "R_32F", "s")
float64 = DType("float64", Kind.FLOAT, 8, "f8", "double", "R_64F", "d")
complex64 = DType("complex64", Kind.COMPLEX, 8, "c8", "", "C_32F", "c")
complex128 = DType("complex128", Kind.COMPLEX, 16, "c16", "", "C_64F", "z")
# As values these are their bits.
bfloat16 = DType("bfloat16", Kind.FLOAT, 2, "bfloat16", "i16", "R_16BF")
float8_e4m3fn = DType("float8_e4m3fn", Kind.FLOAT, 1, "float8_e4m3fn", "i8", "R_8F_E4M3")
float8_e5m2 = DType("float8_e5m2", Kind.FLOAT, 1, "float8_e5m2", "i8", "R_8F_E5M2")
float8_e8m0fnu = DType("float8_e8m0fnu", Kind.FLOAT, 1, "float8_e8m0fnu", "i8", "R_8F_UE8M0")

ALL_DTYPES: tuple[DType, ...] = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
)

SMALL_FLOATS: tuple[DType, ...] = (bfloat16, float8_e4m3fn, float8_e5m2, float8_e8m0fnu)
"""The floats that NumPy has through ``ml_dtypes`` only."""

_FORMATS = {
    "float8_e8m0fnu": FloatFormat(1, 127, -127, 2.0**127),
    "float8_e5m2": FloatFormat(3, 15, -16, 57344.0),
    "float8_e4m3fn": FloatFormat(4, 8, -9, 448.0),
    "bfloat16": FloatFormat(8, 127, -133, (2.0 - 2.0**-7) * 2.0**127),
    "float16": FloatFormat(11, 15, -24, 65504.0),
    "float32": FloatFormat(24, 127, -149, (2.0 - 2.0**-23) * 2.0**127),
    "float64": FloatFormat(53, 1023, -1074, sys.float_info.max),
}

_NUMPY = {row.name: np.dtype(row.name) for row in ALL_DTYPES}
_BY_NUMPY: dict[object, DType] = {row.numpy: row for row in ALL_DTYPES}
_SMALL = {row.name: row for row in SMALL_FLOATS}


def _import_small(name: str) -> np.dtype[np.generic]:
    """Return the NumPy dtype of one of the small floats."""
    found: np.dtype[np.generic] = np.dtype(getattr(import_module("ml_dtypes"), name))
    _NUMPY[name] = found
    _BY_NUMPY[found] = _SMALL[name]
    return found


def numpy_dtype(dtype: DTypeLike) -> np.dtype[np.generic]:
    """Return the NumPy dtype that anything names, the small floats included.

    Parameters
    ----------
    dtype : numpy.dtype or dtype-like
        For example ``numpy.float32``, ``"f4"`` or ``"bfloat16"``.

    Returns
    -------
    numpy.dtype
        The dtype.

    Raises
    ------
    DTypeError
        If it is no dtype.
    """
    if isinstance(dtype, str) and dtype in _SMALL:
        return _SMALL[dtype].numpy
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as cause:
        raise DTypeError(
            f"{dtype!r} is not a dtype",
            help="pass a NumPy dtype such as numpy.float32, or its name as a string",
        ) from cause


def from_numpy(dtype: DTypeLike) -> DType:
    """Return the row of a NumPy dtype or of anything that names one.

    Parameters
    ----------
    dtype : numpy.dtype or dtype-like
        For example ``numpy.float32``, ``"f4"`` or ``float``.

    Returns
    -------
    DType
        The row; byte order must be native.

    Raises
    ------
    DTypeError
        If the dtype has no row here (object, strings, foreign byte order, ...).

    Examples
    --------
    >>> from_numpy("f4")
    float32
    """
    try:
        found = _BY_NUMPY.get(dtype)
    except TypeError:  # not hashable
        found = None
    plain = numpy_dtype(dtype) if found is None else None
    if plain is not None:
        found = _BY_NUMPY.get(plain) or _SMALL.get(plain.name)
    if found is None:
        names = ", ".join(row.name for row in ALL_DTYPES)
        raise DTypeError(
            f"arrays of dtype {plain} are not supported",
            detail=f"expected one of: {names}, in native byte order",
            help="convert with a.astype(...) first",
        )
    return found


def find_small(dtype: np.dtype[np.generic]) -> DType | None:
    """Return the row of a NumPy dtype if it is one of the small floats, else None.

    Parameters
    ----------
    dtype : numpy.dtype
        Any dtype.
    """
    return _SMALL.get(dtype.name)


def is_number(dtype: np.dtype[np.generic]) -> bool:
    """Return whether elements of a NumPy dtype are numbers or truth values, small floats included.

    Parameters
    ----------
    dtype : numpy.dtype
        Any dtype.
    """
    return dtype.kind in "biufc" or find_small(dtype) is not None


def storage_dtype(dtype: DTypeLike) -> np.dtype[np.generic]:
    """Return the NumPy dtype of an array's elements, which kernels need not understand.

    Parameters
    ----------
    dtype : numpy.dtype or dtype-like
        Any dtype whose elements are plain bytes: the rows above, records, dates, strings of
        fixed length, foreign byte order.

    Returns
    -------
    numpy.dtype
        The dtype.

    Raises
    ------
    DTypeError
        If it is no dtype, or its elements refer to Python objects.

    Examples
    --------
    >>> storage_dtype("f4")
    dtype('float32')
    """
    found = numpy_dtype(dtype)
    if found.hasobject:
        raise DTypeError(
            f"arrays of dtype {found} cannot be stored on a device",
            detail="expected elements that are plain bytes, without Python objects",
            help="convert with a.astype(...) first",
        )
    return found


def keeps_values(source: DType, target: DType) -> bool:
    """Return whether a real type has every number that another one has.

    Parameters
    ----------
    source, target : DType
        Where numbers come from, and what they become.
    """
    if source == target or source.is_bool:
        return True
    if target.is_bool or (source.is_float and not target.is_float):
        return False
    if source.is_float:
        given, wanted = source.float_format, target.float_format
        return (
            given.precision <= wanted.precision
            and given.max_exponent <= wanted.max_exponent
            and given.min_exponent >= wanted.min_exponent
        )
    magnitude = source.bits - source.is_signed
    if target.is_float:
        wanted = target.float_format
        return magnitude <= min(wanted.precision, wanted.max_exponent)
    return magnitude <= target.bits - target.is_signed and source.is_signed <= target.is_signed


@cache
def promote(left: DType, right: DType) -> DType:
    """Return the common type of two types.

    NumPy's, where it has both types. A small float absorbs integers, as literals are; with another
    float it meets in the smallest type that has the numbers of both.

    Parameters
    ----------
    left, right : DType
        The types.

    Examples
    --------
    >>> promote(int64, float32), promote(bfloat16, int64), promote(bfloat16, float16)
    (float64, bfloat16, float32)
    """
    if not (left.is_small or right.is_small):
        return from_numpy(np.promote_types(left.numpy, right.numpy))
    for one, other in ((left, right), (right, left)):
        if one.is_complex or not (other.is_float or other.is_complex):
            return one
    common = (left, right, float32)
    return next(row for row in common if keeps_values(left, row) and keeps_values(right, row))
