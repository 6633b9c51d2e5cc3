"""The CPU back end: gangs of threads as SIMD values, in native code."""
