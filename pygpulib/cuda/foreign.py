"""Functions in other languages that kernels call: declared here, linked on GPUs only."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NoReturn, TypeAlias

from pygpulib.core.dtypes import DType
from pygpulib.core.foreign_code import ForeignCode
from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit import extensions, types
from pygpulib.jit.declarations import parse_signature
from pygpulib.jit.extensions import Overload
from pygpulib.jit.ir.intrinsic import Foreign, Intrinsic, Signature, Unsupported, add_spelling
from pygpulib.jit.ir.ops import Effect

__all__ = [
    "LTOIR",
    "Archive",
    "CUSource",
    "Cubin",
    "Fatbin",
    "ForeignFunction",
    "LinkableCode",
    "Object",
    "PTXSource",
    "declare_device",
]

_ABIS = ("numba", "c")

_NOT_HERE = "it is declared in another language, and this back end cannot link code of GPUs"


class LinkableCode:
    """Code in another language, to be linked with kernels.

    Parameters
    ----------
    data : str, bytes, StringIO or BytesIO
        The code.
    name : str, optional
        What messages call it.
    """

    kind = "code"

    def __init__(
        self, data: str | bytes | io.StringIO | io.BytesIO, name: str | None = None
    ) -> None:
        self.data = data.getvalue() if isinstance(data, io.StringIO | io.BytesIO) else data
        self.name = name or f"<unnamed-{self.kind}>"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class PTXSource(LinkableCode):
    """PTX, the assembly language of GPUs."""

    kind = "ptx"


class CUSource(LinkableCode):
    """CUDA C++."""

    kind = "cu"


class Cubin(LinkableCode):
    """Machine code of one kind of GPU."""

    kind = "cubin"


class Fatbin(LinkableCode):
    """Machine code of several kinds of GPUs."""

    kind = "fatbin"


class Archive(LinkableCode):
    """A library of objects."""

    kind = "archive"


class Object(LinkableCode):
    """An object file."""

    kind = "object"


class LTOIR(LinkableCode):
    """Intermediate code that is optimized when it is linked."""

    kind = "ltoir"


Link: TypeAlias = LinkableCode | str

_KINDS = {
    ".ptx": "ptx",
    ".cu": "cu",
    ".cubin": "cubin",
    ".fatbin": "fatbin",
    ".a": "archive",
    ".lib": "archive",
    ".o": "object",
    ".obj": "object",
    ".ltoir": "ltoir",
}


def read_link(where: str, link: object) -> tuple[ForeignCode, ...]:
    """Return the code that a ``link=`` argument names; files are read when it is needed.

    Parameters
    ----------
    where : str
        What messages call the argument.
    link : LinkableCode, str, or sequence of these
        The argument.

    Raises
    ------
    ArgumentTypeError
        If it is something else.
    ArgumentError
        If the name of a file does not tell what is in it.
    """
    items = link if isinstance(link, list | tuple) else (link,)
    return tuple(_read_item(where, item) for item in items)


def _read_item(where: str, item: object) -> ForeignCode:
    if isinstance(item, LinkableCode) and item.kind != LinkableCode.kind:
        data = item.data.encode() if isinstance(item.data, str) else bytes(item.data)
        return ForeignCode(item.kind, item.name, data)
    if not isinstance(item, str):
        raise ArgumentTypeError(
            f"{where} has an item {item!r}",
            detail="expected the name of a file, or code such as cuda.PTXSource(text)",
        )
    kind = _KINDS.get(Path(item).suffix)
    if kind is None:
        raise ArgumentError(
            f"{where} has an item {item!r}, whose name does not tell what is in the file",
            detail=f"expected a name that ends in one of {', '.join(_KINDS)}",
            help="pass the code itself, for example as cuda.PTXSource(text)",
        )
    return ForeignCode(kind, item)


class ForeignFunction:
    """A function in another language; made by `declare_device`.

    Attributes
    ----------
    name : str
        Its name.
    sig : FunctionSignature
        What it takes and returns.
    link : tuple of LinkableCode or str
        Where it is defined.
    """

    def __init__(
        self, name: str, sig: types.FunctionSignature, link: tuple[Link, ...], abi: str
    ) -> None:
        self.name = name
        self.__name__ = name
        self.sig = sig
        self.link = link
        parts = read_link("the argument link of declare_device", link)
        operands = _plain_dtypes(sig.parameters)
        results = () if isinstance(sig.result, types.NoneType) else _plain_dtypes((sig.result,))
        if operands is None or results is None:
            extensions.add_function(self, Overload(self._refuse_types, True, False))
            return
        signature = Signature(operands, results)
        record = Intrinsic(
            name,
            self._refuse,
            lambda given: signature if len(given) == len(operands) else None,
            Effect.WRITE,
            cpu=Unsupported(_NOT_HERE),
            cuda=Foreign(name, abi == "numba", parts),
            spellings=(self,),
        )
        add_spelling(self, record)

    def _refuse(self, *args: object) -> NoReturn:  # noqa: ARG002
        raise UnsupportedFeatureError(
            f"the function {self.name} cannot run here: {_NOT_HERE}",
            help="write it in Python, with @cuda.jit(device=True)",
        )

    def _refuse_types(self, *args: types.Type, **kwargs: types.Type) -> NoReturn:  # noqa: ARG002
        raise UnsupportedFeatureError(
            f"the function {self.name} is declared in another language as {self.sig}, and only "
            "integers, truth values and floats of 32 and 64 bits can be passed and returned",
            help="write it in Python, with @cuda.jit(device=True)",
        )

    def __repr__(self) -> str:
        return f"<foreign function {self.name} {self.sig}>"


def declare_device(
    name: str,
    sig: object,
    link: Link | list[Link] | None = None,
    use_cooperative: bool = False,  # noqa: ARG001
    abi: str = "numba",
) -> ForeignFunction:
    """Declare a function in another language, for kernels to call.

    Parameters
    ----------
    name : str
        Its name.
    sig : signature
        What it takes and returns, for example ``"int32(float32[:])"``.
    link : LinkableCode, file name, or list of these, optional
        Where it is defined.
    use_cooperative : bool
        Whether it waits for the whole grid.
    abi : str
        How it is called: ``"numba"`` or ``"c"``.

    Returns
    -------
    ForeignFunction
        What kernels call, on GPUs; the CPU back end says that it cannot. Integers, truth values
        and floats of 32 and 64 bits can be passed and returned.

    Raises
    ------
    ArgumentTypeError
        If the signature has no result type.
    ArgumentError
        If the name is none of a function, or the way to call it is unknown.
    """
    if not (isinstance(name, str) and name.isidentifier()):
        raise ArgumentError(
            f"the argument name of declare_device is {name!r}",
            detail="expected the name of a function",
            help='write declare_device("name", "int32(float32[:])")',
        )
    if abi not in _ABIS:
        raise ArgumentError(
            f"the argument abi of declare_device is {abi!r}",
            detail="expected 'numba' or 'c'",
            help="leave it out for numba's way to call functions",
        )
    signature = parse_signature(sig)
    if signature.result is None:
        raise ArgumentTypeError(
            f"Return type must be provided for the device declaration of {name}",
            help='write the signature as "int32(float32[:])"',
        )
    parts = () if link is None else (link,) if isinstance(link, LinkableCode | str) else tuple(link)
    return ForeignFunction(name, signature, parts, abi)


def _plain_dtypes(declared: tuple[types.Type | None, ...]) -> tuple[DType, ...] | None:
    """Return the types of numbers, or None if there are others."""
    dtypes = [each.dtype for each in declared if isinstance(each, types.ScalarType)]
    is_plain = len(dtypes) == len(declared) and not any(
        dtype.is_complex or (dtype.is_float and dtype.bits < 32) for dtype in dtypes
    )
    return tuple(dtypes) if is_plain else None
