"""Contact forces on dense matrices: Featherstone sections 9.7 and 9.8, and friction cones.

Contacts move with v = Ω λ + b under the forces λ, Ω = J M⁻¹ Jᵀ and b what they do without forces. With v an
acceleration λ are forces, with v a velocity after a step impulses. Ω may be singular: v is unique
even then, and λ need not be.
"""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np

from hinge.errors import ArgumentError
from hinge.reference.force_sets import ForceSet
from hinge.spatial import Array, ArrayLike

#: Forces and velocities above minus this share of the largest are not negative.
SIGN = 1e-9
#: Singular values below this share of the largest are zero.
RANK = 1e-11
#: Most contacts whose loaded sets are enumerated.
MOST = 14
#: Residual, as a share of the largest |b|, at which the iteration for cones ends.
EXACT = 2e-14
#: Bounds of the penalty and of the proximal term, for Ω with a unit diagonal.
PENALTY, PROXIMAL = (1.0, 10.0), (1e-2, 1e-5)
#: Steps of the iteration for cones, those without progress after which it ends, and Newton steps in each.
STEPS, STALE, NEWTON = 200, 20, 50
#: Rounds of Coulomb's law, and the share of |b| by which slopes are taken.
ROUNDS, DIFFERENCE = 60, 1e-6


def frictionless(omega: ArrayLike, b: ArrayLike) -> Array:
    """Return the solutions (s, k) of λ ≥ 0, v = Ω λ + b ≥ 0, λᵀ v = 0: (9.50) and (9.51).

    Every set of loaded contacts is tried, with the least forces that stop these: (9.61). There is one
    solution if Ω is positive definite. If it is not, there may be none (s = 0) or a polyhedron of them; the
    rows have its least point, which comes first, and its vertices, and v is the same for all.
    """
    omega, b = _checked(omega, b)
    if len(b) > MOST:
        raise ArgumentError(f"b: expected at most {MOST} contacts to enumerate, got {len(b)}; use cones")
    found: list[Array] = []
    for loaded in chain.from_iterable(combinations(range(len(b)), n) for n in range(len(b) + 1)):
        on = list(loaded)
        forces = np.zeros(len(b))
        forces[on] = -np.linalg.pinv(omega[np.ix_(on, on)], rcond=RANK, hermitian=True) @ b[on]
        v = omega @ forces + b
        small = SIGN * max(np.abs(b).max(initial=0), np.abs(omega * forces).max(initial=0))
        if forces.min(initial=0) < -SIGN * np.abs(forces).max(initial=0) or v.min(initial=0) < -small:
            continue
        if np.abs(v[on]).max(initial=0) > small:
            continue
        forces = np.maximum(forces, 0.0)
        if all(np.abs(forces - f).max(initial=0) > SIGN * np.abs(f).max(initial=0) for f in found):
            found.append(forces)
    return np.array(sorted(found, key=np.linalg.norm)).reshape(len(found), len(b))


def figure_9_6(omega: ArrayLike, b: ArrayLike) -> Array:
    """Return the forces α (k,) of (9.50), (9.51) by figure 9-6, a recursion for a positive definite C = Ω."""
    c, d = _checked(omega, b)
    if len(d) == 0:
        return np.zeros(0)
    if c[0, 0] <= 0:
        raise ArgumentError("omega: expected a positive definite matrix; use frictionless or cones")
    if len(d) == 1:
        return np.array([-d[0] / c[0, 0] if d[0] < 0 else 0.0])
    row, rest = c[0, 1:], figure_9_6(c[1:, 1:], d[1:])  # the zero root (9.55), (9.58)
    if row @ rest + d[0] >= 0:
        return np.array([0.0, *rest])
    # the non-zero root (9.59), and (9.56)
    rest = figure_9_6(c[1:, 1:] - np.outer(row, row) / c[0, 0], d[1:] - row * (d[0] / c[0, 0]))
    return np.array([-(row @ rest + d[0]) / c[0, 0], *rest])


def natural_residual(omega: ArrayLike, b: ArrayLike, forces: ArrayLike, among: ForceSet | ArrayLike) -> float:
    """Return the largest |λ − Π(λ − v / L)| L, which is zero for a solution; L is the largest Ωᵢᵢ.

    Like v it is a velocity or acceleration: for rows that are not at their bounds it is v itself.
    """
    omega, b = _checked(omega, b)
    kinds, x = _kinds(among, b), np.asarray(forces, dtype=np.float64)
    big = float(np.diag(omega).max(initial=0)) or 1.0
    return float(np.abs(x - kinds.project(x - (omega @ x + b) / big)).max(initial=0)) * big


