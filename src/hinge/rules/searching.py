"""Best-first search for the cheapest form of expressions, by named identities.

A state is the polynomials of all outputs; a move is one identity made everywhere. The cost goes up before
it comes down, so the search keeps every form that it has seen and goes on from the cheapest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from hinge.algebra import Polynomial
from hinge.rules.moves import Move


class Comparable(Protocol):
    """Something that can be ordered."""

    def __lt__(self, other: Any, /) -> bool:
        """Tell whether this one is smaller."""
        ...


C = TypeVar("C", bound=Comparable)
State = tuple[Polynomial, ...]
#: The name of the normal form as a move.
NORMAL_FORM = "normal form"


@dataclass(frozen=True, eq=False)
class SearchStep(Generic[C]):
    """A form on the path: the move that led to it, its expressions and its cost."""

    name: str
    source: str
    state: State
    cost: C


@dataclass(frozen=True, eq=False)
class Found(Generic[C]):
    """The cheapest form, the path to it, and the number of forms compared."""

    steps: tuple[SearchStep[C], ...]
    weighed: int

    @property
    def best(self) -> SearchStep[C]:
        """The last step."""
        return self.steps[-1]


def search(
    start: State,
    moves: Sequence[Move],
    cost: Callable[[State], C],
    *,
    normal: Callable[[Polynomial], Polynomial] | None = None,
    limit: int = 150,
) -> Found[C]:
    """Return the cheapest form that `limit` expansions find, with the steps to it."""
    first = SearchStep("given", "", start, cost(start))
    seen = {_key(start)}
    trails: list[tuple[SearchStep[C], ...]] = [(first,)]
    heap: list[tuple[C, int]] = [(first.cost, 0)]
    best = trails[0]
    for _ in range(limit):
        if not heap:
            break
        _, number = heapq.heappop(heap)
        trail = trails[number]
        for name, source, state in _neighbours(trail[-1].state, moves, normal):
            if _key(state) in seen:
                continue
            seen.add(_key(state))
            step = SearchStep(name, source, state, cost(state))
            trails.append((*trail, step))
            heapq.heappush(heap, (step.cost, len(trails) - 1))
            if step.cost < best[-1].cost:
                best = trails[-1]
    return Found(best, len(seen))


def _neighbours(
    state: State, moves: Sequence[Move], normal: Callable[[Polynomial], Polynomial] | None
) -> list[tuple[str, str, State]]:
    found: list[tuple[str, str, State]] = []
    for move in moves:
        made = [move.apply(p.terms) for p in state]
        if any(terms is not None for terms in made):
            new = tuple(
                p if terms is None else Polynomial(p.range, p.domain, terms)
                for p, terms in zip(state, made, strict=True)
            )
            found.append((f"{move.name}: {move.left} = {move.right}", move.source, new))
    if normal is not None:
        found.append((NORMAL_FORM, "the completed table", tuple(map(normal, state))))
    return found


def _key(state: State) -> tuple[object, ...]:
    return tuple(p.key for p in state)
