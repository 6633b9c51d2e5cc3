"""How intrinsics are done on GPUs: what is called exists, and what LLVM has can be selected."""

import itertools
import re

import mpmath as mp
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.dtypes import ALL_DTYPES, float32, float64
from pygpulib.cuda import libdevice as face
from pygpulib.jit.backends.cuda import libdevice
from pygpulib.jit.backends.cuda.compiler import prepare
from pygpulib.jit.dispatcher import compile_composed
from pygpulib.jit.intrinsics import catalogue
from pygpulib.jit.intrinsics.device_accuracy import LIBDEVICE_ULP
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import LLVM, REGISTRY, Compose, Emit, Extern
from pygpulib.jit.types import scalar_type
from tests.helpers.cuda_programs import run_cuda
from tests.helpers.ir_kernels import Arrays
from tests.helpers.packages import needs_vendor_packages
from tests.helpers.samples import samples
from tests.helpers.ulps import error_in_ulps
from tests.unit.intrinsics.test_accuracy import EXACT, PRECISION_BITS, exact_value

REAL = [dtype for dtype in ALL_DTYPES if not dtype.is_complex and not dtype.is_storage]


def signatures(record):
    """Return the signatures that an intrinsic has for all lists of up to three types."""
    found = {}
    for count in (1, 2, 3):
        for types in itertools.product(REAL, repeat=count):
            try:
                signature = record.rule(types)
            except (IndexError, ValueError):
                continue
            if signature is not None and len(signature.operands) == count:
                found[signature.operands] = signature
    return list(found.values())


EXTERN = [record for record in REGISTRY.values() if isinstance(record.cuda, Extern)]


@needs_vendor_packages
@pytest.mark.parametrize("record", EXTERN, ids=lambda record: record.name)
def test_functions_of_the_library_have_the_right_types(record):
    library = libdevice.load_libdevice()
    checked = set()
    for signature in signatures(record):
        symbol = record.cuda.symbols[signature.operands[0]]
        start, end, _ = library.parts[symbol]
        text = library.text[start:end].decode()
        header = re.match(rf"define (\w+) @{symbol}\(([^)]*)\)", text)
        operands = [parameter.split()[0] for parameter in header[2].split(", ")]
        assert operands == [dtype.llvm for dtype in signature.operands], symbol
        assert [header[1]] == [dtype.llvm for dtype in signature.results], symbol
        checked.add(symbol)
    assert checked == set(record.cuda.symbols.values())


def test_every_intrinsic_has_a_way_on_gpus():
    for record in REGISTRY.values():
        assert isinstance(record.cuda, Extern | LLVM | Compose | Emit), record.name


def test_every_function_of_the_library_has_a_known_accuracy():
    families = {module.__name__ for module in catalogue.FAMILIES}
    names = {
        record.name.removeprefix("library_")
        for record in EXTERN
        if record.reference.__module__ in families
    }
    assert names == set(LIBDEVICE_ULP)


ROWS = 64


@needs_vendor_packages
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", sorted(EXACT.keys() & LIBDEVICE_ULP.keys()))
def test_results_are_as_exact_as_the_library(name, dtype):
    record = REGISTRY[name]
    columns = samples(record.samples, dtype, 3 * ROWS)
    chosen = np.random.default_rng(3).permutation(len(columns[0]))[:ROWS]
    columns = [column[chosen] for column in columns]
    kernel = Arrays(dtype, *[dtype] * len(columns))
    operands = tuple(kernel.load(1 + number) for number in range(len(columns)))
    result = ir.Value(dtype)
    kernel.b.append(ir.Call(record, operands, (result,)))
    kernel.store(0, result)
    out = np.zeros(ROWS, dtype.numpy)
    run_cuda(prepare(kernel.function(), compile_composed), 1, ROWS, (out, *columns))
    bound = LIBDEVICE_ULP[name][dtype is float64]
    with mp.workprec(PRECISION_BITS):
        for actual, *row in zip(out, *columns, strict=True):
            exact = exact_value(name, tuple(row))
            is_near_zero = name == "lgamma" and -11 < row[0] < -2
            is_subnormal = exact is not None and abs(exact) < np.finfo(dtype.numpy).tiny
            if exact is not None and not is_near_zero and not is_subnormal:
                error = error_in_ulps(actual, exact)
                assert error <= bound, (row, actual, exact, error)


@needs_vendor_packages
@pytest.mark.parametrize("name", face.__all__)
def test_the_functions_of_the_face_exist_and_compile(name):
    assert f"__nv_{name}" in libdevice.load_libdevice().parts
    function = getattr(face, name)
    type_ = scalar_type(float32 if name.endswith("f") else float64)
    ptx, result = cuda.compile(function, (type_,) * function.__code__.co_argcount, opt=False)
    assert result is not None
    assert ".visible .func" in ptx
