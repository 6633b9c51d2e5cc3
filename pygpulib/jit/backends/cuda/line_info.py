"""Which line of the source an instruction comes from, for profilers and debuggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygpulib.errors import Span
    from pygpulib.jit.backends.cuda.module import Module
    from pygpulib.jit.backends.cuda.thread import ThreadCode

# Bytes of file names that need no escape, besides letters and digits.
_PLAIN = frozenset(b" ./_-+~:<>")

_FLAGS = '!{i32 2, !"Debug Info Version", i32 3}'


def write_module(module: Module, functions: list[tuple[ThreadCode, str]], *, lineinfo: bool) -> str:
    """Return the text of a module, with or without lines.

    Parameters
    ----------
    module : Module
        What the functions share.
    functions : list of (ThreadCode, str)
        Each function's code and the line that starts its definition.
    lineinfo : bool
        Whether the text says where instructions come from.
    """
    if not lineinfo:
        return module.write(functions)
    table = _LineTable(1 + len(module.scopes.nodes))
    for code, _ in functions:
        table.annotate(code)
    headers = [
        (code, f"{header} !dbg {table.functions[id(code)]}" if code.marks else header)
        for code, header in functions
    ]
    return module.write(headers) + table.text()


class _LineTable:
    """Metadata of LLVM: files, functions and places in them.

    Parameters
    ----------
    first : int
        The number of its first node; those before are the module's.

    Attributes
    ----------
    functions : dict
        The node of each function, by identity of its code.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self.functions: dict[int, str] = {}
        self._nodes: dict[str, str] = {}
        self._unit = ""

    def annotate(self, code: ThreadCode) -> None:
        """Add the place to every instruction of a function."""
        if not code.marks:
            return
        function = self.functions[id(code)] = self._function(code)
        marks = dict(code.marks)
        span = code.marks[0][1]
        for position, line in enumerate(code.lines):
            span = marks.get(position, span)
            # Labels start at the margin.
            if line.startswith("  "):
                code.lines[position] = f"{line}, !dbg {self._place(span, function)}"

    def text(self) -> str:
        """Return the metadata."""
        flags = self._node(_FLAGS)
        lines = [f"{node} = {text}" for text, node in self._nodes.items()]
        unit = [f"!llvm.dbg.cu = !{{{self._unit}}}"] if self._unit else []
        return "\n".join([*lines, *unit, f"!llvm.module.flags = !{{{flags}}}", ""])

    def _node(self, text: str) -> str:
        return self._nodes.setdefault(text, f"!{self._first + len(self._nodes)}")

    def _file(self, filename: str) -> str:
        escaped = "".join(
            chr(byte) if bytes((byte,)).isalnum() or byte in _PLAIN else f"\\{byte:02X}"
            for byte in filename.encode(errors="replace")
        )
        return self._node(f'!DIFile(filename: "{escaped}", directory: "")')

    def _function(self, code: ThreadCode) -> str:
        span = code.marks[0][1]
        file = self._file(span.filename)
        if not self._unit:
            self._unit = self._node(
                f"distinct !DICompileUnit(language: DW_LANG_Python, file: {file}, "
                "isOptimized: true, emissionKind: DebugDirectivesOnly)"
            )
        type_ = self._node("!DISubroutineType(types: !{})")
        line = min(span.line for _, span in code.marks)
        return self._node(
            f'distinct !DISubprogram(name: "function{len(self.functions)}", scope: {file}, '
            f"file: {file}, line: {line}, type: {type_}, spFlags: DISPFlagDefinition, "
            f"unit: {self._unit})"
        )

    def _place(self, span: Span, function: str) -> str:
        # Code of inlined functions may be of another file.
        file = self._file(span.filename)
        scope = self._node(
            f"!DILexicalBlockFile(scope: {function}, file: {file}, discriminator: 0)"
        )
        return self._node(
            f"!DILocation(line: {span.line}, column: {span.column + 1}, scope: {scope})"
        )
