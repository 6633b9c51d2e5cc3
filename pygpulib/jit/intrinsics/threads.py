"""Where a thread is: the objects behind ``cuda.threadIdx``, ``cuda.grid`` and their kind.

They have a meaning only inside a kernel. The front end knows them by identity; on the host they
raise an error that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from pygpulib.errors import PyGpuLibError
from pygpulib.jit.ir.ops import Register


def only_in_kernels(name: str) -> NoReturn:
    """Raise the error of a name that means nothing on the host."""
    raise PyGpuLibError(
        f"cuda.{name} has a value only inside a kernel",
        help="use it in a function decorated with @cuda.jit",
    )


class SpecialRegister:
    """A number that each thread reads for itself, such as ``cuda.laneid``."""

    def __init__(self, name: str, register: Register) -> None:
        self.name = name
        self.register = register

    def __repr__(self) -> str:
        return f"cuda.{self.name}"

    def __int__(self) -> int:
        only_in_kernels(self.name)

    __index__ = __int__


class ThreadVector:
    """Three numbers ``x``, ``y``, ``z`` that each thread reads for itself."""

    def __init__(self, name: str, registers: Mapping[str, Register]) -> None:
        self.name = name
        self.registers = registers

    def __repr__(self) -> str:
        return f"cuda.{self.name}"

    @property
    def x(self) -> int:
        """The value along the first axis, the one along which threads are neighbours."""
        only_in_kernels(f"{self.name}.x")

    @property
    def y(self) -> int:
        """The value along the second axis."""
        only_in_kernels(f"{self.name}.y")

    @property
    def z(self) -> int:
        """The value along the third axis."""
        only_in_kernels(f"{self.name}.z")


threadIdx = ThreadVector(  # noqa: N816
    "threadIdx", {"x": Register.TID_X, "y": Register.TID_Y, "z": Register.TID_Z}
)
blockIdx = ThreadVector(  # noqa: N816
    "blockIdx", {"x": Register.CTAID_X, "y": Register.CTAID_Y, "z": Register.CTAID_Z}
)
blockDim = ThreadVector(  # noqa: N816
    "blockDim", {"x": Register.NTID_X, "y": Register.NTID_Y, "z": Register.NTID_Z}
)
gridDim = ThreadVector(  # noqa: N816
    "gridDim", {"x": Register.NCTAID_X, "y": Register.NCTAID_Y, "z": Register.NCTAID_Z}
)
laneid = SpecialRegister("laneid", Register.LANEID)
warpsize = SpecialRegister("warpsize", Register.WARPSIZE)


def grid(ndim: int) -> int:
    """Return the position of the thread in the grid.

    Parameters
    ----------
    ndim : int
        1, 2 or 3, known when the kernel is compiled.

    Returns
    -------
    int or tuple of int
        For ``ndim`` 1 the position along x; else the positions along x, y (and z), all int64.
    """
    del ndim
    only_in_kernels("grid")


def gridsize(ndim: int) -> int:
    """Return how many threads the grid has along its first ``ndim`` axes.

    Parameters
    ----------
    ndim : int
        1, 2 or 3, known when the kernel is compiled.

    Returns
    -------
    int or tuple of int
        For ``ndim`` 1 the number along x; else those along x, y (and z), all int64.
    """
    del ndim
    only_in_kernels("gridsize")
