"""Functions that CUDA's device library has and Python and NumPy have not.

Each is one row: types, what it does on CPUs in the kernel language, and what it means. On GPUs the
function of the library of the same name is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.core.dtypes import DType
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.ir.intrinsic import Compose, Extern, intrinsic

Function = Callable[..., Any]


@record
class DeviceFunction:
    """A function of the library.

    Attributes
    ----------
    name : str
        Its name without ``__nv_``.
    operands, result : DType
        Its types.
    cpu : callable
        A function of the kernel language.
    reference : callable
        What it means, on NumPy scalars.
    ulp : float
        Promised bound on its error on CPUs.
    """

    name: str
    operands: tuple[DType, ...]
    result: DType
    cpu: Function
    reference: Function
    ulp: float = 0.0

    def register(self) -> Function:
        """Make it an intrinsic; return what means it in kernels."""

        def mean(*operands: Any) -> Any:  # noqa: ANN401 - NumPy scalars
            with np.errstate(all="ignore"):
                return self.result.numpy.type(self.reference(*operands))

        first = self.operands[0]
        return intrinsic(
            rule=rules.fixed(self.operands, (self.result,)),
            cpu=Compose({first: self.cpu}),
            cuda=Extern({first: f"__nv_{self.name}"}),
            ulp={self.result: self.ulp},
            samples="library",
            name=f"libdevice.{self.name}",
        )(mean)
