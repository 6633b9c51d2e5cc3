"""Code for GPUs that other compilers made, to be linked with kernels."""

from __future__ import annotations

from pygpulib._record import record


@record(eq=True)
class ForeignCode:
    """A piece of code in another language.

    Attributes
    ----------
    kind : str
        What it is: ``"ptx"``, ``"cubin"``, ``"fatbin"``, ``"object"``, ``"archive"``, ``"cu"`` or
        ``"ltoir"``.
    name : str
        What messages call it.
    data : bytes, optional
        The code; None if it is what the file of that name holds when it is needed.
    """

    kind: str
    name: str
    data: bytes | None = None
