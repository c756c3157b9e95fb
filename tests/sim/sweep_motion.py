"""Motion over seconds: `python -m tests.sim.sweep_motion`.

Energy drift of each integrator and step, the adaptive pair against DOP853, and trajectories against MuJoCo's
RK4 and an RK4 around Pinocchio.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np

import hinge
from hinge.model import make_robot
from hinge.robots import chain, double_pendulum, panda, puma560, random_tree, spacecraft
from hinge.sim import INTEGRATORS, Adaptive
from tests.oracles.data import example_urdfs

from .reference import motion

SECONDS = 10.0
STEPS = (4e-3, 2e-3, 1e-3)
KINDS = ("free", "revolute", "prismatic", "spherical", "planar", "universal", "cylindrical")
#: Largest relative drift of RK4 at 1 ms, and differences from the peers after a second.
DRIFT, PEERS = 1e-8, 1e-9


def subjects():
    """Yield robots with a state: what turns and swings at the pace of real robots."""
    for robot in (double_pendulum(), puma560(), spacecraft(), random_tree(8, 4, KINDS)):
        rng = np.random.default_rng(1)
        q = hinge.integrate(robot, hinge.neutral(robot), 0.4 * rng.standard_normal(robot.nv))
        yield robot, q, 0.2 * rng.standard_normal(robot.nv)


def scale_of(robot, run):
    """Return the largest kinetic energy, which drift is measured by."""
    return run.kinetic_energy.max()


def energy():
    """Print drift over 10 s; return whether RK4 at 1 ms is as good as wanted."""
    print(f"energy drift over {SECONDS:g} s, as a share of the largest kinetic energy")
    print(f"{'robot':26s}{'integrator':16s}" + "".join(f"{h * 1e3:>10g} ms" for h in STEPS))
    good = True
    for robot, q, qd in subjects():
        for name in [n for n in INTEGRATORS if n != "stepping"]:
            drifts = []
            for h in STEPS:
                run = hinge.simulate(robot, q, qd, t=SECONDS, dt=h, integrator=name)
                drifts.append(np.abs(run.energy - run.energy[0]).max() / scale_of(robot, run))
            print(f"{robot.name:26s}{name:16s}" + "".join(f"{d:13.1e}" for d in drifts), flush=True)
            good &= name != "rk4" or drifts[-1] < DRIFT
    return good


def tolerance():
    """Print the error of the adaptive pair against DOP853 at 1e-13 after a second."""
    print("adaptive pair against DOP853 at 1e-13 over 1 s: largest error of q and qd, relative to the state")
    good = True
    for robot, q, qd in subjects():
        times = np.linspace(0, 1, 11)
        exact = np.concatenate(motion(robot, q, qd, times), axis=-1)
        line = f"{robot.name:26s}"
        for rtol in (1e-6, 1e-8, 1e-10):
            run = hinge.simulate(robot, q, qd, t=1.0, dt=0.1, integrator=Adaptive(rtol, rtol / 100))
            found = np.concatenate([run.q, run.qd], axis=-1)
            error = (np.abs(found - exact) / np.maximum(1.0, np.abs(exact))).max()
            good &= error < rtol
            line += f"   rtol {rtol:g}: {error:.1e}"
        print(line, flush=True)
    return good


def peers():
    """Print the difference from MuJoCo and Pinocchio after a second of RK4 at 1 ms."""
    import mujoco
    import pinocchio as pin

    good = True
    ur5 = hinge.load(min(p for p in example_urdfs() if p.name == "ur5_robot.urdf"), strict=None)
    print("after 1 s of RK4 at 1 ms: largest difference in q and qd")
    for robot in map(hinge.reduce, (panda(), ur5, chain(4))):
        rng = np.random.default_rng(2)
        q0, qd0 = 0.3 * rng.standard_normal(robot.nq), 0.2 * rng.standard_normal(robot.nv)
        run = hinge.simulate(robot, q0, qd0, t=1.0, dt=1e-3, record=0, passive=False)
        ours = np.concatenate([run.q[-1], run.qd[-1]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bare = [replace(b, shapes=()) for b in robot.bodies]  # no peer is to look for meshes
            urdf = hinge.to_urdf(make_robot(robot.name, bare, robot.joints, gravity=robot.gravity))
        found = {}
        model = pin.buildModelFromXML(urdf)
        model.gravity.linear, model.armature[:] = robot.gravity, robot.reflected_inertia
        data, h, zero = model.createData(), 1e-3, np.zeros(model.nv)
        q, v = q0.copy(), qd0.copy()
        for _ in range(1000):
            k = [(v, pin.aba(model, data, q, v, zero).copy())]
            for share in (0.5, 0.5, 1.0):
                dq, dv = k[-1]
                at = v + share * h * dv
                k.append((at, pin.aba(model, data, q + share * h * dq, at, zero).copy()))
            q = q + h / 6 * (k[0][0] + 2 * k[1][0] + 2 * k[2][0] + k[3][0])
            v = v + h / 6 * (k[0][1] + 2 * k[1][1] + 2 * k[2][1] + k[3][1])
        found["Pinocchio"] = np.concatenate([q, v])
        model = mujoco.MjModel.from_xml_string(urdf)
        model.opt.gravity[:], model.dof_armature[:] = robot.gravity, robot.reflected_inertia
        model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
        model.dof_damping[:] = model.dof_frictionloss[:] = 0
        flags = mujoco.mjtDisableBit
        model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_CONSTRAINT
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q0, qd0
        for _ in range(1000):
            mujoco.mj_step(model, data)
        found["MuJoCo"] = np.concatenate([data.qpos, data.qvel])
        off = {name: np.abs(x - ours).max() for name, x in found.items()}
        good &= max(off.values()) < PEERS
        print(f"{robot.name:26s}" + "".join(f"   {name}: {d:.1e}" for name, d in off.items()), flush=True)
    return good


def main():
    start = time.perf_counter()
    good = [energy(), tolerance(), peers()]
    print(f"{sum(good)} of {len(good)} parts as wanted, {time.perf_counter() - start:.0f} s")
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main()
