"""Printing from a gang.

Each line is a node of its own, pushed onto a list that all threads of the launch share; the host
sorts, formats and frees them after the launch. A node holds: the next node, the number of the
block, the number of the print, then the operands (int64, or float64 for floats).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.faults import lane_word
from pygpulib.jit.backends.cpu.reports import PRINT_WORD
from pygpulib.jit.backends.cpu.walk import Coordinates, number_of
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

NODE_HEADER_WORDS = 3


def emit_print(gang: Gang, op: ir.Print) -> None:
    """Write one line per active lane."""
    assert gang.is_nonempty
    code = gang.code
    block = _block_number(gang)
    head = code.emit(f"getelementptr i64, ptr {gang.fault_record}, i64 {PRINT_WORD}")
    size = 8 * (NODE_HEADER_WORDS + len(op.operands))

    def body(lane: str) -> None:
        # Python's raw allocator needs no lock, and the host can free what it gave.
        node = code.call("PyMem_RawMalloc", "ptr", [("i64", str(size))])
        words = [block, str(gang.print_numbers[id(op)])]
        words += [lane_word(gang, operand, lane) for operand in op.operands]
        for position, word in enumerate(words, start=1):
            place = code.emit(f"getelementptr i64, ptr {node}, i64 {position}")
            code.store(place, "i64", word)
        _push(gang, head, node)

    gang.for_each_lane(body)


def _block_number(gang: Gang) -> str:
    """Write the number of the block, x first."""
    code, registers = gang.code, gang.registers

    def wide(wanted: tuple[ir.Register, ...]) -> Coordinates:
        x, y, z = (code.emit(f"sext i32 {registers[register]} to i64") for register in wanted)
        return x, y, z

    return number_of(code, wide(ir.CTAID), wide(ir.NCTAID))


def _push(gang: Gang, head: str, node: str) -> None:
    """Write the push of a node, which others may race with."""
    code = gang.code
    again, done = code.new_label("push"), code.new_label("pushed")
    seen = code.slot("i64")
    code.store(seen, "i64", code.load(head, "i64"))
    address = code.emit(f"ptrtoint ptr {node} to i64")
    code.branch(again)
    code.label(again)
    following = code.load(seen, "i64")
    code.store(node, "i64", following)
    exchange = code.emit(f"cmpxchg ptr {head}, i64 {following}, i64 {address} seq_cst seq_cst")
    code.store(seen, "i64", code.emit(f"extractvalue {{ i64, i1 }} {exchange}, 0"))
    code.branch_if(code.emit(f"extractvalue {{ i64, i1 }} {exchange}, 1"), done, again)
    code.label(done)
