"""The state of emitting one gang: what every value looks like in the lanes, and who is active.

A uniform value is an LLVM scalar, an affine one the scalar of lane 0, a varying one a vector with
one element per lane. ``mask`` says which lanes are active: None means all of them. It may be
empty; ``is_nonempty`` says whether at least one lane is known to be active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from pygpulib._record import field, record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.interleaving import Runs
from pygpulib.jit.backends.cpu.shared import SharedPlaces
from pygpulib.jit.backends.llvm.arithmetic import Arithmetic
from pygpulib.jit.backends.llvm.text import Code, constant, register_type, scalar_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import operands_of, walk
from pygpulib.jit.passes.find_lane_shapes import LaneShape, LaneShapes, Region
from pygpulib.jit.passes.find_ranges import Ranges

NO_LANES = "zeroinitializer"


class Flow(Enum):
    """Where control is after an operation."""

    ON = "on"
    """The active lanes go on behind it."""
    LEFT = "left"
    """All active lanes have left by their mask; control is still here, with an empty mask."""
    JUMPED = "jumped"
    """The basic block has ended with a jump; nothing can follow."""


@record(frozen=False)
class Target:
    """A region that lanes can leave, or the gang's whole program.

    Attributes
    ----------
    region : Region or None
        The loop or scope; None for the whole program.
    exit_label : str
        Where control goes when every lane has left.
    slots : tuple
        Stack slot per result; None where nobody uses it.
    is_divergent : bool
        Whether lanes may leave at different times.
    rejoin : str or None
        Stack slot of the mask of the lanes that left regularly and go on behind the region;
        None where these are simply the lanes that entered.
    carried, next_slots : tuple
        For a loop: the carried values and their stack slots.
    latch_label : str
        For a loop: where an iteration ends.
    continued : str or None
        For a divergent loop with an early ``Continue``: stack slot of the mask of the lanes that
        wait at the latch.
    """

    region: Region | None
    exit_label: str
    slots: tuple[str | None, ...] = ()
    is_divergent: bool = False
    rejoin: str | None = None
    carried: tuple[ir.Value, ...] = ()
    next_slots: tuple[str, ...] = ()
    latch_label: str = ""
    continued: str | None = None
    is_exit_used: bool = False
    is_latch_used: bool = False


@record(frozen=False)
class Frame:
    """The memory of one gang that survives a barrier.

    Attributes
    ----------
    code : Code
        Where the addresses of places are written, once, at the function's start.
    crossing : frozenset of Value
        Values that are read behind a barrier.
    split : frozenset of int
        Operations (by identity) that contain a barrier.
    numbers : dict
        The number of each barrier (by identity), from 1 on.
    kept : dict
        The place of each crossing value.
    size_bytes : int
        Size so far; the first word is the state.
    resumptions : dict
        Labels behind the barriers by their numbers, which start at 1.
    """

    code: Code
    crossing: frozenset[ir.Value]
    split: frozenset[int]
    numbers: dict[int, int]
    kept: dict[ir.Value, str] = field(default_factory=dict)
    size_bytes: int = 64
    resumptions: dict[int, str] = field(default_factory=dict)

    def place(self, size_bytes: int) -> str:
        """Return the address of a new place."""
        alignment = 64 if size_bytes > 8 else 8
        offset = -(-self.size_bytes // alignment) * alignment
        self.size_bytes = offset + size_bytes
        return self.code.enter(f"getelementptr i8, ptr %frame, i64 {offset}")

    def splits(self, op: ir.Op) -> bool:
        """Whether an operation contains a barrier."""
        return id(op) in self.split


def _size_bytes(type_: ir.Type) -> int:
    return type_.size_bytes if isinstance(type_, DType) else 8


Finish = Callable[[ir.Op], None]
"""Takes the terminator that ends a block regularly."""

CallWriter = Callable[["Gang", ir.CallFunction], None]

BlockWriter = Callable[["Gang", "Target | bool", ir.Block, Finish], None]


@record(frozen=False)
class Gang:
    """One gang's program while it is written; see the module's text."""

    code: Code
    shapes: LaneShapes
    width: int
    used: set[ir.Value]
    ranges: Ranges
    numeric: ir.NumericOptions
    block_writer: BlockWriter
    """Writes a nested block; a field, because blocks and conditionals contain each other."""
    frame: Frame | None = None
    """What survives a barrier; None in kernels without any."""
    is_split: bool = False
    """Whether the operation being written contains a barrier."""
    row_mask: str | None = None
    """The lanes that have a thread."""
    retired: str | None = None
    """Stack slot of the mask of the lanes that have returned early; only kept with barriers."""
    shared_places: SharedPlaces = field(default_factory=lambda: SharedPlaces({}, 0))
    shared: str = ""
    """Address of the block's shared memory."""
    stack_base: str = ""
    """Address of the stack frame of the function that the native thread entered."""
    fault_record: str = ""
    """Address of the launch record, null where nothing can be reported."""
    print_numbers: dict[int, int] = field(default_factory=dict)
    """Number of each print (by identity)."""
    call: CallWriter | None = None
    """Writes calls of functions that could not be inlined."""
    runs: Runs = field(default_factory=dict)
    """Stores that fill memory together."""
    values: dict[ir.Value, str] = field(default_factory=dict)
    constants: dict[ir.Value, bool | int | float] = field(default_factory=dict)
    mask: str | None = None
    wide_mask: tuple[str | None, str | None] = (None, None)
    """A mask, and a wider one under which exits may write while ``mask`` is that mask."""
    is_nonempty: bool = True
    flow: Flow = Flow.ON
    nesting: list[Target | bool] = field(default_factory=list)
    """What encloses the current place: regions, and per ``If`` whether it splits the lanes."""
    raised: str | None = None
    """Stack slot of the mask of the lanes that ended with an error; None without errors."""
    registers: dict[ir.Register, str] = field(default_factory=dict)
    _vectors: list[dict[object, str]] = field(default_factory=lambda: [{}])

    axis: int = 0
    """Axis of the block along which the lanes lie."""
    lane_id: str = ""
    """The vector of the threads' numbers in their warps."""

    # --------------------------------------------------------------------------------- parts

    @property
    def arithmetic(self) -> Arithmetic:
        """The writer of arithmetic."""
        return Arithmetic(self.code, self.numeric, self.remainder)

    def write_block(self, nesting: Target | bool, block: ir.Block, finish: Finish) -> None:
        """Write a nested block: of a region, or of an ``If`` that splits the lanes or not."""
        self.block_writer(self, nesting, block, finish)

    # --------------------------------------------------------------------------------- types

    @property
    def mask_type(self) -> str:
        """LLVM's type of a mask."""
        return f"<{self.width} x i1>"

    def vector_type(self, type_: ir.Type) -> str:
        """Return LLVM's type of a varying value."""
        return register_type(type_, self.width)

    def shape(self, value: ir.Value) -> LaneShape:
        """Return how a value depends on the lane."""
        return self.shapes[value]

    def register_width(self, value: ir.Value) -> int:
        """Return 0 for a value kept as a scalar, else the gang's width."""
        return self.width if self.shape(value).is_varying else 0

    def register(self, value: ir.Value) -> str:
        """Return LLVM's type of the register that holds a value."""
        return register_type(value.type, self.register_width(value))

    def held(self, value: ir.Value, shape: LaneShape) -> str:
        """Return a value as a register of the given shape holds it."""
        return self.vector(value) if shape.is_varying else self.scalar(value)

    # -------------------------------------------------------------------------------- values

    def define(self, value: ir.Value, text: str) -> None:
        """Take note of the register that holds a value."""
        self.values[value] = text
        if self.frame is not None and value in self.frame.crossing:
            slot = self.frame.place(_size_bytes(value.type) * max(self.register_width(value), 1))
            self.code.store(slot, self.register(value), text)
            self.frame.kept[value] = slot
            self._vectors[-1][value, "kept"] = text

    def _text(self, value: ir.Value) -> str:
        """Return the register that holds a value, read again where a barrier came in between."""
        slot = self.frame.kept.get(value) if self.frame is not None else None
        if slot is None:
            return self.values[value]
        register = self.register(value)
        return self.cached((value, "kept"), lambda: self.code.load(slot, register))

    def read_kept(self, block: ir.Block) -> None:
        """Read what a block needs from the frame here, rather than again and again in a loop."""
        if self.frame is None or self.is_split:
            return
        for op in walk(block):
            for value in operands_of(op):
                if value in self.frame.kept:
                    self._text(value)

    def scalar(self, value: ir.Value) -> str:
        """Return a uniform value, or lane 0 of an affine one."""
        assert not self.shape(value).is_varying, value
        return self._text(value)

    def vector(self, value: ir.Value) -> str:
        """Return a value as a vector, whatever its shape."""
        if self.shape(value).is_varying:
            return self._text(value)
        if value in self.constants:
            assert isinstance(value.type, DType)
            return self.arithmetic.number(self.constants[value], value.type, self.width)
        return self.cached((value, "vector"), lambda: self._spread(value))

    def _spread(self, value: ir.Value) -> str:
        element = scalar_type(value.type)
        base = self.code.splat(self.scalar(value), element, self.width)
        stride = self.shape(value).stride
        if stride == 0:
            return base
        assert stride is not None
        if isinstance(value.type, ir.Pointer):
            offsets = self.steps("i64", stride)
            return self.code.emit(f"getelementptr i8, <{self.width} x ptr> {base}, {offsets}")
        steps = self.steps(element, stride)
        return self.code.emit(
            f"add {self.vector_type(value.type)} {base}, {steps.split('> ', 1)[1]}"
        )

    def steps(self, element: str, stride: int) -> str:
        """Return the typed constant vector ``lane * stride``."""
        bits = int(element[1:])
        numbers = []
        for lane in range(self.width):
            number = (lane * stride) % (1 << bits)
            numbers.append(number - (1 << bits) if number >> (bits - 1) else number)
        lanes = ", ".join(f"{element} {number}" for number in numbers)
        return f"<{self.width} x {element}> <{lanes}>"

    def cached(self, key: object, make: Callable[[], str]) -> str:
        """Return what ``make`` wrote earlier in a place that dominates this one, or write it."""
        for known in reversed(self._vectors):
            if key in known:
                return known[key]
        text = make()
        self._vectors[-1][key] = text
        return text

    @contextmanager
    def dominated(self) -> Iterator[None]:
        """Open a stretch of code that does not dominate what follows it."""
        self._vectors.append({})
        try:
            yield
        finally:
            self._vectors.pop()

    @contextmanager
    def emitting(self, op: ir.Op) -> Iterator[None]:
        """Open the code of one operation, which a barrier may split."""
        outer, self.is_split = self.is_split, self.frame is not None and self.frame.splits(op)
        try:
            yield
        finally:
            self.is_split = outer

    def join(self) -> None:
        """Forget what does not dominate a label that is reached from behind a barrier, too."""
        if self.is_split:
            self.forget()

    def forget(self) -> None:
        """Forget all that was written before."""
        for known in self._vectors:
            known.clear()

    # --------------------------------------------------------------------------------- masks

    def mask_and(self, mask: str | None, condition: str) -> str:
        """Return the lanes of a mask where a condition (a vector) holds."""
        if mask is None:
            return condition
        return self.code.emit(f"and {self.mask_type} {mask}, {condition}")

    def mask_or(self, left: str, right: str) -> str:
        """Return the union of two masks."""
        if NO_LANES in (left, right):
            return right if left == NO_LANES else left
        return self.code.emit(f"or {self.mask_type} {left}, {right}")

    def mask_not(self, mask: str) -> str:
        """Return the other lanes."""
        return self.code.emit(f"xor {self.mask_type} {mask}, {self.all_lanes}")

    def drop_raised(self, may_raise: bool) -> None:
        """Take the lanes that ended with an error out of the mask, if there can be any."""
        if may_raise and self.raised is not None:
            raised = self.code.load(self.raised, self.mask_type)
            self.mask = self.mask_and(self.mask, self.mask_not(raised))
            self.is_nonempty = False

    @property
    def all_lanes(self) -> str:
        """The mask of all lanes."""
        return "splat (i1 true)"

    def mask_text(self, mask: str | None) -> str:
        """Return a mask as a register."""
        return self.all_lanes if mask is None else mask

    def any_lane(self, mask: str | None) -> str:
        """Return a scalar ``i1``: whether any lane of a mask is active."""
        if mask is None:
            return "true"
        bits = self.code.emit(f"bitcast {self.mask_type} {self.mask_text(mask)} to i{self.width}")
        return self.code.emit(f"icmp ne i{self.width} {bits}, 0")

    def mask_word(self, mask: str | None) -> str:
        """Return a mask as an ``i64``, lane 0 in the lowest bit."""
        bits = self.code.emit(f"bitcast {self.mask_type} {self.mask_text(mask)} to i{self.width}")
        return self.code.emit(f"zext i{self.width} {bits} to i64")

    def select_lanes(self, mask: str | None, type_: ir.Type, left: str, right: str) -> str:
        """Return vector ``left`` in the lanes of a mask and ``right`` elsewhere."""
        if mask is None:
            return left
        return self.arithmetic.select(type_, self.width, mask, left, right)

    # --------------------------------------------------------------------------------- slots

    def zero(self, type_: ir.Type, width: int) -> str:
        """Return a harmless value of a register type."""
        if width:
            return "zeroinitializer"
        return "null" if isinstance(type_, ir.Pointer) else constant(0, type_)

    def new_slot(self, value: ir.Value) -> str:
        """Return a stack slot for a value, holding zero.

        Lanes that never write theirs must still not hold poison: the hardware would trap on
        some operations with it, and inactive lanes do compute.
        """
        slot = self.empty_slot(value)
        self.code.store(
            slot, self.register(value), self.zero(value.type, self.register_width(value))
        )
        return slot

    def empty_slot(self, value: ir.Value) -> str:
        """Return a stack slot for a value that is written before it is read."""
        width = self.register_width(value)
        return self.slot(self.register(value), _size_bytes(value.type) * max(width, 1))

    def slot(self, register: str, size_bytes: int) -> str:
        """Return a stack slot, or a place in the frame where a barrier may come in between."""
        if self.frame is not None and self.is_split:
            return self.frame.place(size_bytes)
        return self.code.slot(register)

    def new_mask_slot(self, mask: str) -> str:
        """Return a stack slot holding a mask."""
        slot = self.slot(self.mask_type, 8)
        self.code.store(slot, self.mask_type, mask)
        return slot

    def keep_mask(self, mask: str | None) -> Callable[[], str | None]:
        """Return a way to get a mask back behind nested code, which may hold a barrier."""
        if self.frame is None or not self.is_split or mask is None:
            return lambda: mask
        slot = self.new_mask_slot(mask)
        return lambda: self.code.load(slot, self.mask_type)

    def write_slot(self, slot: str, target: ir.Value, value: ir.Value, mask: str | None) -> None:
        """Write a value to the slot of ``target``, in the lanes of a mask if that is a vector."""
        register = self.register(target)
        text = self.held(value, self.shape(target))
        if self.shape(target).is_varying and mask is not None:
            text = self.select_lanes(mask, target.type, text, self.code.load(slot, register))
        self.code.store(slot, register, text)

    def read_slot(self, slot: str, target: ir.Value) -> None:
        """Define a value as what its slot holds."""
        self.define(target, self.code.load(slot, self.register(target)))

    # ----------------------------------------------------------------------------- lane loops

    def call_per_lane(
        self, symbol: str, result: ir.Type, operands: Sequence[tuple[ir.Type, str]]
    ) -> str:
        """Call a C function once per active lane, in a loop over the lanes."""
        code = self.code
        out = code.slot(self.vector_type(result), 64)
        code.store(out, self.vector_type(result), "zeroinitializer")
        slots = []
        for type_, text in operands:
            slot = code.slot(self.vector_type(type_), 64)
            code.store(slot, self.vector_type(type_), text)
            slots.append(slot)

        def body(lane: str) -> None:
            arguments = []
            for (type_, _), slot in zip(operands, slots, strict=True):
                element = scalar_type(type_)
                address = code.emit(f"getelementptr {element}, ptr {slot}, i64 {lane}")
                arguments.append((element, code.load(address, element)))
            element = scalar_type(result)
            answer = code.call(symbol, element, arguments)
            address = code.emit(f"getelementptr {element}, ptr {out}, i64 {lane}")
            code.store(address, element, answer)

        self.for_each_lane(body)
        return code.load(out, self.vector_type(result))

    def for_each_lane(self, body: Callable[[str], None]) -> None:
        """Write a loop that runs ``body(lane)`` for every active lane, lowest first."""
        code, width = self.code, self.width
        counter = code.slot("i64")
        code.store(counter, "i64", "0")
        wide = self.mask_word(self.mask)
        head, work, step, done = (code.new_label(name) for name in ("lane", "work", "next", "done"))
        code.branch(head)
        code.label(head)
        lane = code.load(counter, "i64")
        shifted = code.emit(f"lshr i64 {wide}, {lane}")
        active = code.emit(f"trunc i64 {shifted} to i1")
        code.branch_if(active, work, step)
        code.label(work)
        with self.dominated():
            body(lane)
        code.branch(step)
        code.label(step)
        following = code.emit(f"add i64 {lane}, 1")
        code.store(counter, "i64", following)
        again = code.emit(f"icmp ult i64 {following}, {width}")
        code.branch_if(again, head, done)
        code.label(done)

    def remainder(self, dtype: DType, width: int, left: str, right: str) -> str:
        """Write C's ``fmod``."""
        symbol = "fmod" if dtype == dtypes.float64 else "fmodf"
        if dtype == dtypes.float16:
            wide = [
                self.arithmetic.cast(dtype, dtypes.float32, width, text) for text in (left, right)
            ]
            result = self.remainder(dtypes.float32, width, *wide)
            return self.arithmetic.cast(dtypes.float32, dtype, width, result)
        if not width:
            return self.code.call(symbol, dtype.llvm, [(dtype.llvm, left), (dtype.llvm, right)])
        return self.call_per_lane(symbol, dtype, [(dtype, left), (dtype, right)])
