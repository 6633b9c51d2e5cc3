"""How kernels' code is changed, and that checks of kernels notice it."""

from __future__ import annotations

import pytest

from tests.fakecuda.mutation.campaign import examine, original_code, survives
from tests.fakecuda.mutation.cases import CASES
from tests.fakecuda.mutation.mutants import make_mutants

PROLOGUE = "\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %ctaid.x;\n\tmov.b64 \t%rd1, 0;\n"

CHANGES = [
    ("add.s32 \t%r3, %r1, 4;", "operation", ["sub.s32 %r3, %r1, 4;"]),
    ("add.s32 \t%r3, %r1, 4;", "constant", ["add.s32 %r3, %r1, 5;", "add.s32 %r3, %r1, 3;"]),
    ("add.s32 \t%r3, %r1, 4;", "register", ["add.s32 %r3, %r2, 4;"]),
    ("add.s32 \t%r3, %r1, 4;", "type", []),
    ("mul.lo.s32 \t%r3, %r1, %r2;", "operation", ["add.s32 %r3, %r1, %r2;"]),
    ("fma.rn.f32 \t%r3, %r1, %r2, %r1;", "operation", ["fma.rn.f32 %r3, %r1, %r2, %r1;"]),
    ("fma.rn.f32 \t%r3, %r1, %r2, %r1;", "type", ["fma.rz.f32 %r3, %r1, %r2, %r1;"]),
    ("setp.lt.s32 \t%p1, %r1, %r2;", "operation", ["setp.le.s32 %p1, %r1, %r2;"]),
    ("setp.lt.s32 \t%p1, %r1, %r2;", "type", ["setp.lt.u32 %p1, %r1, %r2;"]),
    ("setp.lt.s32 \t%p1, %r1, %r2;", "operands", ["setp.lt.s32 %p1, %r2, %r1;"]),
    ("setp.eq.b32 \t%p1, %r1, %r2;", "operands", []),
    ("@%p1 bra \t$L1;", "predicate", ["@!%p1 bra $L1;", "bra $L1;"]),
    ("@!%p1 bra \t$L1;", "predicate", ["@%p1 bra $L1;", "bra $L1;"]),
    ("bar.sync \t0;", "drop", [""]),
    ("bar.sync \t0;", "constant", []),
    ("atom.shared.add.u32 \t%r3, [%rd1], 1;", "operation", ["atom.shared.max.u32 %r3, [%rd1], 1;"]),
    ("atom.shared.add.u32 \t%r3, [%rd1], 1;", "type", []),
    ("atom.global.max.s32 \t%r3, [%rd1], %r1;", "type", ["atom.global.max.u32 %r3, [%rd1], %r1;"]),
    (
        "shfl.sync.down.b32 \t%r3, %r1, 2, 31, -1;",
        "operation",
        ["shfl.sync.up.b32 %r3, %r1, 2, 31, -1;"],
    ),
    ("ld.global.u8 \t%rs1, [%rd1];", "type", ["ld.global.s8 %rs1, [%rd1];"]),
    ("ld.global.b32 \t%r3, [%rd1+4];", "type", ["ld.global.b16 %r3, [%rd1+4];"]),
    ("cvt.u64.u32 \t%rd2, %r1;", "type", ["cvt.u64.s32 %rd2, %r1;"]),
    ("cvt.u32.u64 \t%r3, %rd1;", "type", []),
    ("mov.b32 \t%r3, 0f00000000;", "constant", ["mov.b32 %r3, 0f3F800000;"]),
    ("selp.b32 \t%r3, %r1, %r2, %p1;", "operands", ["selp.b32 %r3, %r2, %r1, %p1;"]),
    ("ret;", "drop", []),
    ("membar.gl;", "drop", []),
]


@pytest.mark.parametrize(("line", "kind", "expected"), CHANGES)
def test_instructions_are_changed(line, kind, expected):
    text = f"{PROLOGUE}\t{line}\n"
    found = [m for m in make_mutants(text) if m.line == 4 and m.kind == kind]
    assert [mutant.after for mutant in found] == expected
    before = text.split("\n")
    for mutant in found:
        after = mutant.text.split("\n")
        assert after[:3] + after[4:] == before[:3] + before[4:]
        assert mutant.before == line.replace("\t", "")


def test_jumps_to_the_next_instruction_stay():
    lines = ["\t@%p1 bra \t$L1;", "$L1:", "\tmov.b32 \t%r1, 0;", "\tbra \t$L2;", "\tret;", "$L2:"]
    changed = {mutant.line for mutant in make_mutants("\n".join(lines))}
    assert changed == {3, 4}


def test_checks_notice_a_barrier_that_is_missing():
    mutants = [m for m in make_mutants(original_code(CASES["reduction"])) if "bar.sync" in m.before]
    left = [m.line for m in mutants if survives(CASES["reduction"], m)]
    assert len(mutants) == 7
    # After the last one, each block's first thread reads what it has written itself.
    assert left == [mutants[-1].line]


@pytest.mark.parametrize("name", ["saxpy", "histogram", "warp_scan"])
def test_checks_notice_most_changes(name):
    outcome = examine(CASES[name], most=20)
    assert outcome.total >= 18
    assert outcome.caught.total() / outcome.total >= 0.75, "\n".join(map(str, outcome.survivors))


@pytest.mark.fuzz
@pytest.mark.parametrize("name", CASES)
def test_checks_notice_changes_of_all_kernels(name):
    outcome = examine(CASES[name], most=100)
    share = outcome.caught.total() / outcome.total
    # After the last barrier of a grid, much of what it does makes no difference.
    least = 0.65 if name == "grid_barrier" else 0.75
    assert share >= least, "\n".join(map(str, outcome.survivors))
