"""Barriers of the block, races on shared memory, and barriers of the whole grid."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx import (
    Deadlock,
    DivergentBarrier,
    IllegalInstruction,
    SharedRace,
    UninitializedShared,
)
from tests.fakecuda.ptx_programs import Device, kernel, run_on_threads

SHARED = ".shared .align 4 .b8 buffer[1024];"
# Each thread writes its number and reads that of the opposite thread.
OPPOSITE = """
    mov.u32 %r2, buffer;
    mad.lo.u32 %r3, %tid, 4, %r2;
    st.shared.u32 [%r3], %tid;
    {barrier}
    sub.u32 %r4, 63, %tid;
    mad.lo.u32 %r3, %r4, 4, %r2;
    ld.shared.u32 %value, [%r3];
"""


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "barrier.sync 3;", "barrier.cta.sync.aligned 1, 64;"]
)
def test_barriers_order_accesses(barrier, schedule):
    found = run_on_threads(
        OPPOSITE.format(barrier=barrier),
        threads=64,
        blocks=2,
        before=SHARED,
        schedule=schedule,
        race_check=True,
    )
    assert found.tolist() == list(range(63, -1, -1)) * 2


def test_a_missing_barrier_is_a_race():
    with pytest.raises(SharedRace, match=r"race on byte .* of shared memory with the write of"):
        run_on_threads(OPPOSITE.format(barrier=""), threads=64, before=SHARED, race_check=True)


def test_a_warp_barrier_does_not_order_different_warps():
    body = OPPOSITE.format(barrier="bar.warp.sync 0xffffffff;")
    with pytest.raises(SharedRace):
        run_on_threads(body, threads=64, before=SHARED, race_check=True)
    within = body.replace("sub.u32 %r4, 63, %tid", "xor.b32 %r4, %tid, 31")
    found = run_on_threads(within, threads=64, before=SHARED, race_check=True)
    assert found.tolist() == [t ^ 31 for t in range(64)]


def test_a_write_after_reads_by_others_is_a_race():
    body = """
        setp.eq.u32 %p0, %tid, 5;
        ld.shared.u32 %value, [buffer];
        {barrier}
        @%p0 st.shared.u32 [buffer], %tid;
    """
    with pytest.raises(SharedRace, match="with the read of another thread"):
        run_on_threads(body.format(barrier=""), before=SHARED, race_check=True)
    run_on_threads(body.format(barrier="bar.sync 0;"), before=SHARED, race_check=True)
    run_on_threads(body.format(barrier="bar.warp.sync 0xffffffff;"), before=SHARED, race_check=True)


def test_threads_may_use_their_own_bytes_as_they_like():
    body = """
        mov.u32 %r2, buffer; mad.lo.u32 %r3, %tid, 4, %r2;
        st.shared.u32 [%r3], 5; st.shared.u16 [%r3+2], 1;
        ld.shared.u32 %r4, [%r3]; ld.shared.u32 %r4, [%r3];
        st.shared.u32 [%r3], %r4;
        red.shared.add.u32 [%r3], 1;
        ld.shared.u32 %value, [%r3];
    """
    found = run_on_threads(body, threads=64, before=SHARED, race_check=True)
    assert found.tolist() == [0x10006] * 64


def test_races_are_found_again_after_each_barrier():
    body = (
        OPPOSITE.format(barrier="bar.sync 0;")
        + """
        st.shared.u32 [%r3], %tid;
        bar.sync 0;
        bar.sync 0;
        st.shared.u32 [%r3], 1;
        {barrier}
        mad.lo.u32 %r3, %tid, 4, %r2;
        ld.shared.u32 %value, [%r3];
    """
    )
    fine = body.format(barrier="bar.sync 0;")
    assert set(run_on_threads(fine, threads=64, before=SHARED, race_check=True).tolist()) == {1}
    with pytest.raises(SharedRace):
        run_on_threads(body.format(barrier=""), threads=64, before=SHARED, race_check=True)


def test_readers_before_the_last_one_are_remembered():
    body = """
        setp.eq.u32 %p0, %tid, 0;
        setp.eq.u32 %p1, %tid, 1;
        @%p0 ld.shared.u32 %value, [buffer];
        @%p1 ld.shared.u32 %value, [buffer];
        {barrier}
        @%p1 st.shared.u32 [buffer], 7;
    """
    run_on_threads(body.format(barrier="bar.sync 0;"), before=SHARED, race_check=True)
    with pytest.raises(SharedRace, match="with the read of another thread") as caught:
        run_on_threads(body.format(barrier=""), before=SHARED, race_check=True)
    assert caught.value.thread == (1, 0, 0)


def test_stores_of_different_values_by_one_instruction_are_a_race():
    with pytest.raises(SharedRace):
        run_on_threads("st.shared.u32 [buffer], %tid;", before=SHARED, race_check=True)
    run_on_threads("st.shared.u32 [buffer], 7;", before=SHARED, race_check=True)
    run_on_threads("st.shared.u32 [buffer], %tid;", before=SHARED)


def test_atomics_race_with_plain_accesses_only():
    add = "red.shared.add.u32 [buffer], 1; red.shared.add.u32 [buffer], 2;"
    run_on_threads(add, before=SHARED, race_check=True)
    with pytest.raises(SharedRace, match="with the atomic of"):
        run_on_threads(add + "ld.shared.u32 %value, [buffer];", before=SHARED, race_check=True)


def test_loads_of_what_nobody_has_written_can_be_refused():
    half = """
        setp.lt.u32 %p0, %tid, 16;
        mov.u32 %r2, buffer; mad.lo.u32 %r3, %tid, 4, %r2;
        @%p0 st.shared.u32 [%r3], 5;
        bar.sync 0;
        {access}
    """
    options = {"before": SHARED, "check_uninitialized": True}
    fine = half.format(access="@%p0 ld.shared.u32 %value, [%r3];")
    assert run_on_threads(fine, **options).tolist() == [5] * 16 + [0] * 16
    for access in ("ld.shared.u32 %value, [%r3];", "atom.shared.add.u32 %value, [%r3], 1;"):
        with pytest.raises(UninitializedShared, match="offset 64 of shared memory that") as caught:
            run_on_threads(half.format(access=access), **options)
        assert caught.value.thread == (16, 0, 0)


def test_threads_that_have_ended_are_not_waited_for():
    found = run_on_threads(
        """
        setp.ge.u32 %p0, %tid, 50;
        @%p0 exit;
        bar.sync 0;
        mov.u32 %value, 1;
        """,
        threads=64,
    )
    assert found.tolist() == [1] * 50 + [0] * 14


def test_threads_that_end_after_the_others_have_arrived():
    found = run_on_threads(
        """
        setp.lt.u32 %p0, %tid, 32;
        @%p0 bra WAIT;
        mov.u32 %r2, 0;
        LOOP:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %tid;
        @%p1 bra LOOP;
        exit;
        WAIT:
        bar.sync 0;
        mov.u32 %value, 1;
        """,
        threads=64,
        schedule="shuffled",
    )
    assert found.tolist() == [1] * 32 + [0] * 32


def test_named_barriers_of_producers_and_consumers():
    found = run_on_threads(
        """
        mov.u32 %r2, buffer;
        setp.ge.u32 %p0, %tid, 32;
        @%p0 bra CONSUME;
        mad.lo.u32 %r3, %tid, 4, %r2;
        st.shared.u32 [%r3], %tid;
        bar.arrive 1, 64;
        bra STORE;
        CONSUME:
        bar.sync 1, 64;
        sub.u32 %r4, %tid, 32;
        mad.lo.u32 %r3, %r4, 4, %r2;
        ld.shared.u32 %value, [%r3];
        """,
        threads=64,
        before=SHARED,
    )
    assert found.tolist() == [0] * 32 + list(range(32))


def test_reductions_at_barriers():
    for mode, bound, want in (
        ("popc.u32", 40, 40), ("and.pred", 64, 1), ("and.pred", 40, 0), ("or.pred", 1, 1),
        ("or.pred", 0, 0),
    ):  # fmt: skip
        target, after = ("%value", "") if mode[0] == "p" else ("%p1", "selp.u32 %value, 1, 0, %p1;")
        found = run_on_threads(
            f"setp.lt.u32 %p0, %tid, {bound}; bar.red.{mode} {target}, 0, %p0; {after}",
            threads=64,
            blocks=2,
        )
        assert found.tolist() == [want] * 128
    found = run_on_threads(
        "setp.lt.u32 %p0, %tid, 10; barrier.cta.red.popc.aligned.u32 %value, 0, !%p0;", threads=64
    )
    assert found.tolist() == [54] * 64


DIVERGENT = """
    setp.lt.u32 %p0, %tid, {bound};
    @%p0 bra LOW;
    bar.sync 0;
    bra STORE;
    LOW:
    {other}
