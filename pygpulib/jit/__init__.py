"""The kernel compiler and its launcher."""
