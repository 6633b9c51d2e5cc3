"""The functions of ``scipy.linalg`` with SciPy's meaning, where NumPy has another one, too."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from pygpulib.linalg.table import OF_SCIPY

__all__ = ["LinAlgError", *OF_SCIPY]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Make what is asked for, so that importing the module stays cheap."""
    function = OF_SCIPY.get(name)
    if function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pygpulib.linalg.functions import make_function

    made = globals()[name] = make_function(function, __name__)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