"""


def test_threads_of_a_warp_at_different_barriers_are_a_fault():
    with pytest.raises(DivergentBarrier, match="one warp wait at different barriers"):
        run_on_threads(DIVERGENT.format(bound=5, other="bar.sync 0;"), threads=64)
    # Whole warps may meet at different instructions.
    run_on_threads(DIVERGENT.format(bound=32, other="bar.sync 0;"), threads=64)
    # So may threads at barriers that are made for it.
    body = DIVERGENT.format(bound=5, other="barrier.sync 0;").replace("bar.sync", "barrier.sync")
    run_on_threads(body, threads=64)


def test_a_barrier_that_not_all_reach_is_a_deadlock():
    expected = r"64 threads wait for ever: 59 at line .* bar\.sync 0"
    with pytest.raises(Deadlock, match=expected) as caught:
        run_on_threads(DIVERGENT.format(bound=5, other="bar.sync 1;"), threads=64)
    assert (caught.value.thread, caught.value.instruction) == ((0, 0, 0), "bar.sync 1")


def test_numbers_and_counts_of_barriers_are_checked():
    with pytest.raises(IllegalInstruction, match="16 barriers"):
        run_on_threads("bar.sync 16;")
    with pytest.raises(IllegalInstruction, match="multiples of 32"):
        run_on_threads("bar.sync 0, 20;")


GRID_BARRIER = kernel(
    """
    .reg .b32 %t, %b, %n, %old, %seen, %goal, %sum, %i, %size;
    .reg .b64 %counter, %data, %a, %x, %out;
    .reg .pred %p;
    ld.param.u64 %counter, [counter];
    ld.param.u64 %data, [data];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %size, %ntid.x;
    setp.ne.u32 %p, %t, 0;
    @%p bra MEET;
    mul.wide.u32 %x, %b, 4; add.u64 %a, %data, %x;
    add.u32 %old, %b, 1;
    st.global.u32 [%a], %old;
    fence.acq_rel.gpu;
    MEET:
    bar.sync 0;
    @%p bra WAIT;
    atom.global.add.u32 %old, [%counter], 1;
    SPIN:
    ld.acquire.gpu.global.u32 %seen, [%counter];
    setp.lt.u32 %p, %seen, %n;
    @%p bra SPIN;
    WAIT:
    bar.sync 0;
    mov.u32 %sum, 0; mov.u32 %i, 0;
    ADD:
    mul.wide.u32 %x, %i, 4; add.u64 %a, %data, %x;
    ld.global.u32 %old, [%a];
    add.u32 %sum, %sum, %old;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra ADD;
    mad.lo.u32 %old, %b, %size, %t;
    mul.wide.u32 %x, %old, 4; add.u64 %a, %out, %x;
    st.global.u32 [%a], %sum;
    ret;
    """,
    ["counter", "data", "out"],
)


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
def test_all_blocks_meet_at_a_barrier_made_of_atomics(schedule):
    device = Device()
    arrays = [np.zeros(1, np.uint32), np.zeros(7, np.uint32), np.zeros(7 * 40, np.uint32)]
    addresses = [device.put(a) for a in arrays]
    device.run(GRID_BARRIER, *addresses, grid=7, block=40, schedule=schedule)
    assert set(device.get(addresses[2]).tolist()) == {28}


LOCK = """
    ld.param.u64 %a, [lock];
    ld.param.u64 %b, [counter];
    SPIN:
    atom.global.cas.b32 %old, [%a], 0, 1;
    setp.ne.s32 %p, %old, 0;
    @%p bra SPIN;
    ld.volatile.global.u32 %v, [%b];
    add.u32 %v, %v, 1;
    st.volatile.global.u32 [%b], %v;
    atom.global.exch.b32 %old, [%a], 0;
    ret;
"""


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
def test_threads_of_a_warp_can_take_turns_with_a_lock(schedule):
    text = kernel(
        ".reg .b64 %a, %b; .reg .b32 %old, %v; .reg .pred %p;" + LOCK, ["lock", "counter"]
    )
    device = Device()
    lock, counter = (device.put(np.zeros(1, np.uint32)) for _ in range(2))
    device.run(text, lock, counter, grid=2, block=20, schedule=schedule)
    assert device.get(counter).tolist() == [40]
