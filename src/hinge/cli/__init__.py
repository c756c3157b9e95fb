"""The `hinge` command; each sub-command is one file of this room."""

from hinge.cli.command import main

__all__ = ["main"]
