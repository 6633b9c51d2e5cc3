"""Functions of the warp, against loops over lanes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx import Deadlock, IllegalInstruction
from tests.fakecuda.ptx_programs import run_on_threads

POISON = 0xCDCDCDCD


def shuffled(mode: str, lane: int, operand: int, clamp: int) -> tuple[int, bool]:
    """Return source lane and predicate as the definition of shfl says."""
    bval, cval, mask = operand & 31, clamp & 31, clamp >> 8 & 31
    max_lane = (lane & mask) | (cval & ~mask)
    min_lane = lane & mask
    match mode:
        case "up":
            j, valid = lane - bval, lane - bval >= max_lane
        case "down":
            j, valid = lane + bval, lane + bval <= max_lane
        case "bfly":
            j, valid = lane ^ bval, lane ^ bval <= max_lane
        case _:
            j = min_lane | (bval & ~mask)
            valid = j <= max_lane
    return (j if valid else lane), valid


@pytest.mark.parametrize("clamp", [0x1F, 0x1800 | 0x1F, 0x1C1F, 0x0, 0x1C00, 0x1003])
@pytest.mark.parametrize("operand", [0, 1, 5, 16, 31, 35])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode, operand, clamp):
    found = run_on_threads(
        f"""
        add.u32 %r2, %tid, 100;
        shfl.sync.{mode}.b32 %r3|%p0, %r2, {operand}, {clamp}, 0xffffffff;
        selp.u32 %r4, 1000, 0, %p0;
        add.u32 %value, %r3, %r4;
        """,
        threads=64,
    )
    for thread, value in enumerate(found.tolist()):
        source, valid = shuffled(mode, thread % 32, operand, clamp)
        assert value == 100 + thread // 32 * 32 + source + (1000 if valid else 0)


def test_lanes_shuffle_by_their_own_indices_and_without_a_predicate():
    found = run_on_threads(
        "xor.b32 %r2, %tid, 5; shfl.sync.idx.b32 %value, %tid, %r2, 31, 0xffffffff;"
    )
    assert found.tolist() == [t ^ 5 for t in range(32)]


def test_reading_from_a_lane_that_takes_no_part_gives_poison():
    found = run_on_threads(
        """
        setp.ge.u32 %p0, %tid, 16;
        @%p0 bra STORE;
        shfl.sync.down.b32 %value, %tid, 8, 31, 0x0000ffff;
        """
    )
    assert found.tolist() == [t + 8 if t < 8 else POISON if t < 16 else 0 for t in range(32)]


def test_divided_warps_shuffle_in_parts():
    found = run_on_threads(
        """
        and.b32 %r2, %tid, 1;
        setp.eq.u32 %p0, %r2, 0;
        @%p0 bra EVEN;
        shfl.sync.bfly.b32 %value, %tid, 2, 31, 0xaaaaaaaa;
        bra STORE;
        EVEN:
        shfl.sync.bfly.b32 %value, %tid, 4, 31, 0x55555555;
        """
    )
    assert found.tolist() == [t ^ (2 if t % 2 else 4) for t in range(32)]


def test_votes():
    body = """
        rem.u32 %r2, %tid, 3;
        setp.eq.u32 %p0, %r2, 0;
        vote.sync.{0} {1}, {2}, 0xffffffff;
        {3}
        """
    select = "selp.u32 %value, 1, 0, %p1;"
    warp = [range(32), range(32, 64)]
    ballots = [sum(1 << t % 32 for t in w if t % 3 == 0) for w in warp]
    found = run_on_threads(body.format("ballot.b32", "%value", "%p0", ""), threads=64)
    assert found.tolist() == [ballots[t // 32] for t in range(64)]
    found = run_on_threads(body.format("ballot.b32", "%value", "!%p0", ""), threads=64)
    assert found.tolist() == [ballots[t // 32] ^ 0xFFFFFFFF for t in range(64)]
    for mode, want in {"any": 1, "all": 0, "uni": 0}.items():
        found = run_on_threads(body.format(f"{mode}.pred", "%p1", "%p0", select), threads=64)
        assert found.tolist() == [want] * 64
    for bound, any_, all_, uni in ((0, 0, 0, 1), (64, 1, 1, 1), (40, 1, 0, 0)):
        for mode, wants in {"any": any_, "all": all_, "uni": uni}.items():
            found = run_on_threads(
                f"setp.lt.u32 %p0, %tid, {bound}; vote.sync.{mode}.pred %p1, %p0, 0xffffffff;"
                + select,
                threads=64,
            )
            assert found[32:].tolist() == [wants] * 32


def test_parts_of_a_warp_act_apart_at_one_instruction():
    body = """
        setp.lt.u32 %p0, %tid, 10;
        selp.b32 %r2, 0x3ff, 0xfffffc00, %p0;
        rem.u32 %r3, %tid, 3;
        setp.eq.u32 %p1, %r3, 0;
        {0}
        """
    low, high = range(10), range(10, 32)
    parts = [low if t < 10 else high for t in range(32)]
    found = run_on_threads(body.format("vote.sync.ballot.b32 %value, %p1, %r2;"))
    assert found.tolist() == [sum(1 << t for t in part if t % 3 == 0) for part in parts]
    found = run_on_threads(body.format("match.any.sync.b32 %value, 7, %r2;"))
    assert found.tolist() == [sum(1 << t for t in part) for part in parts]
    found = run_on_threads(
        body.format("add.u32 %r4, %tid, 5; redux.sync.add.u32 %value, %r4, %r2;")
    )
    assert found.tolist() == [sum(t + 5 for t in part) for part in parts]
    found = run_on_threads(body.format("not.b32 %r4, %tid; redux.sync.and.b32 %value, %r4, %r2;"))
    want = [int(np.bitwise_and.reduce([~t & 0xFFFFFFFF for t in part])) for part in parts]
    assert found.tolist() == want


def test_votes_of_a_warp_that_is_not_full():
    found = run_on_threads(
        "setp.ge.u32 %p0, %tid, 1; vote.sync.ballot.b32 %value, %p0, 0xffffffff;", threads=40
    )
    assert found.tolist() == [0xFFFFFFFE] * 32 + [0xFF] * 8


def test_matches():
    found = run_on_threads(
        "and.b32 %r2, %tid, 3; match.any.sync.b32 %value, %r2, 0xffffffff;", threads=32
    )
    assert found.tolist() == [0x11111111 << t % 4 for t in range(32)]
    found = run_on_threads(
        """
        and.b32 %r2, %tid, 32;
        match.all.sync.b32 %r3|%p0, %r2, 0xffffffff;
        selp.u32 %value, %r3, 7, %p0;
        """,
        threads=64,
    )
    assert found.tolist() == [0xFFFFFFFF] * 64
    found = run_on_threads(
        """
        setp.eq.u32 %p1, %tid, 5;
        selp.b64 %d1, 1, 0, %p1;
        match.all.sync.b64 %r3|%p0, %d1, 0xffffffff;
        selp.u32 %value, 1, %r3, %p0;
        """
    )
    assert found.tolist() == [0] * 32


@pytest.mark.parametrize(
    ("name", "function"),
    [("add", np.add), ("min", np.minimum), ("max", np.maximum),
     ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)],
)  # fmt: skip
def test_reductions(name, function):
    kind = "b32" if name in ("and", "or", "xor") else "s32"
    found = run_on_threads(
        f"mad.lo.s32 %r2, %tid, 77777777, 5; redux.sync.{name}.{kind} %value, %r2, 0xffffffff;",
        threads=48,
    )
    with np.errstate(over="ignore"):
        values = np.arange(48, dtype=np.int32) * np.int32(77777777) + np.int32(5)
    for part in (values[:32], values[32:]):
        want = function.reduce(part, dtype=np.int32).view(np.uint32)
        start = 0 if part[0] == values[0] else 32
        assert set(found[start : start + len(part)].tolist()) == {int(want)}


def test_election_and_active_lanes():
    found = run_on_threads(
        """
        setp.lt.u32 %p0, %tid, 9;
        @%p0 bra STORE;
        elect.sync %r2|%p1, 0xfffffe00;
        activemask.b32 %r3;
        selp.u32 %value, %r2, %r3, %p1;
        """
    )
    assert found.tolist() == [0] * 9 + [9] + [0xFFFFFE00] * 22


def test_special_registers():
    for name, function in {
        "%laneid": lambda t: t % 32,
        "%warpid": lambda t: t // 32,
        "%lanemask_eq": lambda t: 1 << t % 32,
        "%lanemask_lt": lambda t: (1 << t % 32) - 1,
        "%lanemask_le": lambda t: (2 << t % 32) - 1,
        "%lanemask_gt": lambda t: 0xFFFFFFFF - ((2 << t % 32) - 1),
        "%lanemask_ge": lambda t: 0xFFFFFFFF - ((1 << t % 32) - 1),
        "%nwarpid": lambda t: 2,
        "%smid": lambda t: 0,
    }.items():
        found = run_on_threads(f"mov.u32 %value, {name};", threads=40)
        assert found.tolist() == [function(t) for t in range(40)], name


def test_a_lane_outside_of_its_mask_is_a_fault():
    with pytest.raises(IllegalInstruction, match="0x0000ffff does not name the lane") as caught:
        run_on_threads("shfl.sync.idx.b32 %value, %tid, 0, 31, 0xffff;")
    assert caught.value.thread == (16, 0, 0)


def test_waiting_for_lanes_that_never_come_is_a_deadlock():
    with pytest.raises(Deadlock, match=r"32 threads wait for ever: 31 at line .*; 1 at"):
        run_on_threads(
            """
            setp.eq.u32 %p0, %tid, 3;
            @%p0 bra OTHER;
            bar.warp.sync 0xffffffff;
            bra STORE;
            OTHER:
            vote.sync.any.pred %p1, %p0, 0xffffffff;
            """
        )


def test_lanes_that_have_ended_are_not_waited_for():
    found = run_on_threads(
        """
        setp.lt.u32 %p0, %tid, 4;
        @%p0 exit;
        bar.warp.sync 0xffffffff;
        mov.u32 %value, 1;
        """
    )
    assert found.tolist() == [0] * 4 + [1] * 28


@pytest.mark.parametrize("seed", range(3))
def test_shuffles_among_threads_in_random_order(seed):
    found = run_on_threads(
        """
        mov.u32 %value, %tid;
        shfl.sync.bfly.b32 %r2, %value, 16, 31, 0xffffffff; add.u32 %value, %value, %r2;
        shfl.sync.bfly.b32 %r2, %value, 8, 31, 0xffffffff; add.u32 %value, %value, %r2;
        shfl.sync.bfly.b32 %r2, %value, 4, 31, 0xffffffff; add.u32 %value, %value, %r2;
        shfl.sync.bfly.b32 %r2, %value, 2, 31, 0xffffffff; add.u32 %value, %value, %r2;
        shfl.sync.bfly.b32 %r2, %value, 1, 31, 0xffffffff; add.u32 %value, %value, %r2;
        """,
        threads=64,
        schedule="shuffled",
        seed=seed,
    )
    assert found.tolist() == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32
