"""Functions of a user's own in a campaign: by reference, never as pickles.

A reference is "module:name", imported where it is needed, or "file.py:name"; of a file the store keeps a
copy, and every worker runs the copy. Both have a digest, so that code which has changed is noticed. A store
may come from elsewhere: its code is run by those alone who say that they trust it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from hinge.errors import ArgumentError, HingeError

TRUST = "give trust=True, or --trust, if you trust it"


@dataclass(frozen=True)
class Own:
    """A function, the reference by which others find it ("" where nobody can), and its file and digest."""

    call: Callable[..., Any]
    reference: str
    file: Path | None = None
    digest: str = ""

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.call, "__name__", type(self.call).__name__)

    @property
    def kept(self) -> str:
        """The name of its file's copy in a store; a file that is such a copy keeps its name."""
        assert self.file is not None
        prefix = self.digest[:12]
        return self.file.name if self.file.name.startswith(prefix) else f"{prefix}_{self.file.name}"

    @property
    def takes(self) -> int:
        """How many arguments it takes by position; infinitely many count as three."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        given = inspect.signature(self.call).parameters.values()
        return sum(p.kind in kinds for p in given) or 3


def own(given: Any, name: str, folder: Path | None = None, *, trust: bool = True) -> Own:
    """Return a function of a campaign: a function itself, or a reference, of files relative to a folder."""
    if callable(given):
        return _of_function(given)
    if not isinstance(given, str) or ":" not in given:
        raise ArgumentError(
            f"{name}: expected a function, or a reference 'file.py:function' or 'module:function', got "
            f"{given!r}"
        )
    place, _, function = given.rpartition(":")
    if not trust:
        raise ArgumentError(f"{name}: expected no code of its own, got {given!r}; {TRUST}")
    if place.endswith(".py"):
        file = (folder or Path()) / place
        return Own(_found(_of_file(file), function, given, name), given, file, digest_of(file))
    try:
        module = import_module(place)
    except ImportError as error:
        raise ArgumentError(
            f"{name}: expected a module that can be imported, got {given!r}: {error}"
        ) from None
    source = Path(inspect.getsourcefile(module) or "")
    return Own(_found(module, function, given, name), given, None, digest_of(source))


def digest_of(file: Path) -> str:
    """Return the digest of a file, "" of none."""
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _of_function(call: Callable[..., Any]) -> Own:
    """Return a function with its reference, if it stands at the top of a module or of a script."""
    name, module = getattr(call, "__qualname__", ""), sys.modules.get(getattr(call, "__module__", ""))
    try:
        file = Path(inspect.getsourcefile(module) or "") if module else Path()
    except TypeError:  # an interactive session
        file = Path()
    if not name.isidentifier() or module is None or not file.is_file():
        return Own(call, "")
    if module.__name__ == "__main__" or module.__name__.startswith("hinge_campaign_"):
        return Own(call, f"{file.name}:{name}", file, digest_of(file))
    return Own(call, f"{module.__name__}:{name}", None, digest_of(file))


def _found(module: Any, function: str, given: str, name: str) -> Callable[..., Any]:
    found = getattr(module, function, None)
    if not callable(found):
        raise ArgumentError(f"{name}: expected a function, got {given!r}, of which there is none")
    return found


def _of_file(file: Path) -> Any:
    """Return the module of a file."""
    if not file.is_file():
        raise ArgumentError(f"expected a file with functions, got {str(file)!r}, which is not there")
    return _loaded(str(file.resolve()), digest_of(file))


@cache
def _loaded(path: str, digest: str) -> Any:
    """Return the module of a file; once for each content, so that its state is shared by its functions."""
    label = f"hinge_campaign_{digest[:16]}"
    spec = importlib.util.spec_from_file_location(label, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[label]
        raise HingeError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    return module
