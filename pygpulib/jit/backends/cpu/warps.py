"""Functions of a warp, where the gang is the warp: the lanes of a vector exchange values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.jit.backends.cpu.memory import memory_type, size_of
from pygpulib.jit.backends.llvm.text import scalar_type, suffix
from pygpulib.jit.intrinsics.warp import WARP_SIZE
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BinaryKind, CompareKind
from pygpulib.jit.ir.rewrite import walk

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

# How the constant operand of a shuffle turns a lane into the lane to read.
_SOURCES: dict[str, Callable[[int, int], int]] = {
    "shuffle_up": lambda lane, delta: lane - delta,
    "shuffle_down": lambda lane, delta: lane + delta,
    "shuffle_xor": lambda lane, bits: lane ^ bits,
}
_KINDS = {
    "shuffle_up": BinaryKind.SUBTRACT,
    "shuffle_down": BinaryKind.ADD,
    "shuffle_xor": BinaryKind.XOR,
}


def cooperates(function: ir.Function) -> bool:
    """Return whether the threads of a warp take note of each other in a kernel."""
    return any(
        (isinstance(op, ir.Call) and op.intrinsic.effect is ir.Effect.CONVERGE)
        or (isinstance(op, ir.Barrier) and op.kind is ir.BarrierKind.WARP)
        for op in walk(function.body)
    )


def emit_warp_call(gang: Gang, op: ir.Call, name: str) -> None:
    """Write a call of one of the primitives of :mod:`pygpulib.jit.intrinsics.warp`."""
    assert gang.width == WARP_SIZE
    (result,) = op.results
    match name:
        case "ballot":
            holds = gang.mask_and(gang.mask, gang.vector(op.operands[1]))
            gang.define(result, _word(gang, holds))
        case "active_lanes":
            gang.define(result, _word(gang, gang.mask_text(gang.mask)))
        case "match":
            gang.define(result, _match(gang, op.operands[1]))
        case "shuffle":
            _shuffle(gang, op)
        case _:
            _shuffle_relative(gang, op, name)


def _word(gang: Gang, mask: str) -> str:
    return gang.code.emit(f"bitcast {gang.mask_type} {mask} to i{WARP_SIZE}")


def _shuffle(gang: Gang, op: ir.Call) -> None:
    """Write a shuffle by lane number; one lane for all is a broadcast, and stays a scalar."""
    _, value, source = op.operands
    (result,) = op.results
    if gang.shape(result).is_uniform:
        lane = gang.code.emit(f"and i32 {gang.scalar(source)}, {WARP_SIZE - 1}")
        vector = gang.vector_type(value.type)
        text = gang.code.emit(f"extractelement {vector} {gang.vector(value)}, i32 {lane}")
    else:
        last = gang.arithmetic.number(WARP_SIZE - 1, dtypes.int32, gang.width)
        lanes = gang.code.emit(f"and <{WARP_SIZE} x i32> {gang.vector(source)}, {last}")
        text = _read_lanes(gang, value, lanes)
    gang.define(result, text)


def _shuffle_relative(gang: Gang, op: ir.Call, name: str) -> None:
    _, value, distance = op.operands
    (result,) = op.results
    number = gang.constants.get(distance)
    if number is not None:
        gang.define(result, _permute(gang, value, name, int(number)))
        return
    write, width = gang.arithmetic, gang.width
    own = gang.steps("i32", 1).split("> ", 1)[1]
    lanes = write.binary(_KINDS[name], dtypes.int32, width, own, gang.vector(distance), strict=True)
    limit = write.number(WARP_SIZE, dtypes.uint32, width)
    exists = write.compare(CompareKind.LT, dtypes.uint32, width, lanes, limit)
    lanes = write.select(dtypes.int32, width, exists, lanes, own)
    gang.define(result, _read_lanes(gang, value, lanes))


def _permute(gang: Gang, value: ir.Value, name: str, number: int) -> str:
    """Write a shuffle whose pattern is known now."""
    sources = [_SOURCES[name](lane, number) for lane in range(WARP_SIZE)]
    lanes = ", ".join(
        f"i32 {source if 0 <= source < WARP_SIZE else lane}" for lane, source in enumerate(sources)
    )
    vector = gang.vector_type(value.type)
    return gang.code.emit(
        f"shufflevector {vector} {gang.vector(value)}, {vector} poison, "
        f"<{WARP_SIZE} x i32> <{lanes}>"
    )


def _read_lanes(gang: Gang, value: ir.Value, lanes: str) -> str:
    """Write reads of other lanes' values through memory, which every processor can do."""
    code, held = gang.code, memory_type(value.type)
    text = gang.vector(value)
    if value.type == dtypes.bool_:
        text = gang.arithmetic.cast(dtypes.bool_, dtypes.uint8, gang.width, text)
    vector, element = gang.vector_type(held), scalar_type(held)
    slot = code.slot(vector, 64)
    code.store(slot, vector, text)
    pointers = code.emit(f"getelementptr {element}, ptr {slot}, <{WARP_SIZE} x i32> {lanes}")
    read = code.call(
        f"llvm.masked.gather.{suffix(element, gang.width)}.v{WARP_SIZE}p0",
        vector,
        [
            (f"<{WARP_SIZE} x ptr>", pointers),
            ("i32", str(size_of(held))),
            (gang.mask_type, gang.all_lanes),
            (vector, "zeroinitializer"),
        ],
    )
    if value.type == dtypes.bool_:
        read = gang.arithmetic.cast(dtypes.uint8, dtypes.bool_, gang.width, read)
    return read


def _match(gang: Gang, value: ir.Value) -> str:
    """Write, per active lane, the word of the active lanes that hold the same bits."""
    code, vector = gang.code, f"<{WARP_SIZE} x i32>"
    integer = f"i{size_of(memory_type(value.type)) * 8}" if value.type != dtypes.bool_ else "i1"
    source = gang.vector_type(value.type)
    raw = gang.vector(value)
    if scalar_type(value.type) != integer:
        raw = code.emit(f"bitcast {source} {raw} to <{WARP_SIZE} x {integer}>")
    words = code.slot(vector, 64)
    code.store(words, vector, "zeroinitializer")

    def body(lane: str) -> None:
        own = code.emit(f"extractelement <{WARP_SIZE} x {integer}> {raw}, i64 {lane}")
        same = code.emit(
            f"icmp eq <{WARP_SIZE} x {integer}> {raw}, {code.splat(own, integer, WARP_SIZE)}"
        )
        word = _word(gang, gang.mask_and(gang.mask, same))
        place = code.emit(f"getelementptr i32, ptr {words}, i64 {lane}")
        code.store(place, "i32", word)

    gang.for_each_lane(body)
    return code.load(words, vector)
