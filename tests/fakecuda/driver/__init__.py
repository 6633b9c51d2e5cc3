"""A fake CUDA driver for tests: the host's side simulated, kernels interpreted.

`FakeCuda` becomes the process's ``libcuda.so.1``; the fixtures in ``tests/fakecuda/conftest.py`` do
that for one test, ``python -m tests.fakecuda.run`` for a whole program. It refuses what a driver
refuses, with the driver's codes. Work of streams is done at once, or, deferred, as late as the
rules of streams allow; a program that forgets to wait is right with the first and wrong with the
second. Faults show at the next call that waits and then stay. Memory is full of garbage when it is
allocated and after it is freed.

* `connection`, `library` make the shared library and lead its calls here; `symbols` knows which
  versions of CUDA export what.
* `fake` is what tests use: options, record of calls, planned failures, leaks.
* `state` keeps devices, contexts, handles and memory (`unified`), `work` runs what is queued.
* `devices`, `allocation`, `pools`, `copies`, `streams`, `modules`, `links`, `launches` are the
  entry points, `hardware` the GPUs' limits.
"""

from tests.fakecuda.driver.fake import FakeCuda
from tests.fakecuda.driver.status import Code

__all__ = ["Code", "FakeCuda"]
