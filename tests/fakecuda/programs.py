"""PTX texts for tests of the fake driver."""

from __future__ import annotations


def _module(text: str, target: str = "sm_80", version: str = "7.0") -> str:
    return f".version {version}\n.target {target}\n.address_size 64\n{text}"


# n words from p on: word i becomes 3 * i + a.
FILL = _module("""
.visible .entry fill(.param .u64 fill_p, .param .u32 fill_n, .param .u32 fill_a)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [fill_p];
    ld.param.u32 %r1, [fill_n];
    ld.param.u32 %r2, [fill_a];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra $done;
    mad.lo.s32 %r7, %r6, 3, %r2;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r7;
$done:
    ret;
}
""")

# Adds a number to a variable of the module; one thread does it.
VARIABLE = _module("""
.visible .global .align 4 .u32 total = 40;
.visible .entry add(.param .u32 add_n)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [add_n];
    ld.global.u32 %r2, [total];
    add.s32 %r3, %r1, %r2;
    st.global.u32 [total], %r3;
    ret;
}
""")

# Uses 4096 bytes of static shared memory, and may not have more than 128 threads.
SHARED = _module("""
.visible .entry shared(.param .u64 shared_p)
.maxntid 128, 1, 1
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 buffer[4096];
    ld.param.u64 %rd1, [shared_p];
    mov.u32 %r1, 7;
    st.shared.u32 [buffer], %r1;
    ld.shared.u32 %r2, [buffer];
    st.global.u32 [%rd1], %r2;
    ret;
}
""")

NOTHING = _module(".visible .entry nothing() { ret; }\n")
NONSENSE = _module(".visible .entry nonsense() { foo.bar %r1; ret; }\n")
TOO_NEW_TARGET = _module(".visible .entry nothing() { ret; }\n", target="sm_90", version="7.8")
TOO_NEW_VERSION = _module(".visible .entry nothing() { ret; }\n", version="9.5")
