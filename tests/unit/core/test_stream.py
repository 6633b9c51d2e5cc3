import asyncio

import pytest

from pygpulib.core import stream as streams
from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.errors import ArgumentError, ArgumentTypeError, DeviceError, PyGpuLibWarning


class Foreign:
    def __init__(self, given=(0, 77)):
        self.given = given

    def __cuda_stream__(self):
        return self.given


@pytest.mark.parametrize(
    ("given", "handle"),
    [
        (0, 0),
        (None, 0),
        (5, 5),
        (Foreign(), 77),
        (streams.default_stream(), 0),
        (streams.legacy_default_stream(), 1),
        (streams.per_thread_default_stream(), 2),
        (streams.external_stream(9), 9),
    ],
)
def test_a_stream_argument_may_be_anything_with_a_handle(given, handle):
    assert streams.stream_handle(given) == handle


def test_a_new_stream_has_a_number_of_its_own():
    first, second = streams.create_stream(), streams.create_stream()
    assert len({0, 1, 2, int(first), int(second)}) == 5
    assert first.__cuda_stream__() == (0, first.handle)
    assert bool(streams.default_stream())


def test_reprs_name_the_implicit_streams():
    assert repr(streams.default_stream()) == "<Default CUDA stream>"
    assert repr(streams.legacy_default_stream()) == "<Legacy default CUDA stream>"
    assert repr(streams.per_thread_default_stream()) == "<Per-thread default CUDA stream>"
    assert repr(streams.external_stream(9)) == "<External CUDA stream 9>"
    new = streams.create_stream()
    assert repr(new) == f"<CUDA stream {new.handle}>"


def test_a_stream_of_its_own_ends_with_the_object():
    driver = NullDriver()
    with use_driver(driver):
        own, foreign = streams.create_stream(), streams.external_stream(50)
        handle = own.handle
        del own, foreign
    destroyed = [call.arguments for call in driver.calls if call.name == "destroy_stream"]
    assert destroyed == [(handle,)]


def test_auto_synchronize_waits_at_the_end():
    driver = NullDriver()
    with use_driver(driver):
        own = streams.create_stream()
        with own.auto_synchronize() as inside:
            assert inside is own
            assert "synchronize_stream" not in driver.names()
        assert "synchronize_stream" in driver.names()


def test_a_callback_gets_stream_status_and_argument():
    seen = []
    own = streams.create_stream()
    own.add_callback(lambda *arguments: seen.append(arguments), "x")
    own.add_callback(lambda *arguments: seen.append(arguments))
    own.synchronize()
    assert seen == [(own, 0, "x"), (own, 0, None)]


def test_an_exception_in_a_callback_becomes_a_warning():
    def fail(stream, status, arg):
        raise ValueError("no")

    def call():
        stream = streams.create_stream()
        stream.add_callback(fail)
        stream.synchronize()

    with pytest.warns(PyGpuLibWarning, match=r"Exception in stream callback: ValueError\('no'\)"):
        call()


def test_async_done_resolves_to_the_stream():
    async def wait():
        several = [streams.create_stream() for _ in range(3)]
        assert await asyncio.gather(*(each.async_done() for each in several)) == several

    asyncio.run(wait())


def test_a_cancelled_future_does_no_harm():
    async def wait():
        own = streams.create_stream()
        cancelled, done = own.async_done(), own.async_done()
        cancelled.cancel()
        await done
        assert cancelled.cancelled()

    asyncio.run(wait())


def test_events_time_the_work_between_them():
    start, end = streams.create_event(), streams.create_event()
    start.record()
    end.record(streams.create_stream())
    end.wait()
    end.synchronize()
    assert end.query() is True
    forwards = start.elapsed_time(end)
    assert isinstance(forwards, float)
    assert forwards >= 0
    assert end.elapsed_time(start) == -forwards


def test_an_event_can_be_recorded_again():
    start, end = streams.create_event(), streams.create_event()
    end.record()
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0


def test_elapsed_time_is_in_milliseconds():
    class Clock(NullDriver):
        def elapsed_ms(self, start, end):
            return 2.5

    with use_driver(Clock()):
        start, end = streams.create_event(), streams.create_event()
        start.record()
        end.record()
        assert start.elapsed_time(end) == 2.5


def test_waiting_for_an_event_that_was_never_recorded_returns_at_once():
    event = streams.create_event()
    event.wait()
    event.synchronize()
    assert event.query()


def test_waiting_reaches_the_driver():
    driver = NullDriver()
    with use_driver(driver):
        event = streams.create_event()
        event.record(4)
        event.wait(5)
        event.synchronize()
        event.query()
    assert driver.names() == [
        "create_event",
        "record_event",
        "wait_event",
        "synchronize_event",
        "query_event",
    ]
    assert driver.calls[2].arguments == (5, event.handle)


def _recorded(**options):
    event = streams.create_event(**options)
    event.record()
    return event


NOT_TIMED = (
    "elapsed_time() was asked of an event that does not note the time\n"
    "help: create it with cuda.event(timing=True)"
)
NO_STREAM = (
    "there is no stream of the number -1\n"
    "expected the number that a driver or another library gave to a stream\n"
    "help: 0 is the default stream; cuda.stream() makes another one"
)
NOT_RECORDED = (
    "elapsed_time() was asked of an event that was never recorded\n"
    "help: call event.record(stream) first"
)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: streams.stream_handle("s"),
            ArgumentTypeError,
            "the argument stream is 's'\n"
            "expected a stream, 0 for the default stream, or an object with __cuda_stream__\n"
            "help: create one with cuda.stream()",
        ),
        *(
            (call, ArgumentError, NO_STREAM)
            for call in (
                lambda: streams.stream_handle(-1),
                lambda: streams.stream_handle(Foreign((0, -1))),
                lambda: streams.external_stream(-1),
            )
        ),
        (
            lambda: streams.stream_handle(1 << 64),
            ArgumentError,
            NO_STREAM.replace("-1", "18446744073709551616"),
        ),
        *(
            (
                lambda given=given: streams.stream_handle(Foreign(given)),
                ArgumentTypeError,
                f"__cuda_stream__ of the argument stream, Foreign, gave {given!r}\n"
                "expected a tuple of the version of that protocol and the stream's number",
            )
            for given in (77, "x", (0,), (0, None), (0, "x"), (0, 1, 2))
        ),
        (
            lambda: streams.external_stream(1.0),
            ArgumentTypeError,
            "the argument ptr is 1.0\nptr for external stream must be an int",
        ),
        (
            lambda: streams.create_stream().add_callback(3),
            ArgumentTypeError,
            "the argument callback is 3\nexpected a function of stream, status and arg",
        ),
        (
            lambda: streams.create_stream().async_done(),
            DeviceError,
            "async_done() was called where no asyncio event loop runs\n"
            "help: call it inside a coroutine, or use synchronize()",
        ),
        (
            lambda: streams.create_event().elapsed_time(_recorded()),
            DeviceError,
            NOT_RECORDED,
        ),
        (
            lambda: _recorded().elapsed_time(streams.create_event()),
            DeviceError,
            NOT_RECORDED,
        ),
        (lambda: _recorded(timing=False).elapsed_time(_recorded()), DeviceError, NOT_TIMED),
        (lambda: _recorded().elapsed_time(_recorded(timing=False)), DeviceError, NOT_TIMED),
        (
            lambda: _recorded().elapsed_time(3),
            ArgumentTypeError,
            "the argument evtend is 3\nexpected an event",
        ),
    ],
)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
