"""`hinge cache`: inspect or clear the on-disk cache of compiled objects."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from hinge.targets.llvm import cache
from hinge.targets.llvm.cache import DAMAGED, Entry

DESCRIPTION = """\
Hinge compiles each algorithm for each robot to native code, and caches the result on disk, so that
the next program that needs it starts at once.
This command shows the cache. Clearing it is always safe: code is compiled again when needed.

  hinge cache           location, size, and whether it is in use
  hinge cache --list    every entry, most recently used first
  hinge cache clear     remove all entries

environment variables:
  HINGE_CACHE=0         turn the cache off
  HINGE_CACHE_DIR       another directory, which must be yours and writable by you alone
  HINGE_CACHE_LIMIT     limit in megabytes (512); the least recently used entries are evicted
"""


@dataclass(frozen=True)
class Status:
    """The status of the cache; sizes in bytes, `limit` None if the given one is invalid."""

    directory: str | None
    on: bool
    why_off: str | None
    writable: bool
    entries: int
    damaged: int
    size: int
    limit: int | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge cache`."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("action", nargs="?", choices=["clear"], help="remove all entries")
    either.add_argument("--list", action="store_true", help="show every entry: size, last use, key, label")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(arguments: argparse.Namespace) -> None:
    """Show or clear the cache."""
    if arguments.action == "clear":
        text, data = _clear()
    else:
        held = cache.entries()
        status = _status(held)
        text, data = _describe(status), asdict(status)
        if arguments.list:
            text += _table(held, time.time())
            data["list"] = [asdict(entry) for entry in held]
    sys.stdout.write(json.dumps(data, indent=2) + "\n" if arguments.json else text)


def _clear() -> tuple[str, dict[str, object]]:
    removed = cache.clear()
    where = str(cache.location())
    return f"removed {_count(removed)} from {where}\n", {"directory": where, "removed": removed}


def _status(held: Sequence[Entry]) -> Status:
    why_off = cache.why_off()
    where = cache.location()
    return Status(
        directory=None if where is None else str(where),
        on=why_off is None,
        why_off=why_off,
        writable=where is not None and os.access(where, os.W_OK | os.X_OK),
        entries=len(held),
        damaged=sum(entry.label == DAMAGED for entry in held),
        size=sum(entry.size for entry in held),
        limit=cache.limit(),
    )


def _describe(status: Status) -> str:
    """Return the status as lines of a name and a value."""
    state = f"off: {status.why_off}" if status.why_off else "on"
    if status.on and not status.writable:
        state = "on, but nothing new can be stored: the directory is not writable"
    entries = _count(status.entries)
    if status.damaged:
        entries += f", {status.damaged} of them damaged (never used; removed at the next look-up)"
    rows = {
        "cache": state,
        "directory": status.directory or "none",
        "kept": entries,
        "size": _megabytes(status.size),
        "limit": "not a number" if status.limit is None else _megabytes(status.limit),
    }
    return "".join(f"{name:<11}{value}\n" for name, value in rows.items())


def _table(held: Sequence[Entry], now: float) -> str:
    """Return a line for each entry under a heading, or nothing if there is none."""
    rows = [("size", "last used", "key", "what")]
    rows += [(_megabytes(e.size), age(now - e.used), e.key[:12], e.label) for e in held]
    lines = [f"{size:>10}  {used:<16}  {key:<12}  {what}\n" for size, used, key, what in rows]
    return "\n" + "".join(lines) if held else ""


def age(seconds: float) -> str:
    """Return an age in words, in its largest unit: 7300 is "2 hours ago"."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        number = int(seconds // length)
        if number >= 1:
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def _count(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _megabytes(size: int) -> str:
    if size < 10**6:
        return f"{size / 10**3:.1f} kB"
    return f"{size / 10**6:.1f} MB"
