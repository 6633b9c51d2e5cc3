"""The functions of the library, made from the table of routines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.arguments import (
    Sizes,
    common_dtype,
    is_complex,
    read_array,
    read_flag,
    read_number,
    read_real,
    read_size,
    split_arguments,
)
from pygpulib.blas.arrange import arrange
from pygpulib.blas.call import Call, check_apart, check_writable
from pygpulib.blas.engine import current_engine
from pygpulib.blas.plans import Key, Plans, key_of, make_plan
from pygpulib.blas.routines import FLAGS, NUMBERS, ROUTINES, SIZES, Role
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.ordering import order_after
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.arguments import GivenArray
    from pygpulib.blas.routines import Operand, Routine
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike

# Sizes that arrays do not tell: how many of the rows of a band are above the diagonal, and how long
# the columns would be.
_TOLD = {"gbmv": ("m", "kl", "ku")}


_PLANS = Plans()


def parameters_of(routine: Routine) -> list[str]:
    """Return the parameters of the function of a routine, as they are written."""
    told = _TOLD.get(routine.name, ())
    optional = {operand.name for operand in routine.operands if operand.is_optional}
    has_default_beta = any(operand.role is Role.BLENDED for operand in routine.operands)
    words = []
    for name in routine.arguments:
        if name in SIZES and name not in told:
            continue
        if name in optional:
            words.append(f"{name}=None")
        elif name == "beta" and has_default_beta:
            words.append("beta=0")
        else:
            words.append(name)
    return [*words, "stream=None"]


def run(routine: Routine, given: dict[str, Any], stream: StreamLike) -> Any:
    """Do a routine with the arguments of its function.

    Parameters
    ----------
    routine : Routine
        What to do.
    given : dict
        The arguments by name, without sizes that arrays tell.
    stream : Stream, 0 or None
        Where the work is queued.

    Returns
    -------
    object
        The output, a tuple of outputs, or the number that the routine returns.
    """
    key, engine = key_of(routine, given), current_engine()
    # New arrays keep it, and not only its number: it may not be dropped before they are.
    stream = 0 if stream is None else stream
    plan = _PLANS.find(key, engine)
    found = None if plan is None else plan.run(engine, given, stream)
    if found is None:
        dtype, result, outputs = _run_anew(routine, given, stream, key)
    else:
        assert plan is not None
        dtype, (result, outputs) = plan.dtype, found
    if routine.returns_number:
        return as_scalar(routine, result, dtype)
    made = tuple(outputs.values())
    return made[0] if len(made) == 1 else made


def _run_anew(
    routine: Routine, given: dict[str, Any], stream: StreamLike, key: Key | None
) -> tuple[np.dtype[Any], Any, dict[str, GivenArray]]:
    """Do a call that there is no plan for, and make one if there can be one."""
    dtype, values, arrays, sizes = _read(routine, given)
    outputs = _prepare_outputs(routine, sizes, arrays, values, dtype, stream)
    every = {**arrays, **outputs}
    make_output = None
    if any(operand.name not in arrays for operand in routine.outputs):
        (output,) = outputs.values()
        is_cleared = _is_cleared(routine.outputs[0], values)
        shape, on_device = tuple(output.shape), isinstance(output, ndarray)
        make_output = partial(_make_array, shape, dtype, on_device, is_cleared)
    is_converted = any(outputs[name] is not arrays[name] for name in outputs if name in arrays)

    def remember(call: Call) -> None:
        if not is_converted and not _drops_imaginary_parts(routine, given):
            _PLANS.add(key, make_plan(call, routine, every, make_output))

    result = execute(routine, dtype, values, every, stream_handle(stream), remember)
    return dtype, result, outputs


def check_arguments(routine: Routine, given: dict[str, Any]) -> np.dtype[Any]:
    """Complain about arguments of the function of a routine as doing it would; return the dtype."""
    return _read(routine, given)[0]


def _read(
    routine: Routine, given: dict[str, Any]
) -> tuple[np.dtype[Any], dict[str, Any], dict[str, GivenArray], Sizes]:
    """Return the dtype, the letters, sizes and numbers, and the arrays of a call that is right."""
    flags, numbers = read_scalars(routine, given)
    known = {
        name: read_size(routine.name, name, given[name]) for name in _TOLD.get(routine.name, ())
    }
    arrays = {
        operand.name: read_array(routine, operand.name, given[operand.name])
        for operand in routine.operands
        if not (operand.is_optional and given[operand.name] is None)
    }
    dtype = common_dtype(routine, arrays.values(), numbers)
    check_letters(routine, flags, dtype)
    sizes = Sizes(routine, flags, known)
    _learn_sizes(routine, sizes, arrays)
    values: dict[str, Any] = {**flags, **numbers, **sizes.values}
    if "param" in given:
        values["param"] = read_parameters(routine.name, given["param"], dtype)
    _check_outputs(routine, arrays, values, dtype)
    return dtype, values, arrays, sizes


def _check_outputs(
    routine: Routine,
    arrays: dict[str, GivenArray],
    values: dict[str, Any],
    dtype: np.dtype[Any],
) -> None:
    """Complain about outputs that cannot be written to, and about those that are missed."""
    for operand in routine.outputs:
        array = arrays.get(operand.name)
        if array is not None:
            if array.dtype == dtype:
                check_writable(routine.name, operand.name, array)
        elif operand.role is Role.BLENDED:
            beta = values["beta"]
            if isinstance(beta, ndarray) or beta:
                raise ArgumentError(
                    f"{routine.name}: the argument beta is given, and {operand.name} is not",
                    detail=f"beta multiplies {operand.name}",
                    help=f"give {operand.name}, or leave beta out",
                )


def _drops_imaginary_parts(routine: Routine, given: dict[str, Any]) -> bool:
    return any(is_complex(given[name]) for name in routine.real_numbers)


def as_scalar(routine: Routine, result: Any, dtype: np.dtype[Any]) -> Any:
    """Return the number that a routine returned, as users get it; indices count from 0."""
    if routine.name in ("amax", "amin"):
        return int(result) - 1
    if routine.name in ("nrm2", "asum"):
        return np.zeros(0, dtype).real.dtype.type(result)
    return dtype.type(result)


def read_parameters(routine: str, param: object, dtype: np.dtype[Any]) -> GivenArray:
    """Return the five numbers of a modified Givens rotation, which may stay in device memory.

    Raises
    ------
    ArgumentTypeError, ShapeError, ArgumentError
        If they are not real numbers, not five, or if the first is seen to mean nothing.
    """
    rule = "expected five numbers: flag, h11, h21, h12, h22"
    is_on_device = isinstance(param, ndarray) and param.host_view is None
    found: Any = param if is_on_device else np.asarray(param)
    if found.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{routine}: the argument param is {param!r}", detail=rule)
    if tuple(found.shape) != (5,):
        raise ShapeError(
            f"{routine}: the argument param has shape {tuple(found.shape)}", detail=rule
        )
    if is_on_device:
        return found  # type: ignore[no-any-return]
    if found[0] not in (-2, -1, 0, 1):
        raise ArgumentError(
            f"{routine}: the argument param begins with {found[0]}",
            detail="expected the flag -1, 0 or 1, or -2 for no rotation",
        )
    return np.ascontiguousarray(found, dtype)


def execute(
    routine: Routine,
    dtype: np.dtype[Any],
    values: dict[str, Any],
    arrays: dict[str, GivenArray],
    stream: int,
    remember: Callable[[Call], None] | None = None,
) -> Any:
    """Do a routine with arguments that fit each other.

    Parameters
    ----------
    routine : Routine
        What to do.
    dtype : numpy.dtype
        What it computes in; outputs have it.
    values : dict
        Letters, sizes and numbers.
    arrays : dict
        All arrays.
    stream : int
        Where the work is queued.
    remember : callable, optional
        Told of the call when its arrays are placed.
    """
    engine = current_engine()
    ordered = {operand.name: arrays[operand.name] for operand in routine.operands}
    call = Call(routine, engine, dtype, values, ordered, stream)
    if routine.name in ("amax", "amin") and not values["n"]:
        raise ShapeError(
            f"{routine.name}: the argument x has no elements",
            detail="expected at least one: an empty vector has no largest or smallest element",
        )
    if len(routine.outputs) > 1:
        check_apart(routine, arrays)
    result = None
    if _is_empty_product(routine, arrays, values):
        call.scale(routine.outputs[0].name, values.get("beta", 0))
    elif routine.returns_number or any(arrays[each.name].size for each in routine.outputs):
        arrange(call)
        if remember is not None:
            remember(call)
        result = call.run()
    for operand in routine.outputs:
        engine.publish(call.array(operand.name), arrays[operand.name], stream)
    return result


def _is_empty_product(
    routine: Routine, arrays: dict[str, GivenArray], values: dict[str, Any]
) -> bool:
    """Return whether the routine adds up products of which there are none, or all are nothing.

    BLAS's own rules differ from one routine to the other then; here beta is always applied, and
    factors are not read if alpha is the number zero.
    """
    # Of the products that are written to a triangle, the rest stays what it was.
    is_whole = any(each.role is Role.BLENDED for each in routine.outputs)
    is_whole |= routine.family in ("trmm", "trsm")
    if not is_whole or routine.family == "rank_k":
        return False
    output = arrays[routine.outputs[0].name]
    sources = [arrays[each.name] for each in routine.operands if not each.is_output]
    is_nothing = not isinstance(values["alpha"], ndarray) and not values["alpha"]
    return bool(output.size) and (is_nothing or not all(array.size for array in sources))


def read_scalars(
    routine: Routine, given: dict[str, Any]
) -> tuple[dict[str, str], dict[str, object]]:
    """Return the letters and the numbers among the arguments of a routine."""
    flag_names, number_names = split_arguments(routine)
    flags = {name: read_flag(routine.name, name, given[name]) for name in flag_names}
    numbers = {name: read_number(routine.name, name, given[name]) for name in number_names}
    for name in number_names:
        if name in routine.real_numbers:
            numbers[name] = read_real(routine.name, name, numbers[name], _why_real(routine))
    return flags, numbers


def _why_real(routine: Routine) -> str:
    if "Z" not in routine.names:
        return f"there is no {routine.name} for complex numbers"
    is_hermitian = routine.name.startswith("h")
    return "the result is Hermitian with no other" if is_hermitian else "so are cosines"


def check_letters(routine: Routine, flags: dict[str, str], dtype: np.dtype[Any]) -> None:
    """Refuse what the products of a matrix with itself do not have."""
    if routine.family != "rank_k" or dtype.kind != "c":
        return
    refused = "T" if routine.name.startswith("he") else "C"
    if flags["trans"] == refused:
        other = "C" if refused == "T" else "T"
        raise ArgumentError(
            f"{routine.name}: the argument trans is {refused!r} and the arrays are complex",
            detail=f"expected 'N' or {other!r}",
        )


def _learn_sizes(routine: Routine, sizes: Sizes, arrays: dict[str, GivenArray]) -> None:
    """Read sizes from the arrays; packed ones last, whose lengths tell least."""
    given = [operand for operand in routine.operands if operand.name in arrays]
    for operand in sorted(given, key=lambda each: each.lengths == ("packed",)):
        sizes.learn(operand, arrays[operand.name])


def _prepare_outputs(
    routine: Routine,
    sizes: Sizes,
    arrays: dict[str, GivenArray],
    values: dict[str, Any],
    dtype: np.dtype[Any],
    stream: StreamLike,
) -> dict[str, GivenArray]:
    """Return an array to write to for each output: the given one if its dtype is right."""
    on_device = any(isinstance(array, ndarray) for array in arrays.values())
    outputs: dict[str, GivenArray] = {}
    for operand in routine.outputs:
        array = arrays.get(operand.name)
        if array is None:
            shape = _shape_of_output(operand, sizes)
            is_cleared = _is_cleared(operand, values)
            outputs[operand.name] = _make_array(shape, dtype, on_device, is_cleared, stream)
        elif array.dtype != dtype:
            outputs[operand.name] = _convert(array, dtype, stream)
        else:
            outputs[operand.name] = array
    return outputs


def _shape_of_output(operand: Operand, sizes: Sizes) -> Shape:
    lengths = []
    for name in sizes.names_of(operand):
        length = sizes.length(name)
        assert length is not None
        lengths.append(length)
    return tuple(lengths)


def _is_cleared(operand: Operand, values: dict[str, Any]) -> bool:
    """Return whether a new output has to be zeros; triangles are written in part."""
    return operand.role is Role.ADDED_TO or "uplo" in values


def _make_array(
    shape: Shape, dtype: np.dtype[Any], on_device: bool, is_cleared: bool, stream: StreamLike
) -> GivenArray:
    if not on_device:
        return np.zeros(shape, dtype, "F") if is_cleared else np.empty(shape, dtype, "F")
    made = device_array(shape, dtype, order="F", stream=stream)
    if is_cleared:
        # Not by an assignment, which is waited for on the default stream.
        zeros = np.broadcast_to(np.zeros((), dtype), shape)
        made.buffer.driver.copy_to_device(made, zeros, stream_handle(stream))
    return made


def _convert(array: GivenArray, dtype: np.dtype[Any], stream: StreamLike) -> GivenArray:
    if isinstance(array, np.ndarray):
        return np.array(array, dtype, order="F")
    made = device_array(array.shape, dtype, order="F", stream=stream)
    handle = stream_handle(stream)
    order_after([array.buffer], handle)
    made.buffer.driver.copy_on_device(made, array, handle)
    return made


def find_short_way(name: str, stream: StreamLike) -> Callable[..., Any] | None:
    """Return what does a function with little ado, on streams that need no attention."""
    if stream is not None:
        stream_handle(stream)
    return current_engine().short_ways.get(name)


def write_function(
    name: str, parameters: list[str], lines: list[str], scope: dict[str, Any]
) -> Callable[..., Any]:
    """Return a new function of a name, with parameters and statements as they are written."""
    body = "".join(f"    {line}\n" for line in lines)
    exec(f"def {name}({', '.join(parameters)}):\n{body}", scope)
    made: Callable[..., Any] = scope[name]
    made.__module__ = "pygpulib.blas"
    return made


def make_function(name: str) -> Callable[..., Any]:
    """Return the function of a routine, with its parameters and a docstring."""
    routine = ROUTINES[name]
    parameters = parameters_of(routine)
    names = [word.partition("=")[0] for word in parameters if word != "stream=None"]
    passed = ", ".join(f"{each!r}: {each}" for each in names)
    scope: dict[str, Any] = {"run": run, "routine": routine, "find_short_way": find_short_way}
    lines = [
        f"short_way = find_short_way({name!r}, stream)",
        f"made = None if short_way is None else short_way({', '.join(names)})",
        f"return run(routine, {{{passed}}}, stream) if made is None else made",
    ]
    made = write_function(name, parameters, lines, scope)
    made.__doc__ = describe(routine)
    return made


_TEXTS = {
    "trans": "``'N'`` for A, ``'T'`` for its transpose, ``'C'`` for that conjugated.",
    "transa": "``'N'`` for A, ``'T'`` for its transpose, ``'C'`` for that conjugated.",
    "transb": "``'N'`` for B, ``'T'`` for its transpose, ``'C'`` for that conjugated.",
    "uplo": "The triangle that is used: ``'L'`` (lower) or ``'U'`` (upper).",
    "side": "Where the matrix stands: ``'L'`` (left) or ``'R'`` (right).",
    "diag": "Whether the diagonal counts as ones; also ``'U'`` and ``'N'``.",
    "m": "Rows of the matrix.",
    "kl": "Diagonals below the main one.",
    "ku": "Diagonals above the main one.",
    "alpha": "The factor.",
    "beta": "The factor of the output's old values, which are not read if it is 0.",
    "c": "Cosine of the rotation.",
    "s": "Sine of the rotation.",
    "param": "``[flag, h11, h21, h12, h22]``.",
}


def describe(routine: Routine) -> str:
    """Return the docstring of the function of a routine."""
    lines = [f"{routine.summary.rstrip('.')}.", "", "Parameters", "----------"]
    operands = {operand.name: operand for operand in routine.operands}
    for word in parameters_of(routine):
        name = word.partition("=")[0]
        optional = ", optional" if "=" in word else ""
        if name in operands:
            lines += [f"{name} : array{optional}", f"    {_describe_array(operands[name])}"]
        elif name == "stream":
            lines += ["stream : Stream, optional", "    Where the work is queued."]
        else:
            kind = "str" if name in FLAGS else "number" if name in NUMBERS else "int"
            kind = {"diag": "bool", "param": "array of five numbers"}.get(name, kind)
            lines += [f"{name} : {kind}{optional}", f"    {_TEXTS[name]}"]
    lines += ["", "Returns", "-------", *_describe_result(routine)]
    return "\n".join(lines) + "\n"


def _describe_array(operand: Operand) -> str:
    lengths = ", ".join(operand.lengths)
    if operand.lengths == ("packed",):
        text = "A triangle, column by column, n (n + 1) / 2 elements"
    elif operand.lengths[0] == "band":
        text = "Diagonals: element (i, j) of the matrix is in row ku + i - j (upper: k + i - j)"
    elif operand.op:
        text = f"op({operand.name}) has shape ({lengths})"
    else:
        text = f"Shape ({lengths}{',' if len(operand.lengths) == 1 else ''})"
    written = {Role.CHANGED: "; changed in place", Role.READ: ""}
    return f"{text}{written.get(operand.role, '; written to, default: a new array')}."


def _describe_result(routine: Routine) -> list[str]:
    if routine.returns_number:
        return ["number", "    Of the dtype of the arrays, or its real part; an index is an int."]
    names = " and ".join(operand.name for operand in routine.outputs)
    return [
        "array",
        f"    {names} itself where it has the dtype of the result, else a new array.",
    ]
