"""Options of verbs: every product of them obeys one equation of motion, 𝓜 q̈ + C = τ + τⱼ.

C is the reference's, on a raft that moves as the base does; τⱼ is the formula of springs, dampers and
friction.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from itertools import product

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference
from hinge.algebra import A0, H, a_m, b_m, g, tau_j
from hinge.binding import Needs, bind
from hinge.dynamics import CATALOGUE, expression
from hinge.errors import ArgumentError
from hinge.pipeline import derive
from hinge.robots import panda, random_tree
from hinge.spatial import matvec
from hinge.targets import system_of
from hinge.testing import random_state
from tests.dynamics.partitions import held_by
from tests.dynamics.passives import SPRUNG, passive_force, with_physics
from tests.dynamics.test_moving import both, moved, on_a_raft
from tests.tiers import daily

VERBS = ("inverse_dynamics", "forward_dynamics", "bias_force", "hybrid_dynamics")
ROBOTS = {
    "panda": with_physics(panda()),
    "tree": with_physics(random_tree(6, 4, SPRUNG), sparse=True),
    "floating": with_physics(random_tree(4, 3)),
}
SHAPES = [(), (2, 2)]
OPTIONS = [
    frozenset(n for n, on in zip(("base", "passive", "external", "gravity"), chosen, strict=True) if on)
    for chosen in product((False, True), repeat=4)
]


def cast(x, dtype):
    """Return what goes into a call, of a precision."""
    if isinstance(x, dict):
        return {name: cast(v, dtype) for name, v in x.items()}
    if isinstance(x, hinge.BaseMotion):
        return hinge.BaseMotion(**{n: np.asarray(v).astype(dtype) for n, v in vars(x).items()})
    return x.astype(dtype) if isinstance(x, np.ndarray) else x


class Case:
    """A robot in random states with all that options can ask for, and the bias that the book has for them."""

    def __init__(self, name, shape):
        self.robot = ROBOTS[name]
        self.s = random_state(self.robot, 1, shape)
        self.base, self.raft = moved(self.robot, shape)
        tip = self.robot.bodies[-1].name
        self.given = {
            "base": self.base,
            "passive": True,
            "external": {tip: self.s.tau[..., :1] * np.arange(1.0, 7.0)},
            "gravity": np.array([1.0, 2.0, -3.0]),
        }
        self.names = [j.name for j in self.robot.joints[::2]]
        self.mass = reference.mass_matrix(self.robot, self.s.q)

    def bias(self, names):
        """Return C for options, with τⱼ taken away if it acts."""
        s, pushes = self.s, {n: self.given[n] for n in names & {"external", "gravity"}}
        if "base" not in names:
            found = reference.inverse_dynamics(self.robot, s.q, s.qd, 0 * s.qdd, **pushes)
        else:
            q, qd, qdd = both(self.raft, s)
            still = np.concatenate([qdd[..., :6], 0 * s.qdd], axis=-1)
            found = reference.inverse_dynamics(on_a_raft(self.robot), q, qd, still, **pushes)[..., 6:]
        return found - passive_force(self.robot, s.q, s.qd) if "passive" in names else found

    def motion(self, verb, names, out, dtype):
        """Return accelerations and forces that a verb finds to go together."""
        s, more = self.s, {n: cast(self.given[n], dtype) for n in names}
        q, qd, qdd, tau = (cast(x, dtype) for x in (s.q, s.qd, s.qdd, s.tau))
        to = np.full(s.qd.shape, np.nan, dtype)
        if verb == "hybrid_dynamics":
            both_to = (to, to.copy())
            more |= {"out": both_to} if out else {}
            found = hinge.hybrid_dynamics(self.robot, q, qd, tau=tau, qdd=qdd, prescribed=self.names, **more)
            assert not out or all(x is y for x, y in zip(found, both_to, strict=True))
            held = held_by(self.robot, self.names)
            np.testing.assert_array_equal(found[0][..., held], qdd[..., held])
            np.testing.assert_array_equal(found[1][..., ~held], tau[..., ~held])
            return found
        third = {"inverse_dynamics": (qdd,), "forward_dynamics": (tau,), "bias_force": ()}[verb]
        more |= {"out": to} if out else {}
        found = getattr(hinge, verb)(self.robot, q, qd, *third, **more)
        assert not out or found is to
        return {
            "inverse_dynamics": (qdd, found),
            "forward_dynamics": (found, tau),
            "bias_force": (0 * qdd, found),
        }[verb]


@cache
def case_of(name, shape):
    return Case(name, shape)


@cache
def bias_of(name, shape, names):
    return case_of(name, shape).bias(names)


@pytest.mark.parametrize(
    ("verb", "name"),
    daily(product(VERBS, ROBOTS), lambda k, case: case[1] == "tree"),
)
def test_every_product_of_options_obeys_the_equation_of_motion(verb, name):
    for names, out, dtype, shape in product(OPTIONS, (False, True), ("f8", "f4"), SHAPES):
        case = case_of(name, shape)
        qdd, tau = case.motion(verb, names, out, dtype)
        assert qdd.dtype == tau.dtype == dtype and qdd.shape == tau.shape == case.s.qd.shape
        inertial, bias = matvec(case.mass, qdd.astype("f8")), bias_of(name, shape, names)
        size = max(np.abs(x).max() for x in (inertial, bias, tau))
        off = np.abs(inertial + bias - tau).max() / size
        assert off < (1e-10 if dtype == "f8" else 1e-3), (names, out, dtype, shape, off)


def test_options_change_letters_and_nothing_else():
    for verb in VERBS:
        for passive, base in product((False, True), repeat=2):
            parts = expression(verb, passive=passive, base=base)
            assert parts is expression(verb, passive=passive, base=base)
            assert list(parts.expressions) == list(expression(verb).expressions)
            assert (tau_j in parts.letters) == passive
            assert ({A0, a_m, b_m} <= parts.letters) == base and (g in parts.letters) != base


@pytest.mark.parametrize("verb", VERBS)
def test_options_take_no_more_sweeps(verb):
    plain = derive(expression(verb).expressions)
    for passive, base in product((False, True), repeat=2):
        found = derive(expression(verb, passive=passive, base=base).expressions)
        assert found.program.shape == plain.program.shape and found.cost.solves == 0


def test_the_derivation_of_every_product_ships(monkeypatch):
    monkeypatch.setattr("hinge.pipeline.derivations._searched", lambda *_: pytest.fail("searched"))
    from hinge.pipeline import derivations

    for verb in VERBS:
        for passive, base in product((False, True), repeat=2):
            e = expression(verb, passive=passive, base=base).expressions
            derivations._derive.__wrapped__(tuple(e.items()))


def test_verbs_with_options_compile_by_expression():
    robot, s = ROBOTS["panda"], random_state(ROBOTS["panda"], 2)
    f = hinge.compile(expression("forward_dynamics", passive=True), robot)
    wanted = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, passive=True)
    np.testing.assert_allclose(f(s.q, s.qd, tau=s.tau), wanted, rtol=1e-12)
    both = expression("forward_dynamics", passive=True, base=True)
    assert dynamics.compiled(robot, both) is dynamics.compiled(robot, both)
    assert {"V0", "A0"} <= dynamics.compiled(robot, both).inputs.keys()


def test_options_that_change_nothing_are_refused():
    with pytest.raises(ArgumentError, match="passive: mass_matrix does not depend on it"):
        expression("mass_matrix", passive=True)
    with pytest.raises(ArgumentError, match="base: jacobian does not depend on it"):
        expression("jacobian", base=True)
    with pytest.raises(ArgumentError, match="passive: expected True or False, got 3"):
        expression("forward_dynamics", passive=3)


def test_names_with_prefixes_tell_what_to_write_instead():
    robot = ROBOTS["panda"]
    for old, new in {
        "passive_forward_dynamics": r"expression\('forward_dynamics', passive=True\)",
        "moving_hybrid_dynamics": r"expression\('hybrid_dynamics', base=True\)",
    }.items():
        for f in (lambda old=old: hinge.compile(old, robot), lambda old=old: dynamics.compiled(robot, old)):
            with pytest.raises(
                ArgumentError, match=rf"verb: expected the name of a verb, got '{old}'; use .*{new}"
            ):
                f()


def test_parts_of_ones_own_are_asked_for_their_frames():
    tree, s = ROBOTS["tree"], random_state(ROBOTS["tree"], 3)
    e = {"y": H @ H.T}
    wanted = system_of(bind(tree, Needs(own_frames=True)), {"q": s.q}).evaluate(e["y"])
    np.testing.assert_allclose(hinge.compile(dynamics.Parts(e), tree)(s.q), wanted, atol=1e-12)


def test_arrays_of_verbs_stand_in_the_order_of_programs():
    for verb in CATALOGUE:
        f = getattr(dynamics, verb, None)
        names = [n for n in signature(f).parameters if n in ("qd", "qdd", "tau", "x")] if f else []
        assert names == sorted(names, key=("qd", "qdd", "tau", "x").index), verb
