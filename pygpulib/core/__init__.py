"""Devices, memory, streams and arrays. Knows no compiler and no library."""
