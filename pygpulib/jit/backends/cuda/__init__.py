"""The CUDA back end: IR to LLVM IR to PTX, and kernels that the driver runs."""
