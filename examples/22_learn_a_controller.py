"""A controller from gradients: JAX differentiates a small network and the motion of the arm that it moves.

The network sees angles, rates and a target, and gives torques. A scan of steps moves a batch of arms at once;
the gradient of what they cost goes back through all steps by Hinge's machine code, and through the network by
JAX. Nobody tells the network how to brake or to carry its weight.
"""

from __future__ import annotations

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import hinge
import hinge.jax

STEP, STEPS, ARMS, HIDDEN = 0.02, 60, 64, 32
TORQUE = jnp.array([40.0, 20.0])  # N m, at most


def torque(network, q, qd, target):
    """Return bounded torques."""
    seen = jnp.concatenate([jnp.sin(q), jnp.cos(q), qd / 5, jnp.sin(target - q), target - q])
    hidden = jnp.tanh(network["a"] @ seen + network["b"])
    return TORQUE * jnp.tanh(network["c"] @ hidden + network["d"])


def run(step, network, start, target):
    """Return the angles and rates along the way (steps, 2)."""

    def on(state, _):
        after = step(*state, torque(network, *state, target))
        return after, after

    return jax.lax.scan(on, (start, jnp.zeros(2)), None, length=STEPS)[1]


def cost(step, network, starts, targets):
    """Return how far from their targets arms are in the second half of the time, and how fast."""
    q, qd = jax.vmap(partial(run, step, network))(starts, targets)
    late = slice(STEPS // 2, None)
    return jnp.mean((q[:, late] - targets[:, None]) ** 2) + 0.01 * jnp.mean(qd[:, late] ** 2)


def adam(grads, x, memory, k, rate=0.02):
    """Return parameters after a step of Adam's method, and its memory."""
    mean, square = memory
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)
    a, b = 1 - 0.9 ** (k + 1), 1 - 0.99 ** (k + 1)
    x = jax.tree.map(lambda x, m, s: x - rate * (m / a) / (jnp.sqrt(s / b) + 1e-8), x, mean, square)
    return x, (mean, square)


def main(rounds: int = 200) -> int:
    """Print the cost, round by round; the exit code is 1 if arms do not arrive."""
    robot = hinge.robots.double_pendulum()
    step = hinge.jax.step(robot, STEP, integrator="semi-implicit")
    rng = np.random.default_rng(0)
    seen = 10
    network = {
        "a": rng.normal(size=(HIDDEN, seen)) / np.sqrt(seen), "b": np.zeros(HIDDEN),
        "c": 0.1 * rng.normal(size=(2, HIDDEN)), "d": np.zeros(2),
    }  # fmt: skip
    network = jax.tree.map(jnp.float32, network)
    memory = tuple(jax.tree.map(jnp.zeros_like, network) for _ in range(2))
    slope = jax.jit(jax.value_and_grad(partial(cost, step)))
    advance = jax.jit(adam)
    found = np.inf
    for k in range(rounds):
        starts, targets = rng.uniform(-1.0, 1.0, (2, ARMS, 2)).astype(np.float32)
        found, grads = slope(network, starts, targets)
        network, memory = advance(grads, network, memory, k)
        if k % (rounds // 5) == 0:
            print(f"round {k}: cost {float(found):.3f}")
    starts, targets = rng.uniform(-1.0, 1.0, (2, 500, 2)).astype(np.float32)
    q, _ = jax.vmap(partial(run, step, network))(starts, targets)
    off = np.abs(np.asarray(q[:, -1]) - targets).max(axis=1)
    half, most = np.quantile(off, (0.5, 0.9))
    print(f"500 new arms: half of them are within {half:.2f} rad, 90 % within {most:.2f} rad")
    good = bool(most < 0.35)
    print("the network has learned to reach." if good else "THE NETWORK HAS NOT LEARNED.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
