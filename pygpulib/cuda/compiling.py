"""PTX of functions for other programs: ``cuda.compile`` and its kin, under numba's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Never, TypedDict, Unpack, get_args

from pygpulib._config import config
from pygpulib.core.device import current_device
from pygpulib.cuda.hints import check_flags, read_hints, unknown_option, warn_of_conflicts
from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError
from pygpulib.jit.backends.cuda.device_code import Abi
from pygpulib.jit.backends.cuda.target import OLDEST, CudaTarget, exact_target, known_target
from pygpulib.jit.declarations import parse_signature
from pygpulib.jit.offline import OfflineOptions, compile_offline
from pygpulib.jit.options import CompileHints, CompileOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.jit import types

__all__ = [
    "compile",
    "compile_all",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
]

_OUTPUTS = ("ptx", "ltoir")


class CompileResult(NamedTuple):
    """PTX, and the type of what the function returns."""

    code: str
    result_type: types.Type


class CompileKeywords(TypedDict, total=False):
    """The options of :func:`compile`.

    Attributes
    ----------
    debug : bool, optional
        Check bounds and raise exceptions; for kernels only, which get the address of a launch
        record as one more parameter.
    lineinfo : bool
        Tell in the PTX which lines of the source instructions come from, as ``debug`` does, too.
    device : bool
        Whether it is a device function; else a kernel.
    fastmath : bool
        Allow approximate floating-point arithmetic.
    cc : tuple, optional
        The generation of GPUs, such as ``(8, 0)`` or ``(9, 0, "a")``. Default: the oldest one that
        is supported.
    opt : bool, optional
        Whether to optimize; default: unless ``debug`` is given.
    abi : str
        How a device function is called: ``"c"``, as C does, or ``"numba"``, with the address of
        the result as the first parameter and a status as the result. Kernels take ``"numba"``.
    abi_info : dict, optional
        ``{"abi_name": name}`` gives a device function with C's ABI another name.
    output : str
        ``"ptx"``; numba's ``"ltoir"`` needs NVIDIA's compiler, which this package does not use.
    forceinline : bool
        Has to be false, as in numba for PTX.
    launch_bounds : int or tuple of int, optional
        For kernels: threads per block, blocks per multiprocessor.
    """

    debug: bool | None
    lineinfo: bool
    device: bool
    fastmath: bool
    cc: tuple[int | str, ...] | None
    opt: bool | None
    abi: str
    abi_info: Mapping[str, str] | None
    output: str
    forceinline: bool
    launch_bounds: int | tuple[int, ...] | None


def compile(  # noqa: A001, PLR0913, PLR0917 - numba's name and options
    pyfunc: Callable[..., object],
    sig: object,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: tuple[int | str, ...] | None = None,
    opt: bool | None = None,
    abi: str = "c",
    abi_info: Mapping[str, str] | None = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: int | tuple[int, ...] | None = None,
    **unknown: Never,
) -> CompileResult:
    """Compile a function to PTX, with or without a GPU.

    Parameters
    ----------
    pyfunc : function
        The Python function.
    sig : signature, tuple of types, or str
        Types of the parameters. The result is converted to the type of the result, if there is one.
    debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output, forceinline, launch_bounds
        The options; see :class:`CompileKeywords`.

    Returns
    -------
    CompileResult
        The PTX, ``code``, and the type of what the function returns, ``result_type``.

    Raises
    ------
    UnsupportedFeatureError, ArgumentError, ArgumentTypeError
        If the output or the ABI cannot be had, or an option is not as expected.
    CompileError
        If the function is not in the kernel language or does not fit the types.

    Examples
    --------
    >>> from pygpulib.types import float32
    >>> ptx, result = compile(lambda x, y: x + y, (float32, float32), abi_info={"abi_name": "add"})
    >>> result, ".visible .func" in ptx
    (float32, True)
    """
    _check_output(output, forceinline)
    flags = {"debug": debug, "lineinfo": lineinfo, "device": device, "fastmath": fastmath}
    _check_options(flags | {"opt": opt}, unknown)
    is_debug = config.debug if debug is None else bool(debug)
    warn_of_conflicts(is_debug, {"opt": opt, "lineinfo": lineinfo})
    hints = read_hints(flags | {"launch_bounds": launch_bounds, "opt": opt}, debug=is_debug)
    how = OfflineOptions(
        target=_target(cc, hints),
        options=CompileOptions(is_debug, bool(fastmath), cache=False, hints=hints),
        abi=_check_abi(abi, device),
        name=_read_name(abi, abi_info),
    )
    found = compile_offline(_plain(pyfunc), parse_signature(sig), how)
    return CompileResult(found.code, found.result_type)


def compile_all(
    pyfunc: Callable[..., object], sig: object, **options: Unpack[CompileKeywords]
) -> tuple[list[str], types.Type]:
    """Compile a function and all that it needs; see :func:`compile`.

    Parameters
    ----------
    pyfunc : function
        The Python function.
    sig : signature, tuple of types, or str
        Types of the parameters.
    **options
        As for :func:`compile`; but the output is ``"ltoir"`` unless ``output="ptx"`` is given.

    Returns
    -------
    codes : list of str
        One PTX text, which has everything in it.
    result_type : Type
        The type of what the function returns.
    """
    all_options: CompileKeywords = {"output": "ltoir", **options}
    code, result_type = compile(pyfunc, sig, **all_options)
    return [code], result_type


def compile_ptx(
    pyfunc: Callable[..., object], sig: object, **options: Unpack[CompileKeywords]
) -> CompileResult:
    """Compile a function, a kernel unless ``device=True`` is given, to PTX.

    Parameters
    ----------
    pyfunc : function
        The Python function.
    sig : signature, tuple of types, or str
        Types of the parameters.
    **options
        As for :func:`compile`; but the ABI is ``"numba"`` unless ``abi="c"`` is given.
    """
    all_options: CompileKeywords = {"device": False, "abi": "numba", **options}
    return compile(pyfunc, sig, **all_options)


def compile_for_current_device(
    pyfunc: Callable[..., object], sig: object, **options: Unpack[CompileKeywords]
) -> CompileResult:
    """Compile a function to PTX for the calling thread's device; see :func:`compile`."""
    options["cc"] = _current_generation()
    return compile(pyfunc, sig, **options)


