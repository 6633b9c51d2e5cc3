"""Kernels of all kinds, each with a check of its results on random inputs."""

from tests.fakecuda.mutation import cooperative, plain, reporting
from tests.fakecuda.mutation.checks import CASES, Check

__all__ = ["CASES", "Check", "cooperative", "plain", "reporting"]
