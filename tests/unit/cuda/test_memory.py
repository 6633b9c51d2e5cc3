import numpy as np
import pytest

from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.cuda import memory
from pygpulib.errors import ArgumentTypeError


def test_every_public_name_exists():
    assert all(callable(getattr(memory, name)) for name in memory.__all__)


def test_pinned_arrays_can_be_copied_inside_the_block():
    host, other = np.arange(3), np.zeros((2, 2))
    with memory.pinned(host, other) as nothing:
        assert nothing is None
        device = memory.to_device(host, copy=False)
        device.copy_to_device(host)
        device.copy_to_host(host)
    assert host.tolist() == [0, 1, 2]


def test_mapped_arrays_are_the_host_arrays():
    one, two = np.zeros(3), np.zeros((2, 2), order="F")
    with memory.mapped(one) as device:
        device[0] = 5
    assert one[0] == 5
    with memory.mapped(one, two, stream=0) as devices:
        devices[1][0, 1] = 6
        assert devices[1].strides == two.strides
    assert two[0, 1] == 6


@pytest.mark.parametrize("context", [memory.pinned, memory.mapped])
def test_an_array_can_be_pinned_again_and_again(context):
    host = np.zeros(10)
    for _ in range(2):
        with context(host):
            pass
    with memory.defer_cleanup():
        for _ in range(2):
            with pytest.raises(KeyError), context(host):
                raise KeyError
        with context(host):
            pass


def test_defer_cleanup_reaches_the_driver():
    driver = NullDriver()
    with use_driver(driver), memory.defer_cleanup(), memory.defer_cleanup():
        pass
    assert driver.names() == ["defer_cleanup", "defer_cleanup"]


@pytest.mark.parametrize("context", [memory.pinned, memory.mapped])
def test_only_numpy_arrays_can_be_pinned_or_mapped(context):
    with pytest.raises(ArgumentTypeError) as raised, context(np.zeros(2), [1]):
        pass
    assert str(raised.value) == "argument 1 is a list\nexpected a NumPy array"
