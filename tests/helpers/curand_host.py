"""The generators of NVIDIA's library that compute on the host, which ours must agree with.

They need no GPU. The library comes with the package ``nvidia-curand``, a requirement of the tests.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from pygpulib._bindings.wheels import find_in_wheels
from pygpulib.rand.kinds import Kind, Ordering
from pygpulib.rand.request import Distribution, Request

_PLACES = ("cu13/lib/libcurand.so.10", "curand/lib/libcurand.so.10")
_RUNTIMES = ("cu13/lib/libcudart.so.13", "cuda_runtime/lib/libcudart.so.12")

_FUNCTIONS = {
    (Distribution.RAW, "uint32"): ("curandGenerate", ()),
    (Distribution.RAW, "uint64"): ("curandGenerateLongLong", ()),
    (Distribution.UNIFORM, "float32"): ("curandGenerateUniform", ()),
    (Distribution.UNIFORM, "float64"): ("curandGenerateUniformDouble", ()),
    (Distribution.NORMAL, "float32"): ("curandGenerateNormal", (ctypes.c_float,) * 2),
    (Distribution.NORMAL, "float64"): ("curandGenerateNormalDouble", (ctypes.c_double,) * 2),
    (Distribution.LOGNORMAL, "float32"): ("curandGenerateLogNormal", (ctypes.c_float,) * 2),
    (Distribution.LOGNORMAL, "float64"): ("curandGenerateLogNormalDouble", (ctypes.c_double,) * 2),
    (Distribution.POISSON, "uint32"): ("curandGeneratePoisson", (ctypes.c_double,)),
}


@cache
def library() -> ctypes.CDLL:
    """Return the library; its run-time library must be in the process first."""
    runtime, path = find_in_wheels(_RUNTIMES), find_in_wheels(_PLACES)
    if runtime is not None:
        ctypes.CDLL(runtime, ctypes.RTLD_GLOBAL)
    # Where a CUDA toolkit is installed, the system finds it.
    return ctypes.CDLL(path or "libcurand.so.10")


class HostGenerator:
    """A generator of the library."""

    def __init__(
        self,
        kind: Kind,
        *,
        seed: int | None = None,
        offset: int | None = None,
        ordering: Ordering | None = None,
        dimensions: int | None = None,
    ) -> None:
        self.handle = ctypes.c_void_p()
        self._call("curandCreateGeneratorHost", ctypes.byref(self.handle), int(kind))
        if ordering is not None:
            self.set_ordering(ordering)
        if seed is not None:
            self.set_seed(seed)
        if dimensions is not None:
            self.set_dimensions(dimensions)
        if offset is not None:
            self.set_offset(offset)

    @staticmethod
    def _call(name: str, *arguments: object) -> None:
        status = getattr(library(), name)(*arguments)
        assert status == 0, f"{name} returned {status}"

    def set_ordering(self, ordering: Ordering) -> None:
        self._call("curandSetGeneratorOrdering", self.handle, int(ordering))

    def set_seed(self, seed: int) -> None:
        self._call("curandSetPseudoRandomGeneratorSeed", self.handle, ctypes.c_ulonglong(seed))

    def set_offset(self, offset: int) -> None:
        self._call("curandSetGeneratorOffset", self.handle, ctypes.c_ulonglong(offset))

    def set_dimensions(self, dimensions: int) -> None:
        self._call(
            "curandSetQuasiRandomGeneratorDimensions", self.handle, ctypes.c_uint(dimensions)
        )

    def generate(self, request: Request, count: int) -> np.ndarray:
        name, types = _FUNCTIONS[request.distribution, request.dtype]
        out = np.empty(count, request.dtype)
        parameters = [make(value) for make, value in zip(types, request.parameters, strict=True)]
        self._call(
            name,
            self.handle,
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_size_t(count),
            *parameters,
        )
        return out

    def __del__(self) -> None:
        if self.handle:
            library().curandDestroyGenerator(self.handle)
