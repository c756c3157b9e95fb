"""Robots with flexible bodies: verbs against the reference, frequencies of textbooks, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import dynamics, reference
from hinge.errors import ModelError
from hinge.model import Builder, attach, beam, fingerprint, merge
from hinge.model.joints import Prismatic, Revolute
from hinge.robots import random_tree
from hinge.spatial import Inertia, matvec
from hinge.targets import has_llvm
from hinge.testing import check_laws, random_state
from hinge.testing.laws import Dynamics
from tests.dynamics import sweep_flexible
from tests.dynamics.catalogue import ROWS
from tests.dynamics.subjects import Subject
from tests.dynamics.sweep_flexible import arm, loop, spacecraft
from tests.dynamics.sweep_fuzz import target
from tests.tiers import daily

Z = Revolute((0, 0, 1))


def point(mass, turn=0.0):
    """Return the inertia of a point with a moment of inertia."""
    return Inertia.from_com(mass, (0, 0, 0), turn * np.eye(3))


def hub(turn, modes, plane=(1.0, None), **more):
    """Return a unit beam on a hub that turns about z."""
    b = Builder("hub", gravity=(0, 0, 0))
    flexible = beam(1.0, mass_per_length=1.0, bending=plane, modes=modes, **more)
    b.body("hub", joint=Z, inertia=point(1.0, turn), flexible=flexible)
    return b.build()


def frequencies(robot, **more):
    with target("numpy"):
        return hinge.natural_frequencies(robot, hinge.neutral(robot), **more)


# The book.


@pytest.mark.parametrize("seed", range(3))
def test_laws_of_mechanics_hold_for_the_reference(seed):
    check_laws(random_tree(4, seed, flexible=0.6))


@pytest.mark.parametrize("name", daily(["numpy", "llvm"], lambda k, _: k == 0))
def test_laws_hold_for_the_verbs(name):
    if name == "llvm" and not has_llvm():
        pytest.skip("no llvmlite")
    verbs = Dynamics(
        hinge.inverse_dynamics,
        hinge.forward_dynamics,
        hinge.mass_matrix,
        hinge.kinetic_energy,
        hinge.potential_energy,
        hinge.momentum,
    )
    with target(name):
        check_laws(random_tree(3, 3, flexible=0.7), dynamics=verbs)


@pytest.mark.slow
def test_every_verb_is_right_or_refused():
    """A part of `python -m tests.dynamics.sweep_flexible`."""
    subject = Subject("random", lambda: random_tree(3, 205, flexible=0.7), "numpy")
    rows = [
        r for r in ROWS if r.item in (0, 1, 3, 6, 12) and "Rolling" not in r.verb and "Wheeled" not in r.verb
    ]
    found = sweep_flexible.judged(rows, [subject], quiet=True)
    assert sum(f.above for f in found) == 0
    assert sum(f.count for f in found) > 20
    assert [r.verb for r, f in zip(rows, found, strict=True) if f.refused] == [
        "inertial_regressor",
        "base_parameters",
    ]


def test_condensed_points_move_as_those_of_before():
    robot, raw = arm(), {}
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = 0.5 * (1 + nodes)
    for name in ("upper", "lower"):
        flexible = robot.body(f"{name}_flexible").flexible
        places = [beam_station(at) for at in x]
        positions = np.column_stack([x, 0 * x, 0 * x])
        shapes = np.stack([p.shapes[3:] for p in places])
        second = np.stack([p.second for p in places])
        raw[f"{name}_flexible"] = reference.Field(0.25 * weights, positions, shapes, second)
        assert flexible.mass == pytest.approx(0.5)
    s = random_state(robot, 4, 3)
    with target("numpy"):
        m, tau = hinge.mass_matrix(robot, s.q), hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    points = reference.flexible_mass(robot, s.q, raw) - reference.flexible_mass(robot, s.q)
    assert_allclose(m + points, m, atol=1e-13)
    forces = [reference.flexible_force(robot, s.q, s.qd, s.qdd, None, f) for f in (raw, None)]
    assert_allclose(tau + forces[0] - forces[1], tau, atol=1e-11)


def beam_station(at):
    """Return the place x = at of a link of the arm."""
    link = beam(
        1.0, mass_per_length=0.5, bending=(30.0, None), modes=2, ends="craig-bampton", damping=0.01,
        stations={"here": at},
    )  # fmt: skip
    return link.frame("here")


# Frequencies.


def test_a_hub_that_turns():
    exact = {0.1: (6.96392355, 22.98023897), 1.0: (4.04011336, 22.12568046)}
    for turn, wanted in exact.items():
        found = frequencies(hub(turn, 4)).frequencies
        assert found[0] == 0
        assert_allclose(found[1:3], wanted, rtol=1e-6)


def test_a_mass_at_the_tip():
    b = Builder("tip", gravity=(0, 0, 0))
    flexible = beam(1.0, mass_per_length=1.0, bending=(1.0, None), modes=4, ends="craig-bampton")
    b.body("root", flexible=flexible)
    b.body("mass", parent="root_tip", inertia=point(1.0))
    found = frequencies(b.build())
    assert found.frequencies[0] == pytest.approx(1.55729786, rel=3e-6)
    assert found.frequencies[1] == pytest.approx(16.25008516, rel=3e-5)
    mass = reference.mass_matrix(found.robot, np.zeros(4))
    assert_allclose(found.shapes.T @ mass @ found.shapes, np.eye(4), atol=1e-9)


#: Flapwise, for γ = Ω √(ρA L⁴/EI): Wright, Smith, Thresher and Wang (1982).
TURNING = {1: (3.6816, 22.1810), 3: (4.7973, 23.3203), 10: (11.2023, 33.6404)}


@pytest.mark.parametrize("speed", daily(TURNING, lambda _, speed: speed == 3))
def test_a_beam_that_turns_stiffens(speed):
    flap, chord = hub(1.0, 6, (None, 1.0)), hub(1.0, 6, (1.0, None))
    qd = hinge.velocity(flap, {"hub_joint": speed})
    out = frequencies(flap, qd=qd, held=["hub_joint"]).squares[:2]
    assert_allclose(np.sqrt(out), TURNING[speed], rtol=2e-4)
    across = frequencies(chord, qd=qd, held=["hub_joint"]).squares[:2]
    assert_allclose(across, out - speed**2, rtol=1e-9)
    linear = frequencies(hub(1.0, 6, stiffening=False), qd=qd, held=["hub_joint"])
    assert linear.squares[0] == pytest.approx(3.51601527**2 - speed**2, abs=1e-6)
    assert (linear.frequencies[0] == 0) == (speed > 3.516)


@pytest.mark.parametrize("modes", daily(range(1, 5), lambda _, n: n == 2))
def test_a_column_buckles_under_its_weight(modes):
    critical = {1: 7.8697, 2: 7.8529, 3: 7.8402, 4: 7.8382}[modes]
    for share in (0.9999, 1.0001):
        b = Builder("column", gravity=(-share * critical, 0, 0))
        b.body("root", flexible=beam(1.0, mass_per_length=1.0, bending=(1.0, None), modes=modes))
        assert (frequencies(b.build()).squares[0] > 0) == (share < 1)


@pytest.mark.slow
def test_lumped_chains_converge_to_the_beam():
    for n, high in {5: 0.93, 10: 0.23, 20: 0.057, 40: 0.014}.items():
        found = frequencies(lumped(n)).frequencies[0]
        assert 100 * (found / 3.51601527 - 1) == pytest.approx(high, rel=0.05)


def lumped(n):
    """Return a unit beam of rigid rods: half a link, then n hinges of stiffness EI n/L."""
    b, parent, d = Builder("lumped", gravity=(0, 0, 0)), None, 1.0 / n
    for k in range(n + 1):
        length = d if 0 < k < n else 0.5 * d
        rod = Inertia.from_com(length, (0.5 * length, 0, 0), np.diag([0, 1, 1]) * length**3 / 12)
        place = {"position": (0.5 * d if k == 1 else d, 0, 0)} if k else {}
        more = {"joint": Z, "stiffness": float(n)} if k else {}
        parent = b.body(f"rod{k}", parent=parent, inertia=rod, **place, **more)
    return b.build(strict=None)


# Options together.


def test_single_precision_and_batches():
    robot = arm()
    s = random_state(robot, 1, (2, 3))
    with target("numpy"):
        wide = hinge.forward_dynamics(robot, s.q, s.qd, s.tau)
        found = hinge.forward_dynamics(robot, *(x.astype(np.float32) for x in (s.q, s.qd, s.tau)))
    assert found.dtype == np.float32 and wide.shape == (2, 3, 6)
    m = reference.mass_matrix(robot, s.q)
    assert np.abs(matvec(m, found - wide)).max() < 1e-3 * np.abs(matvec(m, wide)).max()


def test_stiffness_is_in_the_bias_force_and_not_in_gravity():
    robot = arm()
    s = random_state(robot, 2)
    with target("numpy"):
        bias = hinge.bias_force(robot, s.q, 0 * s.qd)
        assert_allclose(
            bias - hinge.gravity_force(robot, s.q), reference.elastic_force(robot, s.q), atol=1e-10
        )
        still = hinge.coriolis_force(robot, s.q, s.qd) + hinge.gravity_force(robot, s.q)
        assert_allclose(still, hinge.bias_force(robot, s.q, s.qd), atol=1e-9)
    assert hinge.elastic_energy(robot, s.q) == pytest.approx(reference.elastic_energy(robot, s.q))


def test_derivatives_are_those_of_differences():
    robot, e = arm(), 1e-6
    s, unit = random_state(robot, 3), np.eye(6)
    with target("numpy"):
        d = hinge.inverse_dynamics_derivatives(robot, s.q, s.qd, s.qdd)
        ahead, behind = (
            [hinge.inverse_dynamics(robot, s.q + k * e * i, s.qd, s.qdd) for i in unit] for k in (1, -1)
        )
        assert_allclose(d.q, np.transpose(np.subtract(ahead, behind)) / (2 * e), atol=1e-6)
        f = hinge.forward_dynamics_derivatives(robot, s.q, s.qd, d.tau)
        m = hinge.mass_matrix(robot, s.q)
        assert_allclose(m @ f.q, -d.q, atol=1e-7 * np.abs(d.q).max())


def test_a_rigid_derivative_is_refused_and_a_flexible_one_is_right():
    robot, s = arm(), random_state(arm(), 3)
    with target("numpy"):
        with pytest.raises(NotImplementedError, match="flexible=True"):
            hinge.compile(hinge.derivative("inverse_dynamics", "q"), robot)
        f = hinge.compile(hinge.derivative("inverse_dynamics", "q", flexible=True), robot)
        found = f(s.q, qd=s.qd, qdd=s.qdd)
        assert_allclose(
            found, hinge.inverse_dynamics_derivatives(robot, s.q, s.qd, s.qdd).q, rtol=1e-9, atol=1e-9
        )


def test_a_loop_through_a_flexible_body():
    robot = loop()
    q, qd = hinge.neutral(robot), np.zeros(robot.nv)
    with target("numpy"):
        found = hinge.closed_dynamics(robot, q, qd, 0 * qd)
        wanted, _ = reference.closed_dynamics(robot, q, qd, 0 * qd)
        assert_allclose(found.qdd, wanted, rtol=1e-9, atol=1e-9)
        with pytest.raises(NotImplementedError, match="loops through flexible bodies are not embedded"):
            hinge.embed_loops(robot)


def test_a_contact_on_an_attachment():
    b = Builder("foot")
    b.body("root", joint=Prismatic((0, 0, 1)), inertia=point(1.0), position=(0, 0, 0.01),
           flexible=beam(1.0, mass_per_length=1.0, bending=(None, 10.0)))  # fmt: skip
    robot = hinge.with_contacts(b.build(), [hinge.Contact("touch", "root_tip")])
    q = hinge.configuration(robot, {"root_modes": [-0.01, 0.0]})
    with target("numpy"):
        assert hinge.gap(robot, q)[0] == pytest.approx(0.0, abs=1e-12)
        jacobian = hinge.contact_jacobian(robot, q)
        tip = reference.jacobian(robot, q, "root_tip", expressed="world-aligned")[5]
        assert np.abs(np.abs(jacobian[0]) - np.abs(tip)).max() < 1e-9 or np.any(
            np.all(np.isclose(np.abs(jacobian), np.abs(tip), atol=1e-9), axis=-1)
        )


def test_frozen_modes_and_payloads():
    robot, s = arm(), random_state(arm(), 5)
    live = hinge.Live(robot).freeze(["upper_modes"]).grasp("box", "tool", point(0.5, 0.01))
    with target("numpy"):
        v = np.where(live.held, 0.0, s.qd)
        qdd = live.forward_dynamics(s.q, v, s.tau)
        built = attach(hinge.lock(robot, {"upper_modes": s.q[1:3]}), point(0.5, 0.01), "tool")
        q, qd = hinge.carry_state(robot, built, s.q, v)
        wanted = reference.forward_dynamics(built, q, qd, s.tau[~live.held])
    assert_allclose(qdd[~live.held], wanted, rtol=1e-9)
    assert not qdd[live.held].any()


def test_edits_keep_the_parts_together():
    two = merge(arm(), spacecraft())
    assert two.nv == arm().nv + spacecraft().nv and two.is_flexible
    on = attach(spacecraft(), arm(), "camera", joint=Revolute((0, 1, 0)), prefix="a_")
    s = random_state(on, 6)
    with target("numpy"):
        assert_allclose(hinge.mass_matrix(on, s.q), reference.mass_matrix(on, s.q), atol=1e-10)
    rest, part = hinge.detach(on, "a_upper")
    assert rest.nv == spacecraft().nv and part.nv == arm().nv + 5
    with pytest.raises(ModelError, match="attachment of a flexible body"):
        hinge.detach(on, "right_tip")


def test_the_points_are_in_fingerprints_and_cache_keys():
    robots = [arm(), arm(stiffening=False), hub(1.0, 2), hub(1.0, 2, (1.001, None))]
    assert len({fingerprint(r) for r in robots}) == 4
    assert fingerprint(arm()) == fingerprint(arm())
    with target("numpy"):
        found = [dynamics.compile("mass_matrix", r).binding.identity for r in robots]
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, q: hinge.inertial_regressor(r, q, q, q), "regressors are not supported"),
        (lambda r, q: hinge.filter_quantities(r, q, q, q), "attachments of flexible bodies"),
        (lambda r, q: hinge.coriolis_matrix(r, q, q), "use mass_matrix_derivatives"),
        (lambda r, q: dynamics.compile("forward_dynamics", r, parameters=["rotors"]), "with_parameters"),
        (lambda r, q: hinge.to_urdf(r), "URDF has no flexible bodies; lock their modes"),
    ],
)
def test_what_is_not_there_says_what_to_do(call, words):
    robot = arm()
    with target("numpy"), pytest.raises((NotImplementedError, ModelError), match=words):
        call(robot, hinge.neutral(robot))


def test_inverse_kinematics_moves_no_modes():
    robot = arm()
    goal = hinge.forward_kinematics(
        robot, hinge.configuration(robot, {"upper_joint": 0.4, "lower_joint": 0.9}), "tool"
    )
    with target("numpy"):
        found = hinge.inverse_kinematics(robot, "tool", goal)
    assert found.converged and not found.q[[1, 2, 4, 5]].any()
