"""Pictures of the block structure of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import Expr, One, Space, World
from hinge.errors import ArgumentError, MissingExtraError
from hinge.targets.dense import Array, System

Order: TypeAlias = Literal["base-first", "tip-first"]

#: A block is zero, or the identity, up to this part of the largest entry.
TOLERANCE = 1e-10


@dataclass(frozen=True)
class Blocks:
    """Which blocks of an operator are zero (·), the identity (I) or neither (■); without entries is zero.

    `rows` and `columns` are labels with the sizes of the blocks: numbers of bodies, w for the world, 1 for
    the column of a vector.
    """

    rows: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int], ...]
    marks: tuple[tuple[str, ...], ...]


def block_marks(system: System, expr: Expr, *, order: Order = "base-first") -> Blocks:
    """Return which blocks of an operator are zero on a system; the orders are those of `block_structure`."""
    whole = system.matrix(expr)
    scale = TOLERANCE * float(np.abs(whole).max(initial=0.0))
    rows, columns = _ordered(system, expr.range, order), _ordered(system, expr.domain, order)
    marks = tuple(tuple(_mark(whole[at][:, there], scale) for _, there in columns) for _, at in rows)
    down, across = (tuple((label, len(at)) for label, at in x) for x in (rows, columns))
    return Blocks(down, across, marks)


def block_structure(system: System, expr: Expr, *, order: Order = "base-first") -> str:
    """Return a picture of the blocks: · zero, ■ not zero, I identity; a block without entries is zero.

    Rows and columns carry the numbers of bodies, w for the world, 1 for the column of a vector. Tip first
    is the order of the papers, in which φ is lower triangular; base first it is upper triangular.
    """
    found = block_marks(system, expr, order=order)
    margin, width = (max((len(label) for label, _ in x), default=0) for x in (found.rows, found.columns))
    head = [" " * margin, *(label.rjust(width) for label, _ in found.columns)]
    lines = [
        [label.rjust(margin), *(mark.rjust(width) for mark in marks)]
        for (label, _), marks in zip(found.rows, found.marks, strict=True)
    ]
    return "\n".join(
        [f"{expr}: {expr.range} ← {expr.domain}", *(" ".join(x).rstrip() for x in (head, *lines))]
    )


def plot_blocks(system: System, expr: Expr, *, ax: Any = None, order: Order = "base-first") -> Any:
    """Draw log₁₀ of the sizes of all entries with lines between blocks, and return the axes.

    `ax` are the Matplotlib axes to draw on, new ones by default. Zeros stay white.
    """
    whole = system.matrix(expr)
    rows, columns = _ordered(system, expr.range, order), _ordered(system, expr.domain, order)
    entries = np.abs(
        whole[np.concatenate([at for _, at in rows])][:, np.concatenate([at for _, at in columns])]
    )
    if ax is None:
        ax = _pyplot().subplots()[1]
    logs = np.log10(np.where(entries > 0, entries, 1.0))
    ax.imshow(np.ma.masked_where(entries == 0, logs))
    for blocks, draw, axis in ((rows, ax.axhline, ax.yaxis), (columns, ax.axvline, ax.xaxis)):
        ends = np.cumsum([len(at) for _, at in blocks])
        for end in ends[:-1]:
            draw(end - 0.5, color="grey", linewidth=0.5)
        axis.set_ticks(ends - 0.5 - np.diff(ends, prepend=0) / 2, [label for label, _ in blocks])
    ax.set_title(str(expr))
    return ax


def _ordered(system: System, space: Space, order: str) -> list[tuple[str, Array]]:
    """Return the label and the places of each block of a space."""
    if order not in ("base-first", "tip-first"):
        raise ArgumentError(f"order: expected 'base-first' or 'tip-first', got {order!r}")
    bounds = system.bounds(space)
    single = {World: "w", One: "1"}
    found = [(single.get(space, str(i)), np.arange(bounds[i], bounds[i + 1])) for i in range(len(bounds) - 1)]
    return found if order == "base-first" else found[::-1]


def _mark(block: Array, scale: float) -> str:
    if not (np.abs(block) > scale).any():
        return "·"
    rows, columns = block.shape
    return "I" if rows == columns and (np.abs(block - np.eye(rows)) <= max(scale, TOLERANCE)).all() else "■"


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(
            'plot_blocks needs Matplotlib, which is not installed; pip install "hinge[view]"'
        ) from None
    return pyplot
