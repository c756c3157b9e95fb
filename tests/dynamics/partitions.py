"""The dense answer to hybrid dynamics, random sets of prescribed joints, and a count of what is compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from hinge import reference
from hinge.model import Robot
from hinge.spatial import Array
from hinge.targets import has_llvm
from hinge.testing import State


def held_by(robot: Robot, names: Collection[str]) -> Array:
    """Return for each coordinate whether it is one of these joints'."""
    found = np.zeros(robot.nv, dtype=bool)
    for name in names:
        found[robot.joint(name).qd_slice] = True
    return found


def some_joints(robot: Robot, rng: np.random.Generator) -> list[str]:
    """Return a random set of joints, now and then none or all."""
    share = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0], p=[0.05, 0.3, 0.3, 0.3, 0.05])
    return [j.name for j in robot.joints if rng.random() < share]


def dense(robot: Robot, s: State, held: Array, **more: object) -> tuple[Array, Array]:
    """Return qdd and tau from the rows and columns of the whole mass matrix, both of the book."""
    m = reference.mass_matrix(robot, s.q)
    c = reference.inverse_dynamics(robot, s.q, s.qd, np.zeros(robot.nv), **more)
    batch = np.broadcast_shapes(s.q.shape[:-1], held.shape[:-1])
    wide = [np.broadcast_to(x, (*batch, robot.nv)) for x in (c, held, s.qdd, s.tau)]
    m = np.broadcast_to(m, (*batch, robot.nv, robot.nv))
    qdd, tau = np.empty((*batch, robot.nv)), np.empty((*batch, robot.nv))
    for at in np.ndindex(*batch):
        bias, is_held, given, forced = (x[at] for x in wide)
        p, a = np.flatnonzero(~is_held), np.flatnonzero(is_held)
        qdd[at], tau[at] = given, forced
        right = forced[p] - bias[p] - m[at][np.ix_(p, a)] @ given[a]
        qdd[at][p] = np.linalg.solve(m[at][np.ix_(p, p)], right)
        tau[at][a] = (m[at] @ qdd[at] + bias)[a]
    return qdd, tau


def residual(robot: Robot, s: State, found: tuple[Array, Array], held: Array, **more: object) -> float:
    """Return how far qdd and tau are from the dense answer.

    Accelerations are judged by the forces that they stand for, M q̈, so that what the condition of M takes
    away is not counted; forces by their size; and what was given must come back as it was.
    """
    qdd, tau = found
    wanted_qdd, wanted_tau = dense(robot, s, held, **more)
    assert qdd.shape == wanted_qdd.shape and tau.shape == wanted_tau.shape
    is_held, given, forced = np.broadcast_arrays(held, s.qdd, s.tau)
    kept = np.array_equal(np.where(is_held, qdd, 0), np.where(is_held, given, 0) + 0 * qdd)
    assert kept and np.array_equal(np.where(is_held, 0, tau), np.where(is_held, 0, forced) + 0 * tau)
    m = reference.mass_matrix(robot, s.q)
    off = np.abs(m @ (qdd - wanted_qdd)[..., None])[..., 0].max(axis=-1, initial=0.0)
    size = (np.abs(m) @ np.abs(wanted_qdd)[..., None])[..., 0].max(axis=-1, initial=1e-6)
    forces = np.abs(tau - wanted_tau).max(axis=-1, initial=0.0)
    large = np.abs(wanted_tau).max(axis=-1, initial=1e-6)
    return float(max(np.max(off / size, initial=0.0), np.max(forces / np.maximum(large, size), initial=0.0)))


@contextmanager
def counted_programs() -> Iterator[list[str]]:
    """Note every program that is built, and every piece of machine code that is made or read."""
    found: list[str] = []
    expressions = import_module("hinge.pipeline.compilation")
    with pytest.MonkeyPatch.context() as patch:
        _note(patch, found, expressions, "build")
        _note(patch, found, expressions, "trace")
        if has_llvm():
            from hinge.targets.llvm.native_program import NativeProgram

            _note(patch, found, NativeProgram, "_make")
            _note(patch, found, NativeProgram, "_load")
        yield found


def _note(patch: pytest.MonkeyPatch, found: list[str], owner: Any, name: str) -> None:
    do = getattr(owner, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        found.append(name)
        return do(*args, **kwargs)

    patch.setattr(owner, name, noted)
