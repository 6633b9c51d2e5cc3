"""What a program may switch while it runs, under the names of numba's ``config``."""

from __future__ import annotations


class Settings:
    """The switches of this process; there is one object, ``pygpulib.cuda.config``.

    Attributes
    ----------
    CUDA_ARRAY_INTERFACE_SYNC : bool
        Whether work on an array of another library waits for the stream that the array names, and
        that stream afterwards for the work. On at first.
    CUDA_LOW_OCCUPANCY_WARNINGS : bool
        Whether a launch of fewer blocks than the device runs at a time warns. Off at first,
        because a small grid is often all that there is to do.
    CUDA_WARN_ON_IMPLICIT_COPY : bool
        Whether a launch warns that it copies an array of the host to the device and back. Off at
        first, because programs that also run on processors, in place, have to do so.

    Examples
    --------
    >>> settings.CUDA_ARRAY_INTERFACE_SYNC
    True
    """

    __slots__ = (
        "CUDA_ARRAY_INTERFACE_SYNC",
        "CUDA_LOW_OCCUPANCY_WARNINGS",
        "CUDA_WARN_ON_IMPLICIT_COPY",
    )

    def __init__(self) -> None:
        self.CUDA_ARRAY_INTERFACE_SYNC = True
        self.CUDA_LOW_OCCUPANCY_WARNINGS = False
        self.CUDA_WARN_ON_IMPLICIT_COPY = False

    def __repr__(self) -> str:
        switches = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"Settings({switches})"


settings = Settings()
