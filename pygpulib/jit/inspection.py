"""What a kernel tells about the code that was compiled for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

from pygpulib._record import record
from pygpulib.core.device import current_driver
from pygpulib.errors import SpecializationError
from pygpulib.jit import types
from pygpulib.jit.declarations import parse_signature
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.launch import make_config
from pygpulib.jit.overloads import TypeList
from pygpulib.jit.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType

    from pygpulib.jit.backends.protocol import CompiledKernel
    from pygpulib.jit.explain import Explanation
    from pygpulib.jit.options import CompileOptions

_T = TypeVar("_T")


class CacheStats(NamedTuple):
    """What the cache on disk did for a kernel.

    Attributes
    ----------
    cache_path : str or None
        Folder of the cache; None where the kernel does not use it.
    cache_hits, cache_misses : dict
        By parameter types, how often machine code was found there, and how often it had to be
        compiled. Code is needed once for each way in which blocks are laid on vectors.
    """

    cache_path: str | None
    cache_hits: dict[TypeList, int]
    cache_misses: dict[TypeList, int]


@record(eq=True)
class Specialization:
    """A kernel compiled for one list of parameter types.

    Attributes
    ----------
    parameter_types : tuple of Type
        What it was compiled for.
    function : ir.Function
        Its optimized IR.
    compiled : CompiledKernel
        What runs.
    """

    parameter_types: TypeList
    function: ir.Function
    compiled: CompiledKernel

    def __repr__(self) -> str:
        return f"<{self.function.name} compiled for ({', '.join(map(str, self.parameter_types))})>"

    @property
    def argument_types(self) -> TypeList:
        """The parameter types, under numba's name."""
        return self.parameter_types

    @property
    def signature(self) -> types.FunctionSignature:
        """The parameter types as a signature that returns nothing."""
        return types.FunctionSignature(types.void, self.parameter_types)

    @property
    def entry_name(self) -> str:
        """The name of the kernel."""
        return self.function.name

    @property
    def regs_per_thread(self) -> int:
        """Registers that one thread takes; 0 on the CPU, where threads share the processor's."""
        return self.compiled.resources.registers_per_thread

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant arrays."""
        return self.compiled.resources.constant_bytes

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of shared arrays of a block, without what a launch asks for."""
        return self.compiled.resources.shared_bytes

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local arrays of a thread."""
        return self.compiled.resources.local_bytes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block that the kernel can be launched with."""
        return self.compiled.resources.max_threads_per_block

    @property
    def cooperative(self) -> bool:
        """Whether its blocks wait for each other."""
        bodies = [part.body for part in (self.function, *self.function.callees)]
        return any(
            isinstance(op, ir.Barrier) and op.kind is ir.BarrierKind.GRID
            for body in bodies
            for op in walk(body)
        )

    def max_cooperative_grid_blocks(self, blockdim: object, dynsmem: int = 0) -> int:
        """Return how many blocks can wait for each other.

        Parameters
        ----------
        blockdim : int or tuple of int
            Threads of a block.
        dynsmem : int
            Dynamic shared memory of a block in bytes.

        Returns
        -------
        int
            On a GPU, what it runs at once. On a processor, what it has memory for; larger grids
            may run as well.
        """
        shape = make_config(1, blockdim, 0, dynsmem).shape
        return self.compiled.max_cooperative_blocks(shape.block, shape.shared_bytes)

    def inspect_llvm(self) -> str:
        """Return its LLVM IR."""
        return self.compiled.llvm_text()

    def inspect_asm(self) -> str:
        """Return its machine code as assembly."""
        return self.compiled.assembly_text()


