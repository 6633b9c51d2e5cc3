"""Random numbers in the kernel language."""
