"""The state of compiling one kernel: where we are in the source and in the IR."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from pygpulib._record import field, record
from pygpulib.errors import CompileError, Span, UndefinedNameError
from pygpulib.jit import types
from pygpulib.jit.frontend.values import Operand
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    import numpy as np

    from pygpulib.jit.frontend.recursion import Recursion


class Pending(Exception):  # noqa: N818 - it ends a path of an attempt, nobody has done wrong
    """The type of what a recursive function returns is needed and not known yet."""


@record(eq=True)
class Source:
    """A Python function as the front end sees it.

    Attributes
    ----------
    node : ast.FunctionDef or ast.Lambda
        Its syntax tree, with line numbers of the file.
    filename : str
        File that the lines belong to.
    lines : tuple of str
        The lines of the file, for excerpts in messages.
    name : str
        Qualified name.
    outer : mapping
        Captured variables and globals, builtins last.
    """

    node: ast.FunctionDef | ast.Lambda
    filename: str
    lines: tuple[str, ...]
    name: str
    outer: Mapping[str, object]


@record(eq=True)
class CallKey:
    """What one compilation of a function depends on.

    Attributes
    ----------
    node : ast.FunctionDef or ast.Lambda
        The function.
    forms : tuple of types.Type
        The types of the arguments.
    literals : tuple
        Their values where known, else None.
    site : object
        What tells apart functions of one piece of code, which may have captured different things:
        the Python function, or for functions defined in the kernel the call.
    """

    node: ast.FunctionDef | ast.Lambda
    forms: tuple[types.Type, ...]
    literals: tuple[object, ...]
    site: object = None

    @property
    def identity(self) -> object:
        """What is the same for calls that differ in the values of arguments only."""
        return self.node, self.forms, self.site


@record(frozen=False)
class LoopState:
    """One attempt to compile a loop with certain types of its carried variables.

    Attributes
    ----------
    forms : dict
        The carried variables and their types in this attempt; None while no type is known.
    grown : dict
        The types that the edges of the loop need where those of the attempt are not enough.
    runs_once : bool
        Whether this is one step of an unrolled loop, in which ``continue`` leaves it.
    flag : str
        The hidden variable that says whether the loop ran to its end; empty if nobody asks.
    has_exit : bool
        Whether an edge out of the loop has been compiled.
    failure : UndefinedNameError or None
        The first use of a variable whose type this attempt did not know yet.
    nonnegative : set of str
        The carried integers that the attempt takes for not negative.
    doubted : set of str
        Those of them that an edge of the loop may make negative.
    """

    forms: dict[str, types.Type | None]
    grown: dict[str, types.Type] = field(default_factory=dict)
    runs_once: bool = False
    flag: str = ""
    has_exit: bool = False
    failure: UndefinedNameError | None = None
    nonnegative: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)


@record(frozen=False)
class Frame:
    """One function whose body is being compiled: the kernel, or an inlined function.

    Attributes
    ----------
    source : Source
        The function.
    key : CallKey
        What this call is compiled for; what one attempt learns about types is kept under it.
    variables : dict
        The local variables and what they are at this point of the program.
    enclosing : Frame or None
        The frame in whose body the function was defined (inner functions and lambdas).
    result_type : types.Type or None
        The join of the types returned so far; None before the first ``return``.
    is_kernel : bool
        Whether ``return value`` is forbidden here.
    loops : list of LoopState
        The loops around this point, innermost last.
    returned : list of Operand
        What the ``return`` statements compiled so far gave.
    place : Span or None
        In functions of this package, where the user's code called it; there is nothing to see for
        the user inside.
    """

    source: Source
    key: CallKey
    variables: dict[str, Operand] = field(default_factory=dict)
    enclosing: Frame | None = None
    result_type: types.Type | None = None
    is_kernel: bool = False
    loops: list[LoopState] = field(default_factory=list)
    returned: list[Operand] = field(default_factory=list)
    place: Span | None = None


class Context:
    """What every part of the front end shares while one kernel is compiled.

    Attributes
    ----------
    builder : Builder
        Where operations go.
    options : CompileOptions
        What the user asked for.
    frames : list of Frame
        The functions being compiled, innermost last; the call chain of an error message.
    errors : list of ir.ErrorEntry
        The exceptions that the kernel can raise, numbered by position.
    nonnegative : set of ir.Value
        Integers known not to be negative; an index among them needs no wrapping.
    integral : set of ir.Value
        Floats known to be whole numbers (results of ``math.floor``); they may serve as indices.
    frozen : dict
        Copies of the host arrays that became constants, by the identity of the original.
    shared : dict
        The shared arrays of the kernel by what tells them apart, and what allocates them at its
        start.
    captured : list
        The device arrays that the kernel refers to by address.
    learned : dict
        The types that earlier attempts found for the carried variables of a loop and for the
        result of a function.
    doubted : dict
        The carried variables of a loop that earlier attempts found to become negative.
    recursions : dict
        The functions that call themselves, by syntax tree and forms of the arguments.
    pending : int
        How many paths were left out because the result of such a function was not known yet.
    assigned : list
        The assignments to variables, those of attempts thrown away too: the frame, the place, the
        name and the value.
    """

    def __init__(self, options: CompileOptions) -> None:
        self.builder = Builder()
        self.options = options
        self.frames: list[Frame] = []
        self.calls: list[Span] = []
        self.errors: list[ir.ErrorEntry] = []
        self.nonnegative: set[ir.Value] = set()
        self.integral: set[ir.Value] = set()
        self.frozen: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
        self.shared: dict[object, tuple[ir.Value, ir.Allocate]] = {}
        self.captured: list[object] = []
        self.learned: dict[object, dict[str, types.Type]] = {}
        self.doubted: dict[object, set[str]] = {}
        self.assigned: list[tuple[Frame, Span | None, str, Operand]] = []
        self.recursions: dict[object, Recursion] = {}
        self.pending = 0

    @property
    def frame(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    def span(self, node: ast.AST) -> Span:
        """Return where a node of the current frame stands in its file.

        In functions of this package, that is where the user's code called it.
        """
        if self.frame.place is not None:
            return self.frame.place
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        return Span(
            self.frame.source.filename,
            line,
            column,
            getattr(node, "end_lineno", line) or line,
            getattr(node, "end_col_offset", column + 1) or column + 1,
        )

    def fail(
        self,
        error_class: type[CompileError],
        problem: str,
        node: ast.AST,
        *,
        detail: str = "",
        help: str = "",
    ) -> NoReturn:
        """Raise a compile error with file, line, source excerpt, caret and chain of calls."""
        from pygpulib.jit.diagnostics import describe

        span = self.span(node)
        depth = len(self.frames) - 1
        calls = self.calls
        if self.frame.place is not None:
            while self.frames[depth - 1].place is not None:
                depth -= 1
            called = self.frames[depth]
            depth -= 1
            calls = calls[:depth]
            given = ", ".join(map(str, called.key.forms))
            detail = f"{problem}\n{detail}".rstrip()
            problem = f"{called.source.name.lstrip('_')} does not take ({given})"
        excerpt = describe(span, self.frames[depth].source.lines, tuple(calls))
        raise error_class(
            f"{span}: {problem}",
            span=span,
            detail="\n".join(part for part in (excerpt, detail) if part),
            help=help,
        )
