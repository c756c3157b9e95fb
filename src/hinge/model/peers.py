"""Maps to models of Pinocchio and MuJoCo: joints are matched by name. Neither package is imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hinge.errors import ArgumentError
from hinge.model.joints import Planar
from hinge.model.parts import Joint
from hinge.model.peer_map import PeerMap, PeerName, PeerPlace
from hinge.model.robot import Robot
from hinge.model.vectors import checked_robot


class PeerJoint(NamedTuple):
    """A joint of a peer's model: where its q and v start, how many numbers they have, and its kind there."""

    name: str
    q: int
    v: int
    nq: int
    nv: int
    kind: str


def pinocchio_map(robot: Robot, model: Any) -> PeerMap:
    """Return the map between the coordinates of a robot and those of a `pinocchio.Model` of the same file.

    Joints are matched by name, and free joints, of which there is one in each, with each other. Coupled
    joints must be in the model what they are in the robot: independent, or, after `embed_couplings`,
    followers (`mimic=True`).
    """
    _refuse_others(model, ("names", "idx_qs", "idx_vs", "nqs", "nvs", "joints"), "pinocchio.Model", ".model")
    for j in checked_robot(robot).joints:
        if isinstance(j.type, Planar) and j.type.axis != (0.0, 0.0, 1.0):
            raise ArgumentError(
                f"robot: expected planar joints with axis z, got {j.type.axis} for {j.name!r}; Pinocchio's "
                "planar joint ignores the axis in the file, so no map exists"
            )
    return _matched("Pinocchio", robot, list(_of_pinocchio(model)), int(model.nq), int(model.nv))


def mujoco_map(robot: Robot, model: Any) -> PeerMap:
    """Return the map between the coordinates of a robot and those of a `mujoco.MjModel` of the same file.

    Joints are matched by name, an unnamed one being "joint<number>" as in `hinge.load`, and free joints, of
    which there is one in each, with each other.
    """
    _refuse_others(model, ("jnt_qposadr", "jnt_dofadr", "jnt_type", "names"), "mujoco.MjModel", ".model")
    found = list(_of_mujoco(model))
    return _matched("MuJoCo", checked_robot(robot), found, int(model.nq), int(model.nv))


def _refuse_others(model: Any, wanted: Sequence[str], what: str, inside: str) -> None:
    if all(hasattr(model, name) for name in wanted):
        return
    there = all(hasattr(getattr(model, inside[1:], None), name) for name in wanted)
    hint = f"; pass its {inside}" if there else ""
    raise ArgumentError(f"model: expected a {what}, got {type(model).__name__}{hint}")


def _of_pinocchio(model: Any) -> Iterator[PeerJoint]:
    places = zip(model.names, model.idx_qs, model.idx_vs, model.nqs, model.nvs, model.joints, strict=True)
    for name, *numbers, joint in list(places)[1:]:  # the first is the universe
        q, v, nq, nv = map(int, numbers)
        kind = "planar" if joint.shortname() == "JointModelPlanar" else ""
        yield PeerJoint(str(name), q, v, nq, nv, kind)


#: The sizes of q and v by the code of a joint's type in MuJoCo: free, ball, slide, hinge.
_MUJOCO_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}


def _of_mujoco(model: Any) -> Iterator[PeerJoint]:
    for k in range(int(model.njnt)):
        name = bytes(model.names[int(model.name_jntadr[k]) :]).split(b"\0", 1)[0].decode() or f"joint{k}"
        q, v = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
        yield PeerJoint(name, q, v, *_MUJOCO_SIZES[int(model.jnt_type[k])], "")


def _matched(peer: PeerName, robot: Robot, theirs: list[PeerJoint], nq: int, nv: int) -> PeerMap:
    """Return the map, or raise an ArgumentError that names the joints that are not in both."""
    if robot.loops:
        raise ArgumentError(
            f"robot: expected one whose joints have rates of their own, got {robot.name!r} with embedded "
            "loops; use release_loops(robot), and carry_state for its states"
        )
    moving = {j.name: j for j in robot.independent if j.nv}
    known = {t.name: t for t in theirs if t.nv}
    pairs = [(j, known[n]) for n, j in moving.items() if n in known]
    alone = [j for n, j in moving.items() if n not in known]
    left = [t for n, t in known.items() if n not in moving]
    if [j.type.kind for j in alone] == ["free"] and [t.nv for t in left] == [6]:
        pairs.append((alone[0], left[0]))
        alone, left = [], []
    if alone or left:
        raise ArgumentError(f"model: {_difference(peer, robot, alone, left)}")
    for j, t in pairs:
        if (t.nq, t.nv) not in _sizes(peer, j) or (j.type.kind == "planar") != (t.kind == "planar"):
            raise ArgumentError(
                f"model: expected the {j.type.kind} joint that robot {robot.name!r} has as {j.name!r}, got "
                f"{t.nq} and {t.nv} coordinates of q and v that the {peer} model has for {t.name!r}"
            )
    places = tuple(PeerPlace(j, t.q, t.v, t.nq) for j, t in pairs)
    return PeerMap(peer, nq, nv, places, robot)


def _difference(peer: PeerName, robot: Robot, alone: list[Joint], left: list[PeerJoint]) -> str:
    """Say which joints are on one side only, and why that may be."""
    coupled = {c.joint for c in robot.couplings}
    text = f"expected the moving joints of robot {robot.name!r}, got"
    text += f" none called {_listed([j.name for j in alone])}" if alone else ""
    text += " and" if alone and left else ""
    text += f" {_listed([t.name for t in left])} besides" if left else ""
    if alone and {j.name for j in alone} <= coupled:
        return f"{text}; these are followers in the {peer} model: use embed_couplings(robot)"
    if left and {t.name for t in left} <= coupled:
        return f"{text}; these are followers in the robot: use release_couplings(robot), or mimic joints"
    return f"{text}; load both from one file, with the same base"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(map(repr, names[:6])) + more


def _sizes(peer: PeerName, j: Joint) -> set[tuple[int, int]]:
    """Return the sizes of q and v that a joint may have in a model of the peer."""
    if peer == "MuJoCo":
        return {(j.nq, j.nv)} if j.type.kind in ("free", "spherical") or j.nv == 1 else set()
    if j.type.kind == "planar":
        return {(4, 3)}
    return {(j.nq, j.nv), (2, 1)} if j.type.kind in ("revolute", "continuous") else {(j.nq, j.nv)}
