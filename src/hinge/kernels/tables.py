"""Tables as operations: a number that is looked up by its place, which is known when the kernel runs."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels.ops import OPS, Op

#: The numbers of each table by the name of its operation; tables of equal numbers are one.
TABLES: dict[str, NDArray[np.float64]] = {}


def table(numbers: NDArray[np.float64]) -> str:
    """Return the operation that looks up one of these numbers (n,), added to `OPS` if it is new.

    Its argument is a whole number; below 0 and for NaN it gives the first number, beyond n − 1 the last.
    """
    found = np.array(numbers, dtype=np.float64).ravel() + 0.0
    name = f"table_{sha256(found.tobytes()).hexdigest()[:32]}"
    if name not in TABLES:
        last = len(found) - 1

        def arrays(x: Any) -> Any:
            place = np.where(np.greater(x, 0.0), x, 0.0)
            return found[np.where(np.less(place, last), place, last).astype(np.intp)]

        def floats(x: float) -> float:
            return float(arrays(x))

        TABLES[name] = found
        OPS[name] = Op(name, arrays, floats, ("none",))
    return name
