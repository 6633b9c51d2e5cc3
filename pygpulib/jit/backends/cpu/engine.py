"""From LLVM IR to code in this process."""

from __future__ import annotations

import ctypes
import itertools
import sys
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from pygpulib.core.locks import Lock
from pygpulib.errors import InternalError
from pygpulib.jit.backends.llvm.module import guard_forks, parse_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import llvmlite.binding as llvm

    from pygpulib.jit.backends.cpu.target import CpuTarget

_Result = TypeVar("_Result")

OptimizationLevel = Literal[0, 1, 2, 3]

# The vectors are explicit and the structure is final, so a few clean-up passes are all that
# pays; 2 and 3 run LLVM's own pipelines.
DEFAULT_OPTIMIZATION: OptimizationLevel = 1

# Without NewGVN: it finds nothing here that code generation does not, and it ends the process in an
# assertion for some kernels with many loops.
_CLEAN_UP = (
    "always_inliner",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "simplify_cfg",
)

_RELOCATION: Final = "pic"
_CODE_MODEL: Final = "default"

_TUNING = {
    "loop_vectorization": False,
    "slp_vectorization": False,
    "loop_interleaving": False,
    "loop_unrolling": False,
}

# Where C's mathematical functions live, besides what the interpreter has loaded already.
_MATH_LIBRARIES = {"linux": ("libm.so.6", "libm.so"), "win32": ("ucrtbase.dll",)}


def assemble(
    text: str, target: CpuTarget, optimization: OptimizationLevel = DEFAULT_OPTIMIZATION
) -> bytes:
    """Compile LLVM IR to an object file.

    Parameters
    ----------
    text : str
        A module as LLVM IR text; triple and data layout are set here.
    target : CpuTarget
        What to compile for.
    optimization : int
        0 none, 1 the clean-up that kernels need, 2 and 3 LLVM's own pipelines.

    Returns
    -------
    bytes
        The object file.

    Raises
    ------
    InternalError
        If LLVM refuses the text, which is attached.
    """
    return _compile(text, target, optimization, lambda machine, module: machine.emit_object(module))


def describe_compilation(target: CpuTarget, optimization: OptimizationLevel) -> str:
    """Return all that an object file follows from besides its text."""
    import llvmlite

    settings = (llvmlite.__version__, target, optimization)
    recipe = (_CLEAN_UP, _RELOCATION, _CODE_MODEL, _TUNING)
    return repr((settings, recipe))


def optimized_text(
    text: str, target: CpuTarget, optimization: OptimizationLevel = DEFAULT_OPTIMIZATION
) -> str:
    """Return the LLVM IR that the code generator gets to see."""
    return _compile(text, target, optimization, lambda _machine, module: str(module))


def assembly_text(
    text: str, target: CpuTarget, optimization: OptimizationLevel = DEFAULT_OPTIMIZATION
) -> str:
    """Return the machine code as assembly."""
    return _compile(
        text, target, optimization, lambda machine, module: machine.emit_assembly(module)
    )


def load(code: bytes, symbol: str, imports: Mapping[str, int] | None = None) -> int:
    """Make an object file executable, for the rest of the process.

    Parameters
    ----------
    code : bytes
        The object file.
    symbol : str
        A function that it defines.
    imports : mapping of str to int, optional
        Addresses of functions that it calls; others are looked up in the process.

    Returns
    -------
    int
        Address of the function.
    """
    return load_all(code, (symbol,), imports)[symbol]


def load_all(
    code: bytes, symbols: tuple[str, ...], imports: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Make an object file executable and return the addresses of several functions."""
    import llvmlite.binding as llvm

    linker = _linker()
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        library = builder.link(linker, f"pygpulib.{next(_library_numbers)}")
    except RuntimeError as cause:
        raise InternalError(
            f"the machine code of {', '.join(symbols)} cannot be loaded", detail=str(cause)
        ) from cause
    addresses = {symbol: library[symbol] for symbol in symbols}
    # Never unloaded: threads of the pool and streams may be inside the code at any time, the end
    # of the process included.
    library.detach()
    return addresses


_library_numbers = itertools.count()
_linker_lock = Lock()


@cache
def _linker_once() -> llvm.LLJIT:
    import llvmlite.binding as llvm

    _initialize()
    for name in _MATH_LIBRARIES.get(sys.platform, ()):
        try:
            llvm.load_library_permanently(name)
        except RuntimeError:
            # Not under this name: musl has the functions in libc, which is loaded.
            continue
        break
    # LLVM's older linker asks for code and constants one by one, and where a program has mapped
    # much memory they can come to lie too far apart for the code that it links.
    linker = llvm.create_lljit_compiler(use_jit_link=True)
    _keep_forever(linker)
    return linker


def _keep_forever(obj: object) -> None:
    """Keep an object when the interpreter ends: threads may still run the code that it owns."""
    # Interpreters without this function destroy nothing at their end.
    if hasattr(ctypes, "pythonapi"):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))


def _linker() -> llvm.LLJIT:
    with _linker_lock:
        return _linker_once()


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    guard_forks()


def _compile(
    text: str,
    target: CpuTarget,
    optimization: OptimizationLevel,
    finish: Callable[[llvm.TargetMachine, llvm.ModuleRef], _Result],
) -> _Result:
    import llvmlite.binding as llvm

    _initialize()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=min(optimization, 2),
        reloc=_RELOCATION,
        codemodel=_CODE_MODEL,
    )
    # Both are closed here and in this order; the garbage collector would choose its own.
    with llvm.create_context() as context, parse_module(text, context) as module:
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        _optimize(module, machine, optimization)
        return finish(machine, module)


def _optimize(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, optimization: OptimizationLevel
) -> None:
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=optimization)
    for name, value in _TUNING.items():
        setattr(tuning, name, value)
    builder = llvm.create_pass_builder(machine, tuning)
    if optimization >= 2:
        builder.getModulePassManager().run(module, builder)
    elif optimization == 1:
        passes = llvm.create_new_module_pass_manager()
        for name in _CLEAN_UP:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, builder)
