"""Jumps of generators whose step is linear over the numbers modulo 2.

All states that a step can reach obey one recurrence, the minimal polynomial of the step. ``n``
steps are therefore as good as the polynomial ``t**n`` modulo it, which says what sum of the next
few states is the state sought. Polynomials are Python's integers, bit ``i`` for ``t**i``.
"""

from __future__ import annotations


def minimal_polynomial(bits: list[int]) -> int:
    """Return the shortest recurrence of a sequence of bits: the algorithm of Berlekamp and Massey.

    Parameters
    ----------
    bits : list of int
        At least twice as many as the recurrence is long.

    Returns
    -------
    int
        A polynomial with ``sum of p[i] * bits[k + i] = 0`` for all ``k``.
    """
    connection, previous, length, gap, seen = 1, 1, 0, 1, 0
    for position, bit in enumerate(bits):
        seen = seen << 1 | bit
        # Bit i of `seen` is the bit i positions before; bit i of `connection` its coefficient.
        if (seen & connection & ((1 << (length + 1)) - 1)).bit_count() & 1:
            updated = connection ^ previous << gap
            if 2 * length <= position:
                length, previous, gap = position + 1 - length, connection, 0
            connection = updated
        gap += 1
    return sum((connection >> i & 1) << (length - i) for i in range(length + 1))


def multiply_modulo(left: int, right: int, modulus: int) -> int:
    """Return the product of two polynomials modulo a third."""
    degree = modulus.bit_length() - 1
    product = 0
    for position in range(left.bit_length() - 1, -1, -1):
        product <<= 1
        if product >> degree & 1:
            product ^= modulus
        if left >> position & 1:
            product ^= right
    return product


def power_of_t(exponent: int, modulus: int) -> int:
    """Return ``t**exponent`` modulo a polynomial."""
    degree = modulus.bit_length() - 1
    result = 1
    for position in range(exponent.bit_length() - 1, -1, -1):
        result = multiply_modulo(result, result, modulus)
        if exponent >> position & 1:
            result <<= 1
            if result >> degree & 1:
                result ^= modulus
    return result