def cones(omega: ArrayLike, b: ArrayLike, among: ForceSet | ArrayLike) -> tuple[Array, float]:
    """Return the λ (m,) of a set with the least ½ λᵀ Ω λ + λᵀ b, and the natural residual.

    `among` is a `ForceSet`, or the friction coefficients (k,) of cones alone. This is the associated law of
    friction: v = Ω λ + b is in the dual cone, vn ≥ μ |vt|, so that what slides rises.

    The method of multipliers with a proximal term (Rockafellar 1976) converges wherever there is a solution:
    y₊ = argmin ½ yᵀ Ω y + yᵀ b + ½ σ dist²(y + s/σ) + ½ τ |y − y₀|², z = y₊ + s/σ, λ = Π(z), s₊ = σ (z − λ).
    """
    omega, b = _checked(omega, b)
    kinds = _kinds(among, b)
    d = _units(omega, kinds)
    scaled, c, unit = omega * np.outer(d, d), b * d, kinds.scaled(d)
    y = s = best = np.zeros(len(b))
    left = least = natural_residual(scaled, c, best, unit)
    stale, enough = 0, EXACT * float(np.abs(c).max(initial=0))
    (sigma, largest), (tau, smallest) = PENALTY, PROXIMAL
    for _ in range(STEPS):
        if least <= enough or stale > STALE:
            break
        y = _nearest(scaled + tau * np.eye(len(b)), c - tau * y, unit, y, s / sigma, sigma, 1e-3 * left)
        z = y + s / sigma
        forces = unit.project(z)
        s = sigma * (z - forces)
        left = natural_residual(scaled, c, forces, unit)
        stale = 0 if left < 0.9 * least else stale + 1
        if left < least:
            best, least = forces, left
        sigma, tau = min(2 * sigma, largest), max(tau / 2, smallest)
    return d * best, natural_residual(omega, b, d * best, kinds)


def coulomb(omega: ArrayLike, b: ArrayLike, among: ForceSet | ArrayLike) -> tuple[Array, float]:
    """Return forces (m,) of Coulomb's law, and the natural residual of its conditions.

    What slides does so against its force and does not rise: De Saxcé's v + μ |vt| n is in the dual cone. So
    s = μ |vt| is a fixed point of what `cones` with bn + s gives. It is found by rounds of that, and by
    Newton steps with differences where a round does not halve the error. There may be several solutions, and
    this may be none: see the residual.
    """
    omega, b = _checked(omega, b)
    kinds = _kinds(among, b)
    normals, k = kinds.normals, len(kinds.mu)

    def lifted(lift: Array) -> Array:
        found = b.copy()
        found[normals] += lift
        return found

    def slid(lift: Array) -> tuple[Array, Array, float]:
        forces, _ = cones(omega, lifted(lift), kinds)
        v = omega @ forces + b
        slip = kinds.mu * np.hypot(v[normals + 1], v[normals + 2])
        return forces, slip, float(np.abs(slip - lift).max(initial=0))

    lift, small = np.zeros(k), float(np.abs(b).max(initial=0))
    forces, slip, error = slid(lift)
    for _ in range(ROUNDS):
        if error <= 10 * EXACT * small:
            break
        best = (slip, *slid(slip))
        if best[-1] > 0.5 * error:
            steps = DIFFERENCE * small * np.eye(k)
            slopes = np.transpose([slid(lift + h)[1] - slip for h in steps]) / (DIFFERENCE * small)
            way = np.linalg.lstsq(np.eye(k) - slopes, slip - lift, rcond=RANK)[0]
            ends = (np.maximum(lift + way * 0.5**i, 0.0) for i in range(5))
            tried = ((end, *slid(end)) for end in ends)
            best = next((one for one in tried if one[-1] < 0.9 * error), best)
        lift, forces, slip, error = best
    return forces, natural_residual(omega, lifted(slip), forces, kinds)


def _nearest(
    a: Array, c: Array, unit: ForceSet, y: Array, shift: Array, sigma: float, enough: float
) -> Array:
    """Return argmin ½ yᵀ A y + cᵀ y + ½ σ dist²(y + shift), by Newton's method; A is positive definite.

    The gradient has kinks. Steps are shortened until the slope along them has halved, which rounding does not
    blur as it does values.
    """

    def gradient(y: Array) -> Array:
        z = y + shift
        return a @ y + c + sigma * (z - unit.project(z))

    enough = max(enough, 1e-15 * float(np.abs(c).max()))
    g = gradient(y)
    for _ in range(NEWTON):
        if np.abs(g).max() <= enough:
            break
        step = -np.linalg.solve(a + sigma * (np.eye(len(y)) - unit.derivative(y + shift)), g)
        slope, low, high, share = float(g @ step), 0.0, 1.0, 1.0
        for _ in range(30):
            g = gradient(y + share * step)
            here = float(g @ step)
            if abs(here) <= 0.5 * abs(slope) or (share == 1.0 and here < 0):
                break
            low, high = (low, share) if here > 0 else (share, high)
            share = (low + high) / 2
        else:
            break
        y = y + share * step
    return y


def _units(omega: Array, kinds: ForceSet) -> Array:
    """Return d (m,) such that D Ω D has a unit diagonal, nearly so for tangents, which share theirs."""
    square = np.diag(omega).copy()
    for i in kinds.normals:
        square[i + 1 : i + 3] = square[i + 1 : i + 3].mean()
    big = float(square.max(initial=0)) or 1.0
    return 1 / np.sqrt(np.where(square > 1e-12 * big, square, big))


def _kinds(among: ForceSet | ArrayLike, b: Array) -> ForceSet:
    kinds = among if isinstance(among, ForceSet) else ForceSet(among)
    if kinds.rows != len(b):
        raise ArgumentError(f"among: expected {len(b)} rows as b has, got {kinds.rows}; a cone has three")
    return kinds


def _checked(omega: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    omega, b = np.asarray(omega, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if b.ndim != 1 or omega.shape != (len(b), len(b)):
        raise ArgumentError(
            f"omega: expected (m, m) for b (m,), got {omega.shape} for {b.shape}; give one state at a time"
        )
    return omega, b
