"""How a distribution is drawn: records that kernels are made from, and the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pygpulib._record import record
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.rand import distributions as dist
from pygpulib.rand.compiling import Function, Value, device, kernel
from pygpulib.rand.substreams import (
    inside_from,
    join_words,
    uniform_from,
    uniform_single_from,
    words_of,
)

THREADS = 128


@record
class Sampler:
    """How the numbers of a distribution are made.

    Attributes
    ----------
    width : int
        How many neighbouring elements share a sub-stream: 1, 2 or 4.
    begin : Function
        Takes a sub-stream and returns `width` things, one for each of these elements.
    finish : Function
        Makes a number of such a thing and the parameters.
    """

    width: int
    begin: Function
    finish: Function


# ------------------------------------------------------------------------- what samplers begin with


@device
def whole_stream(stream: Value) -> Value:
    """Give an element its sub-stream: for methods that reject."""
    return (stream,)


@device
def two_uniforms(stream: Value) -> Value:
    """Give two elements a float64 in [0, 1) each."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return uniform_from(w0, w1), uniform_from(w2, w3)


@device
def two_inner_uniforms(stream: Value) -> Value:
    """Give two elements a float64 in (0, 1) each."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return inside_from(w0, w1), inside_from(w2, w3)


@device
def four_uniforms(stream: Value) -> Value:
    """Give four elements a float32 in [0, 1) each."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return (
        uniform_single_from(w0),
        uniform_single_from(w1),
        uniform_single_from(w2),
        uniform_single_from(w3),
    )


@device
def four_closed_uniforms(stream: Value) -> Value:
    """Give four elements a float32 in (0, 1] each, with small ones down to 2**-33."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return (
        dist.uniform_single(w0),
        dist.uniform_single(w1),
        dist.uniform_single(w2),
        dist.uniform_single(w3),
    )


@device
def two_normals(stream: Value) -> Value:
    """Give two elements a standard normal of type float64 each."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return dist.normals_double(w0, w1, w2, w3)


@device
def four_normals(stream: Value) -> Value:
    """Give four elements a standard normal of type float32 each."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return (*dist.normals_single(w0, w1), *dist.normals_single(w2, w3))


@device
def four_words(stream: Value) -> Value:
    """Give four elements a word, the sub-stream, and a block of their own to go on with."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return (w0, stream, 1), (w1, stream, 2), (w2, stream, 3), (w3, stream, 4)


@device
def two_long_words(stream: Value) -> Value:
    """Give two elements 64 bits, the sub-stream, and a block of their own to go on with."""
    w0, w1, w2, w3 = words_of(stream, 0)
    return (join_words(w0, w1), stream, 1), (join_words(w2, w3), stream, 2)


# ------------------------------------------------------------------------------------- the kernels


@device
def _whole(parameter: Value, _index: Value) -> Value:
    return parameter


@device
def _element(parameter: Value, index: Value) -> Value:
    return parameter[index]


def _reader_of(is_array: Sequence[bool]) -> Function:
    """Return a function of three parameters and an index that gives those of an element.

    Parameters
    ----------
    is_array : sequence of bool
        Which parameters have a value for each element; those that are not mentioned do not count.
    """
    pick = [_element if each else _whole for each in is_array]
    match pick:
        case []:
            return device(lambda _a, _b, _c, _index: ())
        case [first]:
            return device(lambda a, _b, _c, index: (first(a, index),))
        case [first, second]:
            return device(lambda a, b, _c, index: (first(a, index), second(b, index)))
        case [first, second, third]:
            return device(
                lambda a, b, c, index: (first(a, index), second(b, index), third(c, index))
            )
        case _:
            raise AssertionError(f"{len(pick)} parameters")


@cache
def kernel_of(sampler: Sampler, open_stream: Function, is_array: tuple[bool, ...]) -> Kernel:
    """Return the kernel that fills an array with numbers.

    Parameters
    ----------
    sampler : Sampler
        The distribution.
    open_stream : Function
        What gives the sub-streams of a source their numbers.
    is_array : tuple of bool
        Which parameters are arrays.

    Returns
    -------
    Kernel
        Takes the output, three parameters, and the three items of a source; one thread per
        sub-stream. Plain arguments, not tuples, because a launch passes them faster.
    """
    make = {1: _single_kernel, 2: _pair_kernel, 4: _quad_kernel}[sampler.width]
    return make(sampler, open_stream, _reader_of(is_array))


def _single_kernel(sampler: Sampler, open_stream: Function, read: Function) -> Kernel:
    begin, finish = sampler.begin, sampler.finish

    def draw(
        out: Value, a: Value, b: Value, c: Value, start: Value, jump: Value, key: Value
    ) -> None:
        index = grid(1)
        if index < out.size:
            (only,) = begin(open_stream(start, jump, key, index))
            out[index] = finish(only, *read(a, b, c, index))

    return kernel(draw)


def _pair_kernel(sampler: Sampler, open_stream: Function, read: Function) -> Kernel:
    begin, finish = sampler.begin, sampler.finish

    def draw(
        out: Value, a: Value, b: Value, c: Value, start: Value, jump: Value, key: Value
    ) -> None:
        number = grid(1)
        index = 2 * number
        if index < out.size:
            first, second = begin(open_stream(start, jump, key, number))
            if index + 1 < out.size:
                x = finish(first, *read(a, b, c, index))
                y = finish(second, *read(a, b, c, index + 1))
                # Together, so that vectors of them are written as one.
                out[index] = x
                out[index + 1] = y
            else:
                out[index] = finish(first, *read(a, b, c, index))

    return kernel(draw)


def _quad_kernel(sampler: Sampler, open_stream: Function, read: Function) -> Kernel:
    begin, finish = sampler.begin, sampler.finish

    def draw(
        out: Value, a: Value, b: Value, c: Value, start: Value, jump: Value, key: Value
    ) -> None:
        number = grid(1)
        index = 4 * number
        if index < out.size:
            first, second, third, fourth = begin(open_stream(start, jump, key, number))
            if index + 3 < out.size:
                x = finish(first, *read(a, b, c, index))
                y = finish(second, *read(a, b, c, index + 1))
                z = finish(third, *read(a, b, c, index + 2))
                w = finish(fourth, *read(a, b, c, index + 3))
                # Together, so that vectors of them are written as one.
                out[index] = x
                out[index + 1] = y
                out[index + 2] = z
                out[index + 3] = w
            else:
                out[index] = finish(first, *read(a, b, c, index))
                if index + 1 < out.size:
                    out[index + 1] = finish(second, *read(a, b, c, index + 1))
                if index + 2 < out.size:
                    out[index + 2] = finish(third, *read(a, b, c, index + 2))

    return kernel(draw)


def launch(kernel_: Kernel, threads: int, *arguments: Any) -> None:
    """Run a kernel with at least so many threads."""
    kernel_[-(-threads // THREADS), THREADS](*arguments)
