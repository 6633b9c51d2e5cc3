"""A fake CUDA driver for tests: host side simulated, kernels interpreted."""

from tests.fakecuda.driver.fake import FakeCuda
from tests.fakecuda.driver.status import Code

__all__ = ["Code", "FakeCuda"]
