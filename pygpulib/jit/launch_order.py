"""Launches in order: after those who wrote to the arguments elsewhere, and before their next work.

What a launch does on its own stream needs no care. Arguments can come from other streams, because
their memory was allocated there or because another library is at work on it, and from other
devices.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.core.array import ndarray
from pygpulib.core.device import current_driver, selected_ordinal
from pygpulib.core.ordering import hand_back, order_after
from pygpulib.errors import DeviceMismatchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def in_order(given: Sequence[object], values: Sequence[object], stream: int) -> Iterator[None]:
    """Return a context for a launch whose arguments are not all of its own stream and device.

    Parameters
    ----------
    given, values : sequence
        The arguments as the user gave them, and as the kernel takes them.
    stream : int
        The stream of the launch.
    """
    driver = current_driver()
    arrays = list(_arrays_in(values))
    order_after([array.buffer for array in arrays], stream)
    here = selected_ordinal()
    elsewhere = {array.buffer.ordinal: array for array in arrays if array.buffer.ordinal != here}
    for ordinal, array in elsewhere.items():
        try:
            driver.let_access(ordinal, stream)
        except DeviceMismatchError as cause:
            raise DeviceMismatchError(
                f"an array of shape {array.shape} on device {ordinal} was given to a kernel that "
                f"is launched on device {here}, which cannot use it in place",
                detail=cause.detail,
                help="copy it to the device first, or launch the kernel where the array is: "
                f"with cuda.gpus[{ordinal}]: ...",
            ) from cause
    yield
    for ordinal in elsewhere:
        driver.end_access(ordinal, stream)
    hand_back(given, values, stream)


def needs_order(values: Sequence[object]) -> bool:
    """Return whether a launch has to look after the order of its arguments; see `in_order`."""
    here = selected_ordinal()
    return any(
        array.buffer.readiness is not None or array.buffer.ordinal != here
        for array in _arrays_in(values)
    )


def _arrays_in(values: Sequence[object]) -> Iterator[ndarray]:
    for value in values:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays_in(value)
