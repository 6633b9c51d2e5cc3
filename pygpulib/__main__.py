"""The command line: ``python -m pygpulib info``, ``doctor``, ``demo`` and ``cache``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : list of str, optional
        Default: those of this process.

    Returns
    -------
    int
        Exit status, 0 on success; 1 also if the output is read only in part, as ``head`` does.
    """
    options = _parse(arguments)
    try:
        status = _run(options)
        # Here, where what goes wrong can be caught, instead of at exit.
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pygpulib", description="CUDA kernels from Python, on GPUs and on the CPU"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("info", help="list the devices that kernels run on")
    commands.add_parser("doctor", help="explain what this machine offers, and what is missing")
    demo = commands.add_parser(
        "demo", help="compute an image and random numbers, check them and compare"
    )
    demo.add_argument(
        "--output", type=Path, default=Path("mandelbrot.png"), help="where to write the picture"
    )
    cache = commands.add_parser(
        "cache", help="look at the compiled kernels on disk, or remove them"
    )
    cache.add_argument(
        "action", choices=("info", "clear"), nargs="?", default="info", help="default: info"
    )
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    if options.command == "cache":
        return _manage_cache(options.action)
    if options.command == "info":
        from pygpulib.doctor import show_devices

        return show_devices()
    if options.command == "doctor":
        from pygpulib.doctor import run_doctor

        return run_doctor()
    from pygpulib.demo import run_demo

    return run_demo(options.output)


def _manage_cache(action: str) -> int:
    from pygpulib._config import config
    from pygpulib.jit.cache import all_caches

    state = "on" if config.cache else "off (PYGPULIB_CACHE=0)"
    sys.stdout.write(f"caching of compiled kernels is {state}\n")
    for cache in all_caches():
        info = cache.info()
        size = f"{info.files} files, {info.size_bytes / 2**20:.1f} MiB"
        if action == "clear":
            cache.clear()
            size = f"removed {size}"
        sys.stdout.write(f"{info.folder}: {size}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
