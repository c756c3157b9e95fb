from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.campaign import Attitude, Campaign, Given, Normal, Uniform
from hinge.errors import ArgumentError, UnknownNameError
from hinge.sim import PD, Event
from tests.campaign import functions
from tests.campaign.subjects import pendulum
from tests.dynamics.sweep_flexible import arm


@pytest.mark.parametrize("kind", ["random", "sobol", "latin"])
def test_a_sample_has_the_same_bits_alone_and_among_others(kind):
    campaign = pendulum(design=kind)
    whole = campaign.piece(0, 300)
    for first, count in ((0, 1), (123, 1), (130, 70)):
        part = campaign.piece(first, count)
        for name, x in {**part.columns, **part.arrays}.items():
            all_of_it = {**whole.columns, **whole.arrays}[name]
            assert np.array_equal(x, all_of_it[first : first + count], equal_nan=True), name


def test_a_sample_is_what_simulate_gives_for_its_numbers():
    campaign = pendulum()
    piece, robot = campaign.piece(40, 3), campaign.robot
    upper, lower = (j.name for j in robot.joints if j.nv)
    k, numbers = 1, {n: x[1] for n, x in piece.columns.items()}
    inertias = hinge.inertial_parameters(robot)
    inertias[-1] *= numbers[f"mass_factor:{robot.body_names[-1]}"]
    friction = hinge.friction_parameters(robot)
    friction[robot.joint(lower).qd_slice, 0] = numbers[f"damping:{lower}"]
    q = hinge.integrate(robot, hinge.neutral(robot), [numbers[f"offset:{n}"] for n in (upper, lower)])
    run = hinge.simulate(
        robot, q, t=0.1, dt=5e-3, control=lambda t, q, qd: -numbers["own:gain"] * qd,
        parameters={"inertias": inertias, "friction": friction},
    )  # fmt: skip
    assert np.abs(piece.arrays["q"][k] - run.q[[10, 20]]).max() < 1e-14
    assert abs(piece.columns["measure:speed"][k] - np.abs(run.qd[-1]).max()) < 1e-14
    assert abs(piece.columns[f"most:qd:{lower}"][k] - run.qd[:, 1].max()) < 1e-14
    assert abs(piece.columns["least:energy"][k] - run.energy.min()) < 1e-13


def test_a_mass_in_kilograms_scales_the_whole_inertia():
    campaign = pendulum(vary={"mass": {"lower": Given(np.array([1.5, 3.0]))}}, samples=2, control=None)
    robot, start = campaign.robot, campaign.start(campaign.draws(0, 2), 2)
    own = hinge.inertial_parameters(robot)
    assert np.allclose(start.parameters["inertias"][:, -1], own[-1] * np.array([[1.5], [3.0]]) / own[-1, 0])
    assert np.array_equal(start.parameters["inertias"][:, 0], [own[0]] * 2)


def test_a_sample_that_raises_fails_alone_and_says_why():
    campaign = pendulum(100, control=functions.broken, vary={"own": {"number": Given(np.arange(100.0))}})
    piece = campaign.piece(0, 100)
    assert piece.failed == [functions.BROKEN]
    assert piece.reasons[functions.BROKEN] == "ValueError: no forces for this one"
    assert np.isnan(piece.arrays["q"][functions.BROKEN]).all()
    good = np.arange(100) != functions.BROKEN
    alone = pendulum(100, control=lambda t, q, qd: -qd, vary={}).piece(0, 100)
    assert np.array_equal(piece.arrays["q"][good], alone.arrays["q"][good])


def test_a_sample_that_is_not_finite_fails_with_its_time():
    campaign = pendulum(
        8, control=None, vary={"external": {"lower": Given(np.eye(8, 6) * 1e308)}}, measure=None
    )
    piece = campaign.piece(0, 8)
    assert all("not finite" in why for k, why in enumerate(piece.reasons) if k in piece.failed)
    assert piece.failed
    assert np.isfinite(piece.columns["ended"][piece.failed]).all()


def test_terminal_events_are_no_failures():
    robot = hinge.robots.double_pendulum()
    event = Event(functions.low, name="low", terminal=True)
    names = [j.name for j in robot.joints if j.nv]
    vary = {"qd0": {names[0]: Uniform(2.0, 20.0)}}
    piece = pendulum(50, events=event, vary=vary, control=None, t=0.3).piece(0, 50)
    there = np.isfinite(piece.columns["first:low"])
    assert there.any()
    assert not piece.failed
    assert np.array_equal(piece.columns["first:low"][there], piece.columns["ended"][there])


def test_a_free_base_starts_at_any_attitude():
    robot = hinge.robots.spacecraft()
    base = robot.joints[0].name
    campaign = Campaign(
        robot,
        samples=64,
        t=0.01,
        vary={"attitude": {base: Attitude()}, "qd0": {base: Normal([0] * 6, [1] * 6)}},
    )
    piece = campaign.piece(0, 64)
    assert not piece.failed
    assert np.allclose((piece.arrays["q"][:, 0, :4] ** 2).sum(-1), 1)
    assert len({tuple(x) for x in np.round(piece.arrays["q"][:, 0, :4], 6)}) == 64


def test_contacts_have_their_friction_and_restitution_drawn():
    builder = hinge.Builder("ball")
    free = hinge.model.joints.Free()
    builder.body("ball", joint=free, inertia=hinge.Inertia.from_com(1, (0, 0, 0), 0.004 * np.eye(3)))
    ball = hinge.on_ground(builder.build(), "ball", radius=0.1)
    start = [1, 0, 0, 0, 0, 0, 0.2]
    vary = {"restitution": {"ball": Uniform(0.5, 0.9)}, "contact_friction": {"ball": Uniform(0.1, 1.0)}}
    campaign = Campaign(ball, samples=32, t=0.2, q0=start, vary=vary, integrator="stepping")
    piece = campaign.piece(0, 32)
    order = np.argsort(piece.columns["restitution:ball"])
    assert (np.diff(piece.arrays["q"][order, 0, 6]) > -1e-9).all()
    assert piece.columns["contacts:residual"].max() < 1e-9


