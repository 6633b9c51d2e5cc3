"""Loads, stores and state spaces of PTX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx import IllegalAddress, MisalignedAddress, parse_module, place_globals
from tests.fakecuda.ptx_programs import Device, evaluate, integers, kernel, run_on_threads


def words(*values: int) -> np.ndarray:
    return np.array(values, np.uint32)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", [".global", "", ".global.nc.L1::no_allocate", ".volatile.global"])
def test_vectors(space, count):
    device = Device()
    source = device.put(np.arange(64 * count, dtype=np.uint32))
    target = device.put(np.zeros(64 * count, np.uint32))
    registers = ", ".join(f"%v{i}" for i in range(count))
    vector = f".v{count}" if count > 1 else ""
    group = f"{{{registers}}}" if count > 1 else registers
    reverse = ", ".join(f"%v{i}" for i in reversed(range(count)))
    back = f"{{{reverse}}}" if count > 1 else reverse
    store = ".global" if space else ""
    device.run(
        kernel(
            f""".reg .b64 %s, %t, %x; .reg .b32 {registers}; .reg .b32 %i;
            mov.u32 %i, %tid.x;
            mul.wide.u32 %x, %i, {4 * count};
            ld.param.u64 %s, [s]; add.u64 %s, %s, %x;
            ld.param.u64 %t, [t]; add.u64 %t, %t, %x;
            ld{space}{vector}.u32 {group}, [%s];
            st{store}{vector}.b32 [%t], {back};
            ret;""",
            ["s", "t"],
        ),
        source,
        target,
        block=64,
    )
    want = np.arange(64 * count, dtype=np.uint32).reshape(64, count)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(device.get(target), want)


def test_small_loads_extend_and_small_stores_cut():
    data = np.array([0x80, 0x7F, 0xFF, 0x01], np.uint8)
    device = Device()
    source = device.put(data)
    target = device.put(np.zeros(8, np.uint32))
    device.run(
        kernel(
            """.reg .b64 %s, %t; .reg .b32 %a; .reg .b16 %h;
            ld.param.u64 %s, [s]; ld.param.u64 %t, [t];
            ld.global.s8 %a, [%s]; st.global.u32 [%t], %a;
            ld.global.u8 %a, [%s+2]; st.global.u32 [%t+4], %a;
            ld.global.s16 %a, [%s+0]; st.global.u32 [%t+8], %a;
            ld.global.s8 %h, [%s+2]; st.global.u16 [%t+12], %h;
            mov.u32 %a, 0x12345678; st.global.u8 [%t+16], %a; st.global.u16 [%t+20], %a;
            add.u64 %t, %t, 32; st.global.u8 [%t+-8], %a; st.global.u32 [%t-4], 1;
            ret;""",
            ["s", "t"],
        ),
        source,
        target,
    )
    assert device.get(target).tolist() == [
        0xFFFFFF80, 0xFF, 0x7F80, 0xFFFF, 0x78, 0x5678, 0x78, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
def test_moves_of_vectors(kind):
    if kind == "b16":
        return
    size = int(kind[1:]) // 8
    a = integers(f"u{size}", 40)
    low, high = evaluate(f"mov.{kind} {{{{{{d0}}, {{d1}}}}}}, {{0}}", [a], [f"u{size // 2}"] * 2)
    half = 4 * size
    np.testing.assert_array_equal(low, (a & np.array((1 << half) - 1, a.dtype)))
    np.testing.assert_array_equal(high, a >> a.dtype.type(half))
    back = evaluate(f"mov.{kind} {{d}}, {{{{{{0}}, {{1}}}}}}", [low, high], a.dtype)
    np.testing.assert_array_equal(back, a)
    only = evaluate(f"mov.{kind} {{{{_, {{d}}}}}}, {{0}}", [a], f"u{size // 2}")
    np.testing.assert_array_equal(only, high)


def test_registers_are_copied_not_shared():
    found = run_on_threads(
        """
        mov.u32 %r2, %tid;
        mov.u32 %r3, %r2;
        setp.lt.u32 %p0, %tid, 5;
        @%p0 mov.u32 %r2, 100;
        @!%p0 mov.u32 %tid, 200;
        mov.u32 %value, %r3;
        """
    )
    assert found.tolist() == list(range(32))


def test_constants_of_all_notations():
    for text, value in {
        "17": 17, "0x1F": 31, "017": 15, "0b101": 5, "-1": 0xFFFFFFFF, "4294967295U": 0xFFFFFFFF,
        "0f3F800000": 0x3F800000, "WARP_SZ": 32,
    }.items():  # fmt: skip
        assert set(run_on_threads(f"mov.b32 %value, {text};").tolist()) == {value}, text
    found = run_on_threads("mov.f64 %d1, 0dBFF8000000000000; cvt.rn.f32.f64 %value, %d1;")
    assert found[0] == np.float32(-1.5).view(np.uint32)
    found = run_on_threads("mov.f64 %d1, 0f3FC00000; cvt.rn.f32.f64 %value, %d1;")
    assert found[0] == np.float32(1.5).view(np.uint32)


# ------------------------------------------------------------------------------ state spaces


def test_local_memory_belongs_to_each_thread():
    found = run_on_threads(
        """
        .local .align 8 .b8 frame[16];
        .reg .b64 %local, %generic;
        mov.u64 %local, frame;
        cvta.local.u64 %generic, %local;
        st.local.u32 [%local+8], %tid;
        ld.u32 %r2, [%generic+8];
        add.u32 %r2, %r2, 1;
        st.u32 [%generic+12], %r2;
        ld.local.u32 %value, [frame+12];
        """,
        threads=70,
    )
    assert found.tolist() == [t + 1 for t in range(70)]


def test_generic_addresses_of_different_spaces_in_one_instruction():
    found = run_on_threads(
        """
        .local .align 4 .b8 frame[4];
        mov.u64 %d1, frame; cvta.local.u64 %d1, %d1;
        mov.u64 %d2, box; cvta.shared.u64 %d2, %d2;
        mov.u64 %d3, place; cvta.global.u64 %d3, %d3;
        rem.u32 %r2, %tid, 3;
        setp.eq.u32 %p0, %r2, 0; setp.eq.u32 %p1, %r2, 1;
        selp.b64 %d4, %d2, %d3, %p1;
        selp.b64 %d4, %d1, %d4, %p0;
        add.u32 %r3, %r2, 100;
        st.u32 [%d4], %r3;
        ld.u32 %value, [%d4];
        isspacep.shared %p2, %d4; @%p2 add.u32 %value, %value, 1000;
        isspacep.local %p2, %d4; @%p2 add.u32 %value, %value, 2000;
        isspacep.global %p2, %d4; @%p2 add.u32 %value, %value, 3000;
        atom.add.u32 %r4, [%d4], 0;
        setp.ne.u32 %p2, %r4, %r3; @%p2 trap;
        cvta.to.shared.u64 %d5, %d4;
        @%p1 ld.shared.u32 %r5, [%d5];
        @%p1 sub.u32 %value, %value, %r5;
        @%p1 add.u32 %value, %value, 101;
        """,
        before=".shared .align 4 .b8 box[4]; .global .align 4 .b8 place[4];",
    )
    assert found.tolist() == [(2100, 1101, 3102)[t % 3] for t in range(32)]


def test_constant_memory_and_addresses_in_initial_values():
    before = """
    .const .align 4 .b8 table[8] = {1, 0, 0, 0, 0xff, 1};
    .const .f32 half = 0f3F000000;
    .global .align 4 .u32 numbers[3] = {5, 6, 7};
    .global .align 8 .u64 pointers[2] = {numbers+4, generic(numbers)+8};
    .global .align 1 .b8 packed[8] = {0xFF(numbers), 0xFF00(numbers), 0xFF0000(numbers),
      0xFF000000(numbers), 0xFF00000000(numbers), 0xFF0000000000(numbers),
      0xFF000000000000(numbers), 0xFF00000000000000(numbers)};
    """
    found = run_on_threads(
        """
        ld.const.u32 %r2, [table+4];
        ld.const.u32 %r3, [half];
        ld.global.u64 %d1, [pointers]; ld.global.u32 %r4, [%d1];
        ld.global.u64 %d1, [pointers+8]; ld.u32 %r5, [%d1];
        mov.u64 %d2, packed;
        mov.u64 %d4, 0; mov.u32 %r7, 0;
        NEXT:
        cvt.u64.u32 %d3, %r7; add.u64 %d3, %d2, %d3;
        ld.global.u8 %d3, [%d3];
        shl.b32 %r8, %r7, 3; shl.b64 %d3, %d3, %r8; or.b64 %d4, %d4, %d3;
        add.u32 %r7, %r7, 1; setp.lt.u32 %p0, %r7, 8; @%p0 bra NEXT;
        ld.global.u32 %r6, [%d4];
        mad.lo.u32 %value, %r4, 10, %r5;
        mad.lo.u32 %value, %value, 10, %r6;
        add.u32 %value, %value, %r2;
        xor.b32 %r3, %r3, 0x3F000000;
        add.u32 %value, %value, %r3;
        """,
        threads=3,
        before=before,
    )
    assert found.tolist() == [675 + 0x1FF] * 3


def test_globals_keep_their_values_between_launches_if_they_are_placed():
    text = kernel(
        """.reg .b32 %v; .reg .b64 %a;
        atom.global.add.u32 %v, [count], 1;
        ld.param.u64 %a, [out]; st.global.u32 [%a], %v; ret;""",
        ["out"],
        before=".global .u32 count = 5;",
    )
    device = Device()
    out = device.put(words(0))
    placed = place_globals(parse_module(text), device.memory)
    for want in (5, 6):
        device.run(text, out, globals_=placed)
        assert device.get(out).tolist() == [want]
    assert device.memory.read(placed["count"], 4) == (7).to_bytes(4, "little")
    before = dict(device.memory.allocations)
    device.run(text, out)
    assert device.get(out).tolist() == [5]
    assert device.memory.allocations == before


def test_static_and_dynamic_shared_memory():
    before = """.shared .align 4 .b8 first[20]; .shared .align 8 .b8 second[8];
    .extern .shared .align 16 .b8 rest[];"""
    body = """
        mov.u32 %r2, first; mov.u32 %r3, second; mov.u32 %r4, rest;
        mad.lo.u32 %value, %r3, 1000, %r4;
        mov.u32 %r5, %dynamic_smem_size;
        mad.lo.u32 %value, %value, 1000, %r5;
        mad.lo.u32 %r4, %tid, 4, %r4;
        st.shared.u32 [%r4], %tid;
    """
    found = run_on_threads(body, before=before, shared_bytes=128)
    assert set(found.tolist()) == {(24 * 1000 + 32) * 1000 + 128}
    with pytest.raises(IllegalAddress, match="4-byte access at offset 156 of shared memory") as e:
        run_on_threads(body, before=before, shared_bytes=124)
    assert e.value.thread == (31, 0, 0)


def test_parameters_of_all_sizes_have_their_alignment():
    device = Device()
    out = device.put(np.zeros(4, np.float64))
    text = kernel(
        """.reg .b64 %o; .reg .b32 %r<4>; .reg .f64 %d<4>; .reg .b16 %h; .reg .b64 %p;
        ld.param.u64 %o, [out];
        ld.param.u8 %h, [small]; cvt.rn.f64.u16 %d0, %h; st.global.f64 [%o], %d0;
        ld.param.f64 %d1, [big]; st.global.f64 [%o+8], %d1;
        ld.param.v2.u32 {%r0, %r1}, [pair]; add.u32 %r0, %r0, %r1;
        cvt.rn.f64.u32 %d2, %r0; st.global.f64 [%o+16], %d2;
        mov.b64 %p, pair; cvta.param.u64 %p, %p; ld.u32 %r2, [%p+4];
        cvt.rn.f64.u32 %d2, %r2; st.global.f64 [%o+24], %d2;
        ret;""",
        ["out", "u8 small", "f64 big", "align 8 .b8 pair[8]"],
    )
    function = parse_module(text).kernels["k"]
    assert [tuple(p) for p in function.parameters] == [
        ("u64", 8, 8, 0), ("u8", 1, 1, 8), ("f64", 8, 8, 16), ("b8", 8, 8, 24),
    ]  # fmt: skip
    device.run(text, out, np.uint8(200), np.float64(2.5), np.uint64(7 << 32 | 5), block=2)
    assert device.get(out).tolist() == [200, 2.5, 12, 7]
    with pytest.raises(ValueError, match="k has 4 parameters, not 1"):
        device.run(text, out)
    with pytest.raises(ValueError, match="4 bytes for a parameter of 1"):
        device.run(text, out, np.int32(1), np.float64(2.5), np.uint64(1))


# ------------------------------------------------------------------------------------ faults


def access(instruction: str) -> str:
    return kernel(
        f""".reg .b64 %a, %x; .reg .b32 %t, %v; .reg .b32 %w;
        mov.u32 %t, %tid.x;
        ld.param.u64 %a, [array]; mul.wide.u32 %x, %t, 4; add.u64 %a, %a, %x;
        {instruction}
        ret;""",
        ["array"],
    )


@pytest.mark.parametrize(
    "instruction",
    ["ld.global.u32 %v, [%a];", "st.global.u32 [%a], %v;", "ld.u32 %v, [%a];",
     "atom.global.add.u32 %v, [%a], 1;", "red.global.or.b32 [%a], %v;"],
)  # fmt: skip
def test_accesses_outside_are_faults_to_the_byte(instruction):
    device = Device()
    array = device.put(np.zeros(41, np.uint8))
    device.put(np.zeros(64, np.uint8))
    device.run(access(instruction), array, block=10)
    with pytest.raises(
        IllegalAddress, match=r"4-byte access at 0x.* \(byte 40 of an allocation"
    ) as e:
        device.run(access(instruction), array, block=40)
    fault = e.value
    assert (fault.cuda_error, fault.thread, fault.kernel) == (700, (10, 0, 0), "k")
    assert fault.instruction == instruction[:-1]
    device.memory.free(array)
    with pytest.raises(IllegalAddress):
        device.run(access(instruction), array, block=10)


def test_wild_addresses_are_faults():
    for address in (0, 4, 2**64 - 4, 1 << 50, 0x0010_0000_0000_0000 - 4):
        with pytest.raises(IllegalAddress):
            Device().run(access("ld.u32 %v, [%a];"), address)


def test_misaligned_accesses_are_faults():
    device = Device()
    array = device.put(np.zeros(64, np.uint8))
    for instruction, size in {
        "ld.global.u64 %x, [%a];": 8,
        "ld.global.v2.u32 {%v, %w}, [%a];": 8,
        "st.global.u32 [%a+2], %v;": 4,
        "atom.global.add.u32 %v, [%a+1], 1;": 4,
    }.items():
        with pytest.raises(MisalignedAddress, match=f"{size}-byte access at") as e:
            device.run(access(instruction), array, block=2)
        assert e.value.cuda_error == 716
        assert e.value.thread == ((1, 0, 0) if "+" not in instruction else (0, 0, 0))


def test_a_vector_of_global_memory_may_end_behind_its_last_element():
    device = Device()
    array = device.put(np.zeros(12, np.uint8))
    device.run(access("ld.global.v4.u32 {%v, %w, %v, %w}, [%a];"), array, block=1)
    for instruction in (
        "ld.global.v4.u32 {%v, %w, %v, %w}, [%a+16];",
        "st.global.v4.u32 [%a], {%v, %w, %v, %w};",
    ):
        with pytest.raises(IllegalAddress, match="16-byte access at"):
            device.run(access(instruction), array, block=1)


def test_accesses_outside_of_shared_and_local_memory_are_faults():
    with pytest.raises(IllegalAddress, match="offset 8 of shared memory, which has 8 bytes"):
        run_on_threads("ld.shared.u32 %value, [box+8];", before=".shared .align 4 .b8 box[8];")
    with pytest.raises(IllegalAddress, match="of local memory"):
        run_on_threads(".local .align 4 .b8 frame[16]; ld.local.u32 %value, [frame+16];")


def test_a_vector_of_shared_memory_may_end_behind_its_last_element():
    box = ".shared .align 16 .b8 box[12];"
    first = "mov.b32 %value, 7; st.shared.u32 [box+8], %value;"
    load = "ld.shared.v4.b32 {%r0, %r1, %value, %r2}, [box];"
    assert (run_on_threads(f"{first} {load}", before=box) == 7).all()
    with pytest.raises(IllegalAddress, match="4-byte access at offset 16 of shared memory"):
        run_on_threads("ld.shared.v4.b32 {%r0, %r1, %value, %r2}, [box+16];", before=box)
    with pytest.raises(IllegalAddress, match="16-byte access at offset 0 of shared memory"):
        run_on_threads("st.shared.v4.b32 [box], {%r0, %r1, %value, %r2};", before=box)
