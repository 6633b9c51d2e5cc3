from collections.abc import Callable

import numpy as np
import pytest

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.errors import InternalError, Span
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.intrinsic import Emit, Intrinsic, Signature
from pygpulib.jit.ir.verifier import verify
from tests.helpers.ir_kernels import Arrays, block, function_from, value

B8, I32, I64, U32, F32 = (
    dtypes.bool_,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint32,
    dtypes.float32,
)
SHARED, LOCAL = ir.AddressSpace.SHARED, ir.AddressSpace.LOCAL
ADD, DIVIDE, AND, SHL = (
    ir.BinaryKind.ADD,
    ir.BinaryKind.DIVIDE,
    ir.BinaryKind.AND,
    ir.BinaryKind.SHIFT_LEFT,
)

TWICE = Intrinsic(
    name="twice",
    reference=lambda x: 2 * x,
    rule=lambda types: Signature((F32,), (F32,)) if len(types) == 1 else None,
    effect=ir.Effect.NONE,
    cpu=Emit(""),
    cuda=Emit(""),
)


class Values:
    """One parameter of each of some types."""

    def __init__(self) -> None:
        self.p = value(ir.Pointer(), "p")
        self.b, self.i, self.j = value(B8, "b"), value(I32, "i"), value(I64, "j")
        self.u, self.f = value(U32, "u"), value(F32, "f")

    def params(self) -> tuple[ir.Value, ...]:
        return (self.p, self.b, self.i, self.j, self.u, self.f)


def pad(*ops: ir.Op) -> ir.Block:
    return block(ops)


YIELD, RETURN = ir.Yield(()), ir.Return(())

