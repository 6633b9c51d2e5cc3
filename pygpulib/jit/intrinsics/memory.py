"""Memory that kernels ask for: the objects behind ``cuda.shared``, ``cuda.local``, ``cuda.const``.

Their functions have a meaning only inside a kernel, where the front end knows them by identity.
"""

from __future__ import annotations

from typing import Any

from pygpulib.jit.intrinsics.threads import only_in_kernels


class SharedMemory:
    """Memory that the threads of a block share."""

    def __repr__(self) -> str:
        return "cuda.shared"

    @staticmethod
    def array(shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return an array in the shared memory of the block.

        A call in the source is one array, however often it runs; what it holds at first is
        undefined. All arrays of dynamic shared memory start at its first byte.

        Parameters
        ----------
        shape : int or tuple of int
            Known when the kernel is compiled. A first extent of 0 stands for the dynamic shared
            memory of the launch, and becomes as large as that allows.
        dtype : Type or dtype-like
            Type of the elements.
        alignment : int, optional
            What the array's address is a multiple of, in bytes: a power of two, from 8 on.

        Returns
        -------
        array
            C-contiguous.
        """
        del shape, dtype, alignment
        only_in_kernels("shared.array")


class LocalMemory:
    """Memory that a thread has for itself."""

    def __repr__(self) -> str:
        return "cuda.local"

    @staticmethod
    def array(shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return an array of the thread's own; what it holds at first is undefined.

        Parameters
        ----------
        shape : int or tuple of int
            Known when the kernel is compiled.
        dtype : Type or dtype-like
            Type of the elements.
        alignment : int, optional
            What the array's address is a multiple of, in bytes: a power of two, from 8 on.

        Returns
        -------
        array
            C-contiguous.
        """
        del shape, dtype, alignment
        only_in_kernels("local.array")


class ConstantMemory:
    """Memory that nobody writes while a kernel runs."""

    def __repr__(self) -> str:
        return "cuda.const"

    @staticmethod
    def array_like(array: Any) -> Any:
        """Return a read-only array with the elements of a host array at the time of compilation.

        Parameters
        ----------
        array : numpy.ndarray
            A global or captured variable of the kernel.

        Returns
        -------
        array
            A copy in constant memory.
        """
        del array
        only_in_kernels("const.array_like")


shared = SharedMemory()
local = LocalMemory()
const = ConstantMemory()