def test_gradients_of_a_cost_are_those_of_differences():
    robot = hinge.robots.double_pendulum()
    names = [j.name for j in robot.joints if j.nv]
    step = 1e-5

    def end(offset):
        campaign = Campaign(robot, samples=1, t=0.1, q0=[0.3 + offset, 0.2], vary={}, gradient=functions.cost)
        piece = campaign.piece(0, 1)
        return piece.columns["cost"][0], piece.arrays["gradient_q"][0]

    (ahead, _), (behind, _), (_, gradient) = end(step), end(-step), end(0.0)
    assert abs((ahead - behind) / (2 * step) - gradient[0]) < 1e-8
    vary = {"mass_factor": {robot.body_names[-1]: Uniform(1, 2)}, "offset": {names[0]: Normal(0.5, 0.1)}}
    piece = Campaign(robot, samples=3, t=0.1, gradient=functions.cost, vary=vary).piece(0, 3)
    assert piece.arrays["gradient_inertias"].shape == (3, len(robot.bodies), 10)


def test_laws_and_gravity_work_as_in_simulate():
    robot = hinge.robots.panda()
    law = PD(hinge.neutral(robot), 20.0, 2.0, gravity_compensation=True)
    piece = Campaign(
        robot, samples=4, t=0.02, control=law, vary={"gravity": Uniform([0, 0, -10], [0, 0, -9])}
    ).piece(0, 4)
    assert not piece.failed
    assert set(piece.columns) >= {"gravity.0", "gravity.1", "gravity.2"}


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ({"samples": 0}, ArgumentError, "samples: expected an integer from 1"),
        ({"seed": -1}, ArgumentError, "seed: expected an integer from 0"),
        ({"t": 0.0}, ArgumentError, "t: expected a number of seconds above zero"),
        ({"design": "sobel"}, ArgumentError, "design: .*did you mean 'sobol'"),
        ({"times": (0.0512,)}, ArgumentError, "times: expected multiples of dt"),
        ({"extremes": ("speed",)}, ArgumentError, "extremes: expected some of q, qd, tau, energy"),
        (
            {"vary": {"mas": {}}},
            UnknownNameError,
            "expected a quantity, got 'mas'; did you mean 'mass'",
        ),
        (
            {"vary": {"mass": {"lowr": Uniform(1, 2)}}},
            UnknownNameError,
            "a body of .* got 'lowr'; did you",
        ),
        ({"vary": {"mass": Uniform(1, 2)}}, ArgumentError, "expected a distribution for each name"),
        ({"vary": {"offset": {"elbow": Uniform([1, 2], 3)}}}, ArgumentError, "low as a number or of shape"),
        (
            {"vary": {"qd0": {"elbow": Given(np.zeros(5))}}},
            ArgumentError,
            "of 300 samples, got those of 5",
        ),
        ({"vary": {"attitude": {"elbow": Attitude()}}}, UnknownNameError, "a joint with a quaternion"),
        ({"measure": 3}, ArgumentError, "measure: expected a function, or a reference"),
        ({"control": "PD"}, ArgumentError, "control: expected a function, or a reference"),
        ({"q0": np.zeros((3, 2))}, ArgumentError, "q0: expected one state"),
        ({"events": (functions.low,)}, ArgumentError, r"events\[0\]: expected a hinge.sim.Event"),
    ],
)
def test_what_is_wrong_is_refused_when_the_campaign_is_made(more, kind, said):
    with pytest.raises(kind, match=said):
        pendulum(**more)


def test_what_would_change_nothing_is_refused():
    """The points of a flexible body, and joints that move as others do."""
    robots = arm(), hinge.embed_loops(hinge.robots.four_bar())
    for robot, quantity, part, said in (
        (robots[0], "mass_factor", "upper_flexible", "expected a rigid body"),
        (robots[0], "mass_factor", "upper_tip", "expected a body with a mass"),
        (robots[0], "offset", "upper_tip_flexure", "moves as others do; vary 'upper_joint'"),
        (robots[1], "qd0", "rocker_joint", "moves as others do; vary 'crank_joint'"),
    ):
        with pytest.raises(ArgumentError, match=said):
            Campaign(robot, samples=2, t=0.1, seed=1, vary={quantity: {part: Uniform(0.5, 2.0)}})


def test_flexible_bodies_are_simulated_with_what_is_drawn():
    campaign = Campaign(
        arm(),
        samples=2,
        t=2e-3,
        dt=1e-3,
        seed=1,
        vary={"mass_factor": {"mass": Uniform(2.0, 3.0)}, "offset": {"upper_modes": Normal(0.0, 1e-2)}},
        integrator="implicit",
    )
    draws = campaign.draws(0, 2)
    start, robot = campaign.start(draws, 2), campaign.robot
    wanted = hinge.simulate(
        hinge.with_parameters(robot, inertias=start.parameters["inertias"][1]),
        start.q[1],
        t=2e-3,
        dt=1e-3,
        integrator="implicit",
    )
    assert np.abs(start.q[1][robot.joint("upper_modes").q_slice]).max() > 0
    assert np.allclose(campaign.rerun(1).q[0, -1], wanted.q[-1], rtol=0, atol=1e-13)
