import pytest
from hypothesis import given

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.errors import InternalError
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.printer import format_function
from pygpulib.jit.passes.pipeline import COMMON_PASSES, optimize, run_passes
from tests.helpers.ir_kernels import Arrays
from tests.helpers.ir_programs import assert_same, programs


def kernel() -> ir.Function:
    arrays = Arrays(dtypes.int32)
    arrays.store(0, arrays.b.binary(ir.BinaryKind.ADD, *[arrays.load(0)] * 2))
    return arrays.function()


def rename(function: ir.Function) -> ir.Function:
    return replace(function, name=f"{function.name}_renamed")


def keep(function: ir.Function) -> ir.Function:
    return function


def spoil(function: ir.Function) -> ir.Function:
    body = replace(function.body, ops=function.body.ops[:-1])
    return replace(function, body=body)


def test_passes_run_in_their_order():
    assert run_passes(kernel(), [rename, keep, rename]).name == "kernel_renamed_renamed"


def test_result_is_always_verified():
    with pytest.raises(InternalError, match="a terminator stands at the end of each block"):
        run_passes(kernel(), [spoil, rename], verify=False)


def test_verification_after_each_pass_names_the_pass():
    with pytest.raises(InternalError) as caught:
        run_passes(kernel(), [rename, spoil, rename], verify=True)
    assert caught.value.__notes__ == ["found after spoil"]
    with pytest.raises(InternalError) as caught:
        run_passes(spoil(kernel()), [], verify=True)
    assert caught.value.__notes__ == ["found after the front end"]


def test_dump_shows_the_function_after_each_pass_that_changed_it(capsys):
    function = kernel()
    run_passes(function, [keep, rename], dump=True)
    text = format_function(function)
    renamed = format_function(rename(function))
    expected = f"; after the front end\n{text}\n; after rename\n{renamed}\n"
    assert capsys.readouterr().err == expected


@given(programs())
def test_common_passes_change_no_result(program):
    run_passes(program.function, COMMON_PASSES, verify=True)
    assert_same(program, optimize(program.function))


@pytest.mark.fuzz
@given(programs())
def test_each_common_pass_changes_no_result(program):
    function = program.function
    for run in COMMON_PASSES:
        function = run_passes(function, [run], verify=True)
        assert_same(program, function)
