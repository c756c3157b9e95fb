"""Every exception and warning that Hinge raises."""

from __future__ import annotations

#: A message that a file's own words make longer than this loses its middle.
LONGEST_MESSAGE = 300


class HingeError(Exception):
    """Base class of everything that Hinge raises on purpose."""


class ModelError(HingeError, ValueError):
    """Report a robot that is not one: a wrong tree, a wrong name, an impossible body."""


class FormatError(ModelError):
    """Report a file that cannot be read, with the place in it.

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
    """Report operators whose spaces do not fit, or an operator that ought to be square."""


class UnboundLeafError(HingeError, LookupError):
    """Report a letter of an expression that has no meaning for the robot, or no value in the call."""


class UnknownNameError(HingeError, LookupError):
    """Report a body, joint or frame name that the robot does not have."""


class MissingExtraError(HingeError, ImportError):
    """Report an optional package that a feature needs and that is not installed."""


class CommandLineError(HingeError):
    """Report a command line that asks for what is not there."""


class ModelWarning(UserWarning):
    """Warn of a doubtful robot that is loaded all the same."""
