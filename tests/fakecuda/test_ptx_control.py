"""Branches, calls, ends of threads, and what the system does for kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx import IllegalInstruction, PtxFault, Runaway, Trap, UnsupportedPtx
from tests.fakecuda.ptx_programs import HEADER, Device, kernel, run_on_threads


@pytest.mark.parametrize("schedule", ["lockstep", "shuffled"])
def test_loops_of_different_lengths(schedule):
    found = run_on_threads(
        """
        mov.u32 %r2, %tid;
        LOOP:
        setp.eq.u32 %p0, %r2, 1;
        setp.eq.u32 %p2, %r2, 0;
        or.pred %p0, %p0, %p2;
        @%p0 bra STORE;
        add.u32 %value, %value, 1;
        and.b32 %r3, %r2, 1;
        setp.eq.u32 %p1, %r3, 0;
        @%p1 bra EVEN;
        mad.lo.u32 %r2, %r2, 3, 1;
        bra.uni LOOP;
        EVEN:
        shr.u32 %r2, %r2, 1;
        bra LOOP;
        """,
        threads=100,
        schedule=schedule,
    )

    def collatz(n):
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    assert found.tolist() == [collatz(t) for t in range(100)]


def test_threads_meet_again_after_a_branch():
    steps = Device()
    out = steps.put(np.zeros(32, np.uint32))
    body = """.reg .pred %p; .reg .b32 %t, %v, %m; .reg .b64 %a, %x;
        mov.u32 %t, %tid.x;
        setp.lt.u32 %p, %t, 16;
        @%p bra LOW;
        mov.u32 %v, 1;
        bra JOIN;
        LOW: mov.u32 %v, 2;
        JOIN:
        activemask.b32 %m;
        ld.param.u64 %a, [out];
        mul.wide.u32 %x, %t, 4;
        add.u64 %a, %a, %x;
        st.global.u32 [%a], %m;
        ret;"""
    steps.run(kernel(body, ["out"]), out, block=32)
    assert steps.get(out).tolist() == [0xFFFFFFFF] * 32


def test_guards_of_all_kinds():
    found = run_on_threads(
        """
        setp.lt.u32 %p0, %tid, 8;
        @%p0 mov.u32 %value, 1;
        @!%p0 mov.u32 %value, 2;
        setp.gt.u32 %p1, %tid, 27;
        @%p1 exit;
        setp.gt.u32 %p2, %tid, 1000;
        @%p2 trap;
        @!%p2 bra STORE;
        mov.u32 %value, 9;
        """
    )
    assert found.tolist() == [1] * 8 + [2] * 20 + [0] * 4


def test_branches_by_index():
    body = """
        TABLE: .branchtargets L0, L1, L2;
        rem.u32 %r2, %tid, {modulus};
        brx.idx %r2, TABLE;
        L0: mov.u32 %value, 10; bra STORE;
        L1: mov.u32 %value, 11; bra STORE;
        L2: mov.u32 %value, 12; bra STORE;
    """
    found = run_on_threads(body.format(modulus=3))
    assert found.tolist() == [10 + t % 3 for t in range(32)]
    with pytest.raises(IllegalInstruction, match="index 3 of a table of 3 labels") as caught:
        run_on_threads(body.format(modulus=4))
    assert caught.value.thread == (3, 0, 0)


FUNCTIONS = """
.func (.param .b32 result) square(.param .b32 x)
{
    .reg .b32 %v;
    ld.param.u32 %v, [x];
    mul.lo.u32 %v, %v, %v;
    st.param.b32 [result], %v;
    ret;
}
.func (.param .b32 result) double(.param .b32 x)
{
    .reg .b32 %v;
    ld.param.u32 %v, [x];
    shl.b32 %v, %v, 1;
    st.param.b32 [result], %v;
    ret;
}
.func (.param .b32 result) factorial(.param .b32 n)
{
    .local .align 4 .b8 kept[4];
    .reg .b32 %n, %v;
    .reg .pred %p;
    ld.param.u32 %n, [n];
    st.local.u32 [kept], %n;
    setp.gt.u32 %p, %n, 1;
    mov.u32 %v, 1;
    @!%p bra DONE;
    sub.u32 %n, %n, 1;
    {
        .param .b32 argument;
        .param .b32 value;
        st.param.b32 [argument], %n;
        call.uni (value), factorial, (argument);
        ld.param.b32 %v, [value];
    }
    ld.local.u32 %n, [kept];
    mul.lo.u32 %v, %v, %n;
    DONE:
    st.param.b32 [result], %v;
    ret;
}
.func stop(.param .b32 x)
{
    .reg .b32 %v;
    .reg .pred %p;
    ld.param.u32 %v, [x];
    setp.eq.u32 %p, %v, 3;
    @%p exit;
    ret;
}
"""
CALL = """
    {{
        .param .b32 argument;
        .param .b32 value;
        st.param.b32 [argument], {argument};
        call (value), {function}, (argument){prototype};
        ld.param.b32 %value, [value];
    }}
