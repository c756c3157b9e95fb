"""Derive every verb of the catalogue and write the table that ships: python -m hinge.dynamics.freeze."""

from __future__ import annotations

from pathlib import Path

import hinge.pipeline
from hinge.dynamics.contact_forms import every_contact_form
from hinge.dynamics.expressions import every_expression
from hinge.pipeline import frozen_table


def main() -> None:
    """Write the table into the pipeline's folder."""
    path = Path(hinge.pipeline.__file__).parent / "tables" / "derivations.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(table(), encoding="utf-8")
    print(f"{path.name}: {len(list(every_expression()))} derivations")


def table() -> str:
    """Return the text of the table: every verb with every product of its options."""
    return frozen_table(parts.expressions for parts in (*every_expression(), *every_contact_form()))


if __name__ == "__main__":
    main()
