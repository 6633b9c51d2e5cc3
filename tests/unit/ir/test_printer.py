import numpy as np

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.printer import format_function, format_op
from pygpulib.jit.ir.rewrite import clone
from tests.helpers.ir_kernels import Arrays, block, function_from, value
from tests.helpers.sample_ir import mandelbrot

GOLDEN_ARRAYS = """\
function kernel(%0.array: ptr.global, %1.shape: int64, %2.stride: int64) -> () \
contract=True fastmath=False {
  %3.tid.x: int32 = read_register register=tid.x
  %4.tid.x: int64 = cast %3.tid.x
  %5: float32 = load %0.array %4.tid.x scale=4 access=a0/1d
  %6: float32 = binary %5 %5 kind=add strict=True
  %7: bool = compare %6 %5 kind=gt
  if %7 then {
    store %0.array %4.tid.x %6 scale=4 access=a0/1d
    yield ()
  } else {
    yield ()
  }
  return ()
}
"""

GOLDEN_LOOP = """\
function kernel() -> () contract=True fastmath=False {
  error 0: ValueError('too small')
  %0: int32 = const value=0
  %1: float64 = const value=-0.0
  %2: float64 = for %0 %0 %0 (%1) (%3.i: int32, %4: float64) {
    print (%3.i) parts=('i =', None)
    barrier kind=block
    break (%4)
  }
  raise code=0
}
"""


def test_operations_operands_and_attributes_are_printed():
    kernel = Arrays(dtypes.float32)
    x = kernel.load(0)
    twice = kernel.b.binary(ir.BinaryKind.ADD, x, x, strict=True)
    is_more = kernel.b.compare(ir.CompareKind.GT, twice, x)
    kernel.when(is_more, lambda: kernel.store(0, twice))
    assert format_function(kernel.function()) == GOLDEN_ARRAYS


def test_loops_carry_their_parameters():
    b = Builder()
    zero, minus = b.constant(0, dtypes.int32), b.constant(-0.0, dtypes.float64)
    index, carried = value(dtypes.int32, "i"), value(dtypes.float64)
    body = block(
        [
            ir.Print(("i =", None), (index,)),
            ir.Barrier(ir.BarrierKind.BLOCK),
            ir.Break((carried,)),
        ],
        (index, carried),
    )
    b.append(ir.For(zero, zero, zero, (minus,), body, (value(dtypes.float64),)))
    b.append(ir.Raise(0))
    entry = ir.ErrorEntry(ValueError, "too small", None)
    assert format_function(function_from(b, errors=(entry,))) == GOLDEN_LOOP


def test_equal_programs_have_equal_text():
    function = mandelbrot()
    mapping = {param: ir.Value(param.type, param.hint) for param in function.params}
    copy = replace(function, params=tuple(mapping.values()), body=clone(function.body, mapping))
    assert format_function(copy) == format_function(function)


def test_constant_data_is_named_by_its_contents():
    def text(data: np.ndarray) -> str:
        return format_op(ir.ConstantData(data, value(ir.Pointer())))

    data = np.arange(1000.0)
    assert text(data) == text(data.copy())
    assert (
        len({text(data), text(data + 1), text(data.reshape(10, 100)), text(data.view("i8"))}) == 4
    )


def test_undefined_operand_is_marked():
    b = Builder()
    b.append(ir.Unary(ir.UnaryKind.NOT, value(dtypes.int8, "lost"), value(dtypes.int8)))
    assert "%0: int8 = unary %?.lost kind=not" in format_function(function_from(b))


def test_callees_follow_their_caller():
    callee = replace(function_from(Builder()), name="helper")
    caller = replace(function_from(Builder()), callees=(callee,))
    names = [
        line.split("(")[0]
        for line in format_function(caller).splitlines()
        if line.startswith("function")
    ]
    assert names == ["function kernel", "function helper"]
