from __future__ import annotations

import random

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.driver_cuda.copies import MAX_PIECES, CopyPlan, plan_copy
from tests.fakecuda.devices import cuda_in_use, names_of_calls

DTYPES = ["int8", "float16", "float32", "float64", "complex128", "bool"]


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


def random_view(rng, array):
    """Return a view that skips, turns around, exchanges and repeats axes at random."""
    index = []
    for length in array.shape:
        step = rng.choice([1, 1, 2, 3, -1, -2])
        start = rng.randrange(length)
        index.append(slice(start, None, step))
    view = array[tuple(index)]
    return view.transpose(rng.sample(range(view.ndim), view.ndim))


def numbers(rng, shape, dtype):
    values = np.array([rng.randrange(100) for _ in range(int(np.prod(shape)))])
    return values.reshape(shape).astype(dtype)


def same_view(rng, host, device):
    """Return the same random view of a host and a device array."""
    state = rng.getstate()
    host_view = random_view(rng, host)
    rng.setstate(state)
    return host_view, random_view(rng, device)


# ------------------------------------------------------------------------------------- the plan


def copy_by_plan(plan, target, source):
    """Do on byte arrays what CUDA does on memory."""
    for target_start, source_start in plan.offsets():
        for plane in range(plan.planes[0]):
            for row in range(plan.rows[0]):
                to = target_start + plane * plan.planes[1] + row * plan.rows[1]
                at = source_start + plane * plan.planes[2] + row * plan.rows[2]
                target[to : to + plan.width] = source[at : at + plan.width]


@pytest.mark.parametrize("seed", range(60))
def test_the_boxes_of_a_plan_copy_every_element(seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(0, 4)))
    dtype = np.dtype(rng.choice(DTYPES))
    source = numbers(rng, shape, dtype)
    target = np.zeros(shape, dtype, order=rng.choice("CF"))
    order = rng.sample(range(len(shape)), len(shape))
    from_, to = source.transpose(order), target.transpose(order)
    plan = plan_copy(to.shape, to.strides, from_.strides, dtype.itemsize)
    raw = np.zeros(target.nbytes, np.uint8)
    copy_by_plan(plan, raw, source.reshape(-1).view(np.uint8))
    result = np.ndarray(to.shape, dtype, raw, 0, to.strides)
    np.testing.assert_array_equal(result, from_)


@pytest.mark.parametrize(
    ("shape", "target", "source", "plan"),
    [
        ((), (), (), CopyPlan(4)),
        ((6, 4), (16, 4), (16, 4), CopyPlan(96)),
        ((6, 4), (16, 4), (32, 4), CopyPlan(16, (6, 16, 32))),
        ((10,), (4,), (8,), CopyPlan(4, (10, 4, 8))),
        ((3, 6, 4), (96, 16, 4), (320, 32, 4), CopyPlan(16, (6, 16, 32), (3, 96, 320))),
        # Planes that are no whole number of rows apart
        ((3, 6, 4), (96, 16, 4), (210, 32, 4), CopyPlan(16, (6, 16, 32), loops=((3, 96, 210),))),
        # Rows that repeat
        ((6, 4), (16, 4), (0, 4), CopyPlan(16, loops=((6, 16, 0),))),
        # Rows that overlap
        ((6, 4), (16, 4), (4, 4), CopyPlan(16, loops=((6, 16, 4),))),
        # Rows that are too far apart
        ((2, 4), (16, 4), (2**31, 4), CopyPlan(16, loops=((2, 16, 2**31),))),
        # Axes of length one are nowhere
        ((1, 4, 1), (7, 4, 9), (1000, 4, -3), CopyPlan(16)),
        # Backwards on one side
        ((4,), (4,), (-4,), CopyPlan(4, loops=((4, 4, -4),))),
    ],
)
def test_a_plan_is_as_few_boxes_as_possible(shape, target, source, plan):
    assert plan_copy(shape, target, source, 4) == plan


# ------------------------------------------------------------------------------------ the copies


@pytest.mark.parametrize("seed", range(25))
def test_views_come_back_as_they_are(driver, seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 4)))
    host = numbers(rng, shape, rng.choice(DTYPES))
    device = cuda.to_device(host)
    host_view, device_view = same_view(rng, host, device)
    np.testing.assert_array_equal(device_view.copy_to_host(), host_view)


@pytest.mark.parametrize("seed", range(25))
def test_views_take_host_arrays_of_any_dtype(driver, seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 4)))
    host = numbers(rng, shape, rng.choice(DTYPES[:4]))
    device = cuda.to_device(host)
    host_view, device_view = same_view(rng, host, device)
    values = random_view(
        rng, numbers(rng, [2 * n for n in host_view.shape], rng.choice(DTYPES[:4]))
    )
    values = np.resize(values, host_view.shape)[..., ::-1][..., ::-1]
    device_view[...] = values
    host_view[...] = values.astype(host.dtype)
    np.testing.assert_array_equal(device.copy_to_host(), host)


