"""Loads and stores of a gang: one scalar, one vector, or one element per lane."""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.gang import Gang
from pygpulib.jit.backends.llvm.text import scalar_type, suffix
from pygpulib.jit.ir import ops as ir


@record(eq=True)
class Address:
    """The addresses of one access.

    ``stride`` is the distance in bytes between neighbouring lanes, None where it is not constant.
    """

    pointer: ir.Value
    index: ir.Value
    scale: int
    stride: int | None


def address_of(gang: Gang, op: ir.Load | ir.Store | ir.Atomic) -> Address:
    """Return the addresses of an access with what is known about them."""
    pointer, index = gang.shape(op.pointer).stride, gang.shape(op.index).stride
    stride = None if pointer is None or index is None else pointer + index * op.scale
    return Address(op.pointer, op.index, op.scale, stride)


def memory_type(type_: ir.Type) -> ir.Type:
    """Return the type that a value has in memory: truth values are bytes there."""
    return dtypes.uint8 if type_ == dtypes.bool_ else type_


def size_of(type_: ir.Type) -> int:
    """Return the size of an element in memory."""
    return type_.size_bytes if isinstance(type_, DType) else 8


def emit_load(gang: Gang, op: ir.Load) -> None:
    """Write a load."""
    address = address_of(gang, op)
    element = memory_type(op.result.type)
    if address.stride == 0:
        assert gang.is_nonempty
        text = gang.code.load(lane_zero(gang, address), scalar_type(element))
        gang.define(op.result, _from_memory(gang, op.result.type, 0, text))
        return
    size = size_of(element)
    if address.stride == size:
        text = _load_vector(gang, element, lane_zero(gang, address), gang.mask)
    elif address.stride == -size:
        first = _last_lane(gang, address)
        mask = None if gang.mask is None else _reverse(gang, "i1", gang.mask)
        text = _load_vector(gang, element, first, mask)
        text = _reverse(gang, scalar_type(element), text)
    else:
        text = _gather(gang, element, address)
    gang.define(op.result, _from_memory(gang, op.result.type, gang.width, text))


def emit_store(gang: Gang, op: ir.Store) -> None:
    """Write a store, or a run of them where its last one is."""
    run = gang.runs.get(id(op))
    if run is None:
        _store_alone(gang, op)
    elif op is run[-1]:
        address, element = address_of(gang, run[0]), run[0].value.type
        if address.stride == len(run) * size_of(element):
            _store_run(gang, run, address, element)
        else:
            for each in run:
                _store_alone(gang, each)


def _store_run(gang: Gang, run: tuple[ir.Store, ...], address: Address, element: ir.Type) -> None:
    """Write stores that fill a piece of memory: the lanes' elements in order, all at once."""
    scalar, count = scalar_type(element), len(run)
    texts = _interleave(gang, scalar, [gang.vector(op.value) for op in run])
    masks: list[str] | list[None] = [None] * count
    if gang.mask is not None:
        masks = _interleave(gang, "i1", [gang.mask] * count)
    pointer = lane_zero(gang, address)
    distance = gang.width * size_of(element)
    for part, (text, mask) in enumerate(zip(texts, masks, strict=True)):
        place = gang.code.emit(f"getelementptr i8, ptr {pointer}, i64 {part * distance}")
        _store_vector(gang, element, text, place, mask)


def _interleave(gang: Gang, element: str, vectors: list[str]) -> list[str]:
    """Write the first elements of all vectors, then the second ones, and so on, as vectors.

    Vectors are merged two by two, each time into two that are as wide: longer ones LLVM would take
    apart again, with more operations.
    """
    if len(vectors) == 1 or gang.width == 1:
        return vectors
    width, half = gang.width // 2, len(vectors) // 2
    type_ = f"<{gang.width} x {element}>"
    lower, upper = (
        ", ".join(f"i32 {lane}, i32 {lane + gang.width}" for lane in range(start, start + width))
        for start in (0, width)
    )
    parts = [
        [
            gang.code.emit(
                f"shufflevector {type_} {left}, {type_} {right}, <{gang.width} x i32> <{lanes}>"
            )
            for left, right in zip(vectors[:half], vectors[half:], strict=True)
        ]
        for lanes in (lower, upper)
    ]
    return [text for part in parts for text in _interleave(gang, element, part)]


def _store_alone(gang: Gang, op: ir.Store) -> None:
    address = address_of(gang, op)
    element = memory_type(op.value.type)
    if address.stride == 0:
        _store_one(gang, op, address, element)
        return
    text = _to_memory(gang, op.value.type, gang.width, gang.vector(op.value))
    size = size_of(element)
    if address.stride == size:
        _store_vector(gang, element, text, lane_zero(gang, address), gang.mask)
    elif address.stride == -size:
        mask = None if gang.mask is None else _reverse(gang, "i1", gang.mask)
        text = _reverse(gang, scalar_type(element), text)
        _store_vector(gang, element, text, _last_lane(gang, address), mask)
    else:
        _scatter(gang, element, text, address)


def _from_memory(gang: Gang, type_: ir.Type, width: int, text: str) -> str:
    if type_ != dtypes.bool_:
        return text
    return gang.arithmetic.cast(dtypes.uint8, dtypes.bool_, width, text)


