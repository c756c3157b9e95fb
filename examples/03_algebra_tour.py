"""A tour of the algebra: operators as values, proofs, derivations, published algorithms and their cost.

The tour itself is docs/tour.py, written for a reader of the papers; this runs it. It shows the mass matrix as
H φ M φᵀ Hᵀ, proves and refutes identities, derives forward dynamics, brings in a letter of its own and runs
the result on a robot.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> int:
    """Run the tour."""
    runpy.run_path(str(Path(__file__).parents[1] / "docs" / "tour.py"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
