"""Random permutations, and moving the elements of arrays, on the device.

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
from pygpulib.rand.samplers import launch
from pygpulib.rand.substreams import integer_below, words_of

if TYPE_CHECKING:
    from pygpulib.rand.bit_generators import BitGenerator

_SHORT = 1024
"""Longest sequence that a single thread shuffles."""
_BUCKET = 256
_MOST_BITS = 10
"""At most so many bits say to which bucket an element goes."""


def random_order(bits: BitGenerator, count: int) -> ndarray:
    """Return the numbers from 0 to `count` in random order, as a device array of dtype int64.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    count : int
        How many.
    """
    order = device_array(count, np.int64)
    if count > _SHORT:
        _shuffle_long(bits, order)
    elif count:
        _shuffle_rows(bits, order.reshape(1, count))
    return order


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
            _shuffle_long(bits, orders[row])  # type: ignore[arg-type]
    elif orders.size:
        _shuffle_rows(bits, orders)
    return orders


def _shuffle_rows(bits: BitGenerator, orders: ndarray) -> None:
    source = bits.take(orders.shape[0])
    launch(_rows_kernel(source.open_stream), orders.shape[0], orders, source.arguments)


def _shuffle_long(bits: BitGenerator, order: ndarray) -> None:
    count = order.size
    exponent = min(_MOST_BITS, (count // _BUCKET).bit_length())
    buckets = 1 << exponent
    # Chunks begin where a block of random words begins.
    chunk = -(-count // (4 * buckets)) * 4
    blocks = -(-count // 4)
    source = bits.take(blocks + buckets)
    places = device_array((buckets, buckets), np.int64)
    totals = device_array(buckets, np.int64)
    shift = np.uint32(32 - exponent)
    open_stream = source.open_stream
    given = (source.arguments, shift, chunk)
    launch(_count_kernel(open_stream), buckets, places, count, *given)
    launch(_add_rows, buckets, totals, places)
    launch(_place_buckets, buckets, totals, places)
    launch(_scatter_kernel(open_stream), buckets, order, places, *given)
    # Now the last place of a bucket is its end.
    launch(_bucket_kernel(open_stream), buckets, order, places, source.arguments, blocks)


@device
def _shuffle(order: Value, begin: Value, end: Value, stream: Value) -> None:
    number = 0
    for left in range(end - begin, 1, -1):
        chosen, number = integer_below(stream, number, np.uint64(left))
        other, last = begin + np.int64(chosen), begin + left - 1
        kept = order[last]
        order[last] = order[other]
        order[other] = kept


@cache
def _rows_kernel(open_stream: Function) -> Kernel:
    def shuffle_rows(orders: Value, source: Value) -> None:
        row = grid(1)
        if row < orders.shape[0]:
            for i in range(orders.shape[1]):
                orders[row, i] = i
            _shuffle(orders[row], 0, orders.shape[1], open_stream(*source, row))

    return kernel(shuffle_rows)


@kernel
def _add_rows(totals: Value, places: Value) -> None:
    row = grid(1)
    if row < places.shape[0]:
        total = 0
        for column in range(places.shape[1]):
            total += places[row, column]
        totals[row] = total


@kernel
def _place_buckets(totals: Value, places: Value) -> None:
    """Replace counts by the place of the first element."""
    row = grid(1)
    if row < places.shape[0]:
        place = 0
        for earlier in range(row):
            place += totals[earlier]
        for column in range(places.shape[1]):
            count = places[row, column]
            places[row, column] = place
            place += count


@cache
def _count_kernel(open_stream: Function) -> Kernel:
    def count_chunk(places: Value, count: Value, source: Value, shift: Value, chunk: Value) -> None:
        column = grid(1)
        if column < places.shape[1]:
            for row in range(places.shape[0]):
                places[row, column] = 0
            for first in range(column * chunk, min(count, (column + 1) * chunk), 4):
                words = words_of(open_stream(*source, first // 4), 0)
                for k, word in enumerate(words):
                    if first + k < count:
                        places[np.int64(word >> shift), column] += 1

    return kernel(count_chunk)


@cache
def _scatter_kernel(open_stream: Function) -> Kernel:
    def scatter_chunk(
        order: Value, places: Value, source: Value, shift: Value, chunk: Value
    ) -> None:
        column = grid(1)
        count = order.size
        if column < places.shape[1]:
            for first in range(column * chunk, min(count, (column + 1) * chunk), 4):
                words = words_of(open_stream(*source, first // 4), 0)
                for k, word in enumerate(words):
                    if first + k < count:
                        row = np.int64(word >> shift)
                        order[places[row, column]] = first + k
                        places[row, column] += 1

    return kernel(scatter_chunk)


@cache
def _bucket_kernel(open_stream: Function) -> Kernel:
    def shuffle_bucket(order: Value, places: Value, source: Value, blocks: Value) -> None:
        row = grid(1)
        last = places.shape[1] - 1
        if row < places.shape[0]:
            begin = places[row - 1, last] if row > 0 else 0
            _shuffle(order, begin, places[row, last], open_stream(*source, blocks + row))

    return kernel(shuffle_bucket)


# --------------------------------------------------------------------------------- moving elements


@kernel
def _move(
    out: Value, given: Value, orders: Value, lengths: Value, inner: Value, pieces: Value
) -> None:
    """Copy pieces of elements; ``lengths`` are those of the axis after and before."""
    at = grid(1)
    if at < out.size:
        piece = at % pieces
        element = at // pieces
        column = element % inner
        place = element // inner
        outer = place // lengths[0]
        row = outer * inner + column if orders.shape[0] > 1 else 0
        chosen = orders[row, place % lengths[0]]
        out[at] = given[((outer * lengths[1] + chosen) * inner + column) * pieces + piece]


def take(array: ndarray, orders: ndarray, axis: int) -> ndarray:
    """Return elements of an array, chosen along an axis.

    Parameters
    ----------
    array : ndarray
        A contiguous device array.
    orders : ndarray
        The indices; with two axes: one row for all, or one for each line along the axis.
    axis : int
        The axis, from 0 on.

    Returns
    -------
    ndarray
        A new array; its axis is as long as the rows of `orders`.
    """
    shape, length = array.shape, orders.shape[1]
    result = device_array((*shape[:axis], length, *shape[axis + 1 :]), array.dtype)
    if result.size:
        inner = 1
        for each in shape[axis + 1 :]:
            inner *= each
        # Elements of any type are so many unsigned integers.
        size = next(size for size in (8, 4, 2, 1) if array.itemsize % size == 0)
        plain = np.dtype(f"u{size}")
        out, given = (each.reshape(-1).view(plain) for each in (result, array))
        lengths = length, shape[axis]
        pieces = array.itemsize // size
        launch(_move, out.size, out, given, orders, lengths, inner, pieces)
    return result
