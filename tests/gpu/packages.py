"""The packages that a check needs on a machine without network.

``prepare DIR`` downloads wheels, the most important first, as long as they fit. ``unpack DIR
FOLDER`` puts those that a machine lacks into a folder for ``PYTHONPATH``, and tells what is
missing.
Only the standard library is needed.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

LIBDEVICE = "libdevice.10.bc"
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (12, 17, 24, 26, 27, 28, 31, 34)]


class Package(NamedTuple):
    """A package: its name, the oldest version that will do, and whether checks fail without it."""

    name: str
    oldest: tuple[int, ...]
    is_needed: bool = True


PACKAGES = (
    Package("pytest", (9,)),
    Package("pluggy", (1, 5)),
    Package("iniconfig", (1,)),
    Package("packaging", (22,)),
    Package("pygments", (2, 7)),
    Package("pytest-xdist", (3, 8)),
    Package("execnet", (2, 1)),
    Package("hypothesis", (6, 120)),
    Package("sortedcontainers", (2, 1)),
    Package("mpmath", (1, 3)),
    Package("ml-dtypes", (0, 5)),
    Package("cuda-pathfinder", (1, 3)),
    Package("numpy", (2,)),
    Package("scipy", (1, 13)),
    Package("llvmlite", (0, 45)),
    # What the figures are compared with.
    Package("numba", (0, 60), is_needed=False),
    Package("numba-cuda", (0, 20), is_needed=False),
    Package("cupy-cuda13x", (13,), is_needed=False),
)


def found_version(name: str) -> tuple[int, ...] | None:
    """Return the version of an installed package, None if it is not installed."""
    try:
        text = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    return _numbers(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text.partition("+")[0])[:3]))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


# --------------------------------------------------------------------------------------- prepare


def prepare(folder: Path, python: str, limit_bytes: int) -> None:
    """Download what fits, and tell what the machine must have."""
    folder.mkdir(parents=True, exist_ok=True)
    _fetch_libdevice(folder)
    left_out = []
    for package in PACKAGES:
        wheel = _download(package, folder, python) if package.is_needed else None
        if wheel is not None and _total(folder) > limit_bytes:
            wheel.unlink()
            wheel = None
        if wheel is None:
            left_out.append(package.name)
        else:
            print(f"{wheel.stat().st_size / 2**20:7.2f} MiB  {wheel.name}")
    print(f"{_total(folder) / 2**20:7.2f} MiB in all, in {folder}, for Python {python}")
    print(f"the machine itself must have: {', '.join(left_out)}")


def _total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _pip_download(requirement: str, folder: Path, python: str) -> bool:
    platforms = [word for platform in _PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    command += [*platforms, "--dest", str(folder), requirement]
    return subprocess.run(command, check=False).returncode == 0


def _download(package: Package, folder: Path, python: str) -> Path | None:
    before = set(folder.iterdir())
    for name in _wheels(before, package.name):
        name.unlink()
        before.discard(name)
    if not _pip_download(f"{package.name}>={_dotted(package.oldest)}", folder, python):
        return None
    (made,) = set(folder.iterdir()) - before
    return made


def _fetch_libdevice(folder: Path) -> None:
    """Take CUDA's library of functions from this machine, or out of its large package."""
    target = folder / LIBDEVICE
    if target.exists():
        return
    if here := _installed_libdevice():
        target.write_bytes(Path(here).read_bytes())
        return
    with tempfile.TemporaryDirectory() as work:
        if not _pip_download("nvidia-nvvm", Path(work), "3.12"):
            print(f"{LIBDEVICE}: not downloaded; the machine must have it")
            return
        (wheel,) = Path(work).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(LIBDEVICE)]
            target.write_bytes(archive.read(name))


def _installed_libdevice() -> str | None:
    try:
        from pygpulib._bindings.libdevice import find_libdevice
    except ImportError:  # what the package needs is not installed here
        return None
    return find_libdevice()


# ---------------------------------------------------------------------------------------- unpack


def _wheels(paths: Iterable[Path], name: str) -> list[Path]:
    """Return the wheels of a package."""
    plain = name.lower().replace("-", "_")
    return [p for p in paths if p.suffix == ".whl" and p.name.lower().split("-")[0] == plain]


def _fits(wheel: Path) -> bool:
    """Return whether a wheel is for the Python that runs this."""
    *_, python, abi, _ = wheel.stem.split("-")
    mine = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return mine in python.split(".") or abi in ("none", "abi3")


def unpack(wheels: Path | None, folder: Path) -> list[str]:
    """Unpack the packages that this machine lacks, and return what is missing still."""
    available = sorted(wheels.iterdir()) if wheels is not None and wheels.is_dir() else []
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for package in PACKAGES:
        version = found_version(package.name)
        if version is not None and version >= package.oldest:
            told = _dotted(version)
        else:
            told = "" if version is None else f"{_dotted(version)} is too old; "
            found, reason = _unpack_one(_wheels(available, package.name), folder)
            told += reason
            if not found and package.is_needed:
                missing.append(f"{package.name} {_dotted(package.oldest)} or newer")
            elif not found:
                told += "; no comparison"
        print(f"{package.name:<18}{told}")
    return missing


def _unpack_one(wheels: list[Path], folder: Path) -> tuple[bool, str]:
    """Unpack the newest wheel of a package; return whether there is one, and what to tell."""
    if not wheels:
        return False, "missing"
    if not _fits(wheels[-1]):
        return False, f"missing: {wheels[-1].name} is for another Python"
    with zipfile.ZipFile(wheels[-1]) as archive:
        archive.extractall(folder)
    return True, f"unpacked {wheels[-1].name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    preparing = actions.add_parser("prepare", help="download wheels")
    preparing.add_argument("folder", type=Path)
    preparing.add_argument("--python", default="3.12", help="version of the machine's Python")
    preparing.add_argument("--limit", type=float, default=60, help="MiB in all")
    unpacking = actions.add_parser("unpack", help="unpack what is missing")
    unpacking.add_argument("wheels", type=Path)
    unpacking.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.action == "prepare":
        prepare(options.folder, options.python, int(options.limit * 2**20))
        return 0
    missing = unpack(options.wheels, options.folder)
    if missing:
        print(f"cannot check anything without: {', '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
