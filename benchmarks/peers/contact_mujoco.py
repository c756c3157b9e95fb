"""Robots that stand on the ground in MuJoCo: roll-outs with its soft contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree as Et

import numpy as np

import hinge
from benchmarks.peers import PeerMissing
from benchmarks.peers.closed_mujoco import document
from hinge.model import contact_ends, mujoco_map
from hinge.spatial import Array

try:
    import mujoco
    from mujoco import rollout
except ImportError:
    mujoco: Any = None
    rollout: Any = None

#: Settings that suit such a robot; the quickest is shown.
SETTINGS: dict[str, dict[str, str]] = {
    "Newton, pyramids": {"solver": "Newton", "cone": "pyramidal"},
    "Newton, cones": {"solver": "Newton", "cone": "elliptic"},
    "CG, pyramids": {"solver": "CG", "cone": "pyramidal"},
}


class ContactMujoco:
    """A robot with contacts on the world's ground, held in a pose by springs and dampers of its joints."""

    def __init__(
        self,
        robot: hinge.Robot,
        pose: Array,
        gains: tuple[Array, Array],
        step: float,
        settings: Mapping[str, str],
    ) -> None:
        if mujoco is None:
            raise PeerMissing("not installed")
        self.model = mujoco.MjModel.from_xml_string(held(robot, pose, gains, step, settings))
        self._map = mujoco_map(robot, self.model)

    def states(self, q: Array, qd: Array) -> Array:
        """Return states for roll-outs."""
        found = np.concatenate([np.zeros((len(q), 1)), self._map.to_q(q), self._map.to_qd(q, qd)], axis=1)
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        return np.pad(found, ((0, 0), (0, size - found.shape[1])))

    def roll_out(self, start: Array, steps: int, threads: int) -> Callable[[], Array]:
        """Return a roll-out over steps, which returns the states after each."""
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        found = np.zeros((len(start), steps, start.shape[1]))

        def run() -> Array:
            pool.rollout(self.model, data, start, nstep=steps, state=found)
            return found

        return run

    def contacts(self, state: Array) -> tuple[int, int]:
        """Return the number of contacts and of rounds of the solver at a state."""
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_step(self.model, data)
        return data.ncon, int(data.solver_niter[0])


def held(
    robot: hinge.Robot,
    pose: Array,
    gains: tuple[Array, Array],
    step: float,
    settings: Mapping[str, str],
) -> str:
    """Return a robot with its contacts, held in a pose by springs of its joints, as a document of MuJoCo."""
    root = Et.fromstring(document(robot))
    option = root.find("option")
    assert option is not None
    for name, value in {"timestep": str(step), "integrator": "Euler", **settings}.items():
        option.set(name, value)
    bodies: dict[str | None, Et.Element] = {b.get("name"): b for b in root.iter("body")}
    world = root.find("worldbody")
    assert world is not None
    touches = {"condim": "3", "mass": "0"}
    Et.SubElement(world, "geom", type="plane", size="0 0 1", contype="1", conaffinity="2", condim="3")
    for c in robot.contacts:
        (i, place), _ = contact_ends(robot, c)
        where = " ".join(repr(float(x)) for x in place.position)
        friction = f"{c.friction} 0 0"
        Et.SubElement(
            bodies[robot.bodies[i].name], "geom", type="sphere", size="0.001", pos=where, contype="2",
            conaffinity="1", friction=friction, **touches,
        )  # fmt: skip
    for joint in root.iter("joint"):
        j = robot.joint(str(joint.get("name")))
        joint.set("stiffness", repr(float(gains[0][j.qd_slice][0])))
        joint.set("damping", repr(float(gains[1][j.qd_slice][0])))
        joint.set("springref", repr(float(pose[j.q_slice][0])))
    return Et.tostring(root, encoding="unicode")
