"""The `hinge` command: choose the sub-command, run it, and turn what goes wrong into a line and a code.

Exit codes: 0 done, 1 failed (a line on standard error says why), 2 not a proper command line.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Protocol

from hinge.cli import cache, explain
from hinge.errors import CommandLineError, HingeError


class Command(Protocol):
    """A sub-command: a module with these names, listed in `COMMANDS`."""

    @property
    def NAME(self) -> str:
        """Return the word after `hinge`."""
        ...

    @property
    def SUMMARY(self) -> str:
        """Return the line that `hinge --help` shows."""
        ...

    @property
    def DESCRIPTION(self) -> str:
        """Return the text that its own `--help` shows."""
        ...

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add its arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> None:
        """Do it, write to standard output, and raise a HingeError or OSError if it fails."""
        ...


COMMANDS: tuple[Command, ...] = (cache, explain)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `hinge` command with these arguments, or the process's own, and return its exit code."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not have the letters of a name
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`hinge … | head`); what is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (HingeError, OSError) as error:
        sys.stderr.write(f"hinge {arguments.command}: error: {_reason(error)}\n")
        return 2 if isinstance(error, CommandLineError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hinge",
        description="Robot and multibody dynamics, compiled to native code.",
        epilog="hinge COMMAND --help explains a command.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
        sub.set_defaults(run=command.run)
    return parser


def _reason(error: Exception) -> str:
    """Return the message of an error without the number that the system gives it."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