class Inspectable:
    """The part of a kernel that answers questions about its specializations.

    Parameters
    ----------
    py_func : function
        The Python function.
    options : CompileOptions
        How it is compiled.
    specialized : bool
        Whether it takes the types of one signature only.
    """

    __name__: str

    def __init__(self, py_func: FunctionType, options: CompileOptions, specialized: bool) -> None:
        self.py_func = py_func
        self.options = options
        self.specialized = specialized
        self.parameters = Parameters.of(py_func)
        self._specializations: dict[TypeList, Specialization] = {}

    @property
    def overloads(self) -> dict[TypeList, Specialization]:
        """The specializations compiled so far, by their parameter types."""
        return dict(self._specializations)

    @property
    def signatures(self) -> list[TypeList]:
        """The parameter types compiled for so far."""
        return list(self._specializations)

    @property
    def nopython_signatures(self) -> list[types.FunctionSignature]:
        """The same as signatures that return nothing."""
        return [found.signature for found in self._specializations.values()]

    @property
    def stats(self) -> CacheStats:
        """What the cache on disk did for this kernel."""
        from pygpulib.jit.cache import open_cache

        cache = open_cache(current_driver().name) if self.options.cache else None
        compiled = {key: found.compiled for key, found in self._specializations.items()}
        return CacheStats(
            cache.folder if cache is not None else None,
            {key: each.cache_hits for key, each in compiled.items() if each.cache_hits},
            {key: each.cache_misses for key, each in compiled.items() if each.cache_misses},
        )

    def inspect_llvm(self, signature: object = None) -> str | dict[TypeList, str]:
        """Return the LLVM IR of one specialization, or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        return self._ask(Specialization.inspect_llvm, signature)

    def inspect_asm(self, signature: object = None) -> str | dict[TypeList, str]:
        """Return the machine code of one specialization, or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        return self._ask(Specialization.inspect_asm, signature)

    def inspect_ir(self, signature: object = None) -> str | dict[TypeList, str]:
        """Return the typed intermediate code of one specialization, or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        from pygpulib.jit.ir.printer import format_function

        return self._ask(lambda found: format_function(found.function), signature)

    def inspect_types(
        self,
        file: TextIO | None = None,
        signature: object = None,
        pretty: bool = False,  # noqa: ARG002  (numba's HTML; the text is the same here)
    ) -> None:
        """Print the source with the types of the variables that each line assigns.

        Parameters
        ----------
        file : text file, optional
            Where to; default: standard output.
        signature : tuple of Type, optional
            Parameter types; default: all specializations.
        pretty : bool
            Accepted for compatibility.
        """
        from pygpulib.jit.explain import annotate

        stream = sys.stdout if file is None else file
        for parameter_types in self._chosen_types(signature):
            names = self.parameters.names_of(parameter_types)
            stream.write(annotate(self.py_func, names, parameter_types, self.options))

    def explain(self, signature: object = None) -> Explanation:
        """Explain what became of the kernel: types, memory accesses, vectors, caching.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; default: those compiled for last.

        Returns
        -------
        Explanation
            Its ``str`` is a text for people.

        Raises
        ------
        SpecializationError
            If the kernel was not compiled for these types, or for none at all.
        """
        from pygpulib.jit.explain import explain

        chosen = self._chosen_types(signature)
        if not chosen:
            raise SpecializationError(
                f"the kernel {self.__name__} has not been compiled yet",
                help="launch it first, or call compile(...)",
            )
        names = self.parameters.names_of(chosen[-1])
        return explain(self.py_func, names, self.options, self._specializations[chosen[-1]])

    def get_regs_per_thread(self, signature: object = None) -> int | dict[TypeList, int]:
        """Return the registers that a thread takes, of one specialization or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.

        Notes
        -----
        0 on the CPU, where the threads of a block share the registers of one processor.
        """
        return self._ask(lambda found: found.regs_per_thread, signature)

    def get_const_mem_size(self, signature: object = None) -> int | dict[TypeList, int]:
        """Return the bytes of constant arrays, of one specialization or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        return self._ask(lambda found: found.const_mem_size, signature)

    def get_shared_mem_per_block(self, signature: object = None) -> int | dict[TypeList, int]:
        """Return the bytes of shared arrays, of one specialization or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        return self._ask(lambda found: found.shared_mem_per_block, signature)

    def get_local_mem_per_thread(self, signature: object = None) -> int | dict[TypeList, int]:
        """Return the bytes of local arrays, of one specialization or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        return self._ask(lambda found: found.local_mem_per_thread, signature)

    def get_max_threads_per_block(self, signature: object = None) -> int | dict[TypeList, int]:
        """Return the largest block, of one specialization or of all as a dict.

        Parameters
        ----------
        signature : tuple of Type, optional
            Parameter types; may be left out where the kernel takes one signature only.
        """
        bound = self.options.hints.max_threads_per_block
        return self._ask(
            lambda found: min(found.max_threads_per_block, bound or found.max_threads_per_block),
            signature,
        )

    def _ask(
        self, answer: Callable[[Specialization], _T], signature: object
    ) -> _T | dict[TypeList, _T]:
        chosen = self._chosen_types(signature)
        if signature is not None or self.specialized:
            return answer(self._specializations[chosen[0]])
        return {key: answer(self._specializations[key]) for key in chosen}

    def _chosen_types(self, signature: object) -> list[TypeList]:
        """Return the parameter types that a question is about."""
        if signature is None:
            return list(self._specializations)
        wanted = parse_signature(signature).parameters
        if wanted not in self._specializations:
            known = "\n".join(f"  ({', '.join(map(str, key))})" for key in self._specializations)
            raise SpecializationError(
                f"the kernel {self.__name__} was not compiled for ({', '.join(map(str, wanted))})",
                detail=f"it was compiled for:\n{known}" if known else "",
                help="launch it with such arguments first, or call compile(...)",
            )
        return [wanted]
