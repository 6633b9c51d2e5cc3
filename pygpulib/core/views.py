"""Views of an array: other shapes of the same memory."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import (
    Layout,
    is_c_contiguous,
    is_f_contiguous,
    squeeze,
    transpose,
)
from pygpulib.core.reshaping import (
    reshape_strides,
    resolve_order,
    resolve_shape,
    view_itemsize,
)
from pygpulib.errors import ArgumentError, CopyNeededError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import DTypeLike

    from pygpulib.core.array import ndarray
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike


class ArrayViews:
    """The methods of `ndarray` that return views."""

    __slots__ = ()

    if TYPE_CHECKING:
        shape: Shape
        strides: Shape
        dtype: np.dtype[np.generic]
        size: int
        ndim: int
        stream: StreamLike

        def with_layout(
            self,
            layout: Layout,
            dtype: np.dtype[np.generic] | None = None,
            stream: StreamLike = 0,
        ) -> ndarray:
            """Return a view; `ndarray` has it."""
            ...

    def is_c_contiguous(self) -> bool:
        """Return whether the last axis varies fastest and nothing lies between elements."""
        return is_c_contiguous(self.shape, self.strides, self.dtype.itemsize)

    def is_f_contiguous(self) -> bool:
        """Return whether the first axis varies fastest and nothing lies between elements."""
        return is_f_contiguous(self.shape, self.strides, self.dtype.itemsize)

    @property
    def T(self) -> ndarray:  # noqa: N802  (NumPy's name)
        """The array with its axes reversed; a view."""
        return self.transpose()

    def transpose(self, *axes: object) -> ndarray:
        """Return a view with its axes in another order.

        Parameters
        ----------
        *axes : int, or one sequence of int
            For each new axis, the old one; default: reversed.

        Returns
        -------
        ndarray
            A view.

        Raises
        ------
        ArgumentError
            If the axes are no permutation.
        """
        if len(axes) == 1 and not hasattr(axes[0], "__index__"):
            return self.with_layout(transpose(self.shape, self.strides, axes[0]))
        return self.with_layout(transpose(self.shape, self.strides, axes or None))

    def reshape(self, *newshape: object, order: str = "C") -> ndarray:
        """Return a view of another shape.

        Parameters
        ----------
        *newshape : int, or one tuple of int
            Wanted shape; one length may be -1.
        order : str
            How elements are counted: ``"C"``, ``"F"``, or ``"A"``.

        Returns
        -------
        ndarray
            A view.

        Raises
        ------
        ShapeError
            If the number of elements differs.
        CopyNeededError
            If the elements do not lie in memory so that a view could show them.
        """
        wanted = newshape[0] if len(newshape) == 1 else newshape
        shape = resolve_shape(self.shape, wanted)
        order = resolve_order(self.shape, self.strides, self.dtype.itemsize, order)
        strides = reshape_strides(self.shape, self.strides, self.dtype.itemsize, shape, order)
        if strides is None:
            raise CopyNeededError(
                "operation requires copying",
                detail=f"shape {self.shape} with strides {self.strides} has no view of shape "
                f"{shape}",
                help="make a packed copy first, or reshape before slicing or transposing",
            )
        return self.with_layout(Layout(shape, strides))

    def ravel(self, order: str = "C", stream: StreamLike = 0) -> ndarray:
        """Return a view with one axis.

        Parameters
        ----------
        order : str
            How elements are counted: ``"C"``, ``"F"``, or ``"A"``.
        stream : Stream or 0
            Stream of the view; 0 is the array's own.

        Returns
        -------
        ndarray
            A view.

        Raises
        ------
        CopyNeededError
            If the array is not packed.
        """
        if not (self.is_c_contiguous() or self.is_f_contiguous()):
            raise CopyNeededError(
                "operation requires copying",
                detail=f"shape {self.shape} with strides {self.strides} is not packed",
                help="make a packed copy first",
            )
        return self.reshape(self.size, order=order).bind(stream or self.stream)

    def squeeze(self, axis: object = None, stream: StreamLike = 0) -> ndarray:
        """Return a view without axes of length one.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes to remove; default: all of length one.
        stream : Stream or 0
            Stream of the view; 0 is the array's own.

        Returns
        -------
        ndarray
            A view.

        Raises
        ------
        ShapeError
            If a named axis is not of length one.
        """
        return self.with_layout(squeeze(self.shape, self.strides, axis), stream=stream)

    def view(self, dtype: DTypeLike) -> ndarray:
        """Return a view that reads the same bytes as another dtype.

        Parameters
        ----------
        dtype : dtype-like
            The dtype; if its size differs, the last axis changes its length.

        Returns
        -------
        ndarray
            A view.

        Raises
        ------
        LayoutError
            If the last axis is not contiguous, or its bytes do not divide.
        """
        element = storage_dtype(dtype)
        sizes = self.dtype.itemsize, element.itemsize
        shape, strides = view_itemsize(self.shape, self.strides, *sizes)
        return self.with_layout(Layout(shape, strides), element)

    def split(self, section: int, stream: StreamLike = 0) -> Iterator[ndarray]:
        """Return views of consecutive pieces of an array with one axis.

        Parameters
        ----------
        section : int
            Elements of each piece; the last one may be shorter.
        stream : Stream or 0
            Stream of the views; 0 is the array's own.

        Returns
        -------
        iterator of ndarray
            The pieces, in order.

        Raises
        ------
        ShapeError
            If the array has another number of axes.
        ArgumentError
            If `section` is not positive.
        """
        if self.ndim != 1:
            raise ShapeError(
                "only support 1d array",
                detail=f"split() was asked of an array of shape {self.shape}",
            )
        length = operator.index(section)
        if length < 1:
            raise ArgumentError(f"the argument section is {length}", detail="expected at least 1")
        starts = range(0, self.size, length)
        step = self.strides[0]
        return (
            self.with_layout(
                Layout((min(length, self.size - start),), (step,), start * step), stream=stream
            )
            for start in starts
        )
