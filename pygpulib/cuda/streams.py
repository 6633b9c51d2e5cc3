"""Streams and events under numba's names."""

from __future__ import annotations

from pygpulib.core.device import current_device
from pygpulib.core.stream import (
    Event,
    Stream,
    create_event,
    create_stream,
    default_stream,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
)
from pygpulib.errors import ArgumentTypeError

__all__ = [
    "Event",
    "Stream",
    "default_stream",
    "event",
    "event_elapsed_time",
    "external_stream",
    "legacy_default_stream",
    "per_thread_default_stream",
    "stream",
    "synchronize",
]

stream = create_stream
event = create_event


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the time between two recorded events, in milliseconds.

    Parameters
    ----------
    evtstart, evtend : Event
        The earlier and the later one.

    Returns
    -------
    float
        Milliseconds.

    Raises
    ------
    DeviceError
        If one of the two was never recorded, or was created with ``timing=False``.
    """
    if not isinstance(evtstart, Event):
        raise ArgumentTypeError(
            f"the argument evtstart is {evtstart!r}", detail="expected an event"
        )
    return evtstart.elapsed_time(evtend)


def synchronize() -> None:
    """Wait until all work of the current device is done."""
    current_device().synchronize()
