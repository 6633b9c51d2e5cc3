"""BLAS: products of vectors and matrices, on NVIDIA GPUs with cuBLAS and on the CPU.

Every function takes arrays of NumPy and of this package in any layout, and works in place where it
can. Arrays in device memory give results in device memory.
"""

from __future__ import annotations

from pygpulib.blas.batched import (
    gels_batched,
    gemm_strided_batched,
    gemv_batched,
    geqrf_batched,
    getrf_batched,
    getri_batched,
    getrs_batched,
)
from pygpulib.blas.compat import Blas
from pygpulib.blas.epilogues import matmul
from pygpulib.blas.functions import make_function
from pygpulib.blas.lists import gemm_batched
from pygpulib.blas.mixed import gemm_ex
from pygpulib.blas.precision import deterministic, math_mode
from pygpulib.blas.rotations import rotg, rotmg

amax = make_function("amax")
amin = make_function("amin")
asum = make_function("asum")
axpy = make_function("axpy")
copy = make_function("copy")
dgmm = make_function("dgmm")
dot = make_function("dot")
dotc = make_function("dotc")
gbmv = make_function("gbmv")
geam = make_function("geam")
gemm = make_function("gemm")
gemm3m = make_function("gemm3m")
gemv = make_function("gemv")
ger = make_function("ger")
gerc = make_function("gerc")
geru = make_function("geru")
hbmv = make_function("hbmv")
hemm = make_function("hemm")
hemv = make_function("hemv")
her = make_function("her")
her2 = make_function("her2")
her2k = make_function("her2k")
herk = make_function("herk")
herkx = make_function("herkx")
hpmv = make_function("hpmv")
hpr = make_function("hpr")
hpr2 = make_function("hpr2")
nrm2 = make_function("nrm2")
rot = make_function("rot")
rotm = make_function("rotm")
sbmv = make_function("sbmv")
scal = make_function("scal")
spmv = make_function("spmv")
spr = make_function("spr")
spr2 = make_function("spr2")
swap = make_function("swap")
symm = make_function("symm")
symv = make_function("symv")
syr = make_function("syr")
syr2 = make_function("syr2")
syr2k = make_function("syr2k")
syrk = make_function("syrk")
syrkx = make_function("syrkx")
tbmv = make_function("tbmv")
tbsv = make_function("tbsv")
tpmv = make_function("tpmv")
tpsv = make_function("tpsv")
tpttr = make_function("tpttr")
trmm = make_function("trmm")
trmv = make_function("trmv")
trsm = make_function("trsm")
trsv = make_function("trsv")
trttp = make_function("trttp")

__all__ = [
    "Blas",
    "amax",
    "amin",
    "asum",
    "axpy",
    "copy",
    "deterministic",
    "dgmm",
    "dot",
    "dotc",
    "gbmv",
    "geam",
    "gels_batched",
    "gemm",
    "gemm3m",
    "gemm_batched",
    "gemm_ex",
    "gemm_strided_batched",
    "gemv",
    "gemv_batched",
    "geqrf_batched",
    "ger",
    "gerc",
    "geru",
    "getrf_batched",
    "getri_batched",
    "getrs_batched",
    "hbmv",
    "hemm",
    "hemv",
    "her",
    "her2",
    "her2k",
    "herk",
    "herkx",
    "hpmv",
    "hpr",
    "hpr2",
    "math_mode",
    "matmul",
    "nrm2",
    "rot",
    "rotg",
    "rotm",
    "rotmg",
    "sbmv",
    "scal",
    "spmv",
    "spr",
    "spr2",
    "swap",
    "symm",
    "symv",
    "syr",
    "syr2",
    "syr2k",
    "syrk",
    "syrkx",
    "tbmv",
    "tbsv",
    "tpmv",
    "tpsv",
    "tpttr",
    "trmm",
    "trmv",
    "trsm",
    "trsv",
    "trttp",
]
