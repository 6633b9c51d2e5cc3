"""BLAS through ctypes: the calls of cuBLAS, on a fake library that computes with formulas."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.mixed import COMBINATIONS
from pygpulib.blas.routines import ROUTINES, Form
from pygpulib.core.dtypes import storage_dtype
from tests.fakecuda.devices import cuda_in_use
from tests.fakecuda.driver import FakeCuda
from tests.helpers.blas_cases import (
    MARK,
    MATRIX_LAYOUTS,
    SIZES,
    VECTOR_LAYOUTS,
    flag_choices,
    is_refused,
    lay_out,
    lay_out_on_device,
    make_values,
    tolerance,
)
from tests.helpers.blas_reference import number, outputs
from tests.helpers.cublas_fake import cublas_in_use, replace_cublas


@pytest.fixture
def library(fake_cuda, monkeypatch):
    return replace_cublas(monkeypatch, fake_cuda)


def layouts_of(routine):
    choices = [
        MATRIX_LAYOUTS if operand.form in (Form.MATRIX, Form.BAND) else VECTOR_LAYOUTS
        for operand in routine.operands
    ]
    for turn in itertools.count():
        yield [each[(turn * (1 + 2 * i)) % len(each)] for i, each in enumerate(choices)]


def check(routine, letter, arguments, layouts, place, stream):
    laid, parents = dict(arguments), {}
    for operand, layout in zip(routine.operands, layouts, strict=True):
        laid[operand.name], parents[operand.name] = place(arguments[operand.name], layout)
    result = getattr(blas, routine.name)(**laid, stream=stream)
    close = {"rtol": tolerance(letter), "atol": tolerance(letter)}
    if routine.returns_number:
        np.testing.assert_allclose(result, number(routine.name, arguments), **close)
        return
    results = result if isinstance(result, tuple) else (result,)
    expected = outputs(routine.name, arguments)
    for operand, got in zip(routine.outputs, results, strict=True):
        assert got is laid[operand.name]
        host = got if isinstance(got, np.ndarray) else got.copy_to_host(stream=stream)
        stream.synchronize()
        np.testing.assert_allclose(host, expected[operand.name], **close)
        if isinstance(got, np.ndarray):
            continue
        around = parents[operand.name].copy_to_host()
        assert (around == MARK).sum() == around.size - host.size


@pytest.mark.parametrize("name", ROUTINES)
def test_a_routine_gives_the_library_what_it_needs(library, name):
    routine = ROUTINES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    layouts = layouts_of(routine)
    stream = cuda.stream()
    choices = list(flag_choices(routine))
    for turn in range(8):
        letter = list(routine.names)[turn % len(routine.names)]
        flags = choices[turn * 5 % len(choices)]
        sizes = SIZES[turn % 7]
        place = lay_out if turn % 3 == 2 else lay_out_on_device
        is_empty = not sizes["n"] and name in ("amax", "amin")
        if not is_empty and not is_refused(routine, letter, flags):
            arguments = make_values(routine, letter, flags, sizes, rng)
            check(routine, letter, arguments, next(layouts), place, stream)
    assert {used for _, used in library.calls} == {stream.handle}


def random(rng, shape, dtype):
    found = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.uniform(-1, 1, shape)
    return found.astype(dtype)


STACKS = (
    cuda.to_device,
    lambda a: cuda.to_device(a.swapaxes(1, 2).copy()).transpose(0, 2, 1),
    lambda a: cuda.to_device(a[::-1].copy())[::-1],
    lambda a: cuda.to_device(np.repeat(a, 2, axis=2))[:, :, ::2],
    lambda a: a,
)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_stacks_are_multiplied(library, dtype):
    rng = np.random.default_rng(0)
    for turn, (transa, transb) in enumerate(itertools.product("NTC", repeat=2)):
        a = random(rng, (4, 2, 3) if transa == "N" else (4, 3, 2), dtype)
        b = random(rng, (4, 3, 5) if transb == "N" else (4, 5, 3), dtype)
        c = random(rng, (4, 2, 5), dtype)
        ops = {"N": lambda x: x, "T": lambda x: x.swapaxes(1, 2)}
        ops["C"] = lambda x: x.swapaxes(1, 2).conj()
        expected = 2 * (ops[transa](a) @ ops[transb](b)) + 0.5 * c
        given = [STACKS[(turn + i * 2) % 5](each) for i, each in enumerate((a, b, c))]
        got = blas.gemm_strided_batched(transa, transb, 2, *given[:2], 0.5, given[2])
        assert got is given[2]
        close = tolerance("S" if dtype == "f4" else "Z")
        np.testing.assert_allclose(np.asarray(got), expected, rtol=close, atol=close)
    a, b = cuda.to_device(a[0]), cuda.to_device(b)
    made = blas.gemm_strided_batched("C", "C", 1, a, b)
    expected = ops["C"](a.copy_to_host()[None]) @ ops["C"](b.copy_to_host())
    np.testing.assert_allclose(made.copy_to_host(), expected, rtol=1e-5)


def test_stacks_are_factored_solved_and_inverted(library):
    rng = np.random.default_rng(1)
    a, b = rng.random((3, 4, 4)), rng.random((3, 4, 2))
    for place in (cuda.to_device, np.array):
        factors, pivots, info = blas.getrf_batched(place(a))
        assert not np.asarray(info).any()
        x = blas.getrs_batched("T", factors, pivots, place(b))
        np.testing.assert_allclose(a.swapaxes(1, 2) @ np.asarray(x), b)
        inverses, _ = blas.getri_batched(factors, pivots)
        np.testing.assert_allclose(np.asarray(inverses), np.linalg.inv(a))
        x, info = blas.gels_batched("N", place(a[:, :, :2]), place(b))
        expected = np.linalg.lstsq(a[1][:, :2], b[1], rcond=None)[0]
        np.testing.assert_allclose(np.asarray(x)[1], expected)
        factors, _ = blas.geqrf_batched(place(a))
        np.testing.assert_allclose(
            np.abs(np.linalg.qr(a[2])[1][0]), np.abs(np.asarray(factors)[2][0])
        )


@pytest.mark.parametrize(
    ("kind", "compute", "result"),
    [(kind, compute, result) for (kind, compute), all_ in COMBINATIONS.items() for result in all_],
)
def test_mixed_precision(library, kind, compute, result):
    rng = np.random.default_rng(2)
    layouts = [name for name in MATRIX_LAYOUTS if name != "unaligned"]
    for turn, (transa, transb) in enumerate(itertools.product("NT", repeat=2)):
        shapes = ((2, 5) if transa == "N" else (5, 2), (5, 3) if transb == "N" else (3, 5), (2, 3))
        a, b, c = (rng.integers(-4, 5, shape) for shape in shapes)
        dtypes = [storage_dtype(each) for each in (kind, kind, result)]
        given = [
            lay_out_on_device(each.astype(dtype), layouts[(turn * (i + 2)) % 8])[0]
            for i, (each, dtype) in enumerate(zip((a, b, c), dtypes, strict=True))
        ]
        product = (a if transa == "N" else a.T) @ (b if transb == "N" else b.T)
        got = blas.gemm_ex(transa, transb, 2, *given[:2], 3, given[2], compute=compute)
        np.testing.assert_array_equal(got.copy_to_host().astype("f8"), 2 * product + 3 * c)
    called = [name for name, _ in library.calls if name == "cublasGemmEx"]
    assert len(called) == 4


@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_elements_are_finished_on_the_device(library, activation):
    rng = np.random.default_rng(3)
    a, b, bias = (rng.uniform(-1, 1, shape).astype("f2") for shape in ((3, 4), (4, 2), (2,)))
    got = blas.matmul(
        cuda.to_device(a), cuda.to_device(b), bias=cuda.to_device(bias), activation=activation
    )
    x = a.astype("f8") @ b.astype("f8") + bias
    expected = {
        None: x,
        "relu": np.maximum(x, 0),
        "gelu": 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    }[activation]
    np.testing.assert_allclose(got.copy_to_host(), expected, rtol=2e-3, atol=1e-3)


def test_plans_of_the_processor_are_not_used_on_a_gpu():
    x = np.ones(5)
    for _ in range(2):
        blas.scal(2.0, x)
    with FakeCuda() as fake, cuda_in_use(fake), cublas_in_use(fake):
        for _ in range(2):
            blas.scal(2.0, x)
    np.testing.assert_array_equal(x, np.full(5, 16.0))
