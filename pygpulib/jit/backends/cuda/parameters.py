"""How the words of a launch become the parameters of an entry."""

from __future__ import annotations

import ctypes

from pygpulib.jit.backends.protocol import HEADER_WORDS

HEADER_RECORD_WORD = 6
"""Where the argument block has the address of the launch record."""


def parameter_addresses(arguments_address: int, count: int) -> ctypes.Array[ctypes.c_void_p]:
    """Return the addresses of the parameters of an entry: argument words, and the record's word.

    The driver looks at as many as the entry has.
    """
    first = arguments_address + 8 * HEADER_WORDS
    arguments = range(first, first + 8 * count, 8)
    record_word = arguments_address + 8 * HEADER_RECORD_WORD
    return (ctypes.c_void_p * (count + 1))(*arguments, record_word)
