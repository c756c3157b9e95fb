"""Environments by Gymnasium's own checker, and against the loop that moves them."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import hinge
import hinge.gym as learning
from hinge import robots
from hinge.errors import ArgumentError

MANY = 6
#: Programs over contacts take seconds to compile.
NAMES = ["Reach", pytest.param("Walk", marks=pytest.mark.slow)]


class Swing(learning.Task):
    """A task as a user writes it: a pendulum is swung by torques; it fails beyond a turn."""

    def __init__(self, horizon=5):
        self.robot, self.actions, self.horizon, self.steps = robots.double_pendulum(), 1, horizon, 4

    def begin(self, rng, count):
        return learning.States(rng.uniform(-1, 1, (count, 2)), np.zeros((count, 2)))

    def commands(self, states, actions):
        return {"tau": np.concatenate([5 * actions, 0 * actions], axis=-1)}

    def observe(self, states):
        return np.concatenate([np.cos(states.q), np.sin(states.q), states.qd], axis=-1)

    def reward(self, states, actions):
        return -np.cos(states.q[:, 0]) - 0.1 * actions[:, 0] ** 2


def made(mode="NextStep", task=None):
    return learning.Environments(task or Swing(), MANY, autoreset_mode=mode)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_own_checker_passes(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity. This is probably too")
        check_env(gymnasium.make(f"hinge/{name}-v0").unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_robots_of_a_batch_are_those_alone(name):
    many = gymnasium.make_vec(f"hinge/{name}-v0", num_envs=3).unwrapped
    task = many.task
    seen, _ = many.reset(seed=4)
    alone = [learning.Environment(type(task)()) for _ in range(3)]
    for k, env in enumerate(alone):
        env.reset(seed=0)
        env.stepper.put(True, many.stepper.q[k], many.stepper.qd[k])
        for n, x in many._own.items():
            env._many._own[n][:] = x[k]
    rng = np.random.default_rng(1)
    for _ in range(3):
        actions = rng.uniform(-1, 1, (3, task.actions)).astype(np.float32)
        seen, rewards, failed, late, _ = many.step(actions)
        for k, env in enumerate(alone):
            one = env.step(actions[k])
            assert np.array_equal(one[0], seen[k]) and one[1] == rewards[k]
            assert (one[2], one[3]) == (failed[k], late[k])


def test_a_seed_gives_the_same_episodes():
    first, second = made(), made()
    a, b = first.reset(seed=3)[0], second.reset(seed=3)[0]
    assert np.array_equal(a, b)
    first.action_space.seed(1)
    for _ in range(8):
        actions = first.action_space.sample()
        one, two = first.step(actions), second.step(actions)
        assert all(np.array_equal(x, y) for x, y in zip(one[:4], two[:4], strict=True))
    assert not np.array_equal(first.reset(seed=4)[0], a)


def test_an_action_is_steps_of_simulate():
    envs = made()
    envs.reset(seed=0)
    q, qd = envs.stepper.q.copy(), envs.stepper.qd.copy()
    actions = np.linspace(-1, 1, MANY)[:, None]
    envs.step(actions)
    tau = np.concatenate([5 * actions, 0 * actions], axis=-1)
    run = hinge.simulate(robots.double_pendulum(), q, qd, t=0.004, control=tau)
    assert np.array_equal(envs.stepper.q, run.q[:, -1])


def test_next_step_begins_anew_in_the_step_after():
    envs = made()
    envs.reset(seed=0)
    zero = np.zeros((MANY, 1))
    for k in range(1, 6):
        _, _, failed, late, _ = envs.step(zero)
        assert late.all() == (k == 5) and not failed.any()
    seen, rewards, failed, late, _ = envs.step(zero)
    assert not rewards.any() and not late.any()
    assert np.array_equal(seen, envs.task.observe(envs._states()).astype("f4")) and not seen[:, 4:].any()
    assert not envs.step(zero)[3].any()


def test_same_step_begins_at_once_and_tells_the_last():
    envs, other = made("SameStep"), made("Disabled")
    envs.reset(seed=0)
    other.reset(seed=0)
    zero = np.zeros((MANY, 1))
    for _ in range(5):
        seen, _, _, late, infos = envs.step(zero)
        last = other.step(zero)[0]
    assert late.all() and infos["_final_obs"].all() and not seen[:, 4:].any()
    assert np.array_equal(np.stack(infos["final_obs"].tolist()), last)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_disabled_waits_for_a_mask():
    envs = made("Disabled")
    envs.reset(seed=0)
    for _ in range(5):
        seen = envs.step(np.zeros((MANY, 1)))[0]
    mask = np.arange(MANY) < 2
    again = envs.reset(options={"reset_mask": mask})[0]
    assert np.array_equal(again[~mask], seen[~mask]) and not again[mask, 4:].any()
    with pytest.raises(ArgumentError, match="reset_mask"):
        envs.reset(options={"reset_mask": [1, 2]})


def test_a_robot_that_is_not_finite_fails_alone():
    class Wild(Swing):
        def commands(self, states, actions):
            return {"tau": np.where(actions > 0.5, np.nan, 0.0) * np.ones(2)}

    envs, calm = made(task=Wild()), made(task=Wild())
    envs.reset(seed=0)
    calm.reset(seed=0)
    wild = np.zeros((MANY, 1))
    wild[1] = 1.0
    seen, rewards, failed, _, infos = envs.step(wild)
    others = calm.step(0 * wild)[0]
    assert failed.tolist() == infos["diverged"].tolist() == [False, True, *[False] * (MANY - 2)]
    assert not seen[1].any() and rewards[1] == 0.0
    assert np.array_equal(np.delete(seen, 1, 0), np.delete(others, 1, 0))
    seen, _, failed, _, _ = envs.step(0 * wild)
    assert seen[1].any() and not failed.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.step(np.zeros((MANY, 2))), r"actions: expected shape \(6, 1\)"),
        (lambda e: e.step(np.full((MANY, 1), np.nan)), "actions: expected finite numbers"),
        (lambda e: learning.Environments("Reach"), "task: expected a hinge.gym.Task"),
        (lambda e: learning.Environments(Swing(), 0), "num_envs: expected"),
        (lambda e: made("Never"), "autoreset_mode: expected one of 'NextStep'"),
    ],
)
def test_bad_input_is_told(call, message):
    envs = made()
    envs.reset()
    with pytest.raises(ArgumentError, match=message):
        call(envs)


def test_a_step_before_a_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded):
        made().step(np.zeros((MANY, 1)))


def test_without_gymnasium_it_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import hinge.gym"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "hinge[gym]"' in found.stderr and "MissingExtraError" in found.stderr


def test_single_precision_is_near_and_told():
    single, double = (learning.Environments(Swing(), MANY, dtype=d) for d in ("float32", "float64"))
    first, _ = single.reset(seed=0)
    assert np.allclose(first, double.reset(seed=0)[0], atol=1e-6)
    for _ in range(3):
        found, wanted = (e.step(np.full((MANY, 1), 0.5)) for e in (single, double))
    assert single.stepper.q.dtype == np.float32 and not np.array_equal(single.stepper.q, double.stepper.q)
    assert np.allclose(found[0], wanted[0], atol=1e-4) and np.allclose(found[1], wanted[1], atol=1e-4)
    assert gymnasium.make("hinge/Reach-v0", dtype="float32").unwrapped.stepper.q.dtype == np.float32
    with pytest.raises(ArgumentError, match="dtype: expected 'float32'"):
        learning.Environments(Swing(), MANY, dtype="half")
