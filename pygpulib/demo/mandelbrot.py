"""The "CUDA Python" Mandelbrot program, written as its users write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib import cuda

HEIGHT, WIDTH = 1024, 1536
REGION = (-2.0, 1.0, -1.0, 1.0)
ITERATIONS = 20
BLOCK = (32, 8)
GRID = (32, 16)

Image = np.ndarray[Any, np.dtype[np.uint8]]


def mandel(x: float, y: float, max_iters: int) -> int:
    """Return after how many iterations a point is seen to leave, at most ``max_iters``."""
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


mandel_gpu = cuda.jit(device=True)(mandel)


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Compute the image; each thread takes every ``gridX``-th column and ``gridY``-th row."""
    height = image.shape[0]
    width = image.shape[1]

    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height

    start_x = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    start_y = cuda.blockDim.y * cuda.blockIdx.y + cuda.threadIdx.y
    grid_x = cuda.gridDim.x * cuda.blockDim.x
    grid_y = cuda.gridDim.y * cuda.blockDim.y

    for x in range(start_x, width, grid_x):
        real = min_x + x * pixel_size_x
        for y in range(start_y, height, grid_y):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel_gpu(real, imag, iters)


def compute_on_device() -> Image:
    """Compute the image with the kernel."""
    image = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    d_image = cuda.to_device(image)
    mandel_kernel[GRID, BLOCK](*REGION, d_image, ITERATIONS)
    return d_image.copy_to_host().view(np.uint8)


def compute_with_python() -> Image:
    """Compute the image with the same function bodies in CPython."""
    image = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    min_x, max_x, min_y, max_y = REGION
    pixel_size_x = (max_x - min_x) / WIDTH
    pixel_size_y = (max_y - min_y) / HEIGHT
    for x in range(WIDTH):
        real = min_x + x * pixel_size_x
        for y in range(HEIGHT):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, ITERATIONS)
    return image
