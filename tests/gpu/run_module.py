"""Run a module as ``python -m`` does: the program that the fake driver is given."""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
