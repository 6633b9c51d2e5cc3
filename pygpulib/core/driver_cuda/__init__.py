"""The back end on NVIDIA's GPUs.

* `api` opens the driver library and turns its statuses into errors.
* `contexts` holds what belongs to one device, and makes it current in a thread.
* `pending` knows which streams may still be at work, `retirement` gives things back in its order.
* `pools` hands out device memory, `host_memory` what both sides can address.
* `copies` plans and makes copies, `peers` those between devices.
* `streams` orders work, `sharing` lets other devices and processes use memory.
* `driver` is what the rest of the package sees.
"""

from pygpulib.core.driver_cuda.driver import CudaDriver, CudaExecutable
from pygpulib.core.driver_cuda.streams import CudaEvent

__all__ = ["CudaDriver", "CudaEvent", "CudaExecutable"]
