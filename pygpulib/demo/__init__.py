"""The demonstration behind ``python -m pygpulib demo``."""

from pygpulib.demo.show import run_demo

__all__ = ["run_demo"]
