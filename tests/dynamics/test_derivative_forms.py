"""The closed forms in which derivatives of dynamics are computed: with every option, zeros, memory."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.dynamics import Parts, compiled
from hinge.dynamics.derivatives import derivative_parts
from hinge.errors import ArgumentError
from hinge.sweeps import Slot
from hinge.targets.llvm.plan import segments, slots_read, slots_shown
from hinge.targets.llvm.rolled import placed
from tests.dynamics.differences import off

VERBS = {"inverse_dynamics": ("q", "qd"), "forward_dynamics": ("q", "qd", "tau")}


@pytest.fixture(scope="module")
def robot():
    return hinge.robots.random_tree(5, 7)


def state(robot, seed=1):
    rng = np.random.default_rng(seed)
    return hinge.random_configuration(robot, rng), *rng.standard_normal((2, robot.nv))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("options", [{}, {"passive": True}, {"base": True}], ids=str)
def test_closed_forms_agree_with_rules_of_differentiation(robot, verb, options):
    parts = derivative_parts(verb, VERBS[verb], **options)
    q, qd, u = state(robot)
    given = {"qd": qd, "qdd" if verb == "inverse_dynamics" else "tau": u, "f_ext": np.ones((1, 6))}
    if "base" in options:
        given |= {"V0": np.array([0.3, 0.2, -0.4, 0, 0, 0]), "A0": np.arange(6.0)}
    nodes = [robot.bodies[-1].name]
    one, other = (hinge.compile(p, robot, nodes=nodes) for p in (parts, Parts(parts.expressions)))
    found, wanted = one.evaluate(q, given), other.evaluate(q, given)
    assert found.keys() == wanted.keys()
    for name in wanted:
        assert off(found[name], wanted[name]) < 1e-11


def test_operations():
    panda = hinge.robots.panda()
    counts = {v: compiled(panda, derivative_parts(v, w)).code.operations().total for v, w in VERBS.items()}
    assert counts["inverse_dynamics"] <= 3600
    assert counts["forward_dynamics"] <= 6800


def test_steps_are_told():
    text = str(derivative_parts("forward_dynamics", ("q", "tau")).form)
    assert "covariant" in text and "composite" in text and "as matrices" in text


def two_arms():
    arm = hinge.robots.random_tree(3, 2, ["revolute"], branching=0.0)
    b = hinge.Builder("pair")
    b.body("stand")
    first = hinge.attach(b.build(), arm, "stand", prefix="a_")
    return hinge.attach(first, arm, "stand", prefix="b_")


@pytest.mark.parametrize("verb", VERBS)
def test_zeros_between_limbs_are_known(verb):
    robot = two_arms()
    code = compiled(robot, derivative_parts(verb, VERBS[verb])).code
    n = robot.nv // 2
    for r in code.results[1:]:
        assert not any(isinstance(x, Slot) for x in (*r.values[:n, n:].flat, *r.values[n:, :n].flat))
        assert any(isinstance(x, Slot) for x in r.values[:n, :n].flat)


def test_places_are_used_again_only_when_dead(robot):
    code = compiled(robot, derivative_parts("forward_dynamics", VERBS["forward_dynamics"])).code
    parts = segments(code, 1)
    places = placed(code, parts)
    holder = {places.of[s]: s for slots in code.inputs.values() for s in slots}
    for part in parts:
        for c in getattr(part, "calls", (part,)):
            assert all(holder[places.of[s]] == s for s in slots_read(c))
        holder |= {places.of[s]: s for c in part.calls for s in c.stores}
    assert all(holder[places.of[s]] == s for s in slots_shown(code))
    assert places.size < sum(len(c.stores) for c in code.calls)


def test_out(robot):
    q, qd, u = state(robot)
    first = hinge.forward_dynamics_derivatives(robot, q, qd, u)
    out = {n: np.empty_like(x) for n, x in vars(first).items()}
    found = hinge.forward_dynamics_derivatives(robot, q, qd, u, out=out)
    assert all(getattr(found, n) is out[n] for n in out)
    assert all(np.array_equal(out[n], getattr(first, n)) for n in out)
    again = hinge.forward_dynamics_derivatives(robot, q, 2 * qd, u, out=found)
    assert again.q is out["q"] and not np.array_equal(again.q, first.q)
    shown = hinge.inverse_dynamics_derivatives(robot, q, qd, u, wrt=("gravity",))
    out = {"tau": np.empty(robot.nv), "gravity": np.empty((robot.nv, 3))}
    hinge.inverse_dynamics_derivatives(robot, q, qd, u, wrt=("gravity",), out=out)
    assert np.array_equal(out["gravity"], shown.gravity)


def test_bad_out(robot):
    q, qd, u = state(robot)
    with pytest.raises(ArgumentError, match="out: expected arrays by the names tau, q, qd, got q"):
        hinge.inverse_dynamics_derivatives(robot, q, qd, u, out={"q": np.empty((5, 5))})
    with pytest.raises(ArgumentError, match="out"):
        hinge.inverse_dynamics_derivatives(robot, q, qd, u, out=np.empty(3))
    found = hinge.inverse_dynamics_derivatives(robot, q, qd, u)
    with pytest.raises(ArgumentError, match="share memory"):
        hinge.inverse_dynamics_derivatives(
            robot, q, qd, u, out={"tau": found.tau, "q": found.q, "qd": found.q}
        )


def test_single_precision_and_batches(robot):
    q, qd, u = (np.stack([x, x]) for x in state(robot))
    wanted = hinge.forward_dynamics_derivatives(robot, q[0], qd[0], u[0])
    batch = hinge.forward_dynamics_derivatives(robot, q, qd, u)
    single = hinge.forward_dynamics_derivatives(robot, *(x.astype(np.float32) for x in (q, qd, u)))
    for name, x in vars(wanted).items():
        assert off(getattr(batch, name)[1], x) < 1e-12
        assert getattr(single, name).dtype == np.float32
        assert off(getattr(single, name)[1], x) < 1e-3
