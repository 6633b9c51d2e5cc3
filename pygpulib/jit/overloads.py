"""Which of several compiled signatures a call means."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from pygpulib.core.dtypes import DType, Kind, keeps_values
from pygpulib.errors import LaunchTypeError
from pygpulib.jit import types

TypeList = tuple[types.Type, ...]


class Conversion(IntEnum):
    """How much an argument changes on its way to a parameter, from nothing to much."""

    EXACT = 0
    PROMOTE = 1
    """To a larger type of the same family, or an array seen as more general."""
    SAFE = 2
    """No value is lost."""
    UNSAFE = 3
    """Values may be rounded or wrapped."""
    NARROWING = 4
    """What makes it a float or a number may be lost; for functions, not for launches."""


_FAMILIES = {Kind.BOOL: 0, Kind.INT: 1, Kind.UINT: 1, Kind.FLOAT: 2, Kind.COMPLEX: 3}


def _convert_scalar(source: DType, target: DType) -> Conversion | None:
    if source == target:
        return Conversion.EXACT
    families = _FAMILIES[source.kind], _FAMILIES[target.kind]
    if families[0] > families[1]:
        return None if source.is_complex else Conversion.NARROWING
    fits = keeps_values(source.component, target.component)
    if source.kind is target.kind and source.size_bytes < target.size_bytes and fits:
        return Conversion.PROMOTE
    return Conversion.SAFE if fits else Conversion.UNSAFE


def _convert_array(source: types.ArrayType, target: types.ArrayType) -> Conversion | None:
    if (source.element, source.ndim) != (target.element, target.ndim):
        return None
    if source.readonly and not target.readonly:
        return None
    same_layout = source.layout == target.layout or (
        # Packed along one axis is packed both ways.
        source.ndim <= 1 and source.layout == "C" and target.layout == "F"
    )
    if not same_layout and target.layout != "A":
        return None
    exact = same_layout and source.readonly == target.readonly
    return Conversion.EXACT if exact else Conversion.PROMOTE


def find_conversion(source: types.Type, target: types.Type) -> Conversion | None:
    """Return what it takes to pass an argument of one type for a parameter of another."""
    match source, target:
        case types.ScalarType(), types.ScalarType():
            return _convert_scalar(source.dtype, target.dtype)
        case types.ArrayType(), types.ArrayType():
            return _convert_array(source, target)
        case types.TupleType(), types.TupleType() if len(source.items) == len(target.items):
            parts = [
                find_conversion(item, wanted)
                for item, wanted in zip(source.items, target.items, strict=True)
            ]
            known = [part for part in parts if part is not None]
            return max(known, default=Conversion.EXACT) if len(known) == len(parts) else None
        case types.ScalarType(dtype), types.PointerType() if dtype.is_integer and dtype.bits == 64:
            return Conversion.SAFE
        case types.NoneType(), types.OptionalType():
            return Conversion.PROMOTE
        case _, types.OptionalType(inner) if not isinstance(source, types.OptionalType):
            found = find_conversion(source, inner)
            return None if found is None else max(found, Conversion.PROMOTE)
        case _:
            return Conversion.EXACT if source == target else None


def best_overloads(
    candidates: Sequence[TypeList],
    arguments: TypeList,
    limit: Conversion = Conversion.UNSAFE,
) -> list[TypeList]:
    """Return the signatures that fit a call best: none, one, or several that fit equally well.

    Parameters
    ----------
    candidates : sequence of tuple of Type
        The signatures.
    arguments : tuple of Type
        Types of the arguments.
    limit : Conversion
        How much an argument may change at most.
    """
    ratings: dict[TypeList, tuple[int, ...]] = {}
    for candidate in candidates:
        if len(candidate) != len(arguments):
            continue
        found = [find_conversion(*pair) for pair in zip(arguments, candidate, strict=True)]
        steps = [step for step in found if step is not None and step <= limit]
        if len(steps) == len(found):
            ratings[candidate] = tuple(map(steps.count, _WORST_FIRST))
    best = min(ratings.values(), default=())
    return [candidate for candidate, rating in ratings.items() if rating == best]


_WORST_FIRST = sorted(Conversion, reverse=True)[:-1]


def find_overload(kernel: str, candidates: Sequence[TypeList], arguments: TypeList) -> TypeList:
    """Return the signature that fits a call best.

    Parameters
    ----------
    kernel : str
        Name of the kernel, for messages.
    candidates : sequence of tuple of Type
        The compiled signatures.
    arguments : tuple of Type
        Types of the arguments.

    Returns
    -------
    tuple of Type
        One of the candidates.

    Raises
    ------
    LaunchTypeError
        If none fits, or several fit equally well.
    """
    winners = best_overloads(candidates, arguments)
    shown = f"({', '.join(map(str, arguments))})"
    if not winners:
        raise LaunchTypeError(
            f"the kernel {kernel} was compiled for other types: "
            f"No matching definition for argument type(s) {', '.join(map(str, arguments))}",
            detail="\n".join(
                ["compiled signatures:", *(f"  ({', '.join(map(str, c))})" for c in candidates)]
            ),
            help="add the signature to @cuda.jit, or leave the signatures out",
        )
    if len(winners) > 1:
        raise LaunchTypeError(
            f"Ambiguous overloading for {kernel} {shown}:",
            detail="\n".join(f"({', '.join(map(str, winner))})" for winner in winners),
            help="convert the arguments to the types of one signature",
        )
    return winners[0]
