"""Random permutations on the device.

Short sequences are shuffled by one thread, as Durstenfeld (1964) does. Long ones go the way of Rao
(1961) and Sandelius (1962): every element goes to a random bucket, and a thread shuffles each
bucket. All permutations are equally likely, and which one it is depends on the length and the
random bits only.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.rand.compiling import Function, Value, device, kernel
from pygpulib.rand.moving import Packed, in_pieces
from pygpulib.rand.samplers import THREADS, launch
from pygpulib.rand.substreams import words_of

if TYPE_CHECKING:
    from pygpulib.rand.bit_generators import BitGenerator

_SHORT = 1024
"""Longest sequence that a single thread shuffles."""
_BUCKET = 256
_MOST_BITS = 10
"""At most so many bits say to which bucket an element goes."""
_FEWEST_CHUNKS, _MOST_CHUNKS = 64, 1024
_CHUNK = 4096
"""Elements that a thread puts into buckets, as long as there are enough for all."""

_WORD = np.uint64(0xFFFFFFFF)


def random_order(bits: BitGenerator, count: int) -> ndarray:
    """Return the numbers from 0 to `count` in random order, as a device array of dtype int64.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    count : int
        How many.
    """
    return random_orders(bits, 1, count).reshape(count)


def random_orders(bits: BitGenerator, rows: int, count: int) -> ndarray:
    """Return rows of the numbers from 0 to `count`, each in a random order of its own.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    rows : int
        How many orders.
    count : int
        How many numbers.
    """
    orders = device_array((rows, count), np.int64)
    if count > _SHORT:
        for row in range(rows):
            _shuffle_long(bits, orders[row], orders[row], _position)  # type: ignore[arg-type]
    elif orders.size:
        _shuffle_rows(bits, orders, orders, _position)
    return orders


def can_shuffle(array: Packed) -> bool:
    """Return whether :func:`shuffle_lines` takes the elements of an array."""
    return array.itemsize in {1, 2, 4, 8}


def shuffle_lines(bits: BitGenerator, array: Packed, count: int) -> ndarray:
    """Return an array whose lines are shuffled, each as an order of :func:`random_orders`.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    array : numpy.ndarray or ndarray
        A contiguous array; see :func:`can_shuffle`.
    count : int
        Length of a line: so many neighbours.
    """
    result = device_array(array.shape, array.dtype)
    if not result.size:
        return result
    out, given, _ = in_pieces(result, array)
    if count <= _SHORT:
        lines = out.size // count, count
        _shuffle_rows(bits, out.reshape(lines), given.reshape(lines), _element)
        return result
    for begin in range(0, array.size, count):
        line = slice(begin, begin + count)
        _shuffle_long(bits, out[line], given[line], _element)  # type: ignore[arg-type]
    return result


def _shuffle_rows(bits: BitGenerator, out: ndarray, given: Packed, read: Function) -> None:
    """Write the elements of each row to another one in random order."""
    rows = out.shape[0]
    source = bits.take(rows)
    # A processor has nothing of threads without work.
    threads = min(THREADS, 1 << (rows - 1).bit_length())
    shuffle = _rows_kernel(source.open_stream, read)
    shuffle[-(-rows // threads), threads](out, given, *source.arguments)


def _shuffle_long(bits: BitGenerator, out: ndarray, given: Packed, read: Function) -> None:
    """Write the elements of one sequence to another one in random order."""
    count = out.size
    exponent = min(_MOST_BITS, (count // _BUCKET).bit_length())
    buckets = 1 << exponent
    chunks = min(max(_FEWEST_CHUNKS, count // _CHUNK), _MOST_CHUNKS)
    # Chunks begin where a block of random words begins.
    chunk = -(-count // (4 * chunks)) * 4
    blocks = -(-count // 4)
    source = bits.take(blocks + buckets)
    places = device_array((chunks, buckets), np.int64)
    totals = device_array(buckets, np.int64)
    shift = np.uint32(32 - exponent)
    open_stream = source.open_stream
    launch(_count_kernel(open_stream), chunks, places, count, shift, chunk, *source.arguments)
    launch(_add_columns, buckets, totals, places)
    launch(_place_buckets, buckets, totals, places)
    scatter = _scatter_kernel(open_stream, read)
    launch(scatter, chunks, out, given, places, shift, chunk, *source.arguments)
    # Now the last place of a bucket is its end.
    launch(_bucket_kernel(open_stream), buckets, out, places, blocks, *source.arguments)


@device
def _shuffle(values: Value, begin: Value, end: Value, stream: Value) -> None:
    """Shuffle less than 2**32 values in place; a word that would favour some is left out."""
    left = np.uint64(end - begin)
    number = 0
    while left > 1:
        for word in words_of(stream, number):
            product = np.uint64(word) * left
            rest = product & _WORD
            # Nearly always the first comparison decides (Lemire, 2019).
            if left > 1 and (rest >= left or rest >= (_WORD + np.uint64(1)) % left):
                other = begin + np.int64(product >> np.uint64(32))
                left -= np.uint64(1)
                last = begin + np.int64(left)
                kept = values[last]
                values[last] = values[other]
                values[other] = kept
        number += 1


@device
def _position(_given: Value, place: Value) -> Value:
    return place


@device
def _element(given: Value, place: Value) -> Value:
    return given[place]


# Plain arguments, not tuples, because a launch passes them faster.


@cache
def _rows_kernel(open_stream: Function, read: Function) -> Kernel:
    def shuffle_rows(out: Value, given: Value, start: Value, jump: Value, key: Value) -> None:
        number = grid(1)
        if number < out.shape[0]:
            row = out[number]
            for i in range(row.size):
                row[i] = read(given[number], i)
            _shuffle(row, 0, row.size, open_stream(start, jump, key, number))

    return kernel(shuffle_rows)


@kernel
def _add_columns(totals: Value, places: Value) -> None:
    row = grid(1)
    if row < totals.size:
        total = 0
        for chunk in range(places.shape[0]):
            total += places[chunk, row]
        totals[row] = total


@kernel
def _place_buckets(totals: Value, places: Value) -> None:
    """Replace counts by the place of the first element."""
    row = grid(1)
    if row < totals.size:
        place = 0
        for earlier in range(row):
            place += totals[earlier]
        for chunk in range(places.shape[0]):
            count = places[chunk, row]
            places[chunk, row] = place
            place += count


@cache
def _count_kernel(open_stream: Function) -> Kernel:
    def count_chunk(
        places: Value,
        count: Value,
        shift: Value,
        chunk: Value,
        start: Value,
        jump: Value,
        key: Value,
    ) -> None:
        number = grid(1)
        if number < places.shape[0]:
            for row in range(places.shape[1]):
                places[number, row] = 0
            for first in range(number * chunk, min(count, (number + 1) * chunk), 4):
                words = words_of(open_stream(start, jump, key, first // 4), 0)
                for k, word in enumerate(words):
                    if first + k < count:
                        places[number, np.int64(word >> shift)] += 1

    return kernel(count_chunk)


@cache
def _scatter_kernel(open_stream: Function, read: Function) -> Kernel:
    def scatter_chunk(
        out: Value,
        given: Value,
        places: Value,
        shift: Value,
        chunk: Value,
        start: Value,
        jump: Value,
        key: Value,
    ) -> None:
        number = grid(1)
        count = out.size
        if number < places.shape[0]:
            for first in range(number * chunk, min(count, (number + 1) * chunk), 4):
                words = words_of(open_stream(start, jump, key, first // 4), 0)
                for k, word in enumerate(words):
                    if first + k < count:
                        row = np.int64(word >> shift)
                        out[places[number, row]] = read(given, first + k)
                        places[number, row] += 1

    return kernel(scatter_chunk)


@cache
def _bucket_kernel(open_stream: Function) -> Kernel:
    def shuffle_bucket(
        out: Value, places: Value, blocks: Value, start: Value, jump: Value, key: Value
    ) -> None:
        row = grid(1)
        last = places.shape[0] - 1
        if row < places.shape[1]:
            begin = places[last, row - 1] if row > 0 else 0
            stream = open_stream(start, jump, key, blocks + row)
            _shuffle(out, begin, places[last, row], stream)

    return kernel(shuffle_bucket)
