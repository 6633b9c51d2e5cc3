"""Random numbers: every generator of cuRAND, with the same numbers, on GPUs and on the CPU."""

from __future__ import annotations
