"""BLAS through ctypes: the calls of cuBLAS, on a fake library that computes with formulas."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.routines import ROUTINES, Form
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
from tests.helpers.cublas_fake import replace_cublas


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
    for turn in range(10):
        letter = list(routine.names)[turn % len(routine.names)]
        flags = choices[turn * 5 % len(choices)]
        sizes = SIZES[turn % 7]
        place = lay_out if turn % 3 == 2 else lay_out_on_device
        is_empty = not sizes["n"] and name in ("amax", "amin")
        if not is_empty and not is_refused(routine, letter, flags):
            arguments = make_values(routine, letter, flags, sizes, rng)
            check(routine, letter, arguments, next(layouts), place, stream)
    assert {used for _, used in library.calls} == {stream.handle}
