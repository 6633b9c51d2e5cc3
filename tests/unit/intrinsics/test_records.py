import math

import numpy as np
import pytest

from pygpulib.core.dtypes import ALL_DTYPES, DType, bool_, float16, float32, float64, int8
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics import catalogue
from pygpulib.jit.ir.intrinsic import REGISTRY, Compose, Extern, Intrinsic, find_intrinsic
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from tests.helpers import evaluation
from tests.helpers.samples import SAMPLES, samples

MODULES = {module.__name__ for module in catalogue.FAMILIES}
RECORDS = [record for record in REGISTRY.values() if record.reference.__module__ in MODULES]


def signatures(record: Intrinsic) -> list[tuple[DType, ...]]:
    """The operand types that a record takes without conversion."""
    found = []
    for dtype in ALL_DTYPES:
        for operands in ((dtype,), (dtype,) * 2, (dtype,) * 3):
            signature = record.rule(operands)
            if signature is not None and signature.operands not in found:
                found.append(signature.operands)
    for dtype in (float32, float64):
        signature = record.rule((dtype, float64)) or record.rule((dtype, ALL_DTYPES[3]))
        if signature is not None and signature.operands not in found:
            found.append(signature.operands)
    return found


CASES = [
    pytest.param(record, operands, id=f"{record.name}-{'-'.join(map(str, operands))}")
    for record in RECORDS
    for operands in signatures(record)
]


def columns_for(record: Intrinsic, operands: tuple[DType, ...], count: int) -> tuple:
    drawn = {bool_: int8, float16: float32}.get(operands[0], operands[0])
    columns = samples("integer" if drawn.is_integer else record.samples, drawn, 64)
    columns = (columns * len(operands))[: len(operands)]
    rng = np.random.default_rng(1)
    rows = rng.choice(len(columns[0]), min(count, len(columns[0])), replace=False)
    with np.errstate(all="ignore"):
        return tuple(
            column[rows].astype(dtype.numpy)
            for column, dtype in zip(columns, operands, strict=True)
        )


def test_every_family_is_registered():
    assert len(RECORDS) > 60
    assert {record.reference.__module__ for record in RECORDS} == MODULES - {
        "pygpulib.jit.intrinsics.complex_math"
    }


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_record_is_complete(record):
    assert record.reference.__doc__
    assert record.samples in SAMPLES
    assert signatures(record)
    for spelling in record.spellings:
        assert find_intrinsic(spelling) is record


@pytest.mark.parametrize(("record", "operands"), CASES)
def test_lowerings_serve_every_signature(record, operands):
    for lowering in (record.cpu, record.cuda):
        match lowering:
            case Extern(symbols):
                assert operands[0] in symbols
            case Compose(functions):
                assert operands[0] in functions


@pytest.mark.parametrize(("record", "operands"), CASES)
def test_reference_gives_the_results_of_the_rule(record, operands):
    expected = record.rule(operands).results
    for row in zip(*columns_for(record, operands, 8), strict=True):
        results = record.reference(*row)
        results = results if isinstance(results, tuple) else (results,)
        assert len(results) == len(expected)
        for result, dtype in zip(results, expected, strict=True):
            assert np.asarray(result).dtype == dtype.numpy


def composed_cases() -> list:
    found = []
    for record in RECORDS:
        for operands in signatures(record):
            for side in ("cpu", "cuda"):
                lowering = getattr(record, side)
                if not isinstance(lowering, Compose) or (side == "cuda" and lowering is record.cpu):
                    continue
                if operands[0].bits >= 32:
                    name = f"{record.name}-{operands[0]}-{side}"
                    function = lowering.functions[operands[0]]
                    found.append(pytest.param(record, operands, function, id=name))
    return found


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal values, signs of zeros included; any nan equals any nan."""
    if first.dtype.kind != "f":
        return bool(np.array_equal(first, second))
    nan = np.isnan(first) & np.isnan(second)
    return bool(np.all(nan | ((first == second) & (np.signbit(first) == np.signbit(second)))))


@pytest.mark.parametrize(("record", "operands", "function"), composed_cases())
def test_composed_function_is_the_same_in_python_and_compiled(record, operands, function):
    columns = columns_for(record, operands, 60)
    results = record.rule(operands).results
    with np.errstate(all="ignore"):
        rows = [function(*row) for row in zip(*columns, strict=True)]
    for position, dtype in enumerate(results):

        def one(*arguments, position=position):
            return function(*arguments)[position]

        compiled = evaluation.over(function if len(results) == 1 else one, *columns)
        values = [row[position] if isinstance(row, tuple) else row for row in rows]
        with np.errstate(all="ignore"):
            assert same(compiled.astype(dtype.numpy), np.array(values).astype(dtype.numpy))


@pytest.mark.parametrize(("record", "operands", "function"), composed_cases())
def test_composed_function_needs_no_memory_and_cannot_fail(record, operands, function):
    scalars = tuple(types.scalar_type(dtype) for dtype in operands)
    compiled = compile_function(function, scalars, CompileOptions(), is_kernel=False)
    verify(compiled)
    assert not compiled.errors
    assert not compiled.callees


def test_python_objects_find_their_intrinsic():
    assert find_intrinsic(math.sin) is find_intrinsic(np.sin) is REGISTRY["sin"]
    assert find_intrinsic(math.pow) is REGISTRY["pow"]
    assert find_intrinsic(np.arctan2) is REGISTRY["atan2"]
    assert find_intrinsic(print) is None
