"""Every exception and warning that Hinge raises, and the words that their messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Longer messages, which quote text of a file, are abbreviated in the middle.
LONGEST_MESSAGE = 300


class HingeError(Exception):
    """Base class of every exception that Hinge raises."""


class ModelError(HingeError, ValueError):
    """Report an invalid robot: its tree, a name, or the physics of a body or joint."""


class FormatError(ModelError):
    """Report a file that cannot be read, with the line.

    `source` is the file's name (or "<string>"), `line` its line where known.
    """

    def __init__(self, message: str, *, source: str = "<string>", line: int | None = None) -> None:
        if len(message) > LONGEST_MESSAGE:
            message = message[: LONGEST_MESSAGE // 2] + " … " + message[-LONGEST_MESSAGE // 2 :]
        place = source if line is None else f"{source}:{line}"
        super().__init__(f"{place}: {message}")
        self.source = source
        self.line = line


class ArgumentError(HingeError, ValueError):
    """Report an argument of the wrong shape, type or value."""


class SpaceError(HingeError, TypeError):
    """Report operators whose spaces do not match, or an operator that must be square."""


class UnboundLeafError(HingeError, LookupError):
    """Report a letter of an expression that has no meaning for the robot, or no value in the call."""


class UnknownNameError(HingeError, LookupError):
    """Report a body, joint or frame name that the robot does not have."""


class MissingExtraError(HingeError, ImportError):
    """Report an optional package that a feature needs and that is not installed."""


class CommandLineError(HingeError):
    """Report an invalid command line."""


class ModelWarning(UserWarning):
    """Warn of a robot with doubtful physics, which is loaded nevertheless.

    `problem` is what was found (a `hinge.model.Problem`), where one part of a robot or of its file is meant.
    """

    def __init__(self, message: str, problem: object = None) -> None:
        super().__init__(message)
        self.problem = problem


def close_names(name: object, names: Iterable[str], *, most: int = 3) -> list[str]:
    """Return the names that a mistyped or shortened one may stand for, the closest first."""
    known = list(names)
    close = difflib.get_close_matches(str(name), known, n=most)
    begun = [n for n in known if len(str(name)) > 1 and n.startswith(str(name)) and n not in close]
    return [*close, *begun][:most]


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return "did you mean 'a' or 'b'?" for a mistyped name, or nothing."""
    close = close_names(name, names)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""
