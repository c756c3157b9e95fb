"""The step from a body to its parent as a chain of planar turns and shifts.

Each link of a chain takes motion vectors from the parent's side to the child's (the papers' φᵀ) and
forces back (φ), and moves symmetric 6 × 6 blocks both ways. A planar turn of such a block costs 28
multiplications, half of what a general rotation costs. Arrays hold floats or traced scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from hinge.binding.poses import Rotation, euler
from hinge.spatial import skew
from hinge.sweeps import Block, zeros

#: What decides a turn that is otherwise free: no round number, which an entry of a rotation could be, and
#: large enough for its square to be a number in single precision.
LITTLE = 1.4142135623730951e-15


class Link(Protocol):
    """An elementary change of coordinates."""

    def motion(self, x: Block) -> Block:
        """Transform motions (6,) or (6, k) to the child's side."""
        ...

    def force(self, x: Block) -> Block:
        """Transform forces (6,) or (6, k) back to the parent's side."""
        ...

    def inertia(self, x: Block) -> Block:
        """Transform a symmetric inertia from the child's side to the parent's."""
        ...

    def block(self, x: Block) -> Block:
        """Transform any block as an inertia, from the child's side to the parent's."""
        ...

    def compliance(self, x: Block) -> Block:
        """Transform a symmetric compliance from the parent's side to the child's."""
        ...

    def offset(self, r: Block) -> Block:
        """Carry the vector from the first origin to the last, in the axes reached so far."""
        ...


@dataclass(frozen=True, eq=False)
class Turn:
    """A rotation of the axes about x (0), y (1) or z (2), by its cosine and sine."""

    axis: Literal[0, 1, 2]
    c: Any
    s: Any

    def then(self, c: Any, s: Any) -> Turn:
        """Return this turn and another about the same axis as one."""
        return Turn(self.axis, self.c * c - self.s * s, self.s * c + self.c * s)

    def motion(self, x: Block) -> Block:
        """Turn both halves."""
        return self._turned(x, self.s)

    def force(self, x: Block) -> Block:
        """Turn both halves back."""
        return self._turned(x, -self.s)

    def _turned(self, x: Block, s: Any) -> Block:
        found = x.copy()
        for half in range(0, len(x), 3):
            i, j = half + (self.axis + 1) % 3, half + (self.axis + 2) % 3
            found[i] = self.c * x[i] + s * x[j]
            found[j] = self.c * x[j] - s * x[i]
        return found

    def inertia(self, x: Block) -> Block:
        """Turn rows and columns back."""
        return self._congruence(x, self.s)

    def block(self, x: Block) -> Block:
        """Turn rows and columns back."""
        return self._congruence(x, self.s, symmetric=False)

    def compliance(self, x: Block) -> Block:
        """Turn rows and columns."""
        return self._congruence(x, -self.s)

    def _congruence(self, x: Block, s: Any, *, symmetric: bool = True) -> Block:
        """Return T X Tᵀ, T = [c −s; s c] in the plane of the turn, in both halves.

        A 2 × 2 block [a b; e d] becomes [a − m, b + n; e + n, d + m] with m = s² (a − d) + c s (b + e) and
        n = c s (a − d) − s² (b + e).
        """
        found = x.copy()
        cs, ss = self.c * s, s * s
        pairs = [(h + (self.axis + 1) % 3, h + (self.axis + 2) % 3) for h in (0, 3)]
        for p, (i, j) in enumerate(pairs):
            for k, n in pairs[p:] if symmetric else pairs:
                difference, total = x[i, k] - x[j, n], x[i, n] + x[j, k]
                more = ss * difference + cs * total
                other = cs * difference - ss * total
                found[i, k], found[i, n] = x[i, k] - more, x[i, n] + other
                found[j, k], found[j, n] = x[j, k] + other, x[j, n] + more
            for k in (self.axis, self.axis + 3):
                found[i, k] = self.c * x[i, k] - s * x[j, k]
                found[j, k] = s * x[i, k] + self.c * x[j, k]
                if symmetric:
                    found[k, i], found[k, j] = found[i, k], found[j, k]
                else:
                    found[k, i] = self.c * x[k, i] - s * x[k, j]
                    found[k, j] = s * x[k, i] + self.c * x[k, j]
        for row in pairs[0] if symmetric else ():
            for column in pairs[1]:
                found[column, row] = found[row, column]
        return found

    def offset(self, r: Block) -> Block:
        """Turn the vector."""
        return self._turned(r, self.s)


@dataclass(frozen=True, eq=False)
class Shift:
    """A move of the origin by r, in the axes reached so far."""

    r: Block

    def motion(self, x: Block) -> Block:
        """Return [ω; v + ω × r]."""
        return _lower(x, _cross(x[:3], self.r))

    def force(self, x: Block) -> Block:
        """Return [n + r × f; f]."""
        return np.concatenate([x[:3] + _cross_left(self.r, x[3:]), x[3:]])

    def inertia(self, x: Block) -> Block:
        """Return T X Tᵀ with T = [1 r×; 0 1]."""
        rx = skew(self.r)
        b = x[:3, 3:] + rx @ x[3:, 3:]
        a = x[:3, :3] + rx @ x[3:, :3] + b @ rx.T
        return _symmetric(a, b, x[3:, 3:])

    def block(self, x: Block) -> Block:
        """Return T X Tᵀ with T = [1 r×; 0 1]."""
        rx = skew(self.r)
        left = np.concatenate([x[:3] + rx @ x[3:], x[3:]])
        return np.concatenate([left[:, :3] + left[:, 3:] @ rx.T, left[:, 3:]], axis=1)

    def compliance(self, x: Block) -> Block:
        """Return Tᵀ X T with T = [1 r×; 0 1]."""
        rx = skew(self.r)
        b = x[:3, 3:] + x[:3, :3] @ rx
        d = x[3:, 3:] + x[3:, :3] @ rx + rx.T @ b
        return _symmetric(x[:3, :3], b, d)

    def offset(self, r: Block) -> Block:
        """Add the move."""
        return r + self.r


