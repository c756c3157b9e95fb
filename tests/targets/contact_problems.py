"""Random contact problems as code for the targets: laws, columns and programs of them."""

from __future__ import annotations

import numpy as np

from hinge.sweeps import Code, DenseCall, ForceLaw, Slot
from hinge.testing import random_contact
from tests.targets.llvm.running import result


def law_of(among) -> ForceLaw:
    """Return the law of a `reference.ForceSet`."""
    return ForceLaw(free=among.free, half=among.half, box=np.size(among.boxes), cone=len(among.mu))


def columns(problem, start=None):
    """Return the right side (m, 3) of a law: b, a start, and bounds."""
    among = problem.among
    bounds = np.zeros(among.rows)
    first = among.free + among.half
    bounds[first : first + np.size(among.boxes)] = among.boxes
    bounds[among.normals] = among.mu
    return np.stack([problem.b, np.zeros(among.rows) if start is None else start, bounds], axis=-1)


def problems(count, *, seed=0, **blocks):
    """Return problems with the same blocks, with Ω (count, m, m) and right sides (count, m, 3)."""
    found = [random_contact(1000 * seed + k, **blocks) for k in range(count)]
    return found, np.stack([p.omega for p in found]), np.stack([columns(p) for p in found])


def program_of(law: ForceLaw) -> Code:
    """Return code that answers a law: inputs "root" (m m) of Ω and "right" (3 m), output "answer" (m, 3)."""
    m = law.rows
    slots = np.array([Slot(k) for k in range(m * m + 6 * m)], dtype=object)
    matrix, right, found = np.split(slots, [m * m, m * m + 3 * m])
    call = DenseCall(matrix.reshape(m, m), right.reshape(m, 3), found.reshape(m, 3), 0, law=law)
    inputs = {"root": tuple(range(m * m)), "right": tuple(range(m * m, m * m + 3 * m))}
    return Code((call,), inputs, (result("answer", found.reshape(m, 3)),), len(slots))


def root(omega):
    """Return W (…, m, m) with WᵀW = Ω."""
    found = np.full(omega.shape, np.nan)
    for k in np.ndindex(omega.shape[:-2]):
        if np.isfinite(omega[k]).all():
            sizes, axes = np.linalg.eigh(omega[k].astype(float))
            found[k] = np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T
    return found.astype(omega.dtype)


def given(omega, right):
    """Return the inputs of such a program."""
    return {name: x.reshape(*x.shape[:-2], -1) for name, x in (("root", root(omega)), ("right", right))}
