"""The algebra on trees that are no robots: a ladder of resistors, and smoothing of data in both directions.

The identities behind every algorithm of Hinge are about operators on a tree and know no mechanics. With
matrices of one's own the articulated-body inertia is the resistance at the input of a ladder, and forward
dynamics is the smoother of Rauch, Tung and Striebel on a tree that branches, with the likelihood of the data.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import hinge
from hinge.algebra import Body, H, M, One, P, leaf, logdet, phi, tau

Array = NDArray[np.float64]
mass = H @ phi @ M @ phi.T @ H.T
#: A river: two sources join, a third one joins further down; the last node is the mouth.
RIVER = {
    "spring": "upper",
    "lake": "upper",
    "upper": "lower",
    "brook": "lower",
    "lower": "mouth",
    "mouth": None,
}
FLOW = np.array([[0.7, 0.2], [0.0, 0.8]])  # what of a state comes to the next node
SEEN, NOISE, ERROR = np.array([[1.0, 0.5]]), np.diag([0.2, 0.1]), np.array([[0.05]])


def ladder(sections: int) -> float:
    """Return the input resistance of unit resistors, in series and in shunt: P at the root."""
    onwards = np.array([[1.0, 0.0], [0.0, 0.0]])
    tree = hinge.WeightedTree(
        range(-1, sections - 1),
        [None, *[onwards] * (sections - 1)],
        [np.ones((1, 2))] * sections,
        [np.eye(2)] * sections,
    )
    f = hinge.compile(mass.inv() @ tau, tree, blocks={"P": P})
    return float(f(tau=np.zeros(sections))["P"][0, 0, 0])


def corner(a: Array, b: Array) -> Array:
    """Return the block-diagonal matrix of two."""
    return np.block([[a, np.zeros((len(a), b.shape[1]))], [np.zeros((len(b), a.shape[1])), b]])


def merging(y: dict[str, Array]) -> tuple[dict[str, Array], float]:
    """Return the states of a river given data, and twice their negative log-likelihood but for its constant.

    x(i) = Σ F x(c) + w(i) over what flows in, y(i) = C x(i) + v(i): blocks [x; v].
    """
    names = list(RIVER)
    tree = hinge.WeightedTree(
        list(RIVER.values()),
        [None if p is None else corner(FLOW, np.zeros((1, 1))) for p in RIVER.values()],
        [np.hstack([SEEN, np.eye(1)])] * len(names),
        [corner(NOISE, ERROR)] * len(names),
        names=names,
    )
    e = {
        "state": phi @ M @ phi.T @ H.T @ mass.inv() @ tau,
        "form": tau.T @ mass.inv() @ tau + logdet(mass),
    }
    found = hinge.compile(e, tree)(tau=np.concatenate([y[n] for n in tree.names]))
    return {n: found["state"][tree.body_slice(n)][:2] for n in tree.names}, float(found["form"])


def branching(y: dict[str, Array]) -> dict[str, Array]:
    """Return the states if they flow the other way, x(i) = F x(parent) + w(i): blocks [x; w]."""
    names, z = list(RIVER), leaf("z", Body, One)
    tree = hinge.WeightedTree(
        list(RIVER.values()),
        [None if p is None else corner(FLOW.T, np.zeros((2, 2))) for p in RIVER.values()],
        [np.hstack([np.eye(2), np.eye(2)])] * len(names),
        [corner(SEEN.T @ np.linalg.inv(ERROR) @ SEEN, np.linalg.inv(NOISE))] * len(names),
        names=names,
    )
    known = [np.concatenate([SEEN.T @ np.linalg.solve(ERROR, y[n]), np.zeros(2)]) for n in tree.names]
    f = hinge.compile(phi.T @ H.T @ mass.inv() @ H @ phi @ z, tree)
    state = f(z=np.concatenate(known))
    return {n: state[tree.body_slice(n)][:2] for n in tree.names}


def conditioned(y: dict[str, Array], *, towards_mouth: bool) -> tuple[dict[str, Array], float]:
    """Return the same by dense matrices: the mean of jointly normal numbers given some of them."""
    names = list(RIVER)
    carry = np.zeros((2 * len(names), 2 * len(names)))
    for child, parent in RIVER.items():
        if parent is not None:
            to, of = (parent, child) if towards_mouth else (child, parent)
            i, k = 2 * names.index(to), 2 * names.index(of)
            carry[i : i + 2, k : k + 2] = FLOW
    gather = np.linalg.inv(np.eye(len(carry)) - carry)
    spread = gather @ np.kron(np.eye(len(names)), NOISE) @ gather.T
    c = np.kron(np.eye(len(names)), SEEN)
    data = c @ spread @ c.T + np.kron(np.eye(len(names)), ERROR)
    given = np.concatenate([y[n] for n in names])
    mean = (spread @ c.T @ np.linalg.solve(data, given)).reshape(-1, 2)
    form = float(given @ np.linalg.solve(data, given) + np.linalg.slogdet(data)[1])
    return dict(zip(names, mean, strict=True)), form


def main() -> int:
    """Print the ladder and the smoothed river; the exit code is 1 if dense matrices say otherwise."""
    fibonacci = [1, 1]
    while len(fibonacci) < 12:
        fibonacci.append(sum(fibonacci[-2:]))
    off = abs(ladder(6) - fibonacci[11] / fibonacci[10])
    print(f"six sections of unit resistors: {ladder(6):.12f} Ω, {fibonacci[11]}/{fibonacci[10]} exactly")
    rows = [ladder(n) for n in range(1, 9)]
    print("more sections:", ", ".join(f"{r:.6f}" for r in rows), "→ the golden ratio")
    falls = all(a < b for a, b in pairwise(rows[1:])) or all(a > b for a, b in pairwise(rows[1:]))

    rng = np.random.default_rng(1)
    y = {n: rng.standard_normal(1) for n in RIVER}
    states, form = merging(y)
    dense, dense_form = conditioned(y, towards_mouth=True)
    print(f"\n{'node':8} {'data':>8}   state, given all data")
    for n, x in states.items():
        print(f"{n:8} {y[n][0]:8.4f}   {x[0]:8.4f} {x[1]:8.4f}")
    errors = [max(np.abs(states[n] - dense[n]).max() for n in RIVER), abs(form - dense_form)]
    upwards, _ = conditioned(y, towards_mouth=False)
    found = branching(y)
    errors.append(max(np.abs(found[n] - upwards[n]).max() for n in RIVER))
    print(f"\noff conditioning of dense matrices: {max(errors):.1e}; the ladder is off by {off:.1e}")
    good = max(*errors, off) < 1e-12 and falls
    print("the trees agree." if good else "THE TREES DISAGREE.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
