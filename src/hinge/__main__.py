"""The `hinge` command, run as `python -m hinge`."""

from hinge.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
