"""Pictures as PNG files."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from hinge.spatial import Array

#: The colour type of so many numbers for a pixel (PNG specification, 11.2.2).
_KINDS = {3: 2, 4: 6}


def png(pixels: Array) -> bytes:
    """Return pixels (height, width, 3 or 4) from 0 to 255 as a PNG file."""
    height, width, depth = pixels.shape
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, width * depth)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, _KINDS[depth], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)