def _to_memory(gang: Gang, type_: ir.Type, width: int, text: str) -> str:
    if type_ != dtypes.bool_:
        return text
    return gang.arithmetic.cast(dtypes.bool_, dtypes.uint8, width, text)


def lane_zero(gang: Gang, address: Address) -> str:
    """Write the address of lane 0 (uniform and affine addresses only)."""
    return _offset(gang, gang.scalar(address.pointer), gang.scalar(address.index), address.scale)


def _last_lane(gang: Gang, address: Address) -> str:
    """Write the address of the last lane, the lowest one where lanes go downwards."""
    assert address.stride is not None
    distance = str((gang.width - 1) * address.stride)
    return gang.code.emit(f"getelementptr i8, ptr {lane_zero(gang, address)}, i64 {distance}")


def _offset(gang: Gang, pointer: str, index: str, scale: int) -> str:
    unit = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}.get(scale)
    if unit is None:
        index, unit = gang.code.emit(f"mul i64 {index}, {scale}"), "i8"
    return gang.code.emit(f"getelementptr {unit}, ptr {pointer}, i64 {index}")


def addresses(gang: Gang, address: Address) -> str:
    """Write the vector of all lanes' addresses."""
    width, index = gang.width, gang.vector(address.index)
    unit = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}.get(address.scale)
    if unit is None:
        factor = gang.arithmetic.number(address.scale, dtypes.int64, width)
        index, unit = gang.code.emit(f"mul <{width} x i64> {index}, {factor}"), "i8"
    if gang.shape(address.pointer).is_uniform:
        base = f"ptr {gang.scalar(address.pointer)}"
    else:
        base = f"<{width} x ptr> {gang.vector(address.pointer)}"
    return gang.code.emit(f"getelementptr {unit}, {base}, <{width} x i64> {index}")


def _reverse(gang: Gang, element: str, text: str) -> str:
    vector = f"<{gang.width} x {element}>"
    order = ", ".join(f"i32 {lane}" for lane in reversed(range(gang.width)))
    return gang.code.emit(
        f"shufflevector {vector} {text}, {vector} poison, <{gang.width} x i32> <{order}>"
    )


def _load_vector(gang: Gang, element: ir.Type, pointer: str, mask: str | None) -> str:
    vector, size = gang.vector_type(element), size_of(element)
    if mask is None:
        return gang.code.emit(f"load {vector}, ptr {pointer}, align {size}")
    name = f"llvm.masked.load.{suffix(scalar_type(element), gang.width)}.p0"
    zero = (vector, "zeroinitializer")
    arguments = [("ptr", pointer), ("i32", str(size)), (gang.mask_type, mask), zero]
    return gang.code.call(name, vector, arguments)


def _store_vector(gang: Gang, element: ir.Type, text: str, pointer: str, mask: str | None) -> None:
    vector, size = gang.vector_type(element), size_of(element)
    if mask is None:
        gang.code.do(f"store {vector} {text}, ptr {pointer}, align {size}")
        return
    name = f"llvm.masked.store.{suffix(scalar_type(element), gang.width)}.p0"
    arguments = [(vector, text), ("ptr", pointer), ("i32", str(size)), (gang.mask_type, mask)]
    gang.code.call_void(name, arguments)


def _gather(gang: Gang, element: ir.Type, address: Address) -> str:
    vector, size = gang.vector_type(element), size_of(element)
    name = f"llvm.masked.gather.{suffix(scalar_type(element), gang.width)}.v{gang.width}p0"
    pointers = (f"<{gang.width} x ptr>", addresses(gang, address))
    mask = (gang.mask_type, gang.mask_text(gang.mask))
    arguments = [pointers, ("i32", str(size)), mask, (vector, "zeroinitializer")]
    return gang.code.call(name, vector, arguments)


def _scatter(gang: Gang, element: ir.Type, text: str, address: Address) -> None:
    vector, size = gang.vector_type(element), size_of(element)
    name = f"llvm.masked.scatter.{suffix(scalar_type(element), gang.width)}.v{gang.width}p0"
    pointers = (f"<{gang.width} x ptr>", addresses(gang, address))
    mask = (gang.mask_type, gang.mask_text(gang.mask))
    gang.code.call_void(name, [(vector, text), pointers, ("i32", str(size)), mask])


def _store_one(gang: Gang, op: ir.Store, address: Address, element: ir.Type) -> None:
    """All lanes write one element: one of the active lanes wins, as on a GPU."""
    assert gang.is_nonempty
    pointer = lane_zero(gang, address)
    if not gang.shape(op.value).is_varying and gang.shape(op.value).is_uniform:
        text = _to_memory(gang, op.value.type, 0, gang.scalar(op.value))
    else:
        vector = _to_memory(gang, op.value.type, gang.width, gang.vector(op.value))
        text = _last_active(gang, element, vector)
    gang.code.store(pointer, scalar_type(element), text)


def _last_active(gang: Gang, element: ir.Type, vector: str) -> str:
    """Write the element of the highest active lane."""
    index = str(gang.width - 1)
    if gang.mask is not None:
        lanes = ("i64", gang.mask_word(gang.mask))
        zeros = gang.code.call("llvm.ctlz.i64", "i64", [lanes, ("i1", "true")])
        index = gang.code.emit(f"sub i64 63, {zeros}")
    return gang.code.emit(f"extractelement {gang.vector_type(element)} {vector}, i64 {index}")
