"""CUDA's library of mathematical functions, libdevice: parts of it to link.

The library is LLVM bitcode with 350 functions. Linking all of it takes a quarter of a second per
kernel, so kernels get the functions that they call, and what those call. For that the library is
kept as text, with an index of where each function is, in the cache on disk.

Some functions ask at compile time how to compute, by calls of ``__nvvm_reflect``. They are answered
here: LLVM's own answer is to approximate square roots.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import TYPE_CHECKING

from pygpulib._bindings.libdevice import FILE_NAME, INSTALLING, find_libdevice
from pygpulib._record import record
from pygpulib.errors import InternalError, LibraryError
from pygpulib.jit.backends.llvm.module import guard_forks
from pygpulib.jit.cache import digest, open_cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pygpulib.jit.backends.cuda.target import CudaTarget

PREFIX = "__nv_"
"""How the names of its functions start."""

# A definition ends with the first brace at the start of a line; all else is one line. Types,
# attributes and metadata have no name that code looks for.
_PART = re.compile(
    r"^(?:define [^@\n]*@([\w.$]+)\(.*?^\}|declare [^@\n]*@([\w.$]+)\([^\n]*|@([\w.$]+) = [^\n]*"
    r"|(?:attributes #|%[\w.]+ = type|!\d+ = )[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"@([\w.$]+)")
_LINKAGE = re.compile(r"^define (?:internal )?")
_QUESTION = re.compile(r"call i32 @__nvvm_reflect\(ptr @([\w.$]+)\)(?: #\d+)?")


@record
class DeviceLibrary:
    """The library as text.

    Attributes
    ----------
    preamble : str
        What all functions need: types, attributes and metadata.
    parts : mapping of str to tuple
        By name of a function or variable, where it is in ``text`` (start and end), and the names
        of those that it uses.
    questions : mapping of str to str
        By the name of the variable that holds it, what functions ask at compile time.
    text : bytes
        All functions and variables.
    """

    preamble: str
    parts: Mapping[str, tuple[int, int, list[str]]]
    questions: Mapping[str, str]
    text: bytes

    def subset(self, names: Iterable[str], answers: Mapping[str, int]) -> str:
        """Return LLVM IR with some functions and all that they use.

        Parameters
        ----------
        names : iterable of str
            The functions.
        answers : mapping of str to int
            Answers to the questions at compile time; to others the answer is 0.

        Returns
        -------
        str
            A module without triple and data layout. Linkers drop what is not used in it.
        """
        needed: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed[name] = None
                waiting.extend(self.parts[name][2])
        texts = [self._part(name) for name in needed]
        values = {name: answers.get(asked, 0) for name, asked in self.questions.items()}
        joined = "\n".join(texts)
        answered = _QUESTION.sub(lambda found: f"add i32 0, {values[found[1]]}", joined)
        return f"{self.preamble}\n{answered}\n"

    def _part(self, name: str) -> str:
        start, end, _ = self.parts[name]
        return _LINKAGE.sub("define linkonce_odr hidden ", self.text[start:end].decode())


def index_library(text: str) -> DeviceLibrary:
    """Find the functions of a library.

    Parameters
    ----------
    text : str
        LLVM IR as LLVM prints it.
    """
    named: dict[str, str] = {}
    preamble = []
    for found in _PART.finditer(text):
        name = found[1] or found[2] or found[3]
        if name:
            named[name] = found[0]
        else:
            preamble.append(found[0])
    parts: dict[str, tuple[int, int, list[str]]] = {}
    chunks = []
    position = 0
    for name, part in named.items():
        chunk = f"{part}\n".encode()
        uses = sorted({*_NAME.findall(_QUESTION.sub("", part))} - {name})
        parts[name] = (position, position + len(chunk), [each for each in uses if each in named])
        position += len(chunk)
        chunks.append(chunk)
    asked = {name: re.search(r'c"(__CUDA_\w+)\\00"', part) for name, part in named.items()}
    questions = {name: match[1] for name, match in asked.items() if match}
    return DeviceLibrary("\n".join(preamble), parts, questions, b"".join(chunks))


def link_text(names: Iterable[str], target: CudaTarget, *, fastmath: bool) -> str:
    """Return LLVM IR with functions of the library, for a target.

    Parameters
    ----------
    names : iterable of str
        The functions.
    target : CudaTarget
        What is compiled for.
    fastmath : bool
        Flush denormal numbers to zero and approximate square roots.

    Raises
    ------
    LibraryError
        If the library is not installed.
    InternalError
        If it has no such function.
    """
    wanted = sorted(names)
    library = _load(_required_path(wanted))
    unknown = [name for name in wanted if name not in library.parts]
    if unknown:
        raise InternalError(f"CUDA's mathematical library has no function {', '.join(unknown)}")
    major, minor = target.compute_capability
    return library.subset(
        wanted,
        {
            "__CUDA_FTZ": int(fastmath),
            "__CUDA_PREC_SQRT": int(not fastmath),
            "__CUDA_ARCH": 100 * major + 10 * minor,
        },
    )


def library_version() -> str:
    """Return what changes when another library is installed: its path, size and time."""
    path = find_libdevice()
    if path is None:
        return ""
    found = os.stat(path)
    return f"{path}:{found.st_size}:{found.st_mtime_ns}"


def load_libdevice() -> DeviceLibrary:
    """Return the whole library.

    Raises
    ------
    LibraryError
        If the library is not installed.
    """
    return _load(_required_path([]))


def _required_path(names: Iterable[str]) -> str:
    path = find_libdevice()
    if path is None:
        wanted = ", ".join(name.removeprefix(PREFIX) for name in names)
        raise LibraryError(
            f"CUDA's library of mathematical functions, {FILE_NAME}, is not installed",
            detail=f"the kernel needs these functions of it: {wanted}" if wanted else "",
            help=INSTALLING,
        )
    return path


@cache
def _load(path: str) -> DeviceLibrary:
    import llvmlite

    with open(path, "rb") as file:
        bitcode = file.read()
    store = open_cache("cuda")
    key = digest("libdevice", llvmlite.__version__, bitcode)
    kept = store.get(key) if store is not None else None
    if kept is not None:
        return _unpack(kept)
    library = index_library(_as_text(bitcode))
    if store is not None:
        store.put(key, _pack(library))
    return library


def _as_text(bitcode: bytes) -> str:
    import llvmlite.binding as llvm

    guard_forks()
    with llvm.create_context() as context, llvm.parse_bitcode(bitcode, context) as module:
        return str(module)


def _pack(library: DeviceLibrary) -> bytes:
    header = json.dumps([library.preamble, library.parts, library.questions]).encode()
    return b"%d\n%b%b" % (len(header), header, library.text)


def _unpack(data: bytes) -> DeviceLibrary:
    start = data.index(b"\n") + 1
    end = start + int(data[:start])
    preamble, parts, questions = json.loads(data[start:end])
    return DeviceLibrary(preamble, parts, questions, data[end:])
