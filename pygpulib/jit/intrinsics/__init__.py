"""The functions that the kernel language knows."""
