"""Calls in PTX: every intrinsic, the library's functions, and functions that call themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cuda.compiler import prepare
from pygpulib.jit.backends.interp import run
from pygpulib.jit.dispatcher import compile_composed
from pygpulib.jit.intrinsics import catalogue
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import REGISTRY, Intrinsic, Unsupported
from pygpulib.jit.options import CompileOptions
from tests.helpers.cuda_programs import compile_prepared, ptx_of, run_both, run_cuda
from tests.helpers.ir_kernels import Arrays
from tests.helpers.samples import SAMPLES, samples

ROWS = 100
TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint8)
assert catalogue.FAMILIES

# CUDA promises only an absolute error there, or the reference itself is that far off.
LOOSE = {"lgamma": 1e-5, "gamma": 1e-4, "sinpi": 1e-5, "cospi": 1e-5}


def calls() -> list[tuple[Intrinsic, DType]]:
    """Return every intrinsic with every type that it takes as it is."""
    return [
        (record, dtype)
        for record in REGISTRY.values()
        if record.effect is ir.Effect.NONE and record.samples in SAMPLES
        for dtype in TYPES
        if takes(record, dtype)
    ]


def operand_types(record: Intrinsic, dtype: DType) -> tuple[DType, ...]:
    count = len(inspect.signature(record.reference).parameters)
    types = [dtype] * count
    if record.samples == "scale":
        types[1] = dtypes.int32
    return tuple(types)


def takes(record: Intrinsic, dtype: DType) -> bool:
    types = operand_types(record, dtype)
    signature = record.rule(types)
    if record.samples == "scale" and not dtype.is_float:
        return False
    has_samples = dtype.is_float != (record.samples in ("integer", "float_bits"))
    return has_samples and signature is not None and signature.operands == types


def call_kernel(record: Intrinsic, types: tuple[DType, ...], results: tuple[DType, ...]):
    kernel = Arrays(*results, *types)
    operands = [kernel.load(len(results) + number) for number in range(len(types))]
    values = tuple(map(ir.Value, results))
    kernel.b.append(ir.Call(record, tuple(operands), values))
    for number, value in enumerate(values):
        kernel.store(number, value)
    return kernel.function()


@pytest.mark.parametrize(
    ("record", "dtype"), calls(), ids=[f"{record.name}-{dtype}" for record, dtype in calls()]
)
def test_every_intrinsic(record: Intrinsic, dtype: DType) -> None:
    types = operand_types(record, dtype)
    signature = record.rule(types)
    assert signature is not None
    chosen = np.random.default_rng(1).permutation(len(samples(record.samples, dtype, ROWS)[0]))
    columns = [
        column[chosen[:ROWS]].astype(type_.numpy)
        for column, type_ in zip(samples(record.samples, dtype, ROWS), types, strict=True)
    ]
    results = [np.zeros(ROWS, type_.numpy) for type_ in signature.results]
    function = call_kernel(record, types, signature.results)
    expected = (*(array.copy() for array in results), *columns)
    run(function, 1, ROWS, expected)
    run_cuda(prepare(function, compile_composed), 1, ROWS, (*results, *columns))
    for found, wanted in zip(results, expected, strict=False):
        if found.dtype.kind != "f":
            np.testing.assert_array_equal(found, wanted)
            continue
        tolerance = LOOSE.get(record.name, 2e-6) if found.itemsize == 4 else 1e-14
        limits = np.finfo(found.dtype)
        # At the end of the range one unit makes an infinity.
        is_huge = np.abs(wanted) > 0.99 * limits.max
        assert (np.abs(found[is_huge]) > 0.99 * limits.max).all()
        least = float(limits.tiny)
        np.testing.assert_allclose(found[~is_huge], wanted[~is_huge], rtol=tolerance, atol=least)


@pytest.mark.parametrize("name", ["sin", "exp", "log2", "sqrt", "floor", "fma", "tanh"])
def test_float16_goes_through_float32(name: str) -> None:
    record = REGISTRY[name]
    count = len(inspect.signature(record.reference).parameters)
    half = dtypes.float16
    # Front ends convert operands first; a function that does not is to be right, too.
    loose = replace(record, rule=lambda _: None)
    function = call_kernel(loose, (half,) * count, (half,))
    columns = [np.linspace(0.1, 6, 64).astype(np.float16) for _ in range(count)]
    found = np.zeros(64, np.float16)
    run_cuda(function, 1, 64, (found, *columns))
    reference = np.vectorize(record.reference)(*(c.astype(np.float64) for c in columns))
    np.testing.assert_allclose(found, reference, rtol=2e-3)


def test_unsupported_intrinsics_say_so() -> None:
    record = replace(REGISTRY["sin"], cuda=Unsupported("there is no such thing"))
    function = call_kernel(record, (dtypes.float32,), (dtypes.float32,))
    with pytest.raises(
        UnsupportedFeatureError, match="sin is not supported on GPUs: there is no such thing"
    ):
        ptx_of(function)


# -------------------------------------------------------------------------------- fast mathematics


def compile_options(**options: bool) -> Callable[..., ir.Function]:
    return lambda kernel, *args: compile_prepared(kernel, *args, options=CompileOptions(**options))


def test_division_is_exact_unless_asked_otherwise() -> None:
    def kernel(x, y, out):
        i = cuda.threadIdx.x
        out[i] = x[i] / y[i]

    arrays = np.ones((3, 4), np.float32)
    exact = ptx_of(compile_options(fma=True)(kernel, *arrays))
    fast = ptx_of(compile_options(fastmath=True)(kernel, *arrays))
    assert "div.rn.f32" in exact
    assert ".ftz" not in exact
    assert "div.approx.ftz.f32" in fast


def test_multiply_and_add_are_one_rounding_where_that_is_allowed() -> None:
    def kernel(x, y, out):
        i = cuda.threadIdx.x
        out[i] = x[i] * y[i] + x[i]

    arrays = np.ones((3, 4), np.float32)
    contracted = ptx_of(compile_options(fma=True)(kernel, *arrays))
    separate = ptx_of(compile_options(fma=False)(kernel, *arrays))
    assert "fma.rn.f32" in contracted
    assert "fma" not in separate
    # Without a rounding mode, the assembler would contract them.
    assert "mul.rn.f32" in separate
    assert "add.rn.f32" in separate


def test_fast_functions() -> None:
    import math

    def kernel(x, out):
        i = cuda.threadIdx.x
        out[i] = math.sin(x[i]) + math.exp(x[i]) + math.sqrt(x[i])

    arrays = np.ones((2, 4), np.float32)
    fast = ptx_of(compile_options(fastmath=True)(kernel, *arrays))
    for instruction in ("sin.approx.ftz.f32", "ex2.approx.ftz.f32", "sqrt.approx.ftz.f32"):
        assert instruction in fast
    exact = ptx_of(compile_options()(kernel, *arrays))
    assert "sqrt.rn.f32" in exact
    assert "sin.approx" not in exact


# --------------------------------------------------------------------------------------- recursion


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def digits(n, count, positive):
    if n == 0:
        return count, 0.5 * n, not positive
    return digits(n // 10, count + 1, not positive)


@pytest.mark.parametrize("seed", [None, 3])
def test_functions_that_call_themselves(seed: int | None) -> None:
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = fibonacci(i % 9)
        if i % 3:
            count, half, flag = digits(i * i, 0, True)
            out[1, i] = count + half + flag

    run_both(kernel, 1, 40, np.zeros((2, 40)), seed=seed)


def test_errors_in_functions_that_call_themselves() -> None:
    @cuda.jit(device=True)
    def descend(n):
        if n == 0:
            raise ValueError("at the bottom")
        if n > 100:
            return 0
        return descend(n - 1) + 1

    def kernel(out):
        i = cuda.threadIdx.x
        if i >= 2:
            out[i] = descend(i)
        else:
            out[i] = 1

    out = np.zeros(5)
    function = compile_prepared(kernel, out, options=CompileOptions(debug=True))
    record, _ = run_cuda(function, 1, 5, (out,))
    assert record[0] == 1
    assert function.errors[record[1]].message == "at the bottom"
    assert record[5] in (2, 3, 4)
    assert out.tolist() == [1, 1, 0, 0, 0]
