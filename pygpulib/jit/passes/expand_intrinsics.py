"""Put the code of composed intrinsics in the place of their calls.

A back end without an instruction for an intrinsic can have it composed: written as a function of
the kernel language. Such functions are exact about rounding, so all their arithmetic is strict.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence

from pygpulib._record import replace
from pygpulib.core.dtypes import DType
from pygpulib.jit import types
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.intrinsic import Compose, Intrinsic, Lowering
from pygpulib.jit.ir.rewrite import clone, rebuild_function, transform_program
from pygpulib.jit.passes.fold_constants import fold_constants
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from pygpulib.jit.passes.share_common import share_common
from pygpulib.jit.passes.simplify_scopes import simplify_scopes

ChooseLowering = Callable[[Intrinsic], Lowering]
CompileFunction = Callable[[Callable[..., object], tuple[types.Type, ...]], ir.Function]
Bodies = MutableMapping[tuple[Callable[..., object], tuple[DType, ...]], ir.Function]


def expand_intrinsics(
    function: ir.Function,
    lowering: ChooseLowering,
    compile_function: CompileFunction,
    bodies: Bodies | None = None,
) -> ir.Function:
    """Replace the calls of composed intrinsics by the code of the composing functions.

    Parameters
    ----------
    function : ir.Function
        Any function; those that it calls are expanded with it.
    lowering : callable
        How the back end does an intrinsic.
    compile_function : callable
        The front end: from a function of the kernel language and the types of its parameters to
        its IR.
    bodies : mutable mapping, optional
        Keeps what has been compiled, for the next call with the same ``lowering`` and
        ``compile_function``.

    Returns
    -------
    ir.Function
        Without calls of composed intrinsics; the same object if there were none.
    """
    expander = _Expander(lowering, compile_function, {} if bodies is None else bodies)
    return transform_program(function, expander.expand)


class _Expander:
    """Expands calls, and the calls in what they expand to."""

    def __init__(
        self, lowering: ChooseLowering, compile_function: CompileFunction, bodies: Bodies
    ) -> None:
        self.lowering = lowering
        self.compile_function = compile_function
        self.bodies = bodies

    def expand(self, function: ir.Function) -> ir.Function:
        """Return a function with all calls of composed intrinsics expanded."""
        values: dict[ir.Value, ir.Value] = {}

        def expand_call(op: ir.Op) -> Sequence[ir.Op] | None:
            if not isinstance(op, ir.Call):
                return None
            how = self.lowering(op.intrinsic)
            return self._expand_call(op, how, values) if isinstance(how, Compose) else None

        return rebuild_function(function, expand_call, values)

    def _expand_call(
        self, call: ir.Call, how: Compose, values: dict[ir.Value, ir.Value]
    ) -> Sequence[ir.Op]:
        function = self._compose(call, how)
        assert len(function.params) == len(call.operands), call.intrinsic.name
        copy = clone(function.body, dict(zip(function.params, call.operands, strict=True)))
        *ops, last = copy.ops
        assert isinstance(last, ir.Return), call.intrinsic.name
        values.update(zip(call.results, last.values, strict=True))
        return ops

    def _compose(self, call: ir.Call, how: Compose) -> ir.Function:
        """Return the composing function for a call: compiled, strict and expanded itself."""
        operand_types = _dtypes(call.operands)
        composed = how.functions[operand_types[0]]
        key = (composed, operand_types)
        if key not in self.bodies:
            scalars = tuple(types.scalar_type(dtype) for dtype in operand_types)
            compiled = self.compile_function(composed, scalars)
            assert not compiled.errors, call.intrinsic.name
            assert not compiled.callees, call.intrinsic.name
            name, results = call.intrinsic.name, _dtypes(call.results)
            strict = _make_strict(_enclose(compiled, name, results))
            # Once here saves it for every call.
            for simplify in (simplify_scopes, fold_constants, share_common, remove_dead_ops):
                strict = simplify(strict)
            self.bodies[key] = self.expand(strict)
        return self.bodies[key]


def _dtypes(values: tuple[ir.Value, ...]) -> tuple[DType, ...]:
    return tuple(value.type for value in values if isinstance(value.type, DType))


def _make_strict(function: ir.Function) -> ir.Function:
    def make_strict(op: ir.Op) -> Sequence[ir.Op] | None:
        if isinstance(op, ir.Binary) and not op.strict:
            return (replace(op, strict=True),)
        return None

    return rebuild_function(function, make_strict)


def _enclose(function: ir.Function, name: str, result_types: tuple[DType, ...]) -> ir.Function:
    """Put a body in a scope, so that it returns once, and convert what the scope gives."""
    results = tuple(map(ir.Value, function.result_types))
    builder = Builder()
    with builder.collect() as ops:
        builder.append(ir.Scope(function.body, results, name))
        # The language computes in wide types, intrinsics may give narrow ones.
        converted = [builder.cast(*pair) for pair in zip(results, result_types, strict=True)]
        builder.append(ir.Return(tuple(converted)))
    body = ir.Block((), tuple(ops))
    return replace(function, body=body, result_types=result_types)
