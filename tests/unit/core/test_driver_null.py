import inspect

import numpy as np
import pytest

from pygpulib.core.creation import device_array, pinned_array, to_device
from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.driver import Driver, LaunchShape
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.core.driver_null import Call, NullDriver, NullExecutable
from pygpulib.core.interop import map_host
from pygpulib.errors import ArgumentTypeError

METHODS = [name for name, _ in inspect.getmembers(Driver, inspect.isfunction) if name[0] != "_"]


@pytest.mark.parametrize("driver", [CpuDriver, NullDriver])
def test_a_driver_has_every_method_with_the_protocols_parameters(driver):
    assert len(METHODS) > 20
    for name in METHODS:
        expected = inspect.signature(getattr(Driver, name)).parameters
        assert list(inspect.signature(getattr(driver, name)).parameters) == list(expected)


def test_array_code_works_without_memory_that_the_host_can_address():
    driver = NullDriver()
    with use_driver(driver):
        device = to_device(np.ones((4, 6)))
        assert device.host_view is None
        view = device[::-1, 2:].T
        assert (view.shape, view.strides) == ((4, 4), (8, -48))
        assert view.address == device.address + 3 * 48 + 2 * 8
        assert view.reshape(2, 2, 4).shape == (2, 2, 4)
        view[0] = device[0, :4]
        assert np.asarray(view).tolist() == np.zeros((4, 4)).tolist()
        assert device[1, 2] == 0
        del device, view
    assert driver.names() == [
        "allocate",
        "copy_to_device",
        "copy_on_device",
        "synchronize_stream",
        "copy_to_host",
        "copy_to_host",
        "free",
    ]
    assert driver.calls[0] == Call("allocate", (192, 0))


def test_host_memory_comes_from_the_driver():
    driver = NullDriver()
    with use_driver(driver):
        assert pinned_array(3).nbytes == 24
        assert map_host(np.zeros(3)).shape == (3,)
    assert driver.names() == ["allocate_host", "map_host"]


def test_a_launch_is_recorded():
    driver, kernel = NullDriver(), NullExecutable()
    shape = LaunchShape((2, 1, 1), (64, 1, 1), 16)
    assert isinstance(driver.load(b""), NullExecutable)
    driver.launch(kernel, shape, 4096, 5)
    assert driver.calls == [Call("load", (b"",)), Call("launch", (kernel, shape, 4096, 5))]


def test_the_cpu_driver_runs_what_it_loads():
    seen = []

    class Kernel:
        def load(self):
            return self

        def run(self, shape, arguments_address):
            seen.append((shape, arguments_address))

    driver = CpuDriver()
    shape = LaunchShape((2, 1, 1), (64, 1, 1))
    assert shape.shared_bytes == 0
    driver.launch(driver.load(Kernel()), shape, 4096, 0)
    assert seen == [(shape, 4096)]


def test_arrays_and_events_of_another_back_end_are_refused():
    cpu = CpuDriver()
    with use_driver(NullDriver()):
        foreign = device_array(3)
    with pytest.raises(ArgumentTypeError) as raised:
        cpu.copy_to_host(np.zeros(3), foreign, 0)
    assert str(raised.value) == (
        "an array of another back end reached the CPU back end\n"
        "help: copy it to the host first, with copy_to_host()"
    )
    with pytest.raises(ArgumentTypeError) as raised:
        cpu.record_event(object(), 0)
    assert str(raised.value) == "an event of another back end reached the CPU back end"


def test_the_environments_driver_returns_after_a_test():
    before = current_driver()
    with use_driver(NullDriver()):
        assert current_driver().name == "null"
    assert current_driver() is before
