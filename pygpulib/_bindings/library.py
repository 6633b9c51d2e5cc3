"""Shared libraries whose functions are declared in a table."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from pygpulib._record import record
from pygpulib.errors import LibraryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    CheckStatus = Callable[[str, int], None]


@record(eq=True)
class Function:
    """How a function of a library is called.

    Attributes
    ----------
    action : str
        What it does, to follow "could not" in an error message.
    arguments : tuple
        The ctypes type of each argument.
    result : type or None
        What it returns.
    is_checked : bool
        Whether what it returns is a status to check.
    """

    action: str
    arguments: tuple[Any, ...]
    result: Any = ctypes.c_int
    is_checked: bool = True


def open_shared(names: Iterable[str]) -> ctypes.CDLL | None:
    """Return the first of several shared libraries that this machine has.

    Parameters
    ----------
    names : iterable of str
        File names that the system's loader looks up, or paths.

    Returns
    -------
    ctypes.CDLL or None
        None if there is none of them.

    Examples
    --------
    >>> open_shared(["libthat_nobody_has.so.1"]) is None
    True
    """
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def loading_problem(name: str) -> str:
    """Return why a shared library that this machine has cannot be loaded.

    Parameters
    ----------
    name : str
        File name that the system's loader looks up, or path.

    Returns
    -------
    str
        What the loader says; empty if it loads the library, or if there is none.

    Examples
    --------
    >>> loading_problem("libthat_nobody_has.so.1")
    ''
    """
    try:
        ctypes.CDLL(name)
    except OSError as error:
        # A file that is there may need another one that is not: then the loader names that one.
        problem = str(error)
        is_absent = "No such file" in problem and name in problem and "needed by" not in problem
        return "" if is_absent or isinstance(error, FileNotFoundError) else problem
    return ""


class Library:
    """A shared library; its functions are attributes, looked up when they are first used.

    Parameters
    ----------
    title : str
        Name of the library in messages.
    handle : ctypes.CDLL
        The open library.
    functions : mapping of str to Function
        The functions under the names that the library exports.
    check_status : callable
        Called with the function's name and what it returned; raises if that means an error.
    version : str
        Version of the library in messages.

    Examples
    --------
    >>> table = {"abs": Function("drop the sign", (ctypes.c_int,), is_checked=False)}
    >>> Library("the C library", ctypes.CDLL(None), table, lambda name, status: None).abs(-3)
    3
    """

    def __init__(
        self,
        title: str,
        handle: ctypes.CDLL,
        functions: Mapping[str, Function],
        check_status: CheckStatus,
        version: str = "",
    ) -> None:
        self.title = title
        self.version = version
        self._handle = handle
        self._functions = functions
        self._check_status = check_status

    def __getattr__(self, name: str) -> Any:
        function = self._functions.get(name) if not name.startswith("_") else None
        if function is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            # By item, so that every library has function objects of its own.
            entry = self._handle[name]
        except AttributeError as cause:
            raise LibraryError(
                f"{self.title} cannot {function.action}",
                detail=f"{self.description} has no function {name}",
                help=f"install a newer version of {self.title}",
            ) from cause
        entry.argtypes = function.arguments
        entry.restype = function.result
        if function.is_checked:
            entry.errcheck = self._checker(name)
        # From now on found without this method.
        setattr(self, name, entry)
        return entry

    def raw(self, name: str) -> Any:
        """Return a function for calls where every nanosecond counts.

        It converts and checks nothing: numbers must fit into C's int, or be ctypes objects, and
        what it returns goes to `check`.
        """
        getattr(self, name)  # complains if there is none
        return self._handle[name]

    def check(self, name: str, status: int) -> None:
        """Raise if what a function returned means an error."""
        self._check_status(name, status)

    @property
    def description(self) -> str:
        """The library's title, version and file."""
        version = f" {self.version}" if self.version else ""
        return f"{self.title}{version} ({self._handle._name})"

    @property
    def path(self) -> str:
        """The library's file, as it was opened."""
        return str(self._handle._name)

    def has(self, name: str) -> bool:
        """Return whether the library exports a function."""
        try:
            self._handle[name]
        except AttributeError:
            return False
        return True

    def _checker(self, name: str) -> Any:
        check = self._check_status

        def check_result(status: int, _function: object, _arguments: object) -> int:
            if status:
                check(name, status)
            return status

        return check_result
