"""A step as one piece of code has the bits of the loop of `simulate`."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import sim
from hinge.errors import ArgumentError
from hinge.sweeps import verify_code
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

PANDA = hinge.robots.panda()
TARGET = np.linspace(-0.5, 0.5, 7)
CASES = {
    "pendulum": (hinge.robots.double_pendulum, "rk4", {}),
    "free base": (hinge.robots.quadruped, "semi-implicit", {}),
    "closures": (hinge.robots.four_bar, "rk4", {}),
    "apart": (hinge.robots.four_bar, "semi-implicit", {"project": False}),
    "every joint": (lambda: every_joint_type(0).robot, "semi-implicit", {}),
    "midpoint": (hinge.robots.double_pendulum, "midpoint", {"passive": False}),
    "rk5": (hinge.robots.double_pendulum, "rk5", {"gravity": [0, 0, -1.6]}),
    "PD": (lambda: PANDA, "rk4", {"control": sim.PD(TARGET, 100.0, 10.0, gravity_compensation=True)}),
    "computed": (lambda: PANDA, "semi-implicit", {"control": sim.ComputedTorque(TARGET, 100.0, 20.0)}),
    "load": (lambda: PANDA, "semi-implicit", {"external": {"tool": np.arange(6.0)}}),
    "masses": (
        lambda: PANDA,
        "semi-implicit",
        {"parameters": {"inertias": 1.1 * hinge.inertial_parameters(PANDA)}},
    ),
}


@pytest.mark.parametrize("name", daily(CASES, lambda _, n: n in ("closures", "PD", "free base")))
def test_a_step_has_the_bits_of_the_loop(name):
    make, integrator, options = CASES[name]
    robot, dt = make(), 1e-3
    step = sim.step(robot, dt, integrator=integrator, **options)
    verify_code(step.code)
    given = step.samples(np.random.default_rng(1))
    if "control" not in options:
        assert "tau" in given
    run = hinge.simulate(
        robot, given["q"], given["qd"], t=dt, dt=dt, integrator=integrator,
        **{"control": given.get("tau"), **options},
    )  # fmt: skip
    q, qd = step(**given)
    assert np.array_equal(q, run.q[-1]) and np.array_equal(qd, run.qd[-1])


def test_what_is_named_becomes_an_input():
    law = sim.PD(TARGET, 100.0, 10.0)
    fixed = sim.step(PANDA, 1e-3, control=law, integrator="semi-implicit")
    free = sim.step(PANDA, control=law, integrator="semi-implicit", inputs=["target_q", "kd"])
    assert list(fixed.inputs) == ["q", "qd"] and set(free.inputs) == {"q", "qd", "target_q", "kd", "dt"}
    given = free.samples(np.random.default_rng(0))
    both = [f(**{n: given[n] for n in f.inputs}) for f in (fixed, free)]
    assert np.array_equal(both[0], both[1])
    given["target_q"] = np.zeros((3, 7))
    q, qd = free(**given)
    assert q.shape == qd.shape == (3, 7) and not np.array_equal(qd[0], both[0][1])


def test_single_precision_and_batches():
    step = sim.step(PANDA, 1e-3)
    x = {n: np.tile(v, (3, 1)).astype(np.float32) for n, v in step.samples(np.random.default_rng(0)).items()}
    q, _ = step(**x)
    assert q.dtype == np.float32 and q.shape == (3, 7)
    assert np.abs(q - step(**{n: v.astype(float) for n, v in x.items()})[0]).max() < 1e-5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sim.step(PANDA, 0.0), ArgumentError, "dt: expected a time in s above zero"),
        (lambda: sim.step(PANDA, integrator="adaptive"), NotImplementedError, "'adaptive' is not supported"),
        (lambda: sim.step(PANDA, integrator="stepping"), NotImplementedError, "law of contact"),
        (lambda: sim.step(PANDA, control=lambda t, q, v: v), NotImplementedError, "function of Python"),
        (lambda: sim.step(PANDA, inputs=["kp"]), ArgumentError, "inputs: expected names among"),
        (lambda: sim.step(PANDA, inputs="kp"), ArgumentError, "inputs"),
        (lambda: sim.step(PANDA, control=np.zeros((2, 7))), ArgumentError, "one set of numbers"),
        (
            lambda: sim.step(PANDA, control=sim.PD(sim.Signal([0.0, 1.0], np.zeros((2, 7))), 1.0, 1.0)),
            NotImplementedError,
            "a Signal is not supported",
        ),
        (lambda: sim.step(PANDA, 1e-3)(TARGET, TARGET), ArgumentError, "expected the arrays q, qd, tau"),
        (
            lambda: sim.step(PANDA, 1e-3)(TARGET, TARGET, tau=np.zeros(6)),
            ArgumentError,
            r"tau: expected shape \(…, 7\)",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
