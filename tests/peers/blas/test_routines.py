"""Every routine, dtype, letter and layout against formulas over dense arrays."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.routines import LETTERS, ROUTINES, Form
from tests.helpers.blas_cases import (
    MARK,
    MATRIX_LAYOUTS,
    SIZES,
    VECTOR_LAYOUTS,
    flag_choices,
    is_refused,
    lay_out,
    make_values,
    tolerance,
)
from tests.helpers.blas_reference import number, outputs

CASES = [
    pytest.param(routine, letter, id=f"{letter}{routine.name}")
    for routine in ROUTINES.values()
    for letter in routine.names
]


# Layouts do not depend on the precision.
WIDE_CASES = [case for case in CASES if case.values[1] in "DZ"]


def layouts_of(routine):
    """Yield enough choices of layouts for the arrays: each with each for two of them."""
    choices = [
        MATRIX_LAYOUTS if operand.form in (Form.MATRIX, Form.BAND) else VECTOR_LAYOUTS
        for operand in routine.operands
    ]
    longest = max(len(each) for each in choices)
    for shift in range(longest):
        for turn in range(longest):
            yield [
                each[(turn + shift * position) % len(each)] for position, each in enumerate(choices)
            ]


def call(routine, arguments):
    return getattr(blas, routine.name)(**arguments)


def check(routine, letter, arguments, layouts, on_device=False):
    laid = dict(arguments)
    parents = {}
    for operand, layout in zip(routine.operands, layouts, strict=True):
        view, parents[operand.name] = lay_out(arguments[operand.name], layout)
        laid[operand.name] = cuda.to_device(view) if on_device else view
    wide = {
        name: value.astype("c16" if value.dtype.kind == "c" else "f8")
        if isinstance(value, np.ndarray)
        else value
        for name, value in arguments.items()
    }
    result = call(routine, laid)
    close = {"rtol": tolerance(letter), "atol": tolerance(letter)}
    if routine.returns_number:
        np.testing.assert_allclose(result, number(routine.name, wide), **close)
        return
    expected = outputs(routine.name, wide)
    results = result if isinstance(result, tuple) else (result,)
    for operand, got in zip(routine.outputs, results, strict=True):
        assert got is laid[operand.name]
        np.testing.assert_allclose(np.asarray(got), expected[operand.name], **close)
    if on_device:
        return
    for operand, layout in zip(routine.operands, layouts, strict=True):
        if not operand.is_output:
            np.testing.assert_array_equal(laid[operand.name], arguments[operand.name])
        if layout != "unaligned":
            laid[operand.name][...] = MARK
            assert (parents[operand.name] == MARK).all(), f"wrote around {operand.name}"


def is_defined(routine, sizes):
    return sizes["n"] or routine.name not in ("amax", "amin")


@pytest.mark.parametrize(("routine", "letter"), CASES)
def test_a_routine_does_what_its_formula_says(routine, letter):
    rng = np.random.default_rng(zlib.crc32(routine.name.encode()))
    layouts = itertools.cycle(layouts_of(routine))
    for flags in flag_choices(routine):
        if is_refused(routine, letter, flags):
            continue
        for sizes in rng.permutation(np.array(SIZES))[:3]:
            if is_defined(routine, sizes):
                arguments = make_values(routine, letter, flags, sizes, rng)
                check(routine, letter, arguments, next(layouts))


@pytest.mark.parametrize(("routine", "letter"), WIDE_CASES)
def test_every_pair_of_layouts_gives_the_same_numbers(routine, letter):
    rng = np.random.default_rng(zlib.crc32(routine.name.encode()) + 1)
    choices = [each for each in flag_choices(routine) if not is_refused(routine, letter, each)]
    for turn, layouts in enumerate(layouts_of(routine)):
        flags = choices[(turn * 7) % len(choices)]
        # The second time what was found out about the layouts is known.
        for _ in range(2):
            arguments = make_values(routine, letter, flags, SIZES[turn % 2], rng)
            check(routine, letter, arguments, layouts)


@pytest.mark.parametrize(("routine", "letter"), WIDE_CASES)
def test_arrays_on_the_device_are_used_in_place(routine, letter):
    rng = np.random.default_rng(5)
    flags = next(flag_choices(routine))
    layouts = next(layouts_of(routine))
    for _ in range(2):
        check(routine, letter, make_values(routine, letter, flags, SIZES[0], rng), layouts, True)


BLENDING = [name for name, routine in ROUTINES.items() if "beta" in routine.native]


@pytest.mark.parametrize("letter", LETTERS.values())
@pytest.mark.parametrize("name", [name for name in BLENDING if name != "geam"])
def test_an_output_is_not_read_where_beta_is_zero(name, letter):
    routine = ROUTINES[name]
    if letter not in routine.names:
        return
    rng = np.random.default_rng(3)
    for flags in flag_choices(routine):
        if is_refused(routine, letter, flags):
            continue
        for sizes, layout in itertools.product(SIZES[:5:2], ("C", "F", "strided")):
            arguments = make_values(routine, letter, flags, sizes, rng)
            arguments["beta"] = 0
            (output,) = routine.outputs
            chosen = layout if output.form is Form.MATRIX else "strided"
            expected = outputs(name, arguments)[output.name]
            old = np.full_like(arguments[output.name], np.nan)
            if "uplo" in flags and output.form is Form.MATRIX:
                expected = outputs(name, arguments | {output.name: old})[output.name]
            arguments[output.name] = lay_out(old, chosen)[0]
            got = call(routine, arguments)
            np.testing.assert_allclose(
                got, expected, rtol=tolerance(letter), atol=tolerance(letter)
            )


@pytest.mark.parametrize(("routine", "letter"), WIDE_CASES)
def test_outputs_are_made_where_none_are_given(routine, letter):
    optional = [operand.name for operand in routine.operands if operand.is_optional]
    if not optional:
        return
    rng = np.random.default_rng(4)
    for flags in flag_choices(routine):
        if is_refused(routine, letter, flags):
            continue
        arguments = make_values(routine, letter, flags, SIZES[0], rng)
        (name,) = optional
        zeros = arguments | {name: np.zeros_like(arguments[name])}
        if routine.operands[-1].role.name == "BLENDED":
            zeros["beta"] = 0
            del arguments["beta"]
        del arguments[name]
        got = call(routine, arguments)
        assert got.dtype == zeros[name].dtype
        np.testing.assert_allclose(
            got, outputs(routine.name, zeros)[name], rtol=tolerance(letter), atol=tolerance(letter)
        )
