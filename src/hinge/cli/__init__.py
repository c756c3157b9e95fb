"""The `hinge` command; each sub-command is one file of this room."""

from hinge.cli.main import main

__all__ = ["main"]
