"""Sub-streams: the random bits of one element of a draw, in the kernel language.

A sub-stream is a tuple whose first item is a function: it takes the sub-stream and the number of a
block, and returns the block's four words of 32 bits. Elements have sub-streams of their own, so
that a method that rejects some candidates asks for as many blocks as it needs, and no element
depends on which thread makes it or when.

Functions that need an unknown number of blocks take the number of the first one, and return the
number of the next one with their result.
"""

from __future__ import annotations

import numpy as np

from pygpulib.rand.compiling import Value, device

WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FACTOR_0, _FACTOR_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ROUNDS = tuple(np.uint64(number) for number in range(10))

_UNIT_24 = np.float32(2.0**-24)
_UNIT_32 = 2.0**-32
_UNIT_52 = 2.0**-52
_UNIT_53 = 2.0**-53
_UNIT_43 = 2.0**-43


# ----------------------------------------------------------------------------- Philox4x32-10


@device
def philox_round(block: Value, key_0: Value, key_1: Value) -> Value:
    """Return what a round makes of a block: four numbers of 64 bits, of which lower halves count.

    The upper halves are arbitrary, also those of the key.
    """
    c0, c1, c2, c3 = block
    # The lower halves. Written as shifts they stay where they are in vectors of 64 bits, whose
    # multiplication ignores the upper halves; masks are taken for 32-bit numbers.
    first = ((c0 << _HALF) >> _HALF) * _FACTOR_0
    second = ((c2 << _HALF) >> _HALF) * _FACTOR_1
    return (second >> _HALF) ^ c1 ^ key_0, second, (first >> _HALF) ^ c3 ^ key_1, first


@device
def philox_words(block: Value) -> Value:
    """Return the words of a block after the last round."""
    c0, c1, c2, c3 = block
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


@device
def _philox(c0: Value, c1: Value, c2: Value, c3: Value, key_0: Value, key_1: Value) -> Value:
    """Return the block of Philox4x32-10 for a counter and a key, of which lower halves count."""
    block = c0, c1, c2, c3
    for number in _ROUNDS:
        words_0, words_1 = key_0 + number * WEYL_0, key_1 + number * WEYL_1
        block = philox_round(block, words_0 & _WORD, words_1 & _WORD)
    return philox_words(block)


# ------------------------------------------------------------------- where sub-streams come from


@device
def _counted_block(stream: Value, number: Value) -> Value:
    _, index, jump, key = stream
    return _philox(np.uint64(number), jump, index, index >> _HALF, key, key >> _HALF)


@device
def open_counted(start: Value, jump: Value, key: Value, number: Value) -> Value:
    """Return a sub-stream that is a range of a Philox counter.

    The source is the index of the first sub-stream, a number that keeps jumps apart, and the key.
    """
    return _counted_block, start + np.uint64(number), jump, key


@device
def _fed_block(stream: Value, number: Value) -> Value:
    _, words, at, key = stream
    w0, w1, w2, w3 = words[at], words[at + 1], words[at + 2], words[at + 3]
    if number == 0:
        return w0, w1, w2, w3
    return _philox(
        np.uint64(number), np.uint64(w0), np.uint64(w1), np.uint64(w2), np.uint64(w3), key
    )


@device
def open_fed(words: Value, key: Value, _nothing: Value, number: Value) -> Value:
    """Return a sub-stream whose first block was written by another generator.

    The source is the array of these blocks, and a key. Further blocks are Philox of the first one.
    """
    return _fed_block, words, 4 * number, key


# --------------------------------------------------------------------------- from bits to numbers


@device
def words_of(stream: Value, number: Value) -> Value:
    """Return the four words of a block."""
    return stream[0](stream, number)


@device
def join_words(low: Value, high: Value) -> Value:
    """Return 64 bits from two times 32."""
    return np.uint64(low) | (np.uint64(high) << _HALF)


@device
def uniform_from(low: Value, high: Value) -> Value:
    """Return a multiple of 2**-53 in [0, 1)."""
    return np.float64(join_words(low, high) >> np.uint64(11)) * _UNIT_53


@device
def inside_from(low: Value, high: Value) -> Value:
    """Return an odd multiple of 2**-53 in (0, 1), neither end included."""
    return (np.float64(join_words(low, high) >> np.uint64(12)) + 0.5) * _UNIT_52


@device
def uniform_single_from(word: Value) -> Value:
    """Return a float32 that is a multiple of 2**-24 in [0, 1)."""
    return np.float32(word >> np.uint32(8)) * _UNIT_24


@device
def two_inside(stream: Value, number: Value) -> Value:
    """Return two numbers of (0, 1) from a block."""
    w0, w1, w2, w3 = words_of(stream, number)
    return inside_from(w0, w1), inside_from(w2, w3)


@device
def radius_angle_extra(stream: Value, number: Value) -> Value:
    """Return three numbers of (0, 1) from a block, of 53, 43 and 32 bits."""
    w0, w1, w2, w3 = words_of(stream, number)
    rest = (np.uint64(w0) & np.uint64(0x7FF)) | (np.uint64(w2) << np.uint64(11))
    angle = (np.float64(rest) + 0.5) * _UNIT_43
    return inside_from(w0, w1), angle, (np.float64(w3) + 0.5) * _UNIT_32


@device
def upper_half_of_product(x: Value, y: Value) -> Value:
    """Return the upper 64 bits of the product of two unsigned numbers of 64 bits."""
    x0, x1 = x & _WORD, x >> _HALF
    y0, y1 = y & _WORD, y >> _HALF
    middle = x1 * y0 + ((x0 * y0) >> _HALF)
    other = x0 * y1 + (middle & _WORD)
    return x1 * y1 + (middle >> _HALF) + (other >> _HALF)


@device
def integer_below(stream: Value, number: Value, count: Value) -> Value:
    """Return an unbiased number of 0 <= x < count, and the next block (Lemire, 2019)."""
    w0, w1, _, _ = words_of(stream, number)
    number += 1
    bits = join_words(w0, w1)
    low = bits * count
    if low < count:
        bound = (np.uint64(0) - count) % count
        while low < bound:
            w0, w1, _, _ = words_of(stream, number)
            number += 1
            bits = join_words(w0, w1)
            low = bits * count
    return upper_half_of_product(bits, count), number
