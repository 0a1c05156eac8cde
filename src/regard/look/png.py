"""A picture's points as a PNG file, which browsers and papers take."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def png_of(pixels: np.ndarray) -> bytes:
    """(height, width, 3) of bytes as a PNG file. Source: RFC 2083, sections 3 and 4.1: three chunks, no filter."""
    height, width, _ = pixels.shape
    # Each row begins with the number of its filter, 0: none.
    rows = np.concatenate((np.zeros((height, 1), np.uint8), pixels.reshape(height, -1).astype(np.uint8)), 1)
    eight_bits_of_rgb = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", eight_bits_of_rgb)
        + _chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
