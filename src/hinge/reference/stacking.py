"""Joint-space vectors from their joints' parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hinge.spatial import Array


def stacked(parts: Sequence[Array]) -> Array:
    """Return the parts (…, nᵢ) side by side, their batch dimensions broadcast."""
    batch = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
    wide = [np.broadcast_to(p, (*batch, p.shape[-1])) for p in parts]
    return np.concatenate([np.zeros((*batch, 0)), *wide], axis=-1)
