"""The element types: one row each, everything else derived."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

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
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype, in native byte order."""
        return _NUMPY[self.name]

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

_NUMPY = {row.name: np.dtype(row.name) for row in ALL_DTYPES}
_BY_NUMPY: dict[object, DType] = {row.numpy: row for row in ALL_DTYPES}


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
        if found is None:
            found = _BY_NUMPY.get(np.dtype(dtype))
    except TypeError as cause:
        raise DTypeError(
            f"{dtype!r} is not a dtype",
            help="pass a NumPy dtype such as numpy.float32, or its name as a string",
        ) from cause
    if found is None:
        names = ", ".join(row.name for row in ALL_DTYPES)
        raise DTypeError(
            f"arrays of dtype {np.dtype(dtype)} are not supported",
            detail=f"expected one of: {names}, in native byte order",
            help="convert with a.astype(...) first",
        )
    return found


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
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError) as cause:
        raise DTypeError(
            f"{dtype!r} is not a dtype",
            help="pass a NumPy dtype such as numpy.float32, or its name as a string",
        ) from cause
    if found.hasobject:
        raise DTypeError(
            f"arrays of dtype {found} cannot be stored on a device",
            detail="expected elements that are plain bytes, without Python objects",
            help="convert with a.astype(...) first",
        )
    return found
