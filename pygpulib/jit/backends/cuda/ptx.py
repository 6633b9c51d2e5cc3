"""From LLVM IR to PTX, the portable assembly that drivers translate for their GPUs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from pygpulib.errors import InternalError
from pygpulib.jit.backends.cuda.libdevice import PREFIX, library_version, link_text
from pygpulib.jit.backends.cuda.selection import check_declarations
from pygpulib.jit.backends.llvm.module import guard_forks, parse_module

if TYPE_CHECKING:
    from collections.abc import Callable

    import llvmlite.binding as llvm

    from pygpulib.jit.backends.cuda.target import CudaTarget

_Result = TypeVar("_Result")

OptimizationLevel = Literal[0, 1, 2, 3]

DEFAULT_OPTIMIZATION: OptimizationLevel = 3

TRIPLE: Final = "nvptx64-nvidia-cuda"


def compile_ptx(
    llvm_text: str,
    target: CudaTarget,
    *,
    fastmath: bool = False,
    link_libdevice: bool = True,
    optimization: OptimizationLevel = DEFAULT_OPTIMIZATION,
) -> str:
    """Compile LLVM IR to PTX.

    Parameters
    ----------
    llvm_text : str
        A module; triple and data layout are set here. Debug information passes through. Division
        and square root are correctly rounded where their instructions do not allow approximation.
    target : CudaTarget
        What to compile for.
    fastmath : bool
        Let the functions of CUDA's mathematical library flush denormal numbers to zero and
        approximate square roots.
    link_libdevice : bool
        Add the functions of that library which the module declares.
    optimization : int
        LLVM's level.

    Returns
    -------
    str
        PTX in the oldest version that knows the target.

    Raises
    ------
    LibraryError
        If CUDA's mathematical library is needed and not installed.
    UnsupportedFeatureError
        If the target has no instruction for something.
    InternalError
        If LLVM refuses the text, which is attached.
    """
    return _compile(
        llvm_text,
        target,
        (fastmath, link_libdevice, optimization),
        lambda machine, module: machine.emit_assembly(module),
    )


def optimized_text(
    llvm_text: str,
    target: CudaTarget,
    *,
    fastmath: bool = False,
    link_libdevice: bool = True,
    optimization: OptimizationLevel = DEFAULT_OPTIMIZATION,
) -> str:
    """Return the LLVM IR that the code generator gets to see; parameters as `compile_ptx`."""
    return _compile(
        llvm_text,
        target,
        (fastmath, link_libdevice, optimization),
        lambda _machine, module: str(module),
    )


def describe_compilation(
    llvm_text: str, target: CudaTarget, *, fastmath: bool, optimization: OptimizationLevel
) -> str:
    """Return all that PTX follows from besides the text."""
    import llvmlite

    library = library_version() if f"@{PREFIX}" in llvm_text else ""
    return repr((llvmlite.__version__, target.sm, target.features, fastmath, optimization, library))


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    guard_forks()


def _compile(
    text: str,
    target: CudaTarget,
    settings: tuple[bool, bool, OptimizationLevel],
    finish: Callable[[llvm.TargetMachine, llvm.ModuleRef], _Result],
) -> _Result:
    import llvmlite.binding as llvm

    _initialize()
    fastmath, link_libdevice, optimization = settings
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.sm, features=target.features, opt=optimization
    )
    # Both are closed here and in this order; the garbage collector would choose its own.
    with llvm.create_context() as context, parse_module(text, context) as module:
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        if link_libdevice:
            _link_libdevice(module, context, target, fastmath)
        check_declarations(_declared(module), target)
        _optimize(module, machine, optimization)
        try:
            return finish(machine, module)
        except RuntimeError as cause:
            raise InternalError(
                "LLVM refuses to make PTX from the code that pygpulib generated",
                detail=f"{cause}\n\n{text}",
            ) from cause


def _declared(module: llvm.ModuleRef) -> list[str]:
    """Return the functions without a body that are not left for the driver to link."""
    return [
        function.name
        for function in module.functions
        if function.is_declaration and not any(b'"foreign"' in text for text in function.attributes)
    ]


def _link_libdevice(
    module: llvm.ModuleRef, context: llvm.ContextRef, target: CudaTarget, fastmath: bool
) -> None:
    import llvmlite.binding as llvm

    wanted = [name for name in _declared(module) if name.startswith(PREFIX)]
    if not wanted:
        return
    library = parse_module(link_text(wanted, target, fastmath=fastmath), context)
    library.triple = module.triple
    library.data_layout = module.data_layout
    module.link_in(library)
    for function in module.functions:
        if function.linkage == llvm.Linkage.linkonce_odr:
            # What has been inlined everywhere is dropped.
            function.linkage = "internal"


def _optimize(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, optimization: OptimizationLevel
) -> None:
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=optimization)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
