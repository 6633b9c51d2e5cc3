"""Quantiles of the normal distribution, in the kernel language.

The rational approximations are those of Wichura's algorithm AS 241 (1988), which are good to 16
digits. Arguments lie in (0, 0.5]: generators mirror the upper half of their numbers.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.rand import distributions as dist
from pygpulib.rand.compiling import Value, device

_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_SINGLE = np.float32(1.4142135)
_FAR = math.exp(-25.0)
_MIDDLE_32 = np.uint32(1 << 31)
_MIDDLE_64 = np.uint64(1 << 63)


@device
def quantile_of_32(p: Value) -> Value:
    """Return the standard normal number below which a share of [2**-33, 0.5] lies.

    The approximations for the middle and the tail are rational functions of the same degrees, so
    that only their coefficients are chosen.
    """
    q = p - 0.5
    middle = q >= -0.425
    t = 0.180625 - q * q if middle else math.sqrt(-math.log(p)) - 1.6
    top = 2.50908_09287_30122_6727e3 if middle else 7.74545_01427_83414_07640e-4
    top = fma(top, t, (3.34305_75583_58812_8105e4 if middle else 2.27238_44989_26918_45833e-2))
    top = fma(top, t, (6.72657_70927_00870_0853e4 if middle else 2.41780_72517_74506_11770e-1))
    top = fma(top, t, (4.59219_53931_54987_1457e4 if middle else 1.27045_82524_52368_38258))
    top = fma(top, t, (1.37316_93765_50946_1125e4 if middle else 3.64784_83247_63204_60504))
    top = fma(top, t, (1.97159_09503_06551_4427e3 if middle else 5.76949_72214_60691_40550))
    top = fma(top, t, (1.33141_66789_17843_7745e2 if middle else 4.63033_78461_56545_29590))
    top = fma(top, t, (3.38713_28727_96366_6080 if middle else 1.42343_71107_49683_57734))
    bottom = 5.22649_52788_52854_5610e3 if middle else 1.05075_00716_44416_84324e-9
    bottom = fma(
        bottom, t, (2.87290_85735_72194_2674e4 if middle else 5.47593_80849_95344_94600e-4)
    )
    bottom = fma(
        bottom, t, (3.93078_95800_09271_0610e4 if middle else 1.51986_66563_61645_71966e-2)
    )
    bottom = fma(
        bottom, t, (2.12137_94301_58659_5867e4 if middle else 1.48103_97642_74800_74590e-1)
    )
    bottom = fma(
        bottom, t, (5.39419_60214_24751_1077e3 if middle else 6.89767_33498_51000_04550e-1)
    )
    bottom = fma(bottom, t, (6.87187_00749_20579_0830e2 if middle else 1.67638_48301_83803_84940))
    bottom = fma(bottom, t, (4.23133_30701_60091_1252e1 if middle else 2.05319_16266_37758_82187))
    bottom = fma(bottom, t, 1.0)
    return (q if middle else -1.0) * top / bottom


@device
def _far_out(p: Value) -> Value:
    t = math.sqrt(-math.log(p)) - 5.0
    top = 2.01033_43992_92288_13265e-7
    top = fma(top, t, 2.71155_55687_43487_57815e-5)
    top = fma(top, t, 1.24266_09473_88078_43860e-3)
    top = fma(top, t, 2.65321_89526_57612_30930e-2)
    top = fma(top, t, 2.96560_57182_85048_91230e-1)
    top = fma(top, t, 1.78482_65399_17291_33580)
    top = fma(top, t, 5.46378_49111_64114_36990)
    top = fma(top, t, 6.65790_46435_01103_77720)
    bottom = 2.04426_31033_89939_78564e-15
    bottom = fma(bottom, t, 1.42151_17583_16445_88870e-7)
    bottom = fma(bottom, t, 1.84631_83175_10054_68180e-5)
    bottom = fma(bottom, t, 7.86869_13114_56132_59100e-4)
    bottom = fma(bottom, t, 1.48753_61290_85061_48525e-2)
    bottom = fma(bottom, t, 1.36929_88092_27358_05310e-1)
    bottom = fma(bottom, t, 5.99832_20655_58879_37690e-1)
    bottom = fma(bottom, t, 1.0)
    return -top / bottom


@device
def quantile_of_64(p: Value) -> Value:
    """Return the standard normal number below which a share of (0, 0.5] lies."""
    return _far_out(p) if p < _FAR else quantile_of_32(p)


@device
def normal_single(x: Value) -> Value:
    """Return a standard normal of type float32 from 32 bits, rounded where cuRAND rounds."""
    is_upper = x > _MIDDLE_32
    p = dist.uniform_single(np.uint32(~x) if is_upper else x)
    normal = np.float32(quantile_of_32(np.float64(p)) * _ROOT_HALF) * _ROOT_TWO_SINGLE
    return -normal if is_upper else normal


@device
def normal_double(x: Value) -> Value:
    """Return a standard normal of type float64 from 32 bits."""
    is_upper = x > _MIDDLE_32
    mirrored = np.uint32(~x) if is_upper else x
    normal = quantile_of_32(np.float64(mirrored) * 2.0**-32 + 2.0**-33)
    return -normal if is_upper else normal


@device
def normal_double_of_64(x: Value) -> Value:
    """Return a standard normal of type float64 from 64 bits."""
    is_upper = x > _MIDDLE_64
    mirrored = np.uint64(~x) if is_upper else x
    normal = quantile_of_64(np.float64(mirrored >> np.uint64(11)) * 2.0**-53 + 2.0**-54)
    return -normal if is_upper else normal
