"""Numbers in files, read strictly: finite and of bounded size."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from hinge.io.xml import Element
from hinge.spatial import Array

#: Largest magnitude accepted, in SI units.
LARGEST = 1e30

#: A joint limit of this size or more means no limit: URDF cannot express infinity.
UNLIMITED = 1e9

#: Syntax of a number; Python's float() accepts more, such as 1_000 and digits of any script.
_NUMBER = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)

#: The most characters of a number.
LONGEST = 64


def number(
    e: Element, name: str, where: str, default: float | None = None, *, infinite: bool = False
) -> float:
    """Return a number attribute; required if it has no default."""
    if default is not None and e.get(name) is None:
        return default
    return _read(e, name, e.need(name, where), where, infinite)


def numbers(e: Element, name: str, count: int, where: str, default: Sequence[float] | None = None) -> Array:
    """Return an attribute of `count` numbers separated by spaces."""
    if default is not None and e.get(name) is None:
        return np.array(default)
    text = e.need(name, where)
    words = text.split(maxsplit=count)
    if len(words) != count:
        amount = len(words) if len(words) <= count else f"more than {count}"
        e.fail(f"{where}: {name}: expected {count} numbers, got {amount} in {_short(text)!r}")
    return np.array([_read(e, name, w, where, False) for w in words])


def _read(e: Element, name: str, text: str, where: str, infinite: bool) -> float:
    if len(text) > LONGEST or not _NUMBER.fullmatch(text.strip()):
        e.fail(f"{where}: {name}: expected a number, got {_short(text)!r}")
    value = float(text)
    if math.isnan(value) or (not infinite and math.isinf(value)):
        e.fail(f"{where}: {name}: expected a finite number, got {_short(text)!r}")
    if not infinite and abs(value) > LARGEST:
        e.fail(f"{where}: {name}: expected at most {LARGEST:g} in SI units, got {_short(text)!r}")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
