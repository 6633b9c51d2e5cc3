"""What the parts of `Generator` share: the bit generator, and how they draw from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.dtypes import numpy_dtype
from pygpulib.errors import DTypeError
from pygpulib.rand.drawing import draw
from pygpulib.rand.operands import Operand
from pygpulib.rand.samplers import Sampler

if TYPE_CHECKING:
    from pygpulib.rand.bit_generators import BitGenerator

_DOUBLE = np.dtype(np.float64)
_LONG = np.dtype(np.int64)


class DrawsNumbers:
    """Something that draws numbers with random bits."""

    _bit_generator: BitGenerator

    def _floats(
        self,
        sampler: Sampler,
        operands: tuple[Operand, ...],
        size: object,
    ) -> Any:
        return draw(self._bit_generator, sampler, _DOUBLE, operands, size)

    def _integers(self, sampler: Sampler, operands: tuple[Operand, ...], size: object) -> Any:
        return draw(self._bit_generator, sampler, _LONG, operands, size)


def read_float_dtype(name: str, dtype: object) -> np.dtype[Any]:
    """Return float32 or float64.

    Raises
    ------
    DTypeError
        If it is something else.
    """
    found = numpy_dtype(dtype)  # type: ignore[arg-type]
    if found not in (np.float32, np.float64):
        raise DTypeError(
            f"{name} was asked for numbers of type {found}", detail="expected float32 or float64"
        )
    return found
