"""Derive every verb of the catalogue and write the table that ships: python -m hinge.dynamics.freeze."""

from __future__ import annotations

from pathlib import Path

import hinge.pipeline
from hinge.dynamics.expressions import CATALOGUE, PARTITIONED
from hinge.pipeline import frozen_table


def main() -> None:
    """Write the table into the pipeline's folder."""
    path = Path(hinge.pipeline.__file__).parent / "tables" / "derivations.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(frozen_table(*CATALOGUE.values(), *PARTITIONED.values()), encoding="utf-8")
    print(f"{path.name}: {len(CATALOGUE) + len(PARTITIONED)} derivations")


if __name__ == "__main__":
    main()
