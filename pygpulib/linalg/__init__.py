"""Dense linear algebra: the functions of NumPy and SciPy for arrays on the host and on devices.

Here are all names of ``numpy.linalg`` and those of ``scipy.linalg`` that NumPy does not use;
`pygpulib.linalg.scipy` has all of SciPy's. Functions are made when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError

from pygpulib.linalg.table import HERE

if TYPE_CHECKING:
    from pygpulib.linalg import scipy

__all__ = ["LinAlgError", "scipy", *HERE]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Make what is asked for, so that importing the package stays cheap."""
    if name == "scipy":
        return import_module("pygpulib.linalg.scipy")
    function = HERE.get(name)
    if function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pygpulib.linalg.functions import make_function

    made = globals()[name] = make_function(function, __name__)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
