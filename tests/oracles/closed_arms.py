"""Two arms closed with each other or with the world, in Hinge and in Pinocchio."""

from __future__ import annotations

import numpy as np

import hinge
from hinge.robots import panda


def two_arms(pin):
    """Return two arms in Hinge and in Pinocchio, which leaves their massless bases out."""
    robot, model = hinge.merge(panda(), panda(), prefix="x_"), pin.Model()
    for j, body in zip(robot.joints, robot.bodies, strict=True):
        if j.nv:
            held = model.existJointName(j.parent)
            where, i = pin.SE3(j.inner.rotation, j.inner.position), body.inertia
            parent = model.getJointId(j.parent) if held else 0
            k = model.addJoint(parent, pin.JointModelRZ(), where, body.name)
            solid = pin.Inertia(float(i.m), i.h / i.m, np.array(i.central))
            model.appendBodyToJoint(k, solid, pin.SE3.Identity())
    return robot, model


def constrained(pin, model, robot, s):
    """Return Pinocchio's accelerations and the force of each closure on its outer side, in its frame."""
    contacts, data = pin.StdVec_RigidConstraintModel(), model.createData()
    states = pin.StdVec_RigidConstraintData()
    for c in robot.closures:
        one, two = 0 if c.inner is None else model.getJointId(c.inner), model.getJointId(c.outer)
        kind = pin.ContactType.CONTACT_3D if c.joint.kind == "spherical" else pin.ContactType.CONTACT_6D
        here, there = pin.SE3(c.placement.rotation, c.placement.position), pin.SE3.Identity()
        local = pin.ReferenceFrame.LOCAL
        contacts.append(pin.RigidConstraintModel(kind, model, two, there, one, here, local))
        states.append(contacts[len(contacts) - 1].createData())
    pin.initConstraintDynamics(model, data, contacts, states)
    settings = pin.ProximalSettings(1e-12, 1e-12, 50)
    qdd = pin.constraintDynamics(model, data, s.q, s.qd, s.tau, contacts, states, settings)
    forces = [x.contact_force.vector for x in states]
    return np.array(qdd), [
        f[:3] if c.joint.kind == "spherical" else f for c, f in zip(robot.closures, forces, strict=True)
    ]