def compile_ptx_for_current_device(
    pyfunc: Callable[..., object], sig: object, **options: Unpack[CompileKeywords]
) -> CompileResult:
    """Compile a function, a kernel unless ``device=True`` is given, for the current device."""
    options["cc"] = _current_generation()
    return compile_ptx(pyfunc, sig, **options)


def _current_generation() -> tuple[int, int]:
    return known_target(current_device().compute_capability).compute_capability


def _check_output(output: str, forceinline: bool) -> None:
    if output not in _OUTPUTS:
        raise UnsupportedFeatureError(f"Unsupported output type: {output}", detail="expected 'ptx'")
    if output == "ltoir":
        raise UnsupportedFeatureError(
            "cuda.compile cannot give LTO-IR",
            detail="that is a format of NVIDIA's compiler, which this package does not use",
            help="pass output='ptx': linkers take PTX, too",
        )
    if forceinline:
        raise ArgumentError(
            "Can only designate forced inlining in LTO-IR",
            detail="the argument forceinline is true, and the output is PTX",
        )


def _check_options(flags: Mapping[str, object], unknown: Mapping[str, object]) -> None:
    for name in unknown:
        raise unknown_option("cuda.compile", name, sorted(CompileKeywords.__annotations__))
    check_flags("cuda.compile", flags)


def _read_name(abi: str, abi_info: Mapping[str, str] | None) -> str:
    """Return the name that a function is to have, empty for its own."""
    info = {} if abi_info is None else abi_info
    is_known = isinstance(info, Mapping) and not info.keys() - {"abi_name"}
    name = info.get("abi_name", "") if is_known else None
    if not isinstance(name, str):
        raise ArgumentError(
            f"the option abi_info of cuda.compile is {abi_info!r}",
            detail='expected a dictionary with no other key than "abi_name", which is a string',
            help='write abi_info={"abi_name": "name"}, or leave it out',
        )
    return name if abi == "c" else ""


def _check_abi(abi: str, device: bool) -> Abi | None:
    if abi not in get_args(Abi):
        raise UnsupportedFeatureError(f"Unsupported ABI: {abi}", detail="expected 'c' or 'numba'")
    if device:
        return "c" if abi == "c" else "numba"
    if abi == "c":
        raise UnsupportedFeatureError(
            "The C ABI is not supported for kernels",
            help="pass abi='numba', or device=True for a device function",
        )
    return None


def _target(cc: tuple[int | str, ...] | None, hints: CompileHints) -> CudaTarget:
    threads, blocks = hints.max_threads_per_block, hints.min_blocks
    if cc is None:
        return exact_target(OLDEST, max_threads_per_block=threads, min_blocks=blocks)
    if not isinstance(cc, tuple) or not 2 <= len(cc) <= 3:
        raise ArgumentTypeError(
            f"the argument cc is {cc!r}", detail="expected a tuple such as (8, 0)"
        )
    major, minor = map(int, cc[:2])
    variant = str(cc[2]) if len(cc) > 2 else ""
    return exact_target((major, minor), variant, max_threads_per_block=threads, min_blocks=blocks)


def _plain(function: Callable[..., object]) -> Callable[..., object]:
    """Return the Python function of a kernel or device function."""
    plain: Callable[..., object] = getattr(function, "py_func", function)
    return plain
