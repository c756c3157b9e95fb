"""The `hinge` command: choose and run a sub-command, and report errors as one line and an exit code.

Exit codes: 0 success, 1 failure (with one line on standard error), 2 invalid command line, 130 interrupted.
A sub-command is a file of this room, imported when it is called, so that none waits for the imports of
others.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Protocol, cast

from hinge.errors import (
    ArgumentError,
    CommandLineError,
    HingeError,
    ModelWarning,
    UnknownNameError,
    did_you_mean,
)

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130

#: The sub-commands, and their lines in `hinge --help`.
COMMANDS = {
    "info": "show the tree, joints, limits and masses of a robot",
    "check": "list the problems of a robot",
    "simulate": "simulate a robot, and save the run",
    "campaign": "run many simulations into a store, and look at what it has",
    "view": "show a robot in the browser, with sliders for its joints",
    "play": "play a saved run in the browser",
    "convert": "write a robot to another file format",
    "explain": "show the derivation of a verb's algorithm for a robot",
    "export": "write verbs of a robot as C, or as object files",
    "bench": "time dynamics for a robot on this machine",
    "cache": "show or clear the on-disk cache of compiled code",
    "completion": "print what lets a shell complete these commands",
}
#: Negative numbers, one or several with commas, which argparse would take for options.
_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)[\d.,eE+\-infa]*")


class Command(Protocol):
    """A sub-command: a module of this room with these names, listed in `COMMANDS`."""

    @property
    def DESCRIPTION(self) -> str:
        """Return the text of its `--help`, with examples."""
        ...

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add its arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int | None:
        """Run it, write to standard output, and return an exit code, or raise a HingeError or OSError."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `hinge` command with these arguments, or the process's own, and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        parser = _parser(given)
        if not given:
            parser.print_help()
            return DONE
        _refuse_unknown(given[0], parser)
        arguments, unknown = parser.parse_known_args(list(map(_as_value, given)))
        if unknown:
            hint = did_you_mean(unknown[0].partition("=")[0], flags_of(arguments.parser))
            if not hint and not unknown[0].startswith("-") and "--robot" in flags_of(arguments.parser):
                hint = "a robot is given as --robot ROBOT"
            arguments.parser.error(f"unknown: {' '.join(unknown)}{hint and '; ' + hint}")
        return _run(arguments)
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"hinge: {stop}\n" if str(stop) else "hinge: interrupted\n")
        return INTERRUPTED


def command_of(name: str) -> Command:
    """Return the sub-command of this name."""
    return cast("Command", import_module(f"hinge.cli.{name}"))


def flags_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of a parser."""
    return [flag for action in actions_of(parser) for flag in action.option_strings if flag.startswith("--")]


def actions_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser, which argparse itself shows nowhere."""
    return parser._actions  # pyright: ignore[reportPrivateUsage]


def _as_value(word: str) -> str:
    """Return a word as argparse must see it: one that begins with a blank is no option."""
    return f" {word}" if _NEGATIVE.fullmatch(word) else word


def _refuse_unknown(word: str, parser: argparse.ArgumentParser) -> None:
    if not word.startswith("-") and word not in COMMANDS:
        hint = did_you_mean(word, COMMANDS) or f"the commands are {', '.join(COMMANDS)}"
        parser.error(f"COMMAND: expected a command, got {word!r}; {hint}")


def _run(arguments: argparse.Namespace) -> int:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack the characters of a name
    try:
        with _warnings_as_lines(arguments.command):
            code = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`hinge … | head`); discard unflushed output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (HingeError, OSError, NotImplementedError, MemoryError) as error:
        sys.stderr.write(f"hinge {arguments.command}: error: {_reason(error)}\n")
        wrong = isinstance(error, CommandLineError | ArgumentError | UnknownNameError)
        return WRONG if wrong else FAILED
    else:
        return code or DONE
    return DONE


@contextmanager
def _warnings_as_lines(command: str) -> Generator[None]:
    """Write each ModelWarning as one line on standard error."""
    with warnings.catch_warnings():
        other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, ModelWarning):
                sys.stderr.write(f"hinge {command}: warning: {message}\n")
            else:
                other(message, category, *more)

        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show
        yield


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of `hinge`, with the arguments of the chosen sub-command."""
    parser = argparse.ArgumentParser(
        prog="hinge",
        description="Robot and multibody dynamics, compiled to native code.",
        epilog="hinge COMMAND --help explains a command; hinge simulate is a good start.",
    )
    parser.add_argument("--version", action="version", version=f"hinge {import_module('hinge').__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, summary in COMMANDS.items():
        if name not in given[:1]:
            commands.add_parser(name, help=summary)
            continue
        command = command_of(name)
        sub = commands.add_parser(
            name,
            help=summary,
            description=command.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
        sub.set_defaults(run=command.run, parser=sub)
    return parser


def _reason(error: Exception) -> str:
    """Return the message of an error, without the errno of the system."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or "not enough memory"
