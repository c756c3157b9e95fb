"""Arrays in the format Zarr 3, written a chunk at a time: plain numbers, and a description as JSON.

A chunk is a block of samples and has a file of its own, so that it can be written in one piece, whoever
writes the others. Any reader of Zarr opens them; nothing of it is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hinge.spatial import Array


def described(shape: tuple[int, ...], block: int, names: tuple[str, ...], more: dict[str, Any]) -> bytes:
    """Return the description (zarr.json) of an array of float64 whose chunks are blocks of samples."""
    chunks = (block, *shape[1:])
    return _json({
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(1, n) for n in chunks]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "NaN",
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": list(names),
        "attributes": more,
    })  # fmt: skip


def group(more: dict[str, Any]) -> bytes:
    """Return the description of a group of arrays."""
    return _json({"zarr_format": 3, "node_type": "group", "attributes": more})


def chunk(x: Array, block: int) -> bytes:
    """Return the bytes of a chunk; what a last one lacks is NaN."""
    full = np.full((block, *x.shape[1:]), np.nan, dtype="<f8")
    full[: len(x)] = x
    return full.tobytes()


def chunk_file(name: str, number: int, dimensions: int) -> str:
    """Return the file of a chunk below the group."""
    return "/".join([name, "c", str(number), *("0",) * (dimensions - 1)])


def read_chunk(path: Path, block: int, shape: tuple[int, ...]) -> Array:
    """Return a chunk (block, *shape)."""
    return np.frombuffer(path.read_bytes(), "<f8").reshape(block, *shape)


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, indent=1).encode()
