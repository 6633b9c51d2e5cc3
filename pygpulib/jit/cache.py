"""A folder of compiled code, shared by all processes of a user.

Entries are found by a digest of everything that they were made from, so that none is ever out of
date. What a file holds is checked when it is read: a damaged file counts as none. A folder that
cannot be written, or read, is no error; the work is then done again.
"""

from __future__ import annotations

import os
import stat
import threading
import time
import warnings
from functools import cache
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib._record import record
from pygpulib.errors import PyGpuLibWarning

# hashlib would also load OpenSSL, which takes longer than reading what is in the cache.
try:
    from _blake2 import blake2b
except ImportError:  # pragma: no cover - other interpreters than CPython
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("cpu", "cuda")

_DIGEST_BYTES = 16
_SUFFIX = ".bin"
_UNFINISHED = ".tmp"

_MAX_BYTES = 128 << 20

# A file's time is that of its last use, to the day: it tells which files to remove.
_DAY_S = 86400.0

# A writer that needs longer has died.
_WRITING_S = 3600.0


@record(eq=True)
class CacheInfo:
    """What lies in the cache.

    Attributes
    ----------
    folder : str
        Where.
    files : int
        Number of entries.
    size_bytes : int
        Their size together.
    """

    folder: str
    files: int
    size_bytes: int


def digest(*parts: str | bytes) -> str:
    """Return the key of an entry that is made from some parts.

    Parameters
    ----------
    *parts : str or bytes
        Everything that the entry follows from.

    Returns
    -------
    str
        32 hexadecimal digits; different parts have different keys.
    """
    found = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # The length keeps the end of one part from passing for the start of the next.
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()


class DiskCache:
    """Entries in one folder.

    Parameters
    ----------
    folder : str
        Where; it is made when an entry is first looked for.
    max_bytes : int
        From which size on the entries that were not used for longest are removed.
    """

    def __init__(self, folder: str, max_bytes: int = _MAX_BYTES) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._is_usable: bool | None = None

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None if there is none."""
        if not self.is_usable():
            return None
        path = self._path(key)
        try:
            data = _read(path)
        except OSError:
            return None
        checksum, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if checksum != _checksum(key, content):
            _remove(path)
            return None
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep an entry, if the folder can be written.

        Parameters
        ----------
        key : str
            Its `digest`.
        content : bytes
            The entry.
        """
        if not self.is_usable():
            return
        path = self._path(key)
        # Readers see the whole file or none; another process may write the same one meanwhile.
        unfinished = f"{path}.{os.getpid()}.{threading.get_ident()}{_UNFINISHED}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(unfinished, flags, 0o600), "wb") as file:
                file.write(_checksum(key, content) + content)
            os.replace(unfinished, path)
        except OSError:
            _remove(unfinished)
            return
        # Looking at all files takes long; on average one file in 256 pays for it.
        if key.startswith("00"):
            self.trim()

    def trim(self) -> None:
        """Remove what was not used for longest, if the entries are too large together."""
        entries = sorted((found.st_mtime, found.st_size, path) for path, found in self._files())
        total = sum(size for _, size, _ in entries)
        # A quarter less than what is allowed, so that there is room for a while.
        wanted = self._max_bytes * 3 // 4 if total > self._max_bytes else total
        for _, size, path in entries:
            if total <= wanted:
                break
            _remove(path)
            total -= size

    def clear(self) -> int:
        """Remove all entries, and return how many there were."""
        paths = [path for path, _ in self._files()]
        for path in paths:
            _remove(path)
        return len(paths)

    def info(self) -> CacheInfo:
        """Return what lies in the folder."""
        sizes = [found.st_size for _, found in self._files()]
        return CacheInfo(self.folder, len(sizes), sum(sizes))

    def is_usable(self) -> bool:
        """Whether the folder is there, and nobody else can write to it."""
        if self._is_usable is None:
            self._is_usable = _prepare(self.folder)
        return self._is_usable

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key + _SUFFIX)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the entries, and remove what dead writers left behind."""
        try:
            found = list(os.scandir(self.folder))
        except OSError:
            return
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                # Another process has removed it.
                continue
            if entry.name.endswith(_SUFFIX):
                yield entry.path, status
            elif entry.name.endswith(_UNFINISHED) and time.time() - status.st_mtime > _WRITING_S:
                _remove(entry.path)


def all_caches() -> list[DiskCache]:
    """Return this user's caches, switched off or not."""
    if not config.cache_dir:
        return []
    return [DiskCache(os.path.join(config.cache_dir, name)) for name in _KINDS]


@cache
def open_cache(kind: str) -> DiskCache | None:
    """Return this user's cache for one kind of code, or None where caching is switched off.

    Parameters
    ----------
    kind : str
        What the code is for, such as ``"cpu"``.
    """
    assert kind in _KINDS, kind
    if not config.cache or not config.cache_dir:
        return None
    return DiskCache(os.path.join(config.cache_dir, kind))


def _checksum(key: str, content: bytes) -> bytes:
    # With the key, so that a file under a wrong name is found out too.
    return bytes.fromhex(digest(key, content))


def _prepare(folder: str) -> bool:
    """Make the folder if need be, and return whether it can be trusted."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError:
        return False
    if _is_private(status):
        return True
    warnings.warn(
        f"compiled kernels are not cached: others can write to the folder {folder}\n"
        "help: chmod 700 the folder if it is yours, or set PYGPULIB_CACHE_DIR to another one; "
        "PYGPULIB_CACHE=0 switches caching off",
        PyGpuLibWarning,
        stacklevel=2,
    )
    return False


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user can write; what others write must not be run."""
    if not hasattr(os, "geteuid"):
        # Windows: the folders of a user are private unless somebody made them public.
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: str) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not _is_private(status):
            return b""
        data = file.read()
    if time.time() - status.st_mtime > _DAY_S:
        os.utime(path)
    return data


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        # Not there any more, or not ours to remove.
        return
