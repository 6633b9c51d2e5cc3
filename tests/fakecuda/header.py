"""What a vendor's C header declares, as ctypes.

The header goes through the C preprocessor, so macros that rename functions (``cuMemAlloc`` is
``cuMemAlloc_v2``) and conditional parts are resolved as a C program would see them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CType = Any  # ctypes has no public name for "a class of its types"

_BUILTIN: dict[str, CType] = {
    "void": None,
    "char": ctypes.c_char,
    "char signed": ctypes.c_byte,
    "char unsigned": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "short unsigned": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long": ctypes.c_long,
    "long unsigned": ctypes.c_ulong,
    "long long": ctypes.c_longlong,
    "long long unsigned": ctypes.c_ulonglong,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "_Bool": ctypes.c_bool,
}
_ARITHMETIC = {"char", "short", "int", "long", "signed", "unsigned"}


class Parameter(NamedTuple):
    """A parameter of a function: its C type as written and as ctypes has it."""

    name: str
    spelling: str
    ctype: CType


class Prototype(NamedTuple):
    """A function as declared."""

    name: str
    result: CType
    parameters: tuple[Parameter, ...]

    @property
    def argtypes(self) -> tuple[CType, ...]:
        return tuple(parameter.ctype for parameter in self.parameters)


class Header(NamedTuple):
    """Everything that a header declares, by name."""

    functions: Mapping[str, Prototype]
    constants: Mapping[str, int]
    enums: Mapping[str, Mapping[str, int]]
    types: Mapping[str, CType]


def find_include_folder(file_name: str) -> Path:
    """Return the folder of a header that one of the vendor's wheels brought along."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    for root in roots:
        for found in sorted(Path(root).glob(f"*/include/{file_name}"), reverse=True):
            return found.parent
    message = f"no wheel has {file_name}; `make headers` installs those of all libraries"
    raise FileNotFoundError(message)


@functools.cache
def read_header(file_name: str, more: str = "") -> Header:
    """Read a header from the vendor's wheels, as if it ended with some more declarations."""
    folder = find_include_folder(file_name)
    return parse_declarations(_preprocess(folder / file_name) + more)


