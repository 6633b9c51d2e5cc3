"""Which back end a process uses."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pygpulib._bindings.library import loading_problem, open_shared
from pygpulib._config import config
from pygpulib.errors import BackendWarning, NoDeviceError

if TYPE_CHECKING:
    from pygpulib.core.driver import Driver
    from pygpulib.core.driver_cuda.api import CudaStack


_PACKAGE = str(Path(__file__).parents[1] / "_")[:-1]


def choose_driver(backend: str) -> Driver:
    """Return a new driver.

    Parameters
    ----------
    backend : str
        ``"auto"`` takes a GPU where there is one that works, and the processor elsewhere, with a
        warning if there is a GPU that cannot be used. ``"cpu"`` and ``"cuda"`` insist.

    Returns
    -------
    Driver
        The driver.

    Raises
    ------
    NoDeviceError
        If `backend` is ``"cuda"`` and there is no GPU that works.
    """
    if backend != "cpu":
        handle = open_shared([config.cuda_library])
        if handle is not None or backend == "cuda" or loading_problem(config.cuda_library):
            # Only here, because a machine without a driver does without these modules.
            from pygpulib.core.driver_cuda.api import examine, require_libdevice

            stack = examine(handle)
            if backend == "auto":
                stack = require_libdevice(stack)
            if stack.library is not None:
                from pygpulib.core.driver_cuda import CudaDriver

                return CudaDriver(stack)
            if backend == "cuda":
                raise _no_cuda(stack)
            if stack.is_broken:
                _warn(stack)
    from pygpulib.core.driver_cpu import CpuDriver

    return CpuDriver()


def _no_cuda(stack: CudaStack) -> NoDeviceError:
    return NoDeviceError(
        f"{stack.problem}, and PYGPULIB_BACKEND is 'cuda'",
        detail=stack.detail,
        help=f"{stack.help}; or unset PYGPULIB_BACKEND to run on the processor",
    )


def _warn(stack: CudaStack) -> None:
    warnings.warn(
        f"{stack.problem}; the processor is used instead\n{stack.detail}\nhelp: {stack.help}; "
        "python -m pygpulib doctor tells more",
        BackendWarning,
        stacklevel=_levels_to_user(),
    )


def _levels_to_user() -> int:
    """Return how far above its caller the line of the program is that needed a back end."""
    levels, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        levels, frame = levels + 1, frame.f_back
    return levels
