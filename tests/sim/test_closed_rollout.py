"""Roll-outs of robots with closures: gradients through the projection, against differences along motions."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import Rollout
from hinge.sim.integrators import Midpoint
from tests.tiers import daily

#: Weights of differences of the eighth order, and their step: one that legs which are flung about allow.
WEIGHTS, H = (4 / 5, -1 / 5, 4 / 105, -1 / 280), 5e-4
STEPS = 3


def slope(f):
    """Return the rate of f(s) at s = 0."""
    return sum(w * (f(k * H) - f(-k * H)) for k, w in enumerate(WEIGHTS, 1)) / H


class Case:
    """A closed robot with a start that closes, and a way on which it goes on closing."""

    def __init__(self, robot, seed=3):
        rng = np.random.default_rng(seed)
        self.robot = robot
        self.q = hinge.assemble(robot, hinge.random_configuration(robot, rng)).q
        self.qd = hinge.settle(robot, self.q, rng.standard_normal(robot.nv))
        self.cq, self.cqd, way, self.more = rng.standard_normal((4, robot.nv))
        self.way = hinge.settle(robot, self.q, way)
        self.tau, self.push = rng.standard_normal((2, STEPS, robot.nv))
        self.inertias = hinge.inertial_parameters(robot)
        self.heavier = 1e-4 * rng.standard_normal(self.inertias.shape)

    def start(self, s):
        """Return the start moved along the way."""
        moved = hinge.integrate(self.robot, self.q, s * self.way)
        q = hinge.assemble(self.robot, moved, tolerance=1e-15).q
        return q, hinge.settle(self.robot, q, self.qd + s * self.more)

    def judge(self, roll, bound):
        """Compare gradients with differences: by the start and the forces, and by the inertias."""
        end = roll(self.q, self.qd, tau=self.tau)
        given = {"q": self.cq, "qd": self.cqd, "wrt": ("q", "qd", "tau", "inertias")}
        by = roll.pull(self.q, self.qd, tau=self.tau, **given)

        def value(q, qd, tau, **more):
            there = roll(q, qd, tau=tau, **more)
            return self.cq @ hinge.difference(self.robot, end.q, there.q) + self.cqd @ there.qd

        def displaced(s):
            q, qd = self.start(s)
            return np.concatenate([hinge.difference(self.robot, self.q, q), qd])

        along = slope(displaced)
        found = np.concatenate([by["q"], by["qd"]]) @ along + (by["tau"] * self.push).sum()
        wanted = slope(lambda s: value(*self.start(s), self.tau + s * self.push))
        assert abs(found - wanted) < bound * max(1.0, abs(wanted))

        def of_masses(s):
            heavier = {"inertias": self.inertias + s * self.heavier}
            return value(self.q, self.qd, self.tau, parameters=heavier)

        found, wanted = (by["inertias"] * self.heavier).sum(), slope(of_masses)
        assert abs(found - wanted) < bound * max(1.0, abs(wanted))


RULES = {"semi-implicit": "semi-implicit", "rk4": "rk4", "midpoint": Midpoint(iterations=30)}
#: Loops in a plane and in space, one with rows that depend on each other, and an object that arms hold.
ROBOTS = ["four_bar", "slider_crank", "stewart_platform", "two_pandas_with_plate"]


@pytest.mark.parametrize("rule", daily(RULES, lambda k, _: k == 0))
@pytest.mark.parametrize("name", daily(ROBOTS, lambda k, _: k == 0))
def test_gradients(name, rule):
    case = Case(getattr(hinge.robots, name)())
    case.judge(Rollout(case.robot, dt=5e-3, steps=STEPS, integrator=RULES[rule]), 1e-8)


@pytest.mark.slow
def test_without_projection():
    case = Case(hinge.robots.four_bar())
    case.judge(Rollout(case.robot, dt=5e-3, steps=STEPS, project=False), 1e-8)


@pytest.mark.slow
def test_batches_records_and_single_precision():
    """States of a batch are pulled as they are alone; recorded ones have weights of their own."""
    case = Case(hinge.robots.four_bar())
    others = [Case(case.robot, seed) for seed in (4, 5)]
    q, qd = (np.stack([getattr(x, n) for x in (case, *others)]) for n in ("q", "qd"))
    roll = Rollout(case.robot, dt=5e-3, steps=STEPS, record=1)
    weights = np.random.default_rng(1).standard_normal((3, STEPS + 1, case.robot.nv))
    whole = roll.pull(q, qd, tau=case.tau, q=weights, qd=weights[::-1])
    for k in range(3):
        one = roll.pull(q[k], qd[k], tau=case.tau, q=weights[k], qd=weights[::-1][k])
        np.testing.assert_array_equal(whole["q"][k], one["q"])
    kept = Rollout(case.robot, dt=5e-3, steps=STEPS, record=1, keep=2)
    again = kept.pull(q, qd, tau=case.tau, q=weights, qd=weights[::-1])
    np.testing.assert_array_equal(whole["tau"], again["tau"])
    single = [x.astype(np.float32) for x in (q, qd, case.tau, weights)]
    less = roll.pull(single[0], single[1], tau=single[2], q=single[3], qd=single[3][::-1])
    assert less["q"].dtype == np.float32
    np.testing.assert_allclose(less["q"], whole["q"], rtol=2e-2, atol=2e-2 * np.abs(whole["q"]).max())
