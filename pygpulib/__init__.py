"""CUDA kernels and CUDA's libraries from Python, on NVIDIA GPUs and natively on the CPU."""
