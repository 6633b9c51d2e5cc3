"""Writing a grey image as PNG, which needs no more than the standard library."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def write_png(path: Path, image: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    """Write an 8-bit grey image.

    Parameters
    ----------
    path : pathlib.Path
        The file; replaced if it exists.
    image : ndarray, shape (height, width), uint8
        0 is black.
    """
    height, width = image.shape
    # Each row starts with the number of its filter; 0 is none.
    rows = np.hstack([np.zeros((height, 1), np.uint8), image])
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    content = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        check = zlib.crc32(name + data)
        content += struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)
    path.write_bytes(content)
