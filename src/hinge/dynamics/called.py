"""Objects that are called natively: each has a call of its own, in a slot that the interpreter reads."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from hinge.targets import Executable, Way, front

__all__ = ["Called"]


class _OfPython:
    """The signature of an object: that of its call in Python. A class has that of its constructor."""

    def __get__(self, of: Called | None, kind: type) -> Signature:
        if of is None:
            raise AttributeError("__signature__")
        return signature(of.in_python)


class Called:
    """An object whose call is `in_python`, until `enter` puts a native function in its place.

    A method `__call__` would be Python, which takes as long as the dynamics of an arm. A slot of this name is
    read by the interpreter without one, and may have another function in each object.
    """

    __slots__ = {
        "__call__": "The call; see `in_python`.",
        "__dict__": None,
        "__weakref__": None,
    }
    __signature__ = _OfPython()

    if TYPE_CHECKING:
        in_python: Callable[..., Any]

    def begin(self) -> None:
        """Be called in Python."""
        self._is_called(self.in_python)

    def enter(self, program: Executable, entry: Callable[..., Any], way: Way) -> None:
        """Take calls to an entry of a program from now on, and those that do not fit to Python."""
        self._is_called(front(program, entry, self.in_python, way))

    def _is_called(self, f: Callable[..., Any]) -> None:
        setattr(self, "__call__", f)  # noqa: B010 (a slot, not the method that checkers see)
