"""Other libraries that compute the same quantities, one file each."""

from __future__ import annotations

from typing import Protocol

from benchmarks.harness import Contender
from benchmarks.subjects import States
from hinge.spatial import Array


class PeerMissing(Exception):  # noqa: N818
    """Say why a peer cannot compete."""


class Peer(Protocol):
    """A library with one robot loaded."""

    name: str

    def contender(self, quantity: str, s: States) -> Contender:
        """Return what is timed for these states."""
        ...

    def values(self, quantity: str, s: States) -> Array:
        """Return the quantity in Hinge's coordinates."""
        ...
