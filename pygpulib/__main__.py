"""The command line: ``python -m pygpulib demo``."""

from __future__ import annotations

import argparse
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
        Exit status, 0 on success.
    """
    parser = argparse.ArgumentParser(
        prog="python -m pygpulib", description="CUDA kernels from Python, on GPUs and on the CPU"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="compute a Mandelbrot image, check it and compare with CPython"
    )
    demo.add_argument(
        "--output", type=Path, default=Path("mandelbrot.png"), help="where to write the picture"
    )
    options = parser.parse_args(arguments)
    from pygpulib.demo import run_demo

    return run_demo(options.output)


if __name__ == "__main__":
    sys.exit(main())
