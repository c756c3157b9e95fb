"""A palette that is safe for colour-blind readers (Okabe and Ito, 2008)."""

from __future__ import annotations

from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]


def _rgb(code: str) -> Rgb:
    r, g, b = (int(code[k : k + 2], 16) / 255 for k in (0, 2, 4))
    return r, g, b


BLUE, VERMILION, GREEN = _rgb("0072B2"), _rgb("D55E00"), _rgb("009E73")
ORANGE, SKY, PINK = _rgb("E69F00"), _rgb("56B4E9"), _rgb("CC79A7")
BLACK, GREY = _rgb("000000"), _rgb("7F7F7F")

#: The colours of lines, in order.
LINES: tuple[Rgb, ...] = (BLUE, VERMILION, GREEN, ORANGE, PINK, SKY, BLACK)


def line(i: int) -> Rgb:
    """Return the colour of the i-th line."""
    return LINES[i % len(LINES)]


def as_bytes(rgb: Rgb) -> tuple[int, int, int]:
    """Return a colour as three numbers from 0 to 255."""
    r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in rgb)
    return r, g, b