@pytest.mark.parametrize("seed", range(25))
def test_views_take_device_arrays(driver, seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))
    host = numbers(rng, shape, "float32")
    device = cuda.to_device(host)
    host_view, device_view = same_view(rng, host, device)
    values = numbers(rng, host_view.shape, rng.choice(["float32", "float64", "int8"]))
    device_view[...] = cuda.to_device(values)
    host_view[...] = values
    np.testing.assert_array_equal(device.copy_to_host(), host)


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[:], np.s_[::-1]),
        (np.s_[:], np.s_[:]),
        (np.s_[::2], np.s_[1::2]),
    ],
)
def test_copies_within_an_array_may_overlap(driver, target, source):
    host = np.arange(20, dtype=np.int32)
    device = cuda.to_device(host)
    device[target] = device[source]
    host[target] = host[source].copy()
    np.testing.assert_array_equal(device.copy_to_host(), host)


def test_more_boxes_than_are_worth_it_go_through_the_host(fake_driver, driver):
    host = np.arange(MAX_PIECES * 4, dtype=np.int16).reshape(-1, 4)
    device = cuda.to_device(host)
    target = cuda.device_array_like(host)
    target[...] = device[:, 0:1]
    np.testing.assert_array_equal(target.copy_to_host(), np.repeat(host[:, :1], 4, axis=1))


def test_a_sparse_view_is_copied_without_what_lies_between(fake_driver, driver):
    device = cuda.to_device(np.arange(4096, dtype=np.float32).reshape(64, 64))
    fake_driver.calls.clear()
    view = device[:, 7]
    np.testing.assert_array_equal(view.copy_to_host(), np.arange(4096).reshape(64, 64)[:, 7])
    assert names_of_calls(fake_driver).count("cuMemcpy2DAsync_v2") == 1
    assert "cuMemcpyDtoHAsync_v2" not in names_of_calls(fake_driver)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("value", [0, 3])
def test_an_array_is_filled_with_one_value(driver, dtype, value):
    device = cuda.device_array((5, 7), dtype)
    device[...] = value
    np.testing.assert_array_equal(device.copy_to_host(), np.full((5, 7), value, dtype))


def test_filling_copies_nothing(fake_driver, driver):
    device = cuda.device_array(1000, np.float32)
    fake_driver.calls.clear()
    device[...] = 1.5
    assert "cuMemsetD32Async" in names_of_calls(fake_driver)
    assert not [name for name in names_of_calls(fake_driver) if name.startswith("cuMemcpy")]
    np.testing.assert_array_equal(device.copy_to_host(), np.full(1000, 1.5, np.float32))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5, 2)])
def test_empty_arrays_are_copied_without_a_copy(fake_driver, driver, shape):
    device = cuda.to_device(np.zeros(shape, np.float32))
    assert device.copy_to_host().shape == shape
    other = cuda.device_array_like(device)
    other[...] = device
    assert not [name for name in names_of_calls(fake_driver) if name.startswith("cuMemcpy")]


def test_a_scalar_and_an_array_without_axes(driver):
    device = cuda.to_device(np.float32(2.5))
    assert device.copy_to_host() == np.float32(2.5)
    assert cuda.to_device(np.arange(5.0))[3] == 3.0


def test_records_are_copied(driver):
    dtype = np.dtype([("a", np.int32), ("b", np.float64)])
    host = np.array([(1, 2.0), (3, 4.0)], dtype)
    assert (cuda.to_device(host).copy_to_host() == host).all()
    assert (cuda.to_device(host[::-1])[1:].copy_to_host() == host[:1]).all()


# --------------------------------------------------------------------------- streams and lifetimes


def test_a_copy_from_pinned_memory_goes_on_after_it_returns(fake_driver, driver):
    host = cuda.pinned_array(8, np.int32)
    host[:] = 5
    stream = cuda.stream()
    device = cuda.to_device(host, stream=stream)
    host[:] = 6
    stream.synchronize()
    expected = 6 if fake_driver.deferred else 5
    assert (device.copy_to_host() == expected).all()


def test_pinned_memory_stays_alive_until_its_copy_is_done(fake_driver, driver):
    stream = cuda.stream()
    host = cuda.pinned_array(8, np.int32)
    host[:] = range(8)
    device = cuda.to_device(host, stream=stream)
    del host
    other = cuda.pinned_array(8, np.int32)
    other[:] = -1
    stream.synchronize()
    np.testing.assert_array_equal(device.copy_to_host(), range(8))


def test_a_converted_copy_on_a_stream_is_right(driver):
    stream = cuda.stream()
    device = cuda.device_array(9, np.float32, stream=stream)
    device[:] = np.arange(18)[::2]
    stream.synchronize()
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(0, 18, 2))


def test_a_copy_to_the_host_on_a_stream_is_there_after_waiting(driver):
    stream = cuda.stream()
    host = np.arange(12.0).reshape(3, 4)
    device = cuda.to_device(host, stream=stream)
    target = cuda.pinned_array((3, 4))
    device.copy_to_host(target, stream=stream)
    plain = device[:, ::3].copy_to_host(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(target, host)
    np.testing.assert_array_equal(plain, host[:, ::3])


def test_a_plain_copy_is_done_when_it_returns(fake_driver, driver):
    pinned = cuda.pinned_array(4, np.int64)
    device = cuda.to_device(np.arange(4))
    device.copy_to_host(pinned)
    np.testing.assert_array_equal(pinned, range(4))
    pinned[:] = 9
    device.copy_to_device(pinned)
    pinned[:] = 0
    assert (device.copy_to_host() == 9).all()
