"""A cuSOLVER on the fake driver: the true calls of ctypes, computed with SciPy's LAPACK.

Device memory of the fake driver is memory of the process under the same addresses. What a routine
does is queued on the fake stream, and its arrays must lie in device memory.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback

import numpy as np
from scipy.linalg import lapack

from pygpulib._bindings import cusolver
from pygpulib._bindings.library import Library
from pygpulib.linalg import cuda as engine
from pygpulib.linalg.solver import Solver

DTYPES = {"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}
NOT_INITIALIZED, INVALID_VALUE, INTERNAL_ERROR = 1, 3, 7
WORK = 7
"""How many elements every routine asks for."""


class FakeCusolver:
    """Stands in for the open library.

    Attributes
    ----------
    calls : list
        Names and streams of the routines that were called.
    refuses : int
        The status of every routine.
    """

    _name = "libcusolver.fake"

    def __init__(self, driver):
        self.driver = driver
        self.calls = []
        self.refuses = 0
        self.streams = {}
        self._numbers = itertools.count(0x7100_0000, 0x10)
        self._kept = {}
        self._routines = {
            routine.function_name(letter): (name, routine, letter)
            for name, routine in cusolver.ROUTINES.items()
            for letter in DTYPES
        }

    def __getitem__(self, name):
        if name not in self._kept:
            types = cusolver.FUNCTIONS[name].arguments
            self._kept[name] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._entry(name))
        return self._kept[name]

    def _entry(self, name):
        def entry(*arguments):
            try:
                with self.driver.system.lock:
                    return self._call(name, *arguments) or 0
            except Exception:
                self.driver.internal_errors.append(f"{name}: {traceback.format_exc()}")
                return INTERNAL_ERROR

        return entry

    def _call(self, name, handle, *arguments):
        if name == "cusolverDnCreate":
            self.driver.system.current()
            handle[0] = next(self._numbers)
            self.streams[handle[0]] = 0
            return 0
        if handle not in self.streams:
            return NOT_INITIALIZED
        if name == "cusolverDnDestroy":
            del self.streams[handle]
        elif name == "cusolverDnSetStream":
            self.streams[handle] = arguments[0] or 0
        elif name.endswith("_bufferSize"):
            arguments[-1][0] = WORK
        else:
            return self.refuses or self._submit(name, handle, arguments)
        return 0

    def _submit(self, name, handle, arguments):
        plain, routine, letter = self._routines[name]
        given = dict(zip(routine.arguments, arguments, strict=True))
        if given.get("lwork", WORK) < WORK or given.get("n", 1) <= 0:
            return INVALID_VALUE
        self.calls.append((name, self.streams[handle]))
        call = Call(self.driver, given, np.dtype(DTYPES[letter]))
        stream = self.driver.system.stream(self.streams[handle])
        self.driver.system.work.submit(stream, name, getattr(call, plain))
        return 0


class Call:
    """A routine with its arguments."""

    def __init__(self, driver, given, dtype):
        self.driver = driver
        self.given = given
        self.dtype = dtype
        self.real = np.zeros(0, dtype).real.dtype

    def __getattr__(self, name):
        return self.given[name]

    def lapack(self, name):
        return lapack.get_lapack_funcs(name, dtype=self.dtype)

    def memory(self, address, shape, strides, dtype):
        dtype = np.dtype(dtype)
        count = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        self.driver.system.blocks.check_now(address, count * dtype.itemsize)
        base = np.ndarray(
            count, dtype, (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        )
        steps = [step * dtype.itemsize for step in strides]
        return np.lib.stride_tricks.as_strided(base, shape, steps)

    def matrix(self, address, rows, columns, leading):
        assert leading >= rows
        return self.memory(address, (rows, columns), (1, leading), self.dtype)

    def vector(self, address, size, dtype):
        return self.memory(address, (size,), (1,), dtype)

    def finish(self, info):
        """Note what the routine found; it has used its workspace."""
        if "work" in self.given:
            self.vector(self.work, WORK, self.dtype)[...] = 99
        self.vector(self.info, 1, np.int32)[0] = info

    # ------------------------------------------------------------------------------ routines

    def getrf(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        a[...], pivots, info = self.lapack("getrf")(a)
        self.vector(self.ipiv, min(self.m, self.n), np.int32)[...] = pivots + 1
        self.finish(info)

    def getrs(self):
        a, b = (
            self.matrix(self.a, self.n, self.n, self.lda),
            self.matrix(self.b, self.n, self.nrhs, self.ldb),
        )
        pivots = self.vector(self.ipiv, self.n, np.int32)
        if np.diagonal(a).all():
            b[...], _ = self.lapack("getrs")(a, pivots - 1, b, trans=self.trans)
        self.finish(0)

    def potrf(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        # Nothing of the other triangle may be believed.
        a[...], info = self.lapack("potrf")(a, lower=self.uplo == 0, clean=False)
        self.finish(info)

    def potrs(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        b = self.matrix(self.b, self.n, self.nrhs, self.ldb)
        b[...], info = self.lapack("potrs")(a, b, lower=self.uplo == 0)
        self.finish(info)

    def geqrf(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        a[...], tau, _, info = self.lapack("geqrf")(a)
        self.vector(self.tau, min(self.m, self.n), self.dtype)[...] = tau
        self.finish(info)

    def orgqr(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        tau = self.vector(self.tau, self.k, self.dtype)
        name = "ungqr" if self.dtype.kind == "c" else "orgqr"
        a[...], _, info = self.lapack(name)(a, tau)
        self.finish(info)

    def gesvd(self):
        assert self.m >= self.n, "cuSOLVER takes tall matrices only"
        a = self.matrix(self.a, self.m, self.n, self.lda)
        mode = chr(self.jobu)
        assert self.jobvt == self.jobu
        u, s, vt, info = self.lapack("gesvd")(a, compute_uv=mode != "N", full_matrices=mode == "A")
        self.vector(self.s, self.n, self.real)[...] = s
        if mode != "N":
            self.matrix(self.u, self.m, u.shape[1], self.ldu)[...] = u
            self.matrix(self.vt, self.n, self.n, self.ldvt)[...] = vt
        a[...] = 99
        self.finish(info)

    def syevd(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        name = "heevd" if self.dtype.kind == "c" else "syevd"
        w, vectors, info = self.lapack(name)(a, lower=self.uplo == 0)
        self.vector(self.w, self.n, self.real)[...] = w
        a[...] = vectors if self.jobz else 99
        self.finish(info)


def replace_cusolver(monkeypatch, driver):
    """Make the package use a fake library with a fake driver."""
    fake = FakeCusolver(driver)
    library = Library("cuSOLVER", fake, cusolver.FUNCTIONS, cusolver.check_status, "fake")
    monkeypatch.setattr(engine, "open_solver", lambda driver: Solver(driver, library))
    return fake