def _preprocess(path: Path) -> str:
    """Return what the C preprocessor makes of a header; includes that no wheel has are empty."""
    with tempfile.TemporaryDirectory() as folder:
        while True:
            command = ["gcc", "-E", "-P", f"-I{path.parent}", f"-I{folder}", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            missing = re.search(r"fatal error: (\S+): No such file", done.stderr)
            if missing is None:
                done.check_returncode()
                return done.stdout
            absent = Path(folder, missing[1])
            absent.parent.mkdir(parents=True, exist_ok=True)
            absent.touch()


def parse_declarations(text: str) -> Header:
    """Read preprocessed C declarations."""
    reader = _Reader()
    plain = re.sub(r"(?m)^\s*#.*$|__attribute__\s*\(\(.*?\)\)\)?", "", text)
    for statement in _split_statements(plain):
        reader.read(statement)
    return Header(reader.functions, reader.constants, reader.enums, reader.types)


def same_abi(first: CType, second: CType) -> bool:
    """Return whether C passes two types in the same way."""
    return _abi_class(first) == _abi_class(second)


def _abi_class(ctype: CType) -> object:
    if ctype is None:
        return None
    if issubclass(ctype, ctypes.Structure | ctypes.Union | ctypes.Array):
        return ctypes.sizeof(ctype), ctypes.alignment(ctype)
    if issubclass(ctype, ctypes._Pointer) or not hasattr(ctype, "_type_"):
        return "pointer"  # the latter to a function
    code = ctype._type_
    if code in "PzZO":
        return "pointer"
    kind = "float" if code in "fdg" else "signed" if code in "bhilqc" else "unsigned"
    return kind, ctypes.sizeof(ctype)


def _split_statements(text: str) -> Iterator[str]:
    """Yield what stands between the semicolons outside of all braces."""
    depth = start = 0
    for found in re.finditer(r"[{};]", text):
        mark = found[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            head = text[start : text.index("{", start)].lstrip()
            if depth == 0 and not head.startswith("typedef") and head.rstrip().endswith(")"):
                start = found.end()  # the body of an inline function
        elif depth == 0:
            yield " ".join(text[start : found.start()].split())
            start = found.end()


class _Reader:
    def __init__(self) -> None:
        self.functions: dict[str, Prototype] = {}
        self.constants: dict[str, int] = {}
        self.enums: dict[str, dict[str, int]] = {}
        self.types: dict[str, CType] = dict(_BUILTIN)

    def read(self, statement: str) -> None:
        typedef = statement.startswith("typedef ")
        statement = statement.removeprefix("typedef ").removeprefix("extern ")
        if "{" in statement:
            self._read_braces(statement, typedef)
        elif typedef:
            self._read_alias(statement)
        elif found := re.fullmatch(r"([\w\s*]+?)(\w+)\s*\((.*)\)", statement):
            self._read_function(found[1], found[2], found[3])

    def _read_braces(self, statement: str, typedef: bool) -> None:
        head, rest = statement.split("{", 1)
        body, tail = rest.rsplit("}", 1)
        words = head.split()
        names = [f"{words[0]} {words[1]}"] if len(words) > 1 else []
        if typedef and re.fullmatch(r"\s*\w+\s*", tail):
            names.append(tail.strip())
        if words[:1] == ["enum"]:
            values = self._read_enum(body)
            self.enums.update(dict.fromkeys(names, values))
            self.types.update(dict.fromkeys(names, ctypes.c_int))
        elif words[:1] in (["struct"], ["union"]) and names:
            made = self._read_members(words[0], names[-1], body)
            if made is not None:
                self.types.update(dict.fromkeys(names, made))

    def _read_enum(self, body: str) -> dict[str, int]:
        values: dict[str, int] = {}
        following = 0
        for item in filter(None, (part.strip() for part in body.split(","))):
            name, _, expression = (part.strip() for part in item.partition("="))
            following = self._evaluate(expression) if expression else following
            values[name] = self.constants[name] = following
            following += 1
        return values

    def _evaluate(self, expression: str) -> int:
        plain = re.sub(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b", r"\1", expression)
        plain = re.sub(r"sizeof\s*\(([\w\s*]+)\)", self._size_of, plain)
        plain = re.sub(r"\(\s*int\s*\)", "", plain)
        return int(eval(plain, {"__builtins__": {}}, self.constants))

    def _size_of(self, found: re.Match[str]) -> str:
        return str(ctypes.sizeof(self._find_type(found[1], "")))

    def _read_alias(self, statement: str) -> None:
        if found := re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", statement):
            self.types[found[1]] = ctypes.c_void_p
        elif found := re.fullmatch(r"(.*?)(\w+)((?:\s*\[[^\]]*\])*)", statement):
            made = self._find_type(found[1], found[3])
            if made is not NotImplemented:
                self.types[found[2]] = made

    def _read_function(self, result: str, name: str, parameters: str) -> None:
        read = []
        for position, text in enumerate(_split_parameters(parameters)):
            found = re.fullmatch(r"(.*?[\s*])(\w+)\s*((?:\[[^\]]*\])*)", text)
            if "(" in text:
                read.append(Parameter(f"p{position}", text, ctypes.c_void_p))
                continue
            spelling = found[1].strip() if found and found[2] not in self.types else text
            label = found[2] if found and found[2] not in self.types else f"p{position}"
            pointer = "*" if found and found[3] else ""
            read.append(Parameter(label, spelling, self._find_type(spelling + pointer, "")))
        made = self._find_type(result, "")
        if made is not NotImplemented and all(p.ctype is not NotImplemented for p in read):
            self.functions[name] = Prototype(name, made, tuple(read))

    def _read_members(self, kind: str, name: str, body: str) -> CType | None:
        fields: list[tuple[str, CType]] = []
        anonymous: list[str] = []
        for member in _split_statements(body):
            if not self._read_member(member, fields, anonymous):
                return None
        base = ctypes.Structure if kind == "struct" else ctypes.Union
        members = {"_anonymous_": anonymous, "_fields_": fields} if fields else {}
        return type(name.rsplit(maxsplit=1)[-1], (base,), members)

    def _read_member(
        self, member: str, fields: list[tuple[str, CType]], anonymous: list[str]
    ) -> bool:
        if "{" in member:
            head, rest = member.split("{", 1)
            body, tail = rest.rsplit("}", 1)
            label = tail.strip() or f"_{len(fields)}"
            words = head.split()
            made = self._read_members(words[0], label, body) if words[0] != "enum" else ctypes.c_int
            if made is None or "[" in label:
                return False
            fields.append((label, made))
            anonymous += [] if tail.strip() else [label]
            return True
        if found := re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", member):
            fields.append((found[1], ctypes.c_void_p))
            return True
        found = re.fullmatch(r"(.*?[\s*])(\w+)\s*((?:\[[^\]]*\]\s*)*)", member)
        made = self._find_type(found[1], found[3]) if found else NotImplemented
        if found is None or made is NotImplemented or made is None:
            return False
        fields.append((found[2], made))
        return True

    def _find_type(self, spelling: str, lengths: str) -> CType:
        """Return the type of C words with any number of ``*`` and ``[n]``; or NotImplemented."""
        base, _, stars = spelling.partition("*")
        pointers = stars.count("*") + ("*" in spelling)
        words = [word for word in base.split() if word not in ("const", "volatile")]
        if _ARITHMETIC.issuperset(words):
            words = _normalize(words)
        made = self.types.get(" ".join(words), NotImplemented)
        if pointers:
            made = _pointer_to(made, pointers)
        if made is not NotImplemented and made is not None:
            for length in reversed(re.findall(r"\[([^\]]*)\]", lengths)):
                made = made * self._evaluate(length)
        return made


def _normalize(words: list[str]) -> list[str]:
    """Return the words of a built-in type without those that say nothing, in order."""
    kept = sorted(words)
    if "char" not in kept and "signed" in kept:
        kept.remove("signed")
    if "int" in kept and len(kept) > 1:
        kept.remove("int")
    return kept or ["int"]


def _split_parameters(text: str) -> list[str]:
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    return [] if parts in ([""], ["void"]) else parts


def _pointer_to(target: CType, count: int) -> CType:
    if target in (None, NotImplemented, ctypes.c_char):
        target, count = ctypes.c_void_p, count - 1
    for _ in range(count):
        target = ctypes.POINTER(target)
    return target
