"""The generators, under cuRAND's numbers, and what each of them can be told."""

from __future__ import annotations

import enum

from pygpulib._record import record


class Kind(enum.IntEnum):
    """A type of generator; the values are cuRAND's."""

    XORWOW = 101
    MRG32K3A = 121
    MTGP32 = 141
    MT19937 = 142
    PHILOX4_32_10 = 161
    SOBOL32 = 201
    SCRAMBLED_SOBOL32 = 202
    SOBOL64 = 203
    SCRAMBLED_SOBOL64 = 204


class Ordering(enum.IntEnum):
    """In which order the sub-sequences of a generator are put together; the values are cuRAND's."""

    PSEUDO_BEST = 100
    PSEUDO_DEFAULT = 101
    PSEUDO_SEEDED = 102
    PSEUDO_LEGACY = 103
    PSEUDO_DYNAMIC = 104
    QUASI_DEFAULT = 201


@record
class Rules:
    """What a generator can be told.

    Attributes
    ----------
    name : str
        Its name for messages.
    orderings : tuple of Ordering
        The orderings that it knows; the first one is its default.
    has_offset : bool
        Whether it can start elsewhere in its sequence.
    is_quasi : bool
        Whether it has dimensions, and no seed.
    bits : int
        Bits of a raw number.
    pairs_normals : bool
        Whether normals come in pairs, so that an odd number of them leaves one unused.
    """

    name: str
    orderings: tuple[Ordering, ...]
    has_offset: bool = True
    is_quasi: bool = False
    bits: int = 32
    pairs_normals: bool = False


_COMMON = (Ordering.PSEUDO_DEFAULT, Ordering.PSEUDO_BEST, Ordering.PSEUDO_LEGACY)
_QUASI = (Ordering.QUASI_DEFAULT,)

RULES: dict[Kind, Rules] = {
    Kind.XORWOW: Rules("XORWOW", (*_COMMON, Ordering.PSEUDO_SEEDED), pairs_normals=True),
    Kind.MRG32K3A: Rules("MRG32k3a", _COMMON, pairs_normals=True),
    Kind.MTGP32: Rules("MTGP32", _COMMON, has_offset=False),
    Kind.MT19937: Rules(
        "MT19937", (Ordering.PSEUDO_DEFAULT, Ordering.PSEUDO_LEGACY), has_offset=False
    ),
    Kind.PHILOX4_32_10: Rules("Philox4x32-10", _COMMON),
    Kind.SOBOL32: Rules("Sobol32", _QUASI, is_quasi=True),
    Kind.SCRAMBLED_SOBOL32: Rules("scrambled Sobol32", _QUASI, is_quasi=True),
    Kind.SOBOL64: Rules("Sobol64", _QUASI, is_quasi=True, bits=64),
    Kind.SCRAMBLED_SOBOL64: Rules("scrambled Sobol64", _QUASI, is_quasi=True, bits=64),
}
