import threading

import pytest

from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.cuda import devices
from pygpulib.errors import DeviceError


def test_every_public_name_exists():
    assert all(hasattr(devices, name) for name in devices.__all__)


def test_a_device_is_available():
    assert devices.is_available()
    assert devices.is_supported_version()
    assert devices.current_backend() in ("cpu", "cuda")
    assert devices.get_current_device().is_cpu is (devices.current_backend() == "cpu")
    assert devices.is_float16_supported()
    assert devices.is_bfloat16_supported()
    assert devices.is_fp8_supported()


def test_gpus_is_a_list_of_devices():
    gpus = devices.list_devices()
    assert gpus is devices.gpus
    assert len(gpus) == 1
    assert list(gpus) == gpus.lst == [gpus[0]]
    assert gpus.current == gpus[0]
    assert repr(gpus) == f"<{gpus[0]!r}>"
    with gpus[0] as device:
        assert devices.get_current_device() == device
    with pytest.raises(IndexError):
        gpus[1]


def test_a_device_can_be_selected_and_closed_in_a_thread():
    failures = []

    def work():
        try:
            for _ in range(2):
                assert devices.select_device(0).id == 0
                devices.close()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []


def test_a_context_stands_for_its_device():
    context = devices.current_context()
    assert context.device == devices.get_current_device()
    assert context == devices.current_context(0)
    assert hash(context) == hash(devices.current_context(0))
    assert repr(context) == f"<Context of {context.device!r}>"
    free, total = context.get_memory_info()
    assert context.get_memory_info().total == total >= free
    assert not context.can_access_peer(0)
    context.reset()
    context.synchronize()


def test_a_context_makes_streams_and_events():
    context = devices.current_context()
    assert int(context.create_stream()) > 2
    assert int(context.create_external_stream(40)) == 40
    assert int(context.get_default_stream()) == 0
    assert int(context.get_legacy_default_stream()) == 1
    assert int(context.get_per_thread_default_stream()) == 2
    assert not context.create_event(timing=False).timing
    with context.defer_cleanup():
        pass


def test_contexts_nest():
    with use_driver(NullDriver(device_count=2)):
        first, second = devices.current_context(), devices.Context(devices.gpus[1])
        second.push()
        assert devices.current_context() == second
        second.pop()
        assert devices.current_context() == first


def test_popping_a_context_that_was_not_pushed_is_refused():
    with pytest.raises(DeviceError) as raised:
        devices.current_context().pop()
    assert str(raised.value) == ("pop() was called more often than push()\nhelp: call push() first")


def test_detect_prints_the_devices(capsys):
    assert devices.detect() is True
    out = capsys.readouterr().out
    assert out.startswith("Found 1 CUDA devices\nid 0 ")
    assert devices.get_current_device().name in out
    assert out.endswith("Summary:\n\t1/1 devices are supported\n")


def test_memory_that_arrays_gave_back_can_be_given_to_the_system():
    driver = NullDriver()
    with use_driver(driver):
        devices.current_context().deallocations.clear()
    assert driver.names() == ["synchronize", "trim"]
