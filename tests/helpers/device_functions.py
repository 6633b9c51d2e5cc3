"""A device function in a file of its own."""

from pygpulib import cuda


@cuda.jit(device=True)
def twice(value):
    """Return twice a number."""
    doubled = value + value
    return doubled + 0
