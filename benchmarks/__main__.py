"""Run every benchmark."""

from __future__ import annotations

from benchmarks import import_time, load_urdf, operations


def main() -> None:
    """Print the tables one after the other."""
    import_time.main()
    print()
    load_urdf.main()
    print()
    operations.main()


if __name__ == "__main__":
    main()
