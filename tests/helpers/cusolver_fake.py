"""A cuSOLVER on the fake driver: the true calls of ctypes, computed with SciPy's LAPACK.

Device memory of the fake driver is memory of the process under the same addresses. What a routine
does is queued on the fake stream, and its arrays must lie in device memory.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback
from contextlib import contextmanager

import numpy as np
from scipy.linalg import lapack

from pygpulib._bindings import cusolver
from pygpulib._bindings.library import Library
from pygpulib.linalg import cuda as engine
from pygpulib.linalg.solver import Solver
from tests.fakecuda.driver.fake import without_collection
from tests.helpers.simulated_memory import SimulatedMemory

DTYPES = {"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}
DATA_TYPES = {0: "f4", 1: "f8", 4: "c8", 5: "c16"}
NOT_INITIALIZED, INVALID_VALUE, INTERNAL_ERROR = 1, 3, 7
WORK = 7
"""How many elements every routine asks for."""
DEVICE_BYTES, HOST_BYTES = 56, 24
"""How many bytes every generic routine asks for."""
MOST_OF_JACOBI = 32
FILLER = 99


class FakeCusolver:
    """Stands in for the open library.

    Attributes
    ----------
    calls : list
        Names and streams of the routines that were called.
    refuses : int
        The status of every routine.
    missing : set
        Names of functions that the library does not have.
    """

    _name = "libcusolver.fake"

    def __init__(self, driver):
        self.driver = driver
        self.calls = []
        self.refuses = 0
        self.missing = set()
        self.streams = {}
        self.parameters = {}
        self._numbers = itertools.count(0x7100_0000, 0x10)
        self._kept = {}
        self._routines = {
            routine.function_name(letter): (name, routine, letter)
            for name, routine in cusolver.ROUTINES.items()
            for letter in DTYPES
        }

    def __getitem__(self, name):
        if name in self.missing:
            raise AttributeError(name)
        if name not in self._kept:
            types = cusolver.FUNCTIONS[name].arguments
            self._kept[name] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._entry(name))
        return self._kept[name]

    def _entry(self, name):
        def entry(*arguments):
            try:
                with self.driver.system.lock, without_collection():
                    return self._call(name, *arguments) or 0
            except Exception:
                self.driver.internal_errors.append(f"{name}: {traceback.format_exc()}")
                return INTERNAL_ERROR

        return entry

    def _call(self, name, handle, *arguments):
        kind = name.removeprefix("cusolverDnCreate").removeprefix("cusolverDnDestroy")
        if name.startswith("cusolverDnCreate"):
            self.driver.system.current()
            handle[0] = next(self._numbers)
            if kind:
                self.parameters[handle[0]] = kind
            else:
                self.streams[handle[0]] = 0
            return 0
        if kind in cusolver.PARAMETER_KINDS:
            del self.parameters[handle]
            return 0
        if handle not in self.streams:
            return NOT_INITIALIZED
        if name == "cusolverDnDestroy":
            del self.streams[handle]
        elif name == "cusolverDnSetStream":
            self.streams[handle] = arguments[0] or 0
        elif name.endswith("_bufferSize"):
            self._tell_sizes(name.removesuffix("_bufferSize"), arguments)
        else:
            return self.refuses or self._submit(name, handle, arguments)
        return 0

    def _tell_sizes(self, name, arguments):
        plain, routine, _ = self._routines[name]
        given = dict(zip(routine.sizing, arguments, strict=True))
        sizes = (DEVICE_BYTES, HOST_BYTES) if routine.is_generic else (WORK,)
        for key, size in zip(routine.sizes, sizes, strict=True):
            given[key][0] = size
        self._check_parameters(plain, given)

    def _check_parameters(self, name, given):
        if "params" in given:
            expected = cusolver.PARAMETERS.get(name, "Params")
            assert self.parameters[given["params"]] == expected

    def _submit(self, name, handle, arguments):
        plain, routine, letter = self._routines[name]
        given = dict(zip(routine.arguments, arguments, strict=True))
        self._check_parameters(plain, given)
        if given.get("lwork", WORK) < WORK or given.get("n", 1) <= 0:
            return INVALID_VALUE
        if given.get("workspaceinbytesondevice", DEVICE_BYTES) < DEVICE_BYTES:
            return INVALID_VALUE
        self.calls.append((name, self.streams[handle]))
        dtype = np.dtype(DATA_TYPES[given["datatypea"]] if routine.is_generic else DTYPES[letter])
        call = Call(self.driver, given, dtype)
        call.check_types()
        stream = self.driver.system.stream(self.streams[handle])
        self.driver.system.work.submit(stream, name, getattr(call, plain))
        return 0


class Call:
    """A routine with its arguments."""

    def __init__(self, driver, given, dtype):
        self.device = SimulatedMemory(driver)
        self.given = given
        self.dtype = dtype
        self.real = np.zeros(0, dtype).real.dtype
        self.complex = np.result_type(dtype, np.complex64)

    def __getattr__(self, name):
        return self.given[name]

    def lapack(self, name):
        if self.dtype.kind == "c":
            name = {"orgqr": "ungqr", "syevd": "heevd", "sygvd": "hegvd"}.get(name, name)
        return lapack.get_lapack_funcs(name, dtype=self.dtype)

    def check_types(self):
        """Check what the arguments of generic routines are said to hold."""
        for name, code in self.given.items():
            if name == "computetype":
                assert DATA_TYPES[code] == self.dtype
            elif name.startswith("datatype"):
                kind = {"s": self.real, "w": self.real}.get(name[8:], self.dtype)
                if "jobvl" in self.given and name == "datatypew":
                    kind = self.complex
                assert DATA_TYPES[code] == kind, name

    def memory(self, address, shape, strides, dtype):
        dtype = np.dtype(dtype)
        steps = tuple(step * dtype.itemsize for step in strides)
        self.device.check_span(address, shape, steps, dtype.itemsize)
        return self.device.view(address, shape, steps, dtype)

    def matrix(self, address, rows, columns, leading, dtype=None):
        assert leading >= rows
        return self.memory(address, (rows, columns), (1, leading), dtype or self.dtype)

    def matrices(self, address, rows, columns, leading):
        """Matrices that follow one another."""
        assert leading >= rows
        shape = self.batchsize, rows, columns
        return self.memory(address, shape, (leading * columns, 1, leading), self.dtype)

    def vector(self, address, size, dtype):
        return self.memory(address, (size,), (1,), dtype)

    def finish(self, *info):
        """Note what the routine found; it has used its workspaces."""
        if "work" in self.given:
            self.vector(self.work, WORK, self.dtype)[...] = FILLER
        if "bufferondevice" in self.given:
            self.vector(self.bufferondevice, DEVICE_BYTES, np.uint8)[...] = FILLER
            assert self.workspaceinbytesonhost == HOST_BYTES
            ctypes.memset(self.bufferonhost, FILLER, HOST_BYTES)
        address = self.given.get("info") or self.given["infoarray"]
        self.vector(address, len(info), np.int32)[...] = info

    # ---------------------------------------------------------------------- equations, factors

    def Xgetrf(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        a[...], pivots, info = self.lapack("getrf")(a)
        self.vector(self.ipiv, min(self.m, self.n), np.int64)[...] = pivots + 1
        self.finish(info)

    def Xgetrs(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        b = self.matrix(self.b, self.n, self.nrhs, self.ldb)
        pivots = self.vector(self.ipiv, self.n, np.int64).astype(np.int32)
        b[...], _ = self.lapack("getrs")(a, pivots - 1, b, trans=self.trans)
        self.finish(0)

    def factor(self, a):
        # Nothing of the other triangle may be believed.
        a[...], info = self.lapack("potrf")(a, lower=self.uplo == 0, clean=False)
        return info

    def Xpotrf(self):
        self.finish(self.factor(self.matrix(self.a, self.n, self.n, self.lda)))

    def potrfBatched(self):
        addresses = self.vector(self.aarray, self.batchsize, np.int64)
        found = [
            self.factor(self.matrix(int(each), self.n, self.n, self.lda)) for each in addresses
        ]
        self.finish(*found)

    def Xpotrs(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        b = self.matrix(self.b, self.n, self.nrhs, self.ldb)
        b[...], info = self.lapack("potrs")(a, b, lower=self.uplo == 0)
        self.finish(info)

    def Xgeqrf(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        a[...], tau, _, info = self.lapack("geqrf")(a)
        self.vector(self.tau, min(self.m, self.n), self.dtype)[...] = tau
        self.finish(info)

    def orgqr(self):
        a = self.matrix(self.a, self.m, self.n, self.lda)
        tau = self.vector(self.tau, self.k, self.dtype)
        assert self.m >= self.n >= self.k
        a[...], _, info = self.lapack("orgqr")(a, tau)
        self.finish(info)

    # ------------------------------------------------------- singular values and eigenvalues

    def Xgesvd(self):
        assert self.m >= self.n, "cuSOLVER takes tall matrices only"
        a = self.matrix(self.a, self.m, self.n, self.lda)
        mode = chr(self.jobu)
        assert self.jobvt == self.jobu
        u, s, vt, info = self.lapack("gesvd")(a, compute_uv=mode != "N", full_matrices=mode == "A")
        self.vector(self.s, self.n, self.real)[...] = s
        if mode != "N":
            self.matrix(self.u, self.m, u.shape[1], self.ldu)[...] = u
            self.matrix(self.vt, self.n, self.n, self.ldvt)[...] = vt
        a[...] = FILLER
        self.finish(info)

    def gesvdjBatched(self):
        assert max(self.m, self.n) <= MOST_OF_JACOBI
        k = min(self.m, self.n)
        matrices = self.matrices(self.a, self.m, self.n, self.lda)
        values = self.memory(self.s, (self.batchsize, k), (k, 1), self.real)
        left = self.matrices(self.u, self.m, self.m, self.ldu)
        right = self.matrices(self.v, self.n, self.n, self.ldv)
        found = []
        for a, s, u, v in zip(matrices, values, left, right, strict=True):
            one, s[...], other, info = self.lapack("gesvd")(a)
            if self.jobz:
                u[...], v[...] = one, other.conj().T
            found.append(info)
        matrices[...] = FILLER
        self.finish(*found)

    def decompose(self, a, w):
        w[...], vectors, info = self.lapack("syevd")(a, lower=self.uplo == 0)
        a[...] = vectors if self.jobz else FILLER
        return info

    def Xsyevd(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        self.finish(self.decompose(a, self.vector(self.w, self.n, self.real)))

    def syevjBatched(self):
        matrices = self.matrices(self.a, self.n, self.n, self.lda)
        values = self.memory(self.w, (self.batchsize, self.n), (self.n, 1), self.real)
        self.finish(*map(self.decompose, matrices, values))

    def sygvd(self):
        a = self.matrix(self.a, self.n, self.n, self.lda)
        b = self.matrix(self.b, self.n, self.n, self.ldb)
        how = {"itype": self.itype, "jobz": "NV"[self.jobz], "uplo": "LU"[self.uplo]}
        w, vectors, info = self.lapack("sygvd")(a, b, **how)
        self.vector(self.w, self.n, self.real)[...] = w
        a[...] = vectors if self.jobz else FILLER
        b[...] = FILLER
        self.finish(info)

    def Xgeev(self):
        assert not self.jobvl, "cuSOLVER finds right eigenvectors only"
        a = self.matrix(self.a, self.n, self.n, self.lda)
        *parts, _, right, info = self.lapack("geev")(a, compute_vl=0, compute_vr=self.jobvr)
        values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        self.vector(self.w, self.n, self.complex)[...] = values
        if self.jobvr:
            self.matrix(self.vr, self.n, self.n, self.ldvr)[...] = right
        a[...] = FILLER
        self.finish(info)


def replace_cusolver(monkeypatch, driver):
    """Make the package use a fake library with a fake driver, for the time of a test."""
    fake = FakeCusolver(driver)
    monkeypatch.setattr(engine, "open_solver", _opener(fake))
    return fake


@contextmanager
def cusolver_in_use(driver):
    """Make the package use a fake library with a fake driver, for the time of a session."""
    fake = FakeCusolver(driver)
    before, engine.open_solver = engine.open_solver, _opener(fake)
    try:
        yield fake
    finally:
        engine.open_solver = before


def _opener(fake):
    library = Library("cuSOLVER", fake, cusolver.FUNCTIONS, cusolver.check_status, "fake")
    return lambda driver: Solver(driver, library)
