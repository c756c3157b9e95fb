"""Hinge and its peers on one robot: who competes, who is right, how long each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.agreement import few, sample, wrong
from benchmarks.harness import Contender
from benchmarks.peers import Peer, PeerMissing, build
from benchmarks.peers.mujoco_python import Mujoco
from benchmarks.peers.pinocchio_native import Native
from benchmarks.peers.pinocchio_python import Pinocchio
from benchmarks.subjects import States, Subject
from benchmarks.tables import Cell, nanoseconds
from hinge.spatial import Array

#: The columns of peers; the native one shows the quickest of several builds.
NATIVE, PYTHON, MUJOCO = "Pinocchio native", "pin from Python", "MuJoCo"


@dataclass(frozen=True)
class Entrants:
    """The peers that have a robot loaded, and why others have not, both by column."""

    peers: Mapping[str, Sequence[Peer]]
    absent: Mapping[str, str]

    @property
    def all(self) -> list[Peer]:
        """Every peer."""
        return [p for peers in self.peers.values() for p in peers]

    def cells(self, times: Mapping[str, float], odd: Mapping[str, str]) -> list[Cell]:
        """Return each column's time in ns, or why there is none: absent, or odd in what it computes."""
        return [self._cell(column, times, odd) for column in (NATIVE, PYTHON, MUJOCO)]

    def _cell(self, column: str, times: Mapping[str, float], odd: Mapping[str, str]) -> Cell:
        peers = [p.name for p in self.peers.get(column, ())]
        found = [times[name] for name in peers if name in times]
        if found:
            return nanoseconds(min(found))
        return next((odd[name] for name in peers if name in odd), self.absent.get(column))

    def builder(self, times: Mapping[str, float]) -> str:
        """Return which compiler's build is quickest."""
        found = [p.name for p in self.peers.get(NATIVE, ()) if p.name in times]
        return min(found, key=times.__getitem__).removeprefix("native ") if found else "–"


def entrants(subject: Subject) -> Entrants:
    """Load the robot with every peer that can."""
    makers: dict[str, list[Callable[[Subject], Peer]]] = {
        NATIVE: [partial(Native, compiler=c) for c in build.compilers()],
        PYTHON: [Pinocchio],
        MUJOCO: [Mujoco],
    }
    peers: dict[str, list[Peer]] = {}
    absent = {NATIVE: "no compiler"}
    for column, ways in makers.items():
        for make in ways:
            try:
                peers.setdefault(column, []).append(make(subject))
            except PeerMissing as why:
                absent[column] = str(why)
    return Entrants(peers, absent)


def doubts() -> list[str]:
    """Return what makes the native column weaker than it could be."""
    names = {c.name for c in build.compilers()}
    return (
        ["clang++ is not there; it makes Pinocchio up to 1.7 times quicker than g++."]
        if names == {"gcc"}
        else []
    )


def judged(value: Array, quantity: str, s: States, peers: Sequence[Peer]) -> dict[str, str]:
    """Return, by name, how Hinge's batch differs from each peer's at some of the states; nothing if not."""
    rows, states = value[sample(len(s))], few(s)
    found = {p.name: wrong(quantity, rows, p.values(quantity, states)) for p in peers}
    return {name: how for name, how in found.items() if how}


def blamed(odd: Mapping[str, str]) -> str:
    """Return how Hinge is wrong: Pinocchio is the judge; MuJoCo alone may differ and is left out."""
    return next((how for name, how in odd.items() if name != Mujoco.name), "")


def ours(name: str, subject: Subject, quantity: str, s: States) -> Contender:
    """Return Hinge's call for a batch as a contender."""
    f, args = subject.call(quantity, s)
    return Contender(name, partial(f, *args), len(s))
