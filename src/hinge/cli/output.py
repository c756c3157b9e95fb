"""Output of commands: tables, JSON, and early checks of output files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, cast

from hinge.errors import CommandLineError, MissingExtraError

#: Picture formats that Matplotlib writes by itself.
PICTURES = (".png", ".svg", ".pdf", ".jpg")


def write(text: str) -> None:
    """Write text to standard output, with a newline at its end if there is any."""
    sys.stdout.write(f"{text}\n" if text and not text.endswith("\n") else text)


def write_json(data: Any) -> None:
    """Write JSON to standard output; numbers that are not finite are null."""
    write(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def plain(data: Any) -> Any:
    """Return data as plain JSON types."""
    if isinstance(data, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", data).items()}
    if isinstance(data, list | tuple):
        return [plain(v) for v in cast("Sequence[Any]", data)]
    if isinstance(data, float):
        return float(data) if isfinite(data) else None
    return str(data) if isinstance(data, Path) else data


def rows(values: Mapping[str, str]) -> str:
    """Return lines of a name and a value."""
    width = max(map(len, values), default=0) + 2
    return "\n".join(f"{name:<{width}}{value}" for name, value in values.items())


def table(head: Sequence[str], lines: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return a table with a heading; the columns `right` are right-aligned."""
    width = [max(len(line[k]) for line in (head, *lines)) for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        placed = (
            c.rjust(w) if k in right else c.ljust(w)
            for k, (c, w) in enumerate(zip(cells, width, strict=True))
        )
        return "  ".join(placed).rstrip()

    return "\n".join([line(head), "  ".join("─" * w for w in width), *map(line, lines)])


def needed(package: str, argument: str, extra: str) -> None:
    """Raise a MissingExtraError unless the optional package of an argument is installed."""
    if find_spec(package) is None:
        raise MissingExtraError(f'{argument}: this needs {package}; pip install "hinge[{extra}]"')


def writable(path: Path | None, argument: str, endings: Sequence[str]) -> None:
    """Raise a CommandLineError unless a file with one of these endings can be written at a path."""
    if path is None:
        return
    if path.suffix not in endings:
        raise CommandLineError(f"{argument}: expected a name that ends in {' or '.join(endings)}, got {path}")
    if path.is_dir():
        raise CommandLineError(f"{argument}: expected the name of a file, got the directory {path}")
    folder = path.parent
    if not folder.is_dir():
        raise CommandLineError(
            f"{argument}: the directory {folder} does not exist; create it, or name another"
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise CommandLineError(f"{argument}: {path} is not writable; name another place")
