"""Rebuild a function with other types for some of its integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import wrap_integer
from pygpulib.jit.ir.rewrite import operands_of, replace_blocks, replace_values
from pygpulib.jit.passes.find_ranges import Ranges
from pygpulib.jit.passes.fold_ranges import is_tracked
from pygpulib.jit.passes.integer_flow import IntegerFlow, Targets, integer_type, is_integer
from pygpulib.jit.passes.intervals import cast_interval, range_of_type


def retype_integers(
    function: ir.Function, types: Mapping[ir.Value, DType], flow: IntegerFlow, ranges: Ranges
) -> ir.Function:
    """Compute some integers in narrower types.

    Parameters
    ----------
    function : ir.Function
        What to rebuild.
    types : mapping
        The new types. Where a value does not fit in its new type, all users must be content with
        the low bits.
    flow : IntegerFlow
        How the function's integers flow.
    ranges : Ranges
        Their intervals.

    Returns
    -------
    ir.Function
        Comparisons and conversions of narrow values are narrow too.
    """
    body = _Retyper(types, flow, ranges).block(function.body, Targets())
    return function if body is function.body else replace(function, body=body)


class _Retyper:
    """The rebuilding walk.

    Attributes
    ----------
    stand_ins : dict
        What is there instead of a value: its retyped form, or another value that equals it.
    ops : list
        The block being built.
    """

    def __init__(self, types: Mapping[ir.Value, DType], flow: IntegerFlow, ranges: Ranges) -> None:
        self.types = types
        self.definitions = flow.definitions
        self.steady = flow.steady
        self.ranges = ranges
        self.stand_ins: dict[ir.Value, ir.Value] = {}
        self.ops: list[ir.Op] = []

    def block(self, block: ir.Block, targets: Targets) -> ir.Block:
        """Rebuild a block."""
        outer, self.ops = self.ops, []
        params = self._define(block.params)
        for op in block.ops:
            self._op(op, targets)
        ops, self.ops = self.ops, outer
        if params is block.params and _is_same(ops, block.ops):
            return block
        return ir.Block(params, tuple(ops))

    def _op(self, op: ir.Op, targets: Targets) -> None:
        match op:
            case ir.Yield() | ir.Continue() | ir.Break() | ir.Return():
                self._end(op, targets.of(op))
            case ir.If() | ir.For() | ir.Loop() | ir.Scope():
                self._control(op, targets)
            case ir.Binary() | ir.Unary() | ir.Select() if op.result in self.types:
                self._retype(op, op.result)
            case ir.Compare(_, left, right):
                dtype = self._compare_type(left, right)
                if dtype is None:
                    self._keep(op)
                else:
                    narrow = [self._as(left, dtype), self._as(right, dtype)]
                    self.ops.append(replace(op, left=narrow[0], right=narrow[1]))
            case ir.Cast(operand) if is_integer(operand):
                self._cast(op)
            case _:
                self._keep(op)

    def _keep(self, op: ir.Op) -> None:
        """Append an operation with its operands in their own types."""
        values = {
            value: self._as(value, integer_type(value))
            for value in operands_of(op)
            if value in self.stand_ins
        }
        self.ops.append(replace_values(op, values) if values else op)

    def _retype(self, op: ir.Binary | ir.Unary | ir.Select, result: ir.Value) -> None:
        dtype = self.types[result]
        values = {value: self._as(value, dtype) for value in operands_of(op) if is_integer(value)}
        narrow = self._define((result,))[0]
        changed: Any = replace_values(op, values)
        self.ops.append(replace(changed, result=narrow))

    def _cast(self, op: ir.Cast) -> None:
        """Cast from where the value comes from, in as few steps as possible."""
        operand, target = op.operand, op.result.type
        source = self.definitions.get(operand)
        is_derived = operand in self.stand_ins or isinstance(source, ir.Cast)
        if not is_derived or not isinstance(target, DType):
            self._keep(op)
        elif target.is_integer and target.bits <= integer_type(operand).bits:
            self.stand_ins[op.result] = self._as(operand, target)
        else:
            natural = self._natural_type(operand)
            value = self._as(operand, natural) if natural else self.stand_ins.get(operand, operand)
            self.ops.append(replace(op, operand=value))

    def _control(self, op: ir.If | ir.For | ir.Loop | ir.Scope, targets: Targets) -> None:
        inner = targets.inside(op)
        changes: dict[str, Any] = {}
        if isinstance(op, ir.For | ir.Loop):
            changes["inits"] = self._pass(op.inits, inner.carried)
        if isinstance(op, ir.For):
            for name, bound in (("start", op.start), ("stop", op.stop), ("step", op.step)):
                changes[name] = self._as(bound, integer_type(bound))
        kept: Any = replace_blocks(op, lambda block: self.block(block, inner))
        changes["results"] = self._define(op.results)
        changes = {name: new for name, new in changes.items() if new is not getattr(op, name)}
        self.ops.append(replace(kept, **changes) if changes else kept)

    def _end(
        self,
        op: ir.Yield | ir.Continue | ir.Break | ir.Return,
        targets: tuple[ir.Value, ...] | None,
    ) -> None:
        if targets is None:
            self._keep(op)
            return
        values = self._pass(op.values, targets)
        self.ops.append(op if values is op.values else replace(op, values=values))

    def _pass(
        self, values: tuple[ir.Value, ...], targets: tuple[ir.Value, ...]
    ) -> tuple[ir.Value, ...]:
        """Return values in the types of what they are passed to; the same tuple if they are."""
        new = tuple(
            self._as(value, self.types.get(target, integer_type(target)))
            if is_integer(target)
            else value
            for value, target in zip(values, targets, strict=True)
        )
        return values if _is_same(new, values) else new

    def _define(self, values: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
        """Return what is defined instead of some values; the same tuple if that is they."""
        if not any(value in self.types for value in values):
            return values
        for value in values:
            if value in self.types:
                self.stand_ins[value] = ir.Value(self.types[value], value.hint)
        return tuple(self.stand_ins.get(value, value) for value in values)

    # --------------------------------------------------------------------------------- values

    def _as(self, value: ir.Value, dtype: DType) -> ir.Value:
        """Return a value in a type, in as few steps from where it comes from as possible."""
        stand_in = self.stand_ins.get(value, value)
        if stand_in.type == dtype:
            return stand_in
        if stand_in is value:
            number = self.ranges[value].single
            if number is not None:
                return self._constant(number, dtype)
            source = self.definitions.get(value)
            is_cut = dtype.bits <= integer_type(value).bits
            if is_cut and isinstance(source, ir.Cast) and is_tracked(source.operand):
                if is_integer(source.operand):
                    return self._as(source.operand, dtype)
                stand_in = source.operand
        result = ir.Value(dtype, value.hint)
        self.ops.append(ir.Cast(stand_in, result))
        return result

    def _constant(self, number: int, dtype: DType) -> ir.Value:
        result = ir.Value(dtype)
        self.ops.append(ir.Const(result, wrap_integer(number, dtype)))
        return result

    def _natural_type(self, value: ir.Value) -> DType | None:
        """Return the narrow type in which a value can be had without loss, if there is one."""
        if value in self.types:
            return self.types[value]
        source = self.definitions.get(value)
        if not isinstance(source, ir.Cast) or not isinstance(source.operand.type, DType):
            return None
        operand, dtype = source.operand, source.operand.type
        possible = self.ranges[operand] if range_of_type(dtype) is not None else None
        if possible is None or cast_interval(possible, value.type) != possible:
            return None
        inner = self._natural_type(operand)
        if inner is not None or not dtype.is_integer:
            return inner or dtypes.int8
        return dtype if dtype.bits < integer_type(value).bits else None

    def _compare_type(self, left: ir.Value, right: ir.Value) -> DType | None:
        """Return a narrower type in which two values compare the same and are at hand."""
        if not is_integer(left):
            return None
        natural = [self._natural_type(value) for value in (left, right)]
        found = [dtype for dtype in natural if dtype is not None]
        for value, dtype in zip((left, right), natural, strict=True):
            if dtype is None and value not in self.steady and self.ranges[value].single is None:
                return None
        for dtype in sorted(found, key=lambda dtype: dtype.bits)[::-1]:
            whole = range_of_type(dtype)
            if whole is not None and all(self.ranges[v].is_inside(whole) for v in (left, right)):
                return dtype
        wide = integer_type(left)
        if not found or wide.bits != 64:
            return None
        dtype = dtypes.int32 if wide.is_signed else dtypes.uint32
        whole = range_of_type(dtype)
        fits = whole is not None and all(self.ranges[v].is_inside(whole) for v in (left, right))
        return dtype if fits else None


def _is_same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
