import pytest

from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.cuda import streams
from pygpulib.errors import ArgumentTypeError


def test_every_public_name_exists():
    assert all(callable(getattr(streams, name)) for name in streams.__all__)


def test_events_bracket_work_on_streams():
    start, end, stream = streams.event(), streams.event(timing=True), streams.stream()
    start.record(stream)
    end.record(stream)
    stream.synchronize()
    assert streams.event_elapsed_time(start, end) >= 0


def test_synchronize_reaches_the_driver():
    driver = NullDriver()
    with use_driver(driver):
        streams.synchronize()
    assert driver.names() == ["synchronize"]


def test_elapsed_time_needs_events():
    with pytest.raises(ArgumentTypeError) as raised:
        streams.event_elapsed_time(0, streams.event())
    assert str(raised.value) == "the argument evtstart is 0\nexpected an event"
