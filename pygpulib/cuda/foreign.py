"""Functions in other languages that kernels call: declared here, linked on GPUs only."""

from __future__ import annotations

from typing import NoReturn

from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit import extensions, types
from pygpulib.jit.declarations import parse_signature
from pygpulib.jit.extensions import Overload

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


class LinkableCode:
    """Code in another language, to be linked with kernels.

    Parameters
    ----------
    data : str or bytes
        The code.
    name : str, optional
        What messages call it.
    """

    kind = "code"

    def __init__(self, data: str | bytes, name: str | None = None) -> None:
        self.data = data
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
        self, name: str, sig: types.FunctionSignature, link: tuple[LinkableCode | str, ...]
    ) -> None:
        self.name = name
        self.__name__ = name
        self.sig = sig
        self.link = link
        extensions.add_function(self, Overload(self._refuse, True, False))

    def _refuse(self, *args: types.Type, **kwargs: types.Type) -> NoReturn:  # noqa: ARG002
        raise UnsupportedFeatureError(
            f"the function {self.name} is declared in another language, and this back end cannot "
            "link code of GPUs",
            help="write it in Python, with @cuda.jit(device=True)",
        )

    def __repr__(self) -> str:
        return f"<foreign function {self.name} {self.sig}>"


def declare_device(
    name: str,
    sig: object,
    link: LinkableCode | str | list[LinkableCode | str] | None = None,
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
        What kernels call, on GPUs; the CPU back end says that it cannot.

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
    return ForeignFunction(name, signature, parts)
