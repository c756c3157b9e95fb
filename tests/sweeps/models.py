"""Models, states and the comparison of traced code with explicit matrices."""

from __future__ import annotations

import numpy as np

from hinge.algebra import One
from hinge.binding import bind
from hinge.model import Builder, joints, random_configuration
from hinge.pipeline import Derivation, derive
from hinge.robots import random_tree
from hinge.spatial import Inertia, Transform, quaternion, rotation
from hinge.sweeps import has_blocks_at_bodies, trace
from hinge.targets import NumpyProgram, system_of
from hinge.tree import WORLD

#: Names of the prescribed joints and of the nodes of the models below.
PRESCRIBED = ("joint1", "joint3", "joint4")
NODES = ("tip", "body2", "body0", "body2")


def model(seed, bodies=6, *, expressed="body", prescribed=PRESCRIBED, nodes=NODES, **options):
    """Return a random tree with every letter bound."""
    robot = random_tree(bodies, seed, **options)
    return bind(robot, nodes=nodes, expressed=expressed, prescribed=prescribed)


def without_rolling():
    """Return a robot with every joint that has ⊕ by a formula."""
    builder, inertia = Builder("chain"), Inertia.from_com(1.0, (0.1, 0.2, 0.3), np.eye(3))
    parent = None
    for kind, make in joints.JOINT_TYPES.items():
        if kind in ("rolling_ball", "wheeled"):
            continue
        builder.body(kind, parent=parent, joint=make(), inertia=inertia)
        parent = kind
    return builder.build()


def every_joint_type(seed, **options):
    """Return a tree that has each joint type once, in random order, on random frames."""
    rng = np.random.default_rng(seed)
    builder = Builder(f"every joint type, seed {seed}")
    names = []
    for i, kind in enumerate(rng.permutation(sorted(joints.JOINT_TYPES))):
        parent = names[rng.integers(len(names))] if names and rng.random() < 0.7 else None
        frames = rotation.from_quaternion(quaternion.random(rng)), rng.uniform(-0.5, 0.5, 3)
        physics = {} if kind == "free" else {"rotor_inertia": 0.1 * rng.random()}
        outer = Transform.place(rotation.from_quaternion(quaternion.random(rng)), rng.uniform(-0.3, 0.3, 3))
        drawn = joints.JOINT_TYPES[str(kind)].random_type(rng)
        builder.body(
            f"body{i}", parent=parent, joint=drawn, joint_name=f"joint{i}", outer=outer,
            inertia=random_inertia(rng), rotation=frames[0], position=frames[1], **physics,
        )  # fmt: skip
        names.append(f"body{i}")
    builder.frame("tip", names[-1], position=(0.1, 0.2, 0.3))
    return bind(builder.build(strict=None), nodes=NODES, prescribed=PRESCRIBED, **options)


def random_inertia(rng):
    """Return the inertia of a random solid box."""
    m, c, (x, y, z) = rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), rng.uniform(0.1, 0.5, 3)
    return Inertia.from_com(m, c, m / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))


def state(binding, seed, names):
    """Return random values for q and for the input leaves of these names."""
    rng = np.random.default_rng(seed)
    inputs = {"q": random_configuration(binding.robot, rng)}
    for x in names:
        inputs[x.name] = rng.standard_normal(binding.length(x.range))
    return inputs


def code(binding, expressions):
    """Return the code of expressions (or of a derivation) and what runs it."""
    derivation = expressions if isinstance(expressions, Derivation) else derive(expressions)
    found = trace(derivation.program, binding)
    return derivation.program, found, NumpyProgram(found)


def matrices(binding, expressions, inputs, own=()):
    """Return expressions by explicit matrices, in the user's order."""
    system = system_of(binding, inputs, own)
    return {name: in_order(binding, system, e) for name, e in expressions.items()}


def in_order(binding, system, e):
    """Return the value of an expression of a system with its rows and columns in the user's order."""
    whole = system.matrix(e)
    rows, columns = places(binding, e.range), places(binding, e.domain)
    found = np.zeros((length(binding, e.range), length(binding, e.domain)))
    kept = [np.flatnonzero(np.array(p) >= 0) for p in (rows, columns)]
    found[np.ix_(np.array(rows)[kept[0]], np.array(columns)[kept[1]])] = whole[np.ix_(*kept)]
    if e.range is One and e.domain is One:
        return found[0, 0]
    return found[:, 0] if e.domain is One else found[0] if e.range is One else found


def length(binding, space):
    return 1 if space is One else binding.length(space)


def places(binding, space):
    """Return where the numbers of a space stand in the user's vector, block by block."""
    if space is One:
        return [0]
    blocks = range(len(binding.tree)) if has_blocks_at_bodies(space) else (WORLD,)
    return [p for i in blocks for p in binding.positions(space, i)]


def distance(one, other):
    """Return how far two arrays are from each other, relative to the second."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape
    return np.abs(one - other).max(initial=0.0) / max(1.0, np.abs(other).max(initial=0.0))
