"""The driver's status codes, and the ways in which a call or a device's work goes wrong."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tests.fakecuda.driver.library import cuda_header

if TYPE_CHECKING:

    class _Named(enum.EnumMeta):
        def __getattr__(cls, name: str) -> Code: ...

    class Code(enum.IntEnum, metaclass=_Named):
        pass
else:
    # CUDA_ERROR_INVALID_VALUE is Code.INVALID_VALUE.
    Code = enum.IntEnum(
        "Code",
        {
            name.removeprefix("CUDA_").removeprefix("ERROR_"): value
            for name, value in cuda_header().enums["CUresult"].items()
        },
    )

SPELLINGS = {value: name for name, value in cuda_header().enums["CUresult"].items()}


class RefusedError(Exception):
    """A call that the driver refuses."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(code, reason)
        self.code = int(code)
        self.reason = reason


class DeviceFaultError(Exception):
    """What work on the device did wrong; it spoils the context."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = int(code)
        self.reason = reason


def require(condition: object, code: int, reason: str = "") -> None:
    """Refuse the call unless a condition holds."""
    if not condition:
        raise RefusedError(code, reason)
