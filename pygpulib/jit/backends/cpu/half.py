"""Conversions of float16 for processors that have none.

LLVM then calls two functions that compilers bring along, but a process need not have; a module that
may need them defines them itself, in integer arithmetic.
"""

from __future__ import annotations

_CONVERSIONS = """
define float @__extendhfsf2(half %value) noinline nounwind {
  %bits = bitcast half %value to i16
  %wide = zext i16 %bits to i32
  %sign_bit = and i32 %wide, 32768
  %sign = shl i32 %sign_bit, 16
  %magnitude = and i32 %wide, 32767
  ; Normal numbers move to the wider exponent's bias; infinities and nans once more.
  %shifted = shl i32 %magnitude, 13
  %rebiased = add i32 %shifted, 939524096
  %again = add i32 %rebiased, 939524096
  %is_special = icmp uge i32 %magnitude, 31744
  %large = select i1 %is_special, i32 %again, i32 %rebiased
  ; Subnormal numbers are multiples of 2**-24.
  %count = uitofp i32 %magnitude to float
  %scaled = fmul float %count, 0x3E70000000000000
  %small = bitcast float %scaled to i32
  %is_small = icmp ult i32 %magnitude, 1024
  %result = select i1 %is_small, i32 %small, i32 %large
  %signed = or i32 %result, %sign
  %answer = bitcast i32 %signed to float
  ret float %answer
}

define half @__truncsfhf2(float %value) noinline nounwind {
  %bits = bitcast float %value to i32
  %sign_bit = and i32 %bits, -2147483648
  %sign = lshr i32 %sign_bit, 16
  %magnitude = and i32 %bits, 2147483647
  ; To nearest even: half a unit, less one, plus the lowest bit that stays.
  %kept = lshr i32 %magnitude, 13
  %odd = and i32 %kept, 1
  %rebiased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebiased, %odd
  %normal = lshr i32 %rounded, 13
  ; Adding one half leaves a subnormal result in the low bits, rounded by the addition.
  %absolute = bitcast i32 %magnitude to float
  %aligned = fadd float %absolute, 5.0e-01
  %aligned_bits = bitcast float %aligned to i32
  %subnormal = sub i32 %aligned_bits, 1056964608
  %is_small = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_small, i32 %subnormal, i32 %normal
  %is_large = icmp uge i32 %magnitude, 1199570944
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %result = select i1 %is_nan, i32 32256, i32 %bounded
  %signed = or i32 %result, %sign
  %narrow = trunc i32 %signed to i16
  %answer = bitcast i16 %narrow to half
  ret half %answer
}
"""


def add_conversions(text: str) -> str:
    """Return a module with the conversions defined, if it has numbers of that kind."""
    return text + _CONVERSIONS if "half" in text else text