WRONG: dict[str, tuple[Callable[[Values], ir.Op], str]] = {
    "const of another type": (
        lambda v: ir.Const(value(I32), 1.5),
        "1.5 is no constant of type int32",
    ),
    "const out of range": (
        lambda v: ir.Const(value(U32), -1),
        "-1 is no constant of type uint32",
    ),
    "bool in place of an integer": (
        lambda v: ir.Const(value(I32), True),
        "True is no constant of type int32",
    ),
    "float const too large": (
        lambda v: ir.Const(value(F32), 1e300),
        "1e+300 is too large for float32",
    ),
    "const pointer": (
        lambda v: ir.Const(value(ir.Pointer()), 0),
        "ptr.global stands where a number is expected",
    ),
    "complex value": (
        lambda v: ir.Undefined(value(dtypes.complex64)),
        "complex values are taken apart before they reach the IR",
    ),
    "result of another type": (
        lambda v: ir.Unary(ir.UnaryKind.NEGATE, v.i, value(I64)),
        "int32, int64 are to be of one type",
    ),
    "bitwise not of a float": (
        lambda v: ir.Unary(ir.UnaryKind.NOT, v.f, value(F32)),
        "not does not take float32",
    ),
    "negative bool": (
        lambda v: ir.Unary(ir.UnaryKind.NEGATE, v.b, value(B8)),
        "neg does not take bool",
    ),
    "operands of two types": (
        lambda v: ir.Binary(ADD, v.i, v.j, value(I64)),
        "int32, int64, int64 are to be of one type",
    ),
    "sum of bools": (lambda v: ir.Binary(ADD, v.b, v.b, value(B8)), "add does not take bool"),
    "integer division": (
        lambda v: ir.Binary(DIVIDE, v.i, v.i, value(I32)),
        "div does not take int32",
    ),
    "bits of a float": (
        lambda v: ir.Binary(AND, v.f, v.f, value(F32)),
        "and does not take float32",
    ),
    "shifted bool": (lambda v: ir.Binary(SHL, v.b, v.b, value(B8)), "shl does not take bool"),
    "comparison that is no bool": (
        lambda v: ir.Compare(ir.CompareKind.LT, v.i, v.i, value(I32)),
        "int32 stands where bool is expected",
    ),
    "order of pointers": (
        lambda v: ir.Compare(ir.CompareKind.LT, v.p, v.p, value(B8)),
        "pointers have no order",
    ),
    "selection by a number": (
        lambda v: ir.Select(v.i, v.f, v.f, value(F32)),
        "int32 stands where bool is expected",
    ),
    "cast of a pointer": (
        lambda v: ir.Cast(v.p, value(I64)),
        "ptr.global stands where a number is expected",
    ),
    "bitcast to another size": (
        lambda v: ir.Bitcast(v.i, value(I64)),
        "a bitcast keeps the size",
    ),
    "bits of a bool": (
        lambda v: ir.Bitcast(v.b, value(dtypes.int8)),
        "the bits of a bool are not defined",
    ),
    "intrinsic of another type": (
        lambda v: ir.Call(TWICE, (v.i,), (value(F32),)),
        "twice does not take (int32) as they are",
    ),
    "intrinsic with too much": (
        lambda v: ir.Call(TWICE, (v.f, v.f), (value(F32),)),
        "twice does not take (float32, float32) as they are",
    ),
    "result of an intrinsic": (
        lambda v: ir.Call(TWICE, (v.f,), (value(I32),)),
        "the results of twice have other types",
    ),
    "unknown function": (
        lambda v: ir.CallFunction("f", (), ()),
        "there is no function f",
    ),
    "register": (
        lambda v: ir.ReadRegister(ir.Register.TID_X, value(I64)),
        "int64 stands where int32 is expected",
    ),
    "barrier with a result": (
        lambda v: ir.Barrier(ir.BarrierKind.BLOCK, None, (value(I32),)),
        "a block barrier has no result",
    ),
    "barrier with an operand": (
        lambda v: ir.Barrier(ir.BarrierKind.GRID, v.i),
        "a grid barrier has no operand",
    ),
    "warp barrier with a float": (
        lambda v: ir.Barrier(ir.BarrierKind.WARP, v.f),
        "a mask of lanes is an integer",
    ),
    "counting barrier": (
        lambda v: ir.Barrier(ir.BarrierKind.BLOCK_OR, None, (value(I32),)),
        "a counting barrier has one predicate and one result",
    ),
    "counting bools": (
        lambda v: ir.Barrier(ir.BarrierKind.BLOCK_OR, v.b, (value(I32),)),
        "bool stands where int32 is expected",
    ),
    "index of another type": (
        lambda v: ir.Load(v.p, v.i, 4, value(F32)),
        "int32 stands where int64 is expected",
    ),
    "load from a number": (
        lambda v: ir.Load(v.j, v.j, 4, value(F32)),
        "int64 stands where an address is expected",
    ),
    "load of a pointer": (
        lambda v: ir.Load(v.p, v.j, 8, value(ir.Pointer())),
        "ptr.global stands where a number is expected",
    ),
    "scale": (lambda v: ir.Store(v.p, v.j, v.f, 0), "the scale of an address is positive"),
    "pointer to another space": (
        lambda v: ir.PointerAdd(v.p, v.j, 4, value(ir.Pointer(SHARED))),
        "ptr.global, ptr.shared are to be of one type",
    ),
    "strided constant data": (
        lambda v: ir.ConstantData(np.zeros((4, 4))[:, ::2], value(ir.Pointer())),
        "constant data is C-contiguous",
    ),
    "global allocation": (
        lambda v: ir.Allocate(ir.AddressSpace.GLOBAL, 4, 4, value(ir.Pointer())),
        "no global",
    ),
    "allocation in another space": (
        lambda v: ir.Allocate(SHARED, 4, 4, value(ir.Pointer(LOCAL))),
        "ptr.local stands where ptr.shared is expected",
    ),
    "empty local memory": (
        lambda v: ir.Allocate(LOCAL, 0, 4, value(ir.Pointer(LOCAL))),
        "a size of 0 bytes",
    ),
    "alignment": (
        lambda v: ir.Allocate(LOCAL, 4, 3, value(ir.Pointer(LOCAL))),
        "an alignment of 3, which is no power of two",
    ),
    "atomic on bool": (
        lambda v: ir.Atomic(ir.AtomicKind.EXCHANGE, v.p, v.j, v.b, None, 1, value(B8)),
        "atomic exch does not take bool",
    ),
    "atomic bits of a float": (
        lambda v: ir.Atomic(ir.AtomicKind.AND, v.p, v.j, v.f, None, 4, value(F32)),
        "atomic and does not take float32",
    ),
    "signed increment": (
        lambda v: ir.Atomic(ir.AtomicKind.INCREMENT, v.p, v.j, v.i, None, 4, value(I32)),
        "atomic inc does not take int32",
    ),
    "sum with an expected value": (
        lambda v: ir.Atomic(ir.AtomicKind.ADD, v.p, v.j, v.i, v.i, 4, value(I32)),
        "only cas has an expected value",
    ),
    "expected value of another type": (
        lambda v: ir.Atomic(ir.AtomicKind.COMPARE_EXCHANGE, v.p, v.j, v.i, v.u, 4, value(I32)),
        "int32, uint32 are to be of one type",
    ),
    "condition": (
        lambda v: ir.If(v.i, pad(YIELD), pad(YIELD), ()),
        "int32 stands where bool is expected",
    ),
    "if that gives too little": (
        lambda v: ir.If(v.b, pad(YIELD), pad(ir.Yield((v.i,))), (value(I32),)),
        "the values are (), expected (int32)",
    ),
    "if that gives another type": (
        lambda v: ir.If(v.b, pad(ir.Yield((v.j,))), pad(ir.Yield((v.i,))), (value(I32),)),
        "the values are (int64), expected (int32)",
    ),
    "results that nothing gives": (
        lambda v: ir.If(v.b, pad(RETURN), pad(RETURN), (value(I32),)),
        "an if whose branches both leave has no results",
    ),
    "empty block": (lambda v: ir.If(v.b, pad(), pad(YIELD), ()), "a block is empty"),
    "block without end": (
        lambda v: ir.If(v.b, pad(ir.Undefined(value(I32))), pad(YIELD), ()),
        "a terminator stands at the end of each block and nowhere else",
    ),
    "code after the end": (
        lambda v: ir.If(v.b, pad(YIELD, YIELD), pad(YIELD), ()),
        "a terminator stands at the end of each block and nowhere else",
    ),
    "block with a parameter": (
        lambda v: ir.If(v.b, block([YIELD], (value(I32),)), pad(YIELD), ()),
        "the block takes (int32), expected ()",
    ),
    "bounds of two types": (
        lambda v: ir.For(v.i, v.j, v.i, (), block([ir.Continue(())], (value(I32),)), ()),
        "int32, int64, int32 are to be of one type",
    ),
    "float bounds": (
        lambda v: ir.For(v.f, v.f, v.f, (), block([ir.Continue(())], (value(F32),)), ()),
        "the bounds of a for are integers",
    ),
    "results of a for": (
        lambda v: ir.For(
            v.i, v.i, v.i, (v.f,), block([ir.Continue((v.f,))], (value(I32), value(F32))), ()
        ),
        "a for has one result per carried value",
    ),
    "parameters of a for": (
        lambda v: ir.For(v.i, v.i, v.i, (), block([ir.Continue(())], (value(I64),)), ()),
        "the block takes (int64), expected (int32)",
    ),
    "continue with too little": (
        lambda v: ir.Loop((v.i,), block([ir.Continue(())], (value(I32),)), ()),
        "the values are (), expected (int32)",
    ),
    "break with another type": (
        lambda v: ir.Loop((), pad(ir.Break((v.i,))), (value(I64),)),
        "the values are (int32), expected (int64)",
    ),
    "yield in a loop": (
        lambda v: ir.Loop((), pad(YIELD), ()),
        "the terminator does not stand directly in the block of an if",
    ),
    "break across a scope": (
        lambda v: ir.Loop((), pad(ir.Scope(pad(ir.Break(())), ()), ir.Break(())), ()),
        "the terminator does not stand directly in a loop",
    ),
    "continue across a scope": (
        lambda v: ir.Loop((), pad(ir.Scope(pad(ir.Continue(())), ()), ir.Break(())), ()),
        "the terminator does not stand directly in a loop",
    ),
    "return from a scope": (
        lambda v: ir.Scope(pad(RETURN), (value(I32),)),
        "the values are (), expected (int32)",
    ),
    "code after two branches that leave": (
        lambda v: ir.Loop(
            (),
            pad(
                ir.If(v.b, pad(ir.Break(())), pad(RETURN), ()),
                ir.Undefined(value(I32)),
                ir.Continue(()),
            ),
            (),
        ),
        "only a terminator may follow an if whose branches both leave",
    ),
    "unknown error": (
        lambda v: ir.If(v.b, pad(ir.Raise(0)), pad(YIELD), ()),
        "the error table has no such entry",
    ),
    "print without operand": (
        lambda v: ir.Print(("x", None), ()),
        "a print needs one operand per hole",
    ),
    "printed pointer": (
        lambda v: ir.Print((None,), (v.p,)),
        "ptr.global stands where a number is expected",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operation_is_found(name):
    make, problem = WRONG[name]
    values = Values()
    function = ir.Function("kernel", values.params(), pad(make(values), RETURN))
    with pytest.raises(InternalError) as caught:
        verify(function)
    assert caught.value.problem == f"the compiler made invalid code for kernel: {problem}"


def test_message_shows_line_and_operation():
    values = Values()
    span = Span("user.py", 7, 0, 7, 1)
    op = ir.Binary(ADD, values.i, values.i, value(I64, "sum"), span=span)
    with pytest.raises(InternalError) as caught:
        verify(ir.Function("kernel", values.params(), pad(op, RETURN)))
    assert str(caught.value) == (
        "the compiler made invalid code for kernel: int32, int32, int64 are to be of one type\n"
        "user.py:7: %1.sum: int64 = binary %0.i %0.i kind=add\n"
        "help: this is a bug in pygpulib; please report it with the kernel"
    )


def problem_of(function: ir.Function) -> str:
    with pytest.raises(InternalError) as caught:
        verify(function)
    return caught.value.problem.removeprefix("the compiler made invalid code for ")


def test_value_used_before_its_definition_is_found():
    late = value(I32, "late")
    use = ir.Binary(ADD, late, late, value(I32))
    function = ir.Function("kernel", (), pad(use, ir.Const(late, 1), RETURN))
    assert problem_of(function) == "kernel: a value (late) is used before its definition"


def test_value_of_a_nested_block_is_not_visible_outside():
    b = Builder()
    inner = value(I32, "inner")
    condition = b.constant(True, B8)
    b.append(ir.If(condition, pad(ir.Const(inner, 1), YIELD), pad(YIELD), ()))
    b.unary(ir.UnaryKind.NEGATE, inner)
    assert problem_of(function_from(b)) == "kernel: a value (inner) is used out of its scope"


def test_value_of_one_branch_is_not_visible_in_the_other():
    b = Builder()
    inner = value(I32)
    condition = b.constant(True, B8)
    use = ir.Unary(ir.UnaryKind.NEGATE, inner, value(I32))
    b.append(ir.If(condition, pad(ir.Const(inner, 1), YIELD), pad(use, YIELD), ()))
    assert problem_of(function_from(b)) == "kernel: a value is used out of its scope"


def test_loop_parameter_is_not_visible_outside():
    b = Builder()
    zero = b.constant(0, I32)
    index = value(I32, "i")
    b.append(ir.For(zero, zero, zero, (), block([ir.Continue(())], (index,)), ()))
    b.unary(ir.UnaryKind.NEGATE, index)
    assert problem_of(function_from(b)) == "kernel: a value (i) is used out of its scope"


def test_second_definition_is_found_even_in_another_block():
    b = Builder()
    twice = value(I32)
    condition = b.constant(True, B8)
    then = pad(ir.Const(twice, 1), YIELD)
    b.append(ir.If(condition, then, pad(ir.Const(twice, 2), YIELD), ()))
    assert problem_of(function_from(b)) == "kernel: a value is defined twice"


def test_result_is_not_visible_to_its_own_operation():
    result = value(I32)
    op = ir.Binary(ADD, result, result, result)
    problem = problem_of(ir.Function("kernel", (), pad(op, RETURN)))
    assert problem == "kernel: a value is used before its definition"


def test_kernel_that_returns_a_value_is_found():
    b = Builder()
    b.append(ir.Return((b.constant(1, I32),)))
    assert problem_of(function_from(b)) == "kernel: the values are (int32), expected ()"


def test_parameter_that_occurs_twice_is_found():
    param = value(I32)
    problem = problem_of(ir.Function("kernel", (param, param), pad(RETURN)))
    assert problem == "kernel: a value is defined twice"


def test_body_with_parameters_is_found():
    function = ir.Function("kernel", (), block([RETURN], (value(I32),)))
    assert problem_of(function) == "kernel: the body of a function has no parameters"


def half(name: str = "half") -> ir.Function:
    x = value(F32)
    return ir.Function(name, (x,), pad(ir.Return((x,))), (F32,))


def test_call_is_checked_against_the_callee():
    b = Builder()
    number, other = b.constant(1.0, F32), b.constant(1, I32)
    good = ir.CallFunction("half", (number,), (value(F32),))
    b.append(good)
    function = replace(function_from(b), callees=(half(),))
    verify(function)
    for bad, problem in (
        (replace(good, operands=(other,)), "the operands do not fit the callee"),
        (replace(good, results=()), "the results do not fit the callee"),
    ):
        ops = [bad if op is good else op for op in function.body.ops]
        broken = replace(function, body=block(ops))
        assert problem_of(broken) == f"kernel: {problem}"


def test_callee_is_verified_and_may_call_itself():
    x = value(F32)
    result = value(F32)
    call = ir.CallFunction("f", (x,), (result,))
    callee = ir.Function("f", (x,), pad(call, ir.Return((result,))), (F32,))
    caller = function_from(Builder())
    verify(replace(caller, callees=(callee,)))
    broken = replace(callee, result_types=(I32,))
    problem = problem_of(replace(caller, callees=(broken,)))
    assert problem == "f: the results do not fit the callee"


def test_two_functions_of_one_name_are_found():
    caller = replace(function_from(Builder()), callees=(half(), half()))
    assert problem_of(caller) == "kernel: two functions have one name"


def test_terminator_may_follow_branches_that_both_leave():
    kernel = Arrays(F32)
    kernel.when(
        kernel.b.constant(True, B8),
        lambda: kernel.b.append(ir.Return(())),
        lambda: kernel.b.append(ir.Return(())),
    )
    kernel.b.append(ir.Unreachable())
    verify(kernel.function())
