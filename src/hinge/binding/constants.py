"""The numbers of a robot's bodies and joints as constants of code, with exact zeros and ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hinge.binding.site import LinkKind
from hinge.binding.steps import Link as Step
from hinge.binding.steps import Shift, Turn
from hinge.model import Joint as ModelJoint
from hinge.model import LoopMotion
from hinge.model.joints import JointType
from hinge.spatial import Array, Inertia, Transform


def of_this_package(types: Iterable[JointType]) -> bool:
    """Tell whether all joint types are of this package; other formulas may change between runs."""
    package = __name__.split(".")[0]
    single = (m for t in types for m in (t.members if isinstance(t, LoopMotion) else (t,)))
    return all(type(t).__module__.split(".")[0] == package for t in single)


def inertia_numbers(inertias: Sequence[Inertia]) -> list[list[float]]:
    """Return for each body m, h and the upper triangle of I, with exact zeros."""
    m = np.array([x.m for x in inertias]).reshape(-1, 1)
    h = np.array([x.h for x in inertias]).reshape(-1, 3)
    i = np.array([x.I for x in inertias]).reshape(-1, 3, 3)
    size = np.sqrt(np.abs(np.diagonal(i, axis1=1, axis2=2)))
    h = np.where(np.abs(h) < 1e-15 * np.sqrt(np.abs(m)) * size.max(axis=1, keepdims=True), 0.0, h)
    i = np.where(np.abs(i) < 1e-15 * size[:, :, None] * size[:, None, :], 0.0, i)
    return Inertia(m[:, 0], h, i).parameters().tolist()


def link_kind(link: Step) -> LinkKind:
    """Return the kind of a constant link."""
    if isinstance(link, Shift):
        return "shift"
    assert isinstance(link, Turn)
    return link.axis


def link_numbers(link: Step) -> list[float]:
    """Return the numbers of a constant link."""
    if isinstance(link, Shift):
        return link.r.tolist()
    assert isinstance(link, Turn)
    return [link.c, link.s]


def transform_numbers(x: Transform) -> list[float]:
    """Return E and −E r× of a constant transform."""
    whole = tidy_ones(x.matrix())
    return [*whole[:3, :3].ravel().tolist(), *whole[3:, :3].ravel().tolist()]


def end_numbers(x: Transform) -> list[float]:
    """Return E, −E r× and r of a constant transform."""
    return [*transform_numbers(x), *tidy_ones(x.r).tolist()]


def pose_numbers(x: Transform) -> list[float]:
    """Return E and r of a constant transform."""
    return [*tidy_ones(x.E).ravel().tolist(), *tidy_ones(x.r).tolist()]


def passive_numbers(joint: ModelJoint, *, all_terms: bool, rubs: bool) -> list[float]:
    """Return the arguments of `PassiveNumbers`, zeros for absent terms, and for friction unless it `rubs`."""
    dry = joint.friction if rubs else 0.0 * joint.friction
    smooth, springs = all_terms | (dry != 0), all_terms or joint.stiffness.any()
    speed, rest = np.where(smooth, joint.friction_speed, 0.0), joint.rest if springs else 0.0 * joint.rest
    return np.concatenate([joint.damping, dry, speed, joint.stiffness, rest]).tolist()


def tidy_ones(x: Array) -> Array:
    """Return constant turns and shifts with zeros and ones made exact."""
    x = np.where(np.abs(x) < 1e-15, 0.0, x)
    return np.where(np.abs(np.abs(x) - 1.0) < 1e-15, np.sign(x), x)