@dataclass(frozen=True, eq=False)
class Rotate:
    """A general rotation of the axes by a 3 × 3 matrix E."""

    e: Block

    def motion(self, x: Block) -> Block:
        """Return [E ω; E v]."""
        return np.concatenate([self.e @ x[:3], self.e @ x[3:]])

    def force(self, x: Block) -> Block:
        """Return [Eᵀ n; Eᵀ f]."""
        return np.concatenate([self.e.T @ x[:3], self.e.T @ x[3:]])

    def inertia(self, x: Block) -> Block:
        """Turn the three different blocks back."""
        return self._congruence(x, self.e.T)

    def block(self, x: Block) -> Block:
        """Turn the four blocks back."""
        left = self.force(x)
        return self.force(left.T).T

    def compliance(self, x: Block) -> Block:
        """Turn the three different blocks."""
        return self._congruence(x, self.e)

    def _congruence(self, x: Block, t: Block) -> Block:
        a, b, d = (t @ part @ t.T for part in (x[:3, :3], x[:3, 3:], x[3:, 3:]))
        return _symmetric(a, b, d)

    def offset(self, r: Block) -> Block:
        """Turn the vector."""
        return self.e @ r


@dataclass(frozen=True, eq=False)
class Chain:
    """E at one body: links from the parent's side to the body's, and the sizes of both blocks."""

    links: tuple[Link, ...]
    parent_size: int
    size: int

    @property
    def factorwise(self) -> bool:
        """Whether factors of a product are shifted at less cost than their product: not on one way."""
        return False

    def to_child(self, x: Block) -> Block:
        """Transform motions of the parent to the body."""
        y = x[:6]
        for link in self.links:
            y = link.motion(y)
        return _padded(y, self.size)

    def to_parent(self, x: Block) -> Block:
        """Transform forces on the body to the parent."""
        y = x[:6]
        for link in reversed(self.links):
            y = link.force(y)
        return _padded(y, self.parent_size)

    def inertia_to_parent(self, x: Block) -> Block:
        """Transform a symmetric inertia to the parent."""
        y = x[:6, :6]
        for link in reversed(self.links):
            y = link.inertia(y)
        return _padded_square(y, self.parent_size)

    def block_to_parent(self, x: Block) -> Block:
        """Transform any block to the parent, as an inertia."""
        y = x[:6, :6]
        for link in reversed(self.links):
            y = link.block(y)
        return _padded_square(y, self.parent_size)

    def compliance_to_child(self, x: Block) -> Block:
        """Transform a symmetric compliance of the parent to the body."""
        y = x[:6, :6]
        for link in self.links:
            y = link.compliance(y)
        return _padded_square(y, self.size)

    def offset(self) -> Block:
        """Return the vector from the parent's origin to the body's, in the body's axes."""
        r = zeros(3)
        for link in self.links:
            r = link.offset(r)
        return r


def turns(e: Rotation) -> Sequence[Turn]:
    """Return a constant rotation as turns about z, x, z, in the order of application; trivial ones left out.

    E = Ez(γ) Ex(α) Ez(θ).
    """
    theta, alpha, gamma = euler(e)
    found = [Turn(2, *theta), Turn(0, *alpha), Turn(2, *gamma)]
    return [t for t in found if (t.c, t.s) != (1.0, 0.0)]


def traced_turns(e: Block) -> tuple[Any, ...]:
    """Return cos and sin of θ, α, γ with E = Ez(γ) Ex(α) Ez(θ), for a rotation that is known in a call only.

    Where α is zero but for rounding θ can be anything; a little more on one side of its tangent decides.
    """
    c, s, ca = LITTLE - e[2, 1], e[2, 0], e[2, 2]
    size = np.sqrt(c * c + s * s)
    c, s = c / size, s / size
    sa = e[2, 0] * s - e[2, 1] * c
    # The first row of E Ez(θ)ᵀ is [cos γ, sin γ cos α, sin γ sin α].
    x, y, z = c * e[0, 0] + s * e[0, 1], c * e[0, 1] - s * e[0, 0], e[0, 2]
    return c, s, ca, sa, x, ca * y + sa * z


def _symmetric(a: Block, b: Block, d: Block) -> Block:
    return np.concatenate([np.concatenate([a, b], axis=1), np.concatenate([b.T, d], axis=1)])


def _lower(x: Block, more: Block) -> Block:
    return np.concatenate([x[:3], x[3:] + more])


def _cross(w: Block, r: Block) -> Block:
    """Return ω × r for columns ω."""
    return np.stack([w[1] * r[2] - w[2] * r[1], w[2] * r[0] - w[0] * r[2], w[0] * r[1] - w[1] * r[0]])


def _cross_left(r: Block, f: Block) -> Block:
    """Return r × f for columns f."""
    return np.stack([r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2], r[0] * f[1] - r[1] * f[0]])


def _padded(x: Block, size: int) -> Block:
    if len(x) == size:
        return x
    found = zeros(size, *x.shape[1:])
    found[: len(x)] = x
    return found


def _padded_square(x: Block, size: int) -> Block:
    if len(x) == size:
        return x
    found = zeros(size, size)
    found[: len(x), : len(x)] = x
    return found
