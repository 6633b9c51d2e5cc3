import gc
import os
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core.pool import HostPool, size_class
from pygpulib.errors import DeviceMemoryError


@given(st.integers(0, 2**50))
def test_a_size_class_wastes_little_and_is_aligned(size):
    block = size_class(size)
    assert block % 64 == 0
    assert block >= max(size, 64)
    assert block - size <= max(64, block / 4)
    assert size_class(block) == block


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_blocks_are_aligned_and_do_not_overlap(sizes):
    pool = HostPool(cap_bytes=1 << 20)
    spans = sorted((pool.allocate(size), size) for size in sizes)
    assert all(address % 64 == 0 for address, _ in spans)
    assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))


def test_a_freed_block_is_reused():
    pool = HostPool(cap_bytes=1 << 20)
    address = pool.allocate(1000)
    pool.free(address)
    assert (pool.used_bytes, pool.cached_bytes) == (0, 1024)
    assert pool.allocate(900) == address
    assert (pool.used_bytes, pool.cached_bytes) == (1024, 0)


def test_trim_returns_what_is_not_in_use():
    pool = HostPool(cap_bytes=1 << 20)
    kept = pool.allocate(128)
    pool.free(pool.allocate(1000))
    pool.trim()
    assert (pool.used_bytes, pool.cached_bytes) == (128, 0)
    pool.free(kept)


def test_the_cache_stays_below_its_cap():
    pool = HostPool(cap_bytes=3000)
    for address in [pool.allocate(1024) for _ in range(5)]:
        pool.free(address)
    assert pool.cached_bytes == 2048
    pool.free(pool.allocate(4096))
    assert pool.cached_bytes == 2048


@pytest.mark.parametrize("size", [1 << 55, 1 << 70])
def test_an_impossible_size_is_refused(size):
    pool = HostPool(cap_bytes=1 << 20)
    with pytest.raises(DeviceMemoryError) as raised:
        pool.allocate(size)
    assert str(raised.value) == (
        f"there is no memory left for an array of {size_class(size):,} bytes\n"
        "arrays in use hold 0 bytes\n"
        "help: delete arrays that are no longer needed, or work on smaller pieces"
    )
    assert isinstance(raised.value, MemoryError)


def test_threads_never_share_a_block():
    pool = HostPool(cap_bytes=1 << 20)
    taken, clashes = set(), []

    def work():
        for _ in range(300):
            address = pool.allocate(256)
            if address in taken:
                clashes.append(address)
            taken.add(address)
            taken.discard(address)
            pool.free(address)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clashes == []
    assert pool.used_bytes == 0


def test_a_finalizer_may_free_while_the_pool_allocates():
    pool = HostPool(cap_bytes=1 << 20)

    class Cycle:
        def __init__(self):
            self.me, self.address = self, pool.allocate(64)

        def __del__(self):
            pool.free(self.address)

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            Cycle()
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert pool.used_bytes == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_can_allocate_while_a_thread_of_the_parent_does():
    pool, done = HostPool(cap_bytes=1 << 20), threading.Event()

    def work():
        while not done.is_set():
            pool.free(pool.allocate(64))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        statuses = []
        for _ in range(20):
            child = os.fork()
            if not child:
                os._exit(pool.allocate(64) % 64)
            statuses.append(os.waitpid(child, 0)[1])
    finally:
        done.set()
        thread.join()
    assert statuses == [0] * 20
