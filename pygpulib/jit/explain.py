"""What became of a kernel, for people: types, memory accesses, vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FunctionType

    from pygpulib.errors import Span
    from pygpulib.jit.backends.findings import Layout, Resources
    from pygpulib.jit.frontend.compile import Assignment, FunctionTypes
    from pygpulib.jit.inspection import Specialization
    from pygpulib.jit.options import CompileOptions
    from pygpulib.jit.overloads import TypeList


@record(eq=True)
class Barrier:
    """A place where threads wait for each other.

    Attributes
    ----------
    kind : str
        ``"block"``, ``"warp"``, ``"grid"``, or one of the counting ones.
    span : Span or None
        Where in the source.
    """

    kind: str
    span: Span | None


@record(eq=True)
class Explanation:
    """What became of one specialization of a kernel; ``str`` gives a text.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    filename : str
        File that it is in.
    parameters : tuple of (str, str)
        Names and types of the parameters.
    assignments : tuple of Assignment
        Types of the values that variables get, in the order of the source.
    widenings : tuple of Span or None
        Where float32 and smaller floats become float64.
    barriers : tuple of Barrier
        Where threads wait.
    resources : Resources
        Memory that it takes.
    copies_host_arrays : bool
        Whether a launch copies arrays of the host to the device and back.
    layouts : tuple of Layout
        How blocks of the shapes launched so far run.
    """

    kernel: str
    filename: str
    parameters: tuple[tuple[str, str], ...]
    assignments: tuple[Assignment, ...]
    widenings: tuple[Span | None, ...]
    barriers: tuple[Barrier, ...]
    resources: Resources
    copies_host_arrays: bool
    layouts: tuple[Layout, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"kernel {self.kernel}, {self.filename}"
        yield "types"
        for name, type_ in self.parameters:
            yield f"  {'parameter':<10} {name}: {type_}"
        for each in self.assignments:
            yield f"  {self._place(each.span):<10} {each.name}: {each.type}"
        for span in self.widenings:
            yield f"  {self._place(span):<10} a smaller float becomes float64"
        yield "memory and barriers"
        yield f"  shared     {self.resources.shared_bytes} bytes per block"
        yield f"  local      {self.resources.local_bytes} bytes per thread"
        yield f"  constant   {self.resources.constant_bytes} bytes"
        for barrier in self.barriers:
            yield f"  {self._place(barrier.span):<10} barrier: {barrier.kind}"
        copied = "copied for each launch" if self.copies_host_arrays else "used in place"
        yield f"  {'arguments':<10} arrays of the host are {copied}"
        for layout in self.layouts:
            yield from self._layout_lines(layout)

    def _layout_lines(self, layout: Layout) -> Iterator[str]:
        yield f"blocks of {' x '.join(map(str, layout.block))} threads"
        if layout.lanes == 1:
            yield "  run thread by thread"
        else:
            order = "in the order of their numbers" if layout.axis == "warp" else ""
            along = order or f"along {layout.axis}"
            rest = "" if layout.is_full else "; the last vector of a row is not full"
            yield f"  run {layout.lanes} threads {along} as one vector{rest}"
        yield f"  machine code {_CACHED[layout.was_cached]}"
        for finding in layout.findings:
            yield f"  {self._place(finding.span):<10} {finding}"

    def _place(self, span: Span | None) -> str:
        if span is None:
            return ""
        if span.filename == self.filename:
            return f"line {span.line}"
        return str(span)


_CACHED = {
    True: "found in the cache on disk",
    False: "compiled, and kept in the cache on disk",
    None: "not in the cache on disk",
}


def explain(
    py_func: FunctionType,
    names: Sequence[str],
    options: CompileOptions,
    specialization: Specialization,
) -> Explanation:
    """Explain a specialization of a kernel.

    Parameters
    ----------
    py_func : function
        The Python function.
    names : sequence of str
        Names of its parameters.
    options : CompileOptions
        How it was compiled.
    specialization : Specialization
        What it was compiled to.
    """
    from pygpulib.jit.frontend.compile import find_types

    types = specialization.parameter_types
    function = specialization.function
    return Explanation(
        kernel=function.name,
        filename=py_func.__code__.co_filename,
        parameters=tuple(zip(names, map(str, types), strict=True)),
        assignments=tuple(
            each for found in find_types(py_func, types, options) for each in found.assignments
        ),
        widenings=_find_widenings(function),
        barriers=tuple(
            Barrier(op.kind.value, op.span)
            for op in walk(function.body)
            if isinstance(op, ir.Barrier)
        ),
        resources=specialization.compiled.resources,
        copies_host_arrays=specialization.compiled.copies_host_arrays,
        layouts=tuple(specialization.compiled.explain()),
    )


def _find_widenings(function: ir.Function) -> tuple[Span | None, ...]:
    found = {
        op.span: None
        for op in walk(function.body)
        if isinstance(op, ir.Cast)
        and op.result.type == dtypes.float64
        and isinstance(op.operand.type, DType)
        and op.operand.type.is_float
    }
    return tuple(found)


# ------------------------------------------------------------------------------ annotated source


def annotate(
    py_func: FunctionType,
    names: Sequence[str],
    parameter_types: TypeList,
    options: CompileOptions,
) -> str:
    """Return the source of a kernel with the types of the variables that each line assigns.

    Parameters
    ----------
    py_func : function
        The Python function.
    names : sequence of str
        Names of its parameters.
    parameter_types : tuple of Type
        Their types.
    options : CompileOptions
        How it is compiled.

    Returns
    -------
    str
        The functions that the kernel calls follow it.
    """
    from pygpulib.jit.frontend.compile import find_types

    functions = find_types(py_func, parameter_types, options)
    text = [f"{py_func.__name__} ({', '.join(map(str, parameter_types))})"]
    notes = [f"{name}: {type_}" for name, type_ in zip(names, parameter_types, strict=True)]
    for function in functions:
        text.append(f"{function.filename}:{function.first_line}")
        text.extend(_annotated_lines(function, notes))
        notes = []
    return "\n".join([*text, "", ""])


def _annotated_lines(function: FunctionTypes, first_notes: list[str]) -> Iterator[str]:
    notes = {function.first_line: first_notes}
    for each in function.assignments:
        notes.setdefault(each.span.line, []).append(f"{each.name}: {each.type}")
    for number, line in enumerate(function.lines, function.first_line):
        yield f"{number:5}  {line.rstrip()}"
        indent = " " * (len(line) - len(line.lstrip()))
        yield from (f"{'':5}  {indent}#   {note}" for note in dict.fromkeys(notes.get(number, [])))
