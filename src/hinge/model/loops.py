"""Embedded loops: closures whose joints share rates, as data.

Of the joints of a loop some are independent and the others depend on them: a dependent joint keeps its q, and
its slice of qd is empty. A `Loop` says which, and in which order they are solved for (see
`hinge.embed_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hinge.errors import ModelError
from hinge.model.closures import Closure, rows_of
from hinge.model.parts import Joint
from hinge.model.readonly import numbers
from hinge.spatial import Array


@dataclass(frozen=True, eq=False, repr=False)
class Loop:
    """Closures that are embedded together, and the order in which their dependent rates are found.

    `joints` are the moving joints on the way round the loop, base first, and `home` a configuration of them
    that closes. `pivots` are the dependent rates, each as a joint and the number of its rate, `rows` the
    constraints that give them, each as the number of a closure and of its row: the k-th pivot is divided by
    in row k. `places` are the places of the closures among those of the robot before it was embedded.
    """

    closures: tuple[Closure, ...]
    joints: tuple[str, ...]
    pivots: tuple[tuple[str, int], ...]
    rows: tuple[tuple[int, int], ...]
    home: Array
    places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", numbers(self.home, f"{self}: home"))

    def __repr__(self) -> str:
        return f"<Loop {self.name!r}: {', '.join(self.dependent)} follow {', '.join(self.independent)}>"

    def __str__(self) -> str:
        return f"loop {self.name!r}"

    @property
    def name(self) -> str:
        """The names of its closures."""
        return ", ".join(c.name for c in self.closures)

    @property
    def dependent(self) -> tuple[str, ...]:
        """The joints without rates of their own."""
        found = {name for name, _ in self.pivots}
        return tuple(name for name in self.joints if name in found)

    @property
    def independent(self) -> tuple[str, ...]:
        """The joints whose rates are those of the loop."""
        return tuple(name for name in self.joints if name not in self.dependent)

    def renamed(self, prefix: str, closed: Callable[[Closure], Closure]) -> Loop:
        """Return the loop with a prefix before the names of its joints; `closed` renames closures."""
        return replace(
            self,
            closures=tuple(map(closed, self.closures)),
            joints=tuple(prefix + n for n in self.joints),
            pivots=tuple((prefix + n, k) for n, k in self.pivots),
        )


def dependent_joints(loops: Sequence[Loop]) -> frozenset[str]:
    """Return the names of the joints without rates of their own."""
    return frozenset(name for loop in loops for name in loop.dependent)


def refuse_bad_loops(loops: Sequence[Loop], joints: Mapping[str, Joint]) -> None:
    """Refuse loops that do not fit the joints: unknown ones, rates without a row, a wrong home."""
    seen: set[str] = set()
    for loop in loops:
        if not isinstance(loop, Loop):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"loops: expected Loop values, as embed_loops makes them, got {loop!r}")
        for name in loop.joints:
            if name not in joints or joints[name].follows or name in seen:
                raise ModelError(
                    f"{loop}: expected joints with coordinates of their own, each in one loop, got {name!r}; "
                    "start from release_loops(robot)"
                )
        seen |= {*loop.joints}
        rates = {(n, k) for n in loop.dependent for k in range(joints[n].nv)}
        rows = [(c, r) for c, x in enumerate(loop.closures) for r in range(len(rows_of(x.joint).names))]
        known = set(loop.rows) <= {*rows} and {*loop.pivots} == rates
        if not known or not len(loop.rows) == len(set(loop.rows)) == len(loop.pivots) == len(rates):
            raise ModelError(f"{loop}: expected a row for each rate of its dependent joints; embed it again")
        if loop.home.shape != (sum(joints[n].nq for n in loop.joints),) or not np.isfinite(loop.home).all():
            raise ModelError(f"{loop}: home: expected a number for each coordinate, got {loop.home.shape}")
