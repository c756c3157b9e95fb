"""What do flexible bodies cost, beside chains of rigid ones, and steps of the implicit method beside rk4?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race, repeated
from benchmarks.tables import Table
from hinge import sim
from hinge.model.joints import Revolute
from hinge.spatial import Array

#: The arm: two beams of 1 m, mass per length [kg/m], EI [N m²], and the load at the tip [kg].
DENSITY, BENDING, LOAD = 0.5, 30.0, 0.3
#: Torques [N m] for half a second, and then as much the other way.
TORQUES, HALF = (2.0, 1.0), 0.5
#: The tip after a second: lumped chains of 40 and 80 links a beam, extrapolated.
TIP = np.array([1.15634, 1.17137])
LINKS = 20
#: EI and EA of stiffer links.
STIFF, AXIAL = 2000.0, 5e7
Z = Revolute((0, 0, 1))


def arm(
    modes: Any,
    *,
    planar: bool = True,
    stiffening: bool = True,
    ends: Any = "clamped-free",
    stiff: float = BENDING,
    **more: Any,
) -> hinge.Robot:
    """Return the arm of two flexible links."""
    b = hinge.Builder("arm", gravity=(0, 0, 0))
    bending = (stiff, None) if planar else (stiff, stiff)
    link = hinge.beam(
        1.0, mass_per_length=DENSITY, bending=bending, modes=modes, ends=ends, stiffening=stiffening, **more
    )
    hub = hinge.Inertia.from_com(0.0 if planar else 0.1, (0, 0, 0), (0.0 if planar else 1e-3) * np.eye(3))
    b.body("upper", joint=Z, flexible=link, inertia=hub)
    b.body("lower", parent="upper_tip", joint=Z, flexible=link, inertia=hub)
    b.body("load", parent="lower_tip", inertia=hinge.Inertia.from_com(LOAD, (0, 0, 0), np.zeros((3, 3))))
    return b.build(strict=None)


def lumped(links: int = LINKS) -> hinge.Robot:
    """Return the arm as chains: half a link, then hinges of stiffness EI n/L, and half a link at the end."""
    b, parent, d = hinge.Builder("lumped", gravity=(0, 0, 0)), None, 1.0 / links
    for name in ("upper", "lower"):
        for k in range(links + 1):
            length = d if 0 < k < links else 0.5 * d
            rod = hinge.Inertia.from_com(
                DENSITY * length, (0.5 * length, 0, 0), np.diag([0, 1, 1]) * DENSITY * length**3 / 12
            )
            at = (0.5 * d if k == 1 or (k == 0 and parent) else d, 0, 0) if parent else (0, 0, 0)
            spring = {} if k == 0 else {"stiffness": BENDING * links}
            label = name if k == 0 else f"{name}{k}"
            parent = b.body(label, parent=parent, joint=Z, inertia=rod, position=at, **spring)
    point = hinge.Inertia.from_com(LOAD, (0, 0, 0), np.zeros((3, 3)))
    b.body("load", parent=parent, position=(0.5 * d, 0, 0), inertia=point)
    return b.build(strict=None)


def moved(robot: hinge.Robot, dt: float, integrator: str) -> Callable[[], Array]:
    """Return the motion of a second as a function, whose value is the tip."""
    names = [f"{n}_joint" for n in ("upper", "lower")]
    tau = hinge.velocity(robot, dict(zip(names, TORQUES, strict=True)))
    q0 = hinge.configuration(robot, {names[1]: 1.0})

    def run() -> Array:
        q, qd = q0, np.zeros(robot.nv)
        for way in (1, -1):
            done = sim.simulate(
                robot, q, qd, t=HALF, dt=dt, control=way * tau, integrator=integrator, record=0
            )
            q, qd = done.q[-1], done.qd[-1]
        return hinge.forward_kinematics(robot, q, "load").position[:2]

    return run


def tables(options: Options) -> Iterator[Table]:
    """Yield costs of forward dynamics, times for the same accuracy, and both integrators."""
    yield _costs(options)
    yield _accuracy(options)
    yield _steps(options)


def _costs(options: Options) -> Table:
    table = Table(
        "Forward dynamics of an arm of two flexible links",
        ("modes a link, field", "points", "mul + add", "µs, one state", "µs, in a batch"),
    )
    cases: list[tuple[int, bool, bool]] = [(2, True, False), (2, True, True)]
    cases += [(2, False, False), (2, False, True), (4, False, False)]
    rng = np.random.default_rng(0)
    states = 256 if options.quick else 4096
    hinge.set_threads(1)
    for n, planar, stiffening in cases:
        robot = arm(n, planar=planar, stiffening=stiffening, ends="craig-bampton")
        flexible = next(b.flexible for b in robot.bodies if b.flexible is not None)
        count = hinge.compile("forward_dynamics", robot, target="numpy").code.operations()
        q = hinge.random_configuration(robot, 1, states)
        qd, tau = 0.1 * rng.standard_normal((2, states, robot.nv))
        args = [(robot, q[0].copy(), qd[0].copy(), tau[0].copy()), (robot, q, qd, tau)]
        one = repeated("one", hinge.forward_dynamics, args[0])
        many = Contender("many", lambda a=args[1]: hinge.forward_dynamics(*a), states)
        times = race([one, many], budget=options.budget)
        where = "a plane" if planar else "two planes"
        field = "quadratic" if stiffening else "linear"
        name = f"{flexible.modes} in {where}, {field}"
        work = f"{count.multiplications} + {count.additions}"
        table.rows.append([name, len(flexible.masses), work, 1e6 * times["one"], 1e6 * times["many"]])
    hinge.set_threads(None)
    table.notes.append("Craig–Bampton shapes; one thread; the least of several rounds in turns.")
    return table


def _accuracy(options: Options) -> Table:
    table = Table(
        "The tip of an arm after a second under torques",
        ("model", "nv", "method", "step [s]", "off by [m]", "time [ms]", "µs a forward dynamics"),
    )
    chain = lumped(4 if options.quick else LINKS)
    subjects: list[tuple[str, hinge.Robot, str, float]] = [
        ("2 modes a link", arm(2), "rk4", 1e-3),
        ("3 modes a link", arm(3), "rk4", 5e-4),
        (f"chains of {chain.nv // 2 - 1} hinges a beam", chain, "rk4", 6e-5),
    ]
    for name, robot, method, dt in subjects:
        run = moved(robot, dt, method)
        tip, taken = run(), min(_timed(run) for _ in range(3))
        table.rows.append([name, robot.nv, f"Hinge, {method}", dt, _off(tip), 1e3 * taken, _one(robot)])
    table.rows.append(_pinocchio(chain, 6e-5))
    table.notes.append("off by: from chains of 40 and 80 links, extrapolated. One state, one thread.")
    table.notes.append("Pinocchio: the time of aba from Python, of four for each step, and nothing else.")
    return table


def _off(tip: Array) -> float:
    return float(np.linalg.norm(tip - TIP))


def _timed(run: Callable[[], object]) -> float:
    began = perf_counter()
    run()
    return perf_counter() - began


def _one(robot: hinge.Robot) -> float:
    q, v = hinge.random_configuration(robot, 1), np.zeros(robot.nv)
    found = race([repeated("one", hinge.forward_dynamics, (robot, 0.1 * q, v, v))], budget=0.2)
    return 1e6 * found["one"]


def _pinocchio(robot: hinge.Robot, dt: float) -> list[Any]:
    """Return the row of Pinocchio on the same chain."""
    name = f"chains of {robot.nv // 2 - 1} hinges a beam"
    try:
        import pinocchio as pin  # noqa: PLC0415
    except ImportError:
        return [name, robot.nv, "Pinocchio is not installed", dt, "", "", ""]
    model = pin.Model()
    frames: dict[str | None, int] = {None: 0}
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        place = pin.SE3(np.eye(3), joint.inner.position)
        mass = pin.Inertia(float(body.inertia.m), body.inertia.com, body.inertia.central)
        if joint.nv == 0:
            model.appendBodyToJoint(frames[joint.parent], mass, place)
            continue
        k = model.addJoint(frames[joint.parent], pin.JointModelRZ(), place, joint.name)
        model.appendBodyToJoint(k, mass, pin.SE3.Identity())
        frames[body.name] = k
    data = model.createData()
    v = np.zeros(model.nv)
    aba = repeated("aba", pin.aba, (model, data, 0.01 * np.ones(model.nv), v, v))
    each = race([aba], budget=0.5)["aba"]
    return [name, robot.nv, "Pinocchio, rk4", dt, "as above", 1e3 * each * 4 * 2 * HALF / dt, 1e6 * each]


def _steps(options: Options) -> Table:
    table = Table(
        "Stiff modes: steps of the arm with four bending modes and one of extension a link",
        ("method", "step [s]", "step × fastest mode", "off by [m]", "time [ms]"),
    )
    robot = arm({"y": 4, "axial": 1}, ends="craig-bampton", stiff=STIFF, axial=AXIAL, damping=0.02)
    fastest = max(b.flexible.frequencies().max() for b in robot.bodies if b.flexible is not None)
    exact = moved(robot, 5e-5 if options.quick else 1e-5, "rk4")()
    cases = [("rk4", 2e-4), ("rk4", 1e-4), ("rk4", 5e-5)]
    cases += [("implicit", dt) for dt in (5e-3, 2.5e-3, 1e-3, 5e-4)]
    for method, dt in cases:
        run = moved(robot, dt, method)
        off = float(np.linalg.norm(run() - exact))
        taken = min(_timed(run) for _ in range(1 if options.quick else 5))
        table.rows.append([method, dt, dt * fastest, off, 1e3 * taken])
    table.notes.append(
        f"fastest mode of a link {fastest:.0f} rad/s; a second of motion, two calls of simulate."
    )
    return table


if __name__ == "__main__":
    command.run({"flexible": tables})
