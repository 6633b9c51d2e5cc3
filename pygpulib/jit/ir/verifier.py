"""Checks that IR is well formed; the rules are those of :mod:`pygpulib.jit.ir.ops`.

This module follows values and control through the blocks; the rules on the types of each
operation are in :mod:`pygpulib.jit.ir.typing_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pygpulib._record import record
from pygpulib.core.dtypes import DType
from pygpulib.errors import InternalError
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.printer import format_op
from pygpulib.jit.ir.rewrite import operands_of, results_of
from pygpulib.jit.ir.typing_rules import RuleError, check_types, expect

Types = tuple[ir.Type, ...]


def verify(function: ir.Function) -> None:
    """Check a function and the functions that it calls.

    Parameters
    ----------
    function : Function
        The whole program: a kernel, or a function without callers.

    Raises
    ------
    InternalError
        If a rule is broken; the message shows the operation.
    """
    program = _reachable(function)
    for member in program.values():
        _Verifier(member, program, len(function.errors)).run()


def _reachable(function: ir.Function) -> dict[str, ir.Function]:
    found = {function.name: function}
    waiting = list(function.callees)
    while waiting:
        callee = waiting.pop()
        if found.setdefault(callee.name, callee) is callee:
            waiting.extend(other for other in callee.callees if other.name not in found)
        else:
            _fail(function, "two functions have one name", callee.name)
    return found


def _fail(function: ir.Function, problem: str, where: str) -> NoReturn:
    raise InternalError(
        f"the compiler made invalid code for {function.name}: {problem}",
        detail=where,
        help="this is a bug in pygpulib; please report it with the kernel",
    )


@record(eq=True)
class _Targets:
    """The types that each terminator must bring; None where it is not allowed."""

    return_: Types
    yield_: Types | None = None
    continue_: Types | None = None
    break_: Types | None = None


class _Verifier:
    """Walks one function in the order of execution.

    A value is *visible* from its definition to the end of its block; it is *defined* for good.
    """

    def __init__(
        self, function: ir.Function, program: Mapping[str, ir.Function], error_count: int
    ) -> None:
        self._function = function
        self._program = program
        self._error_count = error_count
        self._defined: set[ir.Value] = set()
        self._visible: set[ir.Value] = set()

    def run(self) -> None:
        """Check the whole function."""
        function = self._function
        try:
            expect(not function.body.params, "the body of a function has no parameters")
            self._define(function.params)
        except RuleError as cause:
            _fail(function, cause.problem, f"in the head of {function.name}")
        self._check_block(function.body, _Targets(function.result_types))

    # -------------------------------------------------------------------------------- structure

    def _check_block(self, block: ir.Block, targets: _Targets) -> None:
        if not block.ops:
            _fail(self._function, "a block is empty", "")
        last = len(block.ops) - 1
        has_left = False
        for position, op in enumerate(block.ops):
            try:
                expect(
                    op.is_terminator == (position == last),
                    "a terminator stands at the end of each block and nowhere else",
                )
                expect(
                    not has_left or op.is_terminator,
                    "only a terminator may follow an if whose branches both leave",
                )
                self._check_operands(op)
                check_types(op)
                self._check_calls(op)
                self._check_terminator(op, targets)
            except RuleError as cause:
                _fail(self._function, cause.problem, self._locate(op))
            self._check_nested(op, targets)
            self._define_results(op)
            has_left = isinstance(op, ir.If) and _leaves(op)

    def _check_operands(self, op: ir.Op) -> None:
        for value in operands_of(op):
            if value not in self._visible:
                name = f" ({value.hint})" if value.hint else ""
                is_defined = value in self._defined
                reason = "out of its scope" if is_defined else "before its definition"
                raise RuleError(f"a value{name} is used {reason}")

    def _define_results(self, op: ir.Op) -> None:
        try:
            self._define(results_of(op))
        except RuleError as cause:
            _fail(self._function, cause.problem, self._locate(op))

    def _define(self, values: Sequence[ir.Value]) -> None:
        for value in values:
            expect(value not in self._defined, "a value is defined twice")
            is_legal = not (isinstance(value.type, DType) and value.type.is_complex)
            expect(is_legal, "complex values are taken apart before they reach the IR")
            self._defined.add(value)
            self._visible.add(value)

    def _check_nested(self, op: ir.Op, targets: _Targets) -> None:
        match op:
            case ir.If():
                inner = _Targets(
                    targets.return_, _types(op.results), targets.continue_, targets.break_
                )
                self._check_inner(op, op.then_block, (), inner)
                self._check_inner(op, op.else_block, (), inner)
            case ir.For():
                carried = _types(op.inits)
                inner = _Targets(targets.return_, None, carried, _types(op.results))
                self._check_inner(op, op.body, (op.start.type, *carried), inner)
            case ir.Loop():
                carried = _types(op.inits)
                inner = _Targets(targets.return_, None, carried, _types(op.results))
                self._check_inner(op, op.body, carried, inner)
            case ir.Scope():
                self._check_inner(op, op.body, (), _Targets(_types(op.results)))
            case _:
                pass

    def _check_inner(self, op: ir.Op, block: ir.Block, params: Types, targets: _Targets) -> None:
        visible = self._visible.copy()
        try:
            expect(
                _types(block.params) == params,
                f"the block takes {_show(_types(block.params))}, expected {_show(params)}",
            )
            self._define(block.params)
        except RuleError as cause:
            _fail(self._function, cause.problem, self._locate(op))
        self._check_block(block, targets)
        self._visible = visible

    # ------------------------------------------------------------------- operations in context

    def _check_terminator(self, op: ir.Op, targets: _Targets) -> None:
        match op:
            case ir.Yield():
                self._check_values(op.values, targets.yield_, "the block of an if")
            case ir.Continue():
                self._check_values(op.values, targets.continue_, "a loop")
            case ir.Break():
                self._check_values(op.values, targets.break_, "a loop")
            case ir.Return():
                self._check_values(op.values, targets.return_, "a function")
            case ir.Raise():
                exists = op.code is None or 0 <= op.code < self._error_count
                expect(exists, "the error table has no such entry")
            case _:
                pass

    @staticmethod
    def _check_values(values: tuple[ir.Value, ...], types: Types | None, place: str) -> None:
        expect(types is not None, f"the terminator does not stand directly in {place}")
        found = _types(values)
        expect(found == types, f"the values are {_show(found)}, expected {_show(types or ())}")

    def _check_calls(self, op: ir.Op) -> None:
        if not isinstance(op, ir.CallFunction):
            return
        callee = self._program.get(op.callee)
        if callee is None:
            raise RuleError(f"there is no function {op.callee}")
        expect(_types(op.operands) == _types(callee.params), "the operands do not fit the callee")
        expect(_types(op.results) == callee.result_types, "the results do not fit the callee")

    def _locate(self, op: ir.Op) -> str:
        return f"{op.span}: {format_op(op)}" if op.span else format_op(op)


def _leaves(op: ir.If) -> bool:
    return not any(
        isinstance(block.terminator, ir.Yield) for block in (op.then_block, op.else_block)
    )


def _types(values: tuple[ir.Value, ...]) -> Types:
    return tuple(value.type for value in values)


def _show(types: Types) -> str:
    return f"({', '.join(map(str, types))})"
