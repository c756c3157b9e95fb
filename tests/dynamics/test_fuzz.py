from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from inspect import signature

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import qd, whole
from hinge.errors import ArgumentError, HingeError
from tests.dynamics.sweep_fuzz import DIMENSIONS, GROWTH, Liar, Sequence, described, twins, verdict
from tests.dynamics.zoo import CASES, as_array
from tests.tiers import daily

CHUNK = 50


@pytest.mark.parametrize("start", daily(range(0, 600, CHUNK), lambda k, start: k % 2 == 0))
def test_a_call_ends_with_a_result_or_an_error_of_hinge_the_same_from_both_targets(start):
    found = {seed: verdict(seed)[1] for seed in range(start, start + CHUNK)}
    wrong = [f"{seed}: {described(seed)}\n    {said}" for seed, said in found.items() if said]
    assert not wrong, "\n".join(wrong)


def test_the_calls_are_of_every_kind():
    kinds = [verdict(seed)[0] for seed in range(200)]
    assert set(kinds) >= {"result", "ArgumentError", "UnknownNameError"}
    assert 0.4 < kinds.count("result") / len(kinds) < 0.8


def test_a_call_that_does_not_fit_the_signature_is_a_type_error():
    robot, zero = twins()[0], np.zeros(2)
    for call in (
        lambda: hinge.forward_dynamics(robot, zero, zero),
        lambda: hinge.forward_dynamics(robot, zero, zero, zero, zero),
        lambda: hinge.forward_dynamics(robot, zero, zero, zero, force=zero),
        lambda: hinge.kinetic_energy(robot, zero),
        lambda: hinge.jacobian(robot, zero),
    ):
        with pytest.raises(TypeError, match=r"argument") as caught:
            call()
        assert not isinstance(caught.value, HingeError)


# What random calls have found.


@pytest.mark.parametrize("axes", [[], ["body"], {}, np.array("body"), set()], ids=str)
def test_axes_that_are_no_text_are_named(axes):
    zero = np.zeros(2)
    calls = {
        "jacobian": (zero, "tip"),
        "velocities": (zero, zero),
        "classical_jacobian_bias": (zero, zero, "tip"),
    }
    for verb, arguments in calls.items():
        with pytest.raises(ArgumentError, match="expressed: "):
            getattr(hinge, verb)(twins()[0], *arguments, expressed=axes)


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError, KeyError, AttributeError])
def test_an_argument_that_fails_to_be_an_array_is_named(error):
    zero = np.zeros(2)
    for verb in ("forward_dynamics", "mass_matrix", "forward_kinematics"):
        for q in (Liar(error("no such thing")), Sequence(2, error("no such thing"))):
            with pytest.raises(ArgumentError, match="q: "):
                getattr(hinge, verb)(twins()[0], q, *[zero] * (len(CASES[verb][0].takes) - 1))


@pytest.mark.parametrize("dimensions", [DIMENSIONS - 1, DIMENSIONS])
def test_too_many_dimensions_are_named(dimensions):
    for verb in ("mass_matrix", "jacobian"):
        q = np.zeros((1,) * (dimensions - 1) + (2,))
        with pytest.raises(ArgumentError, match="q"):
            getattr(hinge, verb)(twins()[0], q, *(["tip"] if verb == "jacobian" else []))


def test_an_infinite_gravity_is_no_warning():
    found = hinge.potential_energy(twins()[0], np.zeros(2), gravity=[np.inf, 0.0, 0.0])
    assert not np.isfinite(found)


@pytest.mark.parametrize(
    "out", [np.zeros((2, 2)), [np.zeros(2)], "out", 3.5, {"x": np.zeros(2)}, True], ids=str
)
def test_what_cannot_take_several_results_is_named(out):
    f = hinge.compile({"M": whole.mass, "p": whole.mass @ qd}, robots.double_pendulum())
    with pytest.raises(ArgumentError, match="out: "):
        f(np.zeros(2), np.zeros(2), out=out)


@pytest.mark.parametrize("verb", CASES)
def test_arrays_of_single_precision_give_single_precision(verb):
    robot, call = twins()[0], getattr(hinge, verb)
    more = ["tip"] if "jacobian" in verb else []
    for batch in ((), (3,)):
        given = [np.zeros((*batch, 2), np.float32)] * len(CASES[verb][0].takes)
        assert as_array(call(robot, *given, *more)).dtype == np.float32
        for option, size in {"external": 6, "gravity": 3}.items():
            if option in signature(call).parameters:
                x = np.ones(size, np.float32)
                assert call(robot, *given, **{option: x if size == 3 else {"tip": x}}).dtype == np.float32


# Memory.


@pytest.mark.skipif(find_spec("resource") is None, reason="no figures of memory on this platform")
def test_memory_is_flat_over_many_calls():
    code = "from tests.dynamics.sweep_fuzz import growth; print(growth(50_000))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300, check=True
    )
    assert int(done.stdout) < GROWTH
