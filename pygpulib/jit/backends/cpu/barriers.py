"""Barriers: a gang stops there, and is resumed when the others have come.

A kernel with barriers is compiled to a function that runs one gang from one barrier to the next.
What lives across a barrier lies in the gang's frame; the function returns the number of the
barrier, and starts with a jump to where that number says. The loop around it resumes all gangs of
a block in turn, so a barrier costs a call and no thread ever waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType, bool_
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BarrierKind
from pygpulib.jit.ir.rewrite import blocks_of, operands_of, results_of, walk

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

DONE = -1
"""What the function returns when all threads of the gang have ended."""

# Where a gang stops; in a warp barrier it does not, because its lanes run in lock step.
STOPPING_KINDS = frozenset(BarrierKind) - {BarrierKind.WARP}

# Words of the block's record: what the threads before a barrier add to, and what is left of it
# for those behind.
VOTES_FOR, VOTERS, RESULT_FOR, RESULT_VOTERS = range(4)
PROGRESS = 4
"""How far the block is in a kernel with grid barriers: not started, waiting, or through."""
BLOCK_RECORD_WORDS = 5


def block_barriers(function: ir.Function) -> list[ir.Barrier]:
    """Return the barriers at which a gang stops; their numbers are their positions from 1 on."""
    return [
        op for op in walk(function.body) if isinstance(op, ir.Barrier) and op.kind in STOPPING_KINDS
    ]


def refuse_barriers_in_callees(function: ir.Function) -> None:
    """Raise an error if a recursive function has a barrier: no frame of it could be resumed."""
    for callee in function.callees:
        for barrier in block_barriers(callee):
            raise UnsupportedFeatureError(
                f"{barrier.span}: a barrier in a function that calls itself is not supported on "
                "the CPU",
                span=barrier.span,
                help="wait in the kernel, or write the recursion as a loop",
            )


def is_cooperative(function: ir.Function) -> bool:
    """Return whether a kernel has barriers of the whole grid."""
    return any(op.kind is BarrierKind.GRID for op in block_barriers(function))


def find_split(function: ir.Function) -> frozenset[int]:
    """Return the operations (by identity) that are barriers of a block or contain one."""
    split: set[int] = set()

    def visit(block: ir.Block) -> bool:
        found = False
        for op in block.ops:
            inside = [visit(nested) for nested in blocks_of(op)]
            if any(inside) or (isinstance(op, ir.Barrier) and op.kind in STOPPING_KINDS):
                split.add(id(op))
                found = True
        return found

    visit(function.body)
    return frozenset(split)


def find_crossing(function: ir.Function, split: frozenset[int]) -> frozenset[ir.Value]:
    """Return the values that may be read behind a barrier that came after their definition."""
    crossing: set[ir.Value] = set()

    def visit(block: ir.Block) -> None:
        defined: dict[ir.Value, int] = dict.fromkeys(block.params, -1)
        splits = [position for position, op in enumerate(block.ops) if id(op) in split]
        for position, op in enumerate(block.ops):
            before = [place for place in splits if place <= position]
            if before:
                for value in _read_by(op):
                    place = defined.get(value)
                    if place is not None and place < before[-1]:
                        crossing.add(value)
            if not isinstance(op, ir.Const | ir.Undefined | ir.ReadRegister):
                defined.update(dict.fromkeys(results_of(op), position))
            if isinstance(op, ir.For) and id(op) in split:
                crossing.add(op.body.params[0])
            for nested in blocks_of(op):
                visit(nested)

    visit(function.body)
    return frozenset(crossing)


def _read_by(op: ir.Op) -> set[ir.Value]:
    read = set(operands_of(op))
    for nested in blocks_of(op):
        for inner in walk(nested):
            read.update(operands_of(inner))
    return read


def emit_barrier(gang: Gang, op: ir.Barrier) -> None:
    """Write a barrier."""
    if op.kind is BarrierKind.WARP:
        # The lanes of a gang run in lock step.
        return
    frame, code = gang.frame, gang.code
    assert frame is not None
    assert gang.is_nonempty
    keep = gang.keep_mask(gang.mask)
    _check_convergence(gang, op)
    if op.predicate is not None:
        _vote(gang, op.predicate)
    resume = code.new_label("resume")
    number = frame.numbers[id(op)]
    frame.resumptions[number] = resume
    code.do(f"ret i32 {number}")
    code.label(resume)
    gang.forget()
    gang.mask, gang.wide_mask = keep(), (None, None)
    for result in op.results:
        gang.define(result, _outcome(gang, op.kind))


def _check_convergence(gang: Gang, op: ir.Barrier) -> None:
    """Write the check that all threads of the gang that have not returned are here."""
    # The threads of a block need not come to a barrier of the grid together: those that pass it by
    # go on behind it, as they do where it counts whole blocks.
    if gang.mask is None or op.kind is BarrierKind.GRID:
        return
    code = gang.code
    expected = gang.mask_text(gang.row_mask)
    if gang.retired is not None:
        retired = code.load(gang.retired, gang.mask_type)
        expected = code.emit(f"and {gang.mask_type} {expected}, {gang.mask_not(retired)}")
    late = code.emit(f"xor {gang.mask_type} {expected}, {gang.mask}")
    broken, met = code.new_label("late"), code.new_label("met")
    code.branch_if(gang.any_lane(late), broken, met)
    code.label(broken)
    assert gang.frame is not None
    code.do(f"ret i32 {-1 - gang.frame.numbers[id(op)]}")
    code.label(met)


def _vote(gang: Gang, predicate: ir.Value) -> None:
    """Add the gang's votes to the block's."""
    code, width = gang.code, gang.width
    type_ = predicate.type
    assert isinstance(type_, DType)
    holds = gang.arithmetic.cast(type_, bool_, width, gang.vector(predicate))
    holds = gang.mask_and(gang.mask, holds)
    for word, mask in ((VOTES_FOR, holds), (VOTERS, gang.mask_text(gang.mask))):
        count = code.call("llvm.ctpop.i64", "i64", [("i64", gang.mask_word(mask))])
        place = code.emit(f"getelementptr i64, ptr %record, i64 {word}")
        code.store(place, "i64", code.emit(f"add i64 {code.load(place, 'i64')}, {count}"))


def _outcome(gang: Gang, kind: BarrierKind) -> str:
    """Write the result of the block's vote, an int32."""
    code = gang.code

    def word(position: int) -> str:
        return code.load(code.emit(f"getelementptr i64, ptr %record, i64 {position}"), "i64")

    votes = word(RESULT_FOR)
    if kind is BarrierKind.BLOCK_COUNT:
        return code.emit(f"trunc i64 {votes} to i32")
    if kind is BarrierKind.BLOCK_AND:
        holds = code.emit(f"icmp eq i64 {votes}, {word(RESULT_VOTERS)}")
    else:
        holds = code.emit(f"icmp ne i64 {votes}, 0")
    return code.emit(f"zext i1 {holds} to i32")
