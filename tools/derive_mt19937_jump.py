"""Derive the two polynomials by which ``pygpulib/rand/mt19937_jump.py`` jumps.

    python tools/derive_mt19937_jump.py

prints the constants that stand at the end of that module: the recurrence of MT19937, found from its
numbers, and the jump to the next sub-sequence, which takes 2048 squarings.
"""

from __future__ import annotations

import base64
import textwrap

import numpy as np

from pygpulib.rand.binary_jumps import minimal_polynomial
from pygpulib.rand.mt19937_jump import DEGREE, square, twist_on

# Neighbouring sub-sequences of cuRAND's generator are 2**2048 steps apart.
EXPONENT = 2048


def characteristic() -> int:
    """Return the polynomial of the recurrence, from one bit of its numbers."""
    start = np.random.MT19937(1).state["state"]["key"].astype(np.uint32)
    # The first word has bits that do not count, so the words after it are taken.
    words = twist_on(start, 624 + 2 * DEGREE)[624:]
    return minimal_polynomial((words & 1).tolist())


def jump(recurrence: int) -> int:
    """Return t to the power of 2**2048 modulo a polynomial."""
    terms = [each for each in range(DEGREE) if recurrence >> each & 1]
    result = 2
    for _ in range(EXPONENT):
        result = square(result, terms)
    return result


def spell_terms(polynomial: int) -> str:
    """Return the constant with the exponents of a polynomial below the highest, as text."""
    exponents = " ".join(str(each) for each in range(DEGREE) if polynomial >> each & 1)
    lines = textwrap.wrap(exponents, 90)
    return "\n".join(["_EXPONENTS = (", *(f'    "{line} "' for line in lines), ")"])


def spell_jump(polynomial: int) -> str:
    """Return the constant with all bits of a polynomial, as text."""
    text = base64.b85encode(polynomial.to_bytes(DEGREE // 8 + 1, "little")).decode()
    lines = [f'    "{text[at : at + 90]}"' for at in range(0, len(text), 90)]
    return "\n".join(["_JUMP = (", *lines, ")"])


def main() -> None:
    """Print both constants."""
    recurrence = characteristic()
    assert recurrence >> DEGREE == 1
    print(spell_terms(recurrence))
    print(spell_jump(jump(recurrence)))


if __name__ == "__main__":
    main()