"""


def test_calls():
    body = CALL.format(argument="%tid", function="square", prototype="")
    assert run_on_threads(body, before=FUNCTIONS).tolist() == [t * t for t in range(32)]


def test_arguments_and_results_of_several_elements():
    function = """.func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 x[16])
    { .reg .b32 %a, %b, %c, %d;
      ld.param.v2.b32 {%a, %b}, [x];
      ld.param.v2.b32 {%c, %d}, [x+8];
      st.param.v4.b32 [r], {%d, %c, %b, %a}; ret; }"""
    body = """
        { .param .align 8 .b8 argument[16];
        .param .align 8 .b8 value[16];
        st.param.v2.b32 [argument], {1, 20};
        st.param.b32 [argument+8], 300;
        st.param.b32 [argument+12], %tid;
        call.uni (value), swap, (argument);
        ld.param.v4.b32 {%r2, %r3, %r4, %r5}, [value]; }
        mad.lo.u32 %r2, %r2, 10, %r3;
        mad.lo.u32 %r2, %r2, 10, %r4;
        mad.lo.u32 %value, %r2, 10, %r5;
    """
    found = run_on_threads(body, before=function)
    assert found.tolist() == [((t * 10 + 300) * 10 + 20) * 10 + 1 for t in range(32)]


def test_the_very_first_instruction_may_be_the_target_of_a_branch():
    device = Device()
    counter = device.put(np.zeros(1, np.uint32))
    body = """.reg .b64 %a; .reg .b32 %old; .reg .pred %p;
        START: ld.param.u64 %a, [counter];
        atom.global.add.u32 %old, [%a], 1;
        setp.lt.u32 %p, %old, 40;
        @%p bra START;
        ret;"""
    device.run(kernel(body, ["counter"]), counter, block=8, max_steps=1000)
    assert device.get(counter).tolist() == [48]


def test_recursion_keeps_registers_and_local_memory_apart():
    body = "rem.u32 %r2, %tid, 9;" + CALL.format(argument="%r2", function="factorial", prototype="")
    want = [int(np.prod(range(1, t % 9 + 1), dtype=np.int64)) for t in range(32)]
    assert run_on_threads(body, before=FUNCTIONS).tolist() == want
    found = run_on_threads(body, before=FUNCTIONS, threads=40, schedule="shuffled")
    assert found[:32].tolist() == want


def test_calls_by_address():
    body = """
        and.b32 %r2, %tid, 1;
        setp.eq.u32 %p0, %r2, 0;
        mov.u64 %d1, square;
        mov.u64 %d2, double;
        selp.b64 %d1, %d1, %d2, %p0;
        PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _);
    """ + CALL.format(argument="%tid", function="%d1", prototype=", PROTOTYPE")
    found = run_on_threads(body, before=FUNCTIONS)
    assert found.tolist() == [2 * t if t % 2 else t * t for t in range(32)]
    with pytest.raises(IllegalInstruction, match="call of 0x4d, which is no function"):
        run_on_threads(body.replace("mov.u64 %d2, double", "mov.u64 %d2, 77"), before=FUNCTIONS)


def test_tables_of_functions():
    table = ".global .align 8 .u64 table[2] = {square, double};"
    body = """
        and.b32 %r2, %tid, 1;
        mul.wide.u32 %d2, %r2, 8;
        mov.u64 %d1, table;
        add.u64 %d1, %d1, %d2;
        ld.global.u64 %d1, [%d1];
        PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _);
    """ + CALL.format(argument="%tid", function="%d1", prototype=", PROTOTYPE")
    found = run_on_threads(body, before=FUNCTIONS + table)
    assert found.tolist() == [2 * t if t % 2 else t * t for t in range(32)]


def test_exit_in_a_function_ends_the_thread():
    body = """
        { .param .b32 argument; st.param.b32 [argument], %tid; call stop, (argument); }
        mov.u32 %value, 1;
    """
    assert run_on_threads(body, before=FUNCTIONS).tolist() == [1] * 3 + [0] + [1] * 28


def test_functions_may_contain_barriers():
    functions = """.shared .b32 cell;
    .func (.param .b32 r) leader(.param .b32 x)
    { .reg .b32 %v; .reg .pred %p;
      ld.param.b32 %v, [x];
      setp.eq.u32 %p, %v, 40;
      @%p st.shared.u32 [cell], %v;
      bar.sync 0;
      ld.shared.u32 %v, [cell];
      st.param.b32 [r], %v; ret; }"""
    body = CALL.format(argument="%tid", function="leader", prototype="")
    found = run_on_threads(body, threads=64, before=functions, race_check=True)
    assert found.tolist() == [40] * 64


def test_traps_and_loops_without_end_are_faults():
    for name in ("trap", "brkpt"):
        with pytest.raises(Trap, match=f"executed {name}") as caught:
            run_on_threads(f"setp.eq.u32 %p0, %gid, 70; @%p0 {name};", threads=64, blocks=2)
        fault = caught.value
        assert (fault.block, fault.thread, fault.cuda_error) == ((1, 0, 0), (6, 0, 0), 719)
        assert (fault.kernel, fault.instruction) == ("k", f"@%p0 {name}")
        assert fault.line > 5
    with pytest.raises(Runaway, match="more than 1000 steps"):
        run_on_threads("AGAIN: add.u32 %r2, %r2, 1; bra AGAIN;", max_steps=1000)
    with pytest.raises(Runaway):
        run_on_threads(
            "setp.eq.u32 %p0, %tid, 3; AGAIN: @%p0 bra AGAIN;", max_steps=1000, schedule="shuffled"
        )


def test_endless_recursion_is_a_fault():
    function = """.func deeper() { call deeper; ret; }"""
    with pytest.raises(IllegalInstruction, match="2000 calls inside of each other"):
        run_on_threads("call deeper;", before=function)


def test_unknown_instructions_and_functions_are_named():
    with pytest.raises(UnsupportedPtx, match=r"line \d+: wmma.load %r2"):
        run_on_threads("wmma.load %r2;")
    with pytest.raises(UnsupportedPtx, match="unknown function malloc"):
        run_on_threads("call malloc;")


def test_shapes_of_launches():
    device = Device()
    out = device.put(np.zeros((2 * 3 * 4 * 2 * 3 * 2, 6), np.uint32))
    names = [f"%{r}.{axis}" for r in ("tid", "ctaid") for axis in "xyz"]
    stores = "".join(
        f"mov.u32 %v, {n}; st.global.u32 [%a+{4 * i}], %v;" for i, n in enumerate(names)
    )
    sizes = "".join(
        f".reg .b32 %{r}{a}; mov.u32 %{r}{a}, %{r}.{a};"
        for r in ("ntid", "nctaid", "tid", "ctaid")
        for a in "xyz"
    )
    text = kernel(
        f""".reg .b64 %a, %x; .reg .b32 %v, %n, %m;
        {sizes}
        mad.lo.u32 %n, %ctaidz, %nctaidy, %ctaidy; mad.lo.u32 %n, %n, %nctaidx, %ctaidx;
        mul.lo.u32 %m, %ntidx, %ntidy; mul.lo.u32 %m, %m, %ntidz; mul.lo.u32 %n, %n, %m;
        mad.lo.u32 %m, %tidz, %ntidy, %tidy; mad.lo.u32 %m, %m, %ntidx, %tidx;
        add.u32 %n, %n, %m;
        ld.param.u64 %a, [out]; mul.wide.u32 %x, %n, 24; add.u64 %a, %a, %x;
        {stores} ret;""",
        ["out"],
    )
    device.run(text, out, grid=(2, 3, 2), block=(4, 2, 3))
    want = [
        [x, y, z, bx, by, bz]
        for bz in range(2) for by in range(3) for bx in range(2)
        for z in range(3) for y in range(2) for x in range(4)
    ]  # fmt: skip
    assert device.get(out).tolist() == want


def test_clocks_move_on():
    found = run_on_threads(
        """
        mov.u64 %d1, %clock64;
        mov.u64 %d2, %globaltimer;
        nanosleep.u32 100;
        mov.u64 %d3, %clock64;
        mov.u64 %d4, %globaltimer;
        setp.lt.u64 %p0, %d1, %d3;
        setp.le.and.u64 %p0, %d2, %d4, %p0;
        selp.u32 %value, 1, 0, %p0;
        """
    )
    assert found.tolist() == [1] * 32


PRINT = """
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.global .align 1 .b8 text[40] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 58, 32, 37, 46, 50, 102,
  32, 37, 108, 108, 117, 32, 37, 115, 32, 37, 120, 32, 37, 37, 10, 0};
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
"""


def test_printed_lines():
    lines: list[str] = []
    run_on_threads(
        """
        .local .align 8 .b8 values[40];
        mov.u32 %r5, values;
        st.local.u32 [values], %tid;
        mov.f64 %d1, 0d3FF8000000000000;
        st.local.f64 [values+8], %d1;
        st.local.u64 [values+16], 12345678901;
        mov.u64 %d2, word;
        st.local.u64 [values+24], %d2;
        st.local.u32 [values+32], 255;
        mov.u64 %d3, text;
        mov.u64 %d4, values;
        cvta.local.u64 %d4, %d4;
        { .param .b64 f; .param .b64 v; .param .b32 r;
        st.param.b64 [f], %d3;
        st.param.b64 [v], %d4;
        call.uni (r), vprintf, (f, v);
        ld.param.b32 %value, [r]; }
        """,
        threads=3,
        before=PRINT,
        print_text=lines.append,
    )
    assert lines == [f"thread {t}: 1.50 12345678901 abc ff %\n" for t in range(3)]


def test_failed_assertions():
    before = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c,
        .param .b64 d, .param .b64 e);
    .global .align 1 .b8 word[4] = {97, 98, 99, 0};"""
    with pytest.raises(PtxFault, match="assertion failed: abc") as caught:
        run_on_threads(
            """
            mov.u64 %d1, word;
            { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
            st.param.b64 [a], %d1; st.param.b64 [b], %d1; st.param.b32 [c], 1;
            st.param.b64 [d], %d1; st.param.b64 [e], 1;
            call.uni __assertfail, (a, b, c, d, e); }
            """,
            before=before,
        )
    assert caught.value.cuda_error == 710


def test_a_function_may_fall_off_its_end():
    device = Device()
    assert device.run(HEADER + ".visible .entry k()\n{\n}\n") == 1
