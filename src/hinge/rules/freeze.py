"""Complete every theory and write its table: python -m hinge.rules.freeze."""

from __future__ import annotations

from pathlib import Path

from hinge.rules.graded import THEORIES
from hinge.rules.tables_on_disk import TABLES, dump_rules


def main() -> None:
    """Write the tables next to this file and print their sizes."""
    folder = Path(__file__).parent / TABLES
    folder.mkdir(exist_ok=True)
    for theory in THEORIES:
        done = theory.complete()
        (folder / f"{theory.name}.json").write_text(
            dump_rules(theory.axioms, done.table.rules), encoding="utf-8"
        )
        print(f"{theory.name:13} holds on {theory.holds_on}: {len(theory.axioms)} axioms, {done}")


if __name__ == "__main__":
    main()
