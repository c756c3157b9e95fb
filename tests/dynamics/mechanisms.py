"""Mechanisms with closed forms: poses of their bodies as functions of one angle, and what follows.

With poses (R, p) of all bodies as functions of θ, kinetic energy is ½ m(θ) θ̇² and the equation of motion
m θ̈ + ½ m′ θ̇² + V′ = τ, where m = Σ mᵢ |c′|² + w·I w and ½ m′ = Σ mᵢ c′·c″ + w·I w′, w the turn of a body for
each unit of θ in its own axes. Functions are written for `Jet`, which carries two derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, hypot, radians, sin, tan

import numpy as np

import hinge
from hinge import reference
from hinge.model import Builder
from hinge.model.joints import Fixed, Revolute
from hinge.robots import four_bar, solid_box
from hinge.spatial import Transform, rotation
from tests.dynamics.closed_cases import off

HINGE = Revolute((0.0, -1.0, 0.0))
#: The longest step of an angle between configurations that close, so that they stay on one branch.
PACE = 0.1


@dataclass(frozen=True)
class Jet:
    """A number with its first and second derivative."""

    x: float
    d: float = 0.0
    dd: float = 0.0

    def __add__(self, o):
        o = jet(o)
        return Jet(self.x + o.x, self.d + o.d, self.dd + o.dd)

    def __mul__(self, o):
        o = jet(o)
        return Jet(
            self.x * o.x, self.x * o.d + self.d * o.x, self.x * o.dd + 2 * self.d * o.d + self.dd * o.x
        )

    def map(self, f: float, df: float, ddf: float):
        return Jet(f, df * self.d, df * self.dd + ddf * self.d**2)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, o):
        return self + -jet(o)

    def __rsub__(self, o):
        return jet(o) - self

    def __truediv__(self, o):
        o = jet(o)
        return self * o.map(1 / o.x, -1 / o.x**2, 2 / o.x**3)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self):
        r = self.x**0.5
        return self.map(r, 0.5 / r, -0.25 / (r * self.x))

    def cos(self):
        return self.map(cos(self.x), -sin(self.x), -cos(self.x))

    def sin(self):
        return self.map(sin(self.x), cos(self.x), -sin(self.x))


def jet(x) -> Jet:
    return x if isinstance(x, Jet) else Jet(float(x))


def parts(a):
    """Return values, first and second derivatives of an array of jets."""
    a = np.asarray(a, dtype=object)
    return [np.vectorize(lambda v, k=k: getattr(jet(v), k), otypes=[float])(a) for k in ("x", "d", "dd")]


# One coordinate ------------------------------------------------------------------------------------------


def one_coordinate(robot, poses, angle: float, speed: float, tau: float):
    """Return the acceleration of θ by the closed form; `poses` gives {body: (R, p)} for a Jet."""
    mass = force = 0.0
    for name, (turn, place) in poses(Jet(angle, 1.0)).items():
        inertia = robot.bodies[robot.body_index(name)].inertia
        m = float(inertia.m)
        r, dr, ddr = parts(turn)
        c = inertia.h / m if m else np.zeros(3)
        _, dp, ddp = parts(place)
        dc, ddc = dp + dr @ c, ddp + ddr @ c
        w, dw = _axial(r.T @ dr), _axial(r.T @ ddr)
        mass += m * dc @ dc + w @ inertia.central @ w
        force += (m * dc @ ddc + w @ inertia.central @ dw) * speed**2 - m * robot.gravity @ dc
    return (tau - force) / mass


def _axial(s):
    s = (s - s.T) / 2
    return np.array([s[2, 1], s[0, 2], s[1, 0]])


def along(robot, poses, q, angle: float, speed: float, motor: str, tau: float) -> dict[str, float]:
    """Return errors of poses, velocities and accelerations of a closed robot against the closed form.

    `q` closes the robot at the angle; `motor` is the joint whose rate is that of the angle.
    """
    found = dict.fromkeys(("poses", "velocities", "accelerations", "residual"), 0.0)
    shown = poses(Jet(angle, 1.0))
    rates, wanted = [], []
    for name, (turn, place) in shown.items():
        r, dr, _ = parts(turn)
        p, dp, _ = parts(place)
        at = reference.frame_placement(robot, q, name)
        found["poses"] = max(found["poses"], off(at.rotation, r), off(at.position, p))
        rates.append(reference.jacobian(robot, q, name))
        wanted.append(speed * np.concatenate([_axial(r.T @ dr), r.T @ dp]))
    every, wanted = np.concatenate(rates), np.concatenate(wanted)
    qd = np.linalg.lstsq(every, wanted, rcond=None)[0]
    drive = robot.joint(motor).qd_slice
    found["velocities"] = max(
        off(every @ qd, wanted),
        off(reference.closure_velocity(robot, q, qd), np.zeros(1)),
        off(qd[drive], [speed]),
    )
    push = np.zeros(robot.nv)
    push[drive] = tau
    moved = hinge.closed_dynamics(robot, q, qd, push)
    second = one_coordinate(robot, poses, angle, speed, tau)
    found["accelerations"] = off(moved.qdd[drive], [second])
    found["residual"] = float(moved.residual)
    a = hinge.classical_accelerations(robot, q, qd, moved.qdd, list(shown), expressed="world-aligned")
    for row, (turn, place) in zip(a, shown.values(), strict=True):
        r, dr, ddr = parts(turn)
        _, dp, ddp = parts(place)
        w = second * _axial(r.T @ dr) + speed**2 * _axial(r.T @ ddr)
        wanted = np.concatenate([r @ w, second * dp + speed**2 * ddp])
        found["accelerations"] = max(found["accelerations"], off(row, wanted))
    return found


def assembled_at(robot, angles, motor: str):
    """Return configurations that close, at these angles of a joint, by steps from q = 0 on one branch."""
    q, made = hinge.neutral(robot), []
    at = robot.joint(motor).q_slice
    for angle in angles:
        start = float(q[at][0])
        for between in np.linspace(start, angle, 1 + int(np.ceil(abs(angle - start) / PACE)))[1:]:
            q = q.copy()
            q[at] = between
            q, error = hinge.assemble(robot, q, keep=[motor])
            assert error < 1e-12
        made.append(q)
    return np.stack(made)


# In the plane --------------------------------------------------------------------------------------------


def meeting(a, first: float, b, second: float, side: float = 1.0):
    """Return the point at these distances from a and b, on the left of the way from a to b if side is 1."""
    dx, dz = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dz * dz
    s = (square + (first * first - second * second)) / (2.0 * square)
    h = (jet(first * first) / square - s * s).sqrt() * side
    return a[0] + s * dx - h * dz, a[1] + s * dz + h * dx


def upright(origin, end, length: float):
    """Return the pose (R, p) of a body in the xz plane at `origin`, whose x axis leads to `end`."""
    x, z = (end[0] - origin[0]) / length, (end[1] - origin[1]) / length
    zero, one = Jet(0.0), Jet(1.0)
    turn = np.array([[x, zero, -z], [zero, one, zero], [z, zero, x]], dtype=object)
    return turn, np.array([origin[0], zero, origin[1]], dtype=object)


def point(x: float, z: float):
    return jet(x), jet(z)


def on_circle(center, radius: float, angle: Jet):
    return center[0] + radius * angle.cos(), center[1] + radius * angle.sin()


def carried_point(origin, end, length: float, at: tuple[float, float]):
    """Return a point of a body at `at` in its own axes x and z."""
    x, z = (end[0] - origin[0]) / length, (end[1] - origin[1]) / length
    return origin[0] + at[0] * x - at[1] * z, origin[1] + at[0] * z + at[1] * x


def four_bar_poses(lengths, angle: Jet):
    """Return the poses of crank, coupler and rocker of `hinge.robots.four_bar`."""
    ground, crank, coupler, rocker = lengths
    a, d = point(0, 0), point(ground, 0)
    b = on_circle(a, crank, angle)
    c = meeting(b, coupler, d, rocker)
    return {
        "crank": upright(a, b, crank),
        "coupler": upright(b, c, coupler),
        "rocker": upright(d, c, rocker),
    }


def slider_poses(crank: float, rod: float, offset: float, angle: Jet):
    """Return the poses of crank, rod and slider of `hinge.robots.slider_crank`.

    The piston's motion is x = r cos θ + √(l² − (e − r sin θ)²).
    """
    a = point(0, 0)
    b = on_circle(a, crank, angle)
    drop = offset - b[1]
    x = b[0] + (rod * rod - drop * drop).sqrt()
    end = x, jet(offset)
    return {
        "crank": upright(a, b, crank),
        "rod": upright(b, end, rod),
        "slider": upright(end, (x + 1.0, jet(offset)), 1.0),
    }


def freudenstein(d: float, a: float, b: float, c: float, two: float, four: float) -> float:
    """Return the error of Freudenstein's equation for ground d, crank a, coupler b and rocker c."""
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    return abs(k1 * cos(four) - k2 * cos(two) + k3 - cos(two - four))


def angle_of(robot, q, body: str) -> float:
    x = reference.frame_placement(robot, q, body).rotation[:, 0]
    return atan2(x[2], x[0])


def bars(name: str, home: dict, extra=()):
    """Return a robot of bars in the xz plane; `home` has {body: (parent, point on it, origin, end)} at q = 0.

    `extra` are frames (name, body, (x, z)).
    """
    b = Builder(name)
    b.body("ground", joint=Fixed())
    leans = {"ground": 0.0}
    for body, (parent, at, origin, end) in home.items():
        x, z = (end[k] - origin[k] for k in (0, 1))
        length, leans[body] = hypot(x, z), atan2(z, x)
        turn = rotation.about((0.0, -1.0, 0.0), leans[body] - leans[parent])
        bar = solid_box(0.785 * length, (length, 0.01, 0.01), (length / 2, 0, 0))
        b.body(body, parent=parent, joint=HINGE, position=(at[0], 0, at[1]), rotation=turn, inertia=bar)
        b.frame(f"{body}_end", body, position=(length, 0, 0))
    for frame, body, at in extra:
        b.frame(frame, body, position=(at[0], 0, at[1]))
    return b


#: Six-bars: ground, crank, coupler, rocker of the first loop, and the second pivot, coupler, rocker.
FIRST, PIVOT, SECOND = (0.10, 0.04, 0.12, 0.08), (0.24, -0.01), (0.13, 0.09)
#: Watt: where the second loop begins on the rocker; Stephenson: where on the coupler.
ON_ROCKER, ON_COUPLER = (0.05, -0.04), (0.09, 0.05)
HOME = radians(40)


def watt_poses(angle: Jet):
    """Return the poses of Watt's second six-bar: the first loop's rocker is the crank of the second."""
    found = four_bar_poses(FIRST, angle)
    d = point(FIRST[0], 0)
    c = meeting(on_circle(point(0, 0), FIRST[1], angle), FIRST[2], d, FIRST[3])
    e, g = carried_point(d, c, FIRST[3], ON_ROCKER), point(*PIVOT)
    f = meeting(e, SECOND[0], g, SECOND[1])
    return {**found, "link": upright(e, f, SECOND[0]), "output": upright(g, f, SECOND[1])}


def stephenson_poses(angle: Jet):
    """Return the poses of Stephenson's third six-bar: a point of the coupler drives the second loop."""
    found = four_bar_poses(FIRST, angle)
    b = on_circle(point(0, 0), FIRST[1], angle)
    c = meeting(b, FIRST[2], point(FIRST[0], 0), FIRST[3])
    e, g = carried_point(b, c, FIRST[2], ON_COUPLER), point(*PIVOT)
    f = meeting(e, SECOND[0], g, SECOND[1])
    return {**found, "link": upright(e, f, SECOND[0]), "output": upright(g, f, SECOND[1])}


def six_bar(kind: str):
    """Return "watt" or "stephenson", closed at q = 0, where the crank is at 40°."""
    poses = {"watt": watt_poses, "stephenson": stephenson_poses}[kind](Jet(HOME))
    lengths = dict(zip(("crank", "coupler", "rocker"), FIRST[1:], strict=True))
    lengths |= dict(zip(("link", "output"), SECOND, strict=True))
    host, at = ("rocker", ON_ROCKER) if kind == "watt" else ("coupler", ON_COUPLER)
    hangs = {
        "crank": ("ground", (0, 0)),
        "coupler": ("crank", (FIRST[1], 0)),
        "rocker": ("ground", (FIRST[0], 0)),
        "link": (host, at),
        "output": ("ground", PIVOT),
    }
    home = {}
    for body, (parent, where) in hangs.items():
        turn, place = (parts(x)[0] for x in poses[body])
        origin = place[[0, 2]]
        home[body] = (parent, where, origin, origin + lengths[body] * turn[[0, 2], 0])
    b = bars(kind, home)
    b.close("pin", "coupler_end", "rocker_end", joint=HINGE)
    b.close("second_pin", "link_end", "output_end", joint=HINGE)
    return b.build()


def six_bar_loops(kind: str, robot, q) -> float:
    """Return the errors of Freudenstein's equation in both loops; the second one's ground may move."""
    two, three, four = (angle_of(robot, q, b) for b in ("crank", "coupler", "rocker"))
    found = freudenstein(*FIRST, two, four)
    host, at = (four, ON_ROCKER) if kind == "watt" else (three, ON_COUPLER)
    pivot = np.array((FIRST[0], 0) if kind == "watt" else FIRST[1] * np.array((cos(two), sin(two))))
    ground = np.array(PIVOT) - pivot
    lean, crank = atan2(ground[1], ground[0]), host + atan2(at[1], at[0])
    last = angle_of(robot, q, "output")
    return max(found, freudenstein(hypot(*ground), hypot(*at), *SECOND, crank - lean, last - lean))


# In space ------------------------------------------------------------------------------------------------


def bennett(a: float = 0.5, twists: tuple[float, float] = (0.7, 1.3)):
    """Return Bennett's loop of links with lengths a, b and twists α, β, where sin α / a = sin β / b.

    Coordinates are the first three angles of Denavit and Hartenberg; the fourth joint is cut.
    """
    alpha, beta = twists
    b = a * sin(beta) / sin(alpha)
    made, parent, place = Builder("bennett"), None, Transform.identity()
    for k, (length, twist) in enumerate(((a, alpha), (b, beta), (a, alpha))):
        inertia = solid_box(1.0 + k, (length, 0.1, 0.2), (length / 2, 0.05, 0.0))
        at = {"rotation": place.rotation, "position": place.position}
        parent = made.body(f"link{k + 1}", parent=parent, joint=Revolute(), inertia=inertia, **at)
        place = Transform.place(rotation.about((1, 0, 0), twist), (length, 0, 0))
    made.frame("end", "link3", rotation=place.rotation, position=place.position)
    last = Transform.place(rotation.about((1, 0, 0), beta), (b, 0, 0)).inv()
    made.close("fourth", None, "end", joint=Revolute(), rotation=last.rotation, position=last.position)
    return made.build()


def bennett_angles(angle: float, speed: float = 1.0, twists: tuple[float, float] = (0.7, 1.3)):
    """Return the three angles, their rates and the second part of their accelerations, of θ₁.

    tan θ₁/2 tan θ₂/2 = sin ½(β + α) / sin ½(β − α), θ₃ = −θ₁; θ₂′ = −sin θ₂ / sin θ₁.
    """
    alpha, beta = twists
    ratio = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    second = 2 * np.arctan(ratio / tan(angle / 2))
    slope = -sin(second) / sin(angle)
    bend = -(cos(second) * slope * sin(angle) - sin(second) * cos(angle)) / sin(angle) ** 2
    q = np.array([angle, second, -angle])
    return q, speed * np.array([1.0, slope, -1.0]), speed**2 * np.array([0.0, bend, 0.0])


def sarrus(leaf: float = 0.3, side: float = 0.2, angle: float = 0.8):
    """Return a plate on two pairs of leaves across each other, closed at q = 0, which can only rise."""
    b = Builder("sarrus")
    rod, turned = solid_box(0.7, (leaf, 0.1, 0.01), (leaf / 2, 0, 0)), rotation.about((0, 0, 1), np.pi / 2)
    lean, fold = rotation.about((0, -1, 0), angle), rotation.about((0, -1, 0), np.pi - 2 * angle)
    for k, turn in ((1, np.eye(3)), (2, turned)):
        place = turn @ (side, 0, 0)
        b.body(f"lower{k}", joint=HINGE, position=place, rotation=turn @ lean, inertia=rod)
        end = (leaf, 0, 0)
        b.body(f"upper{k}", parent=f"lower{k}", joint=HINGE, position=end, rotation=fold, inertia=rod)
    flat = rotation.about((0, -1, 0), angle - np.pi)
    plate = solid_box(2.0, (0.4, 0.4, 0.02), (-side, 0, 0))
    b.body("plate", parent="upper1", joint=HINGE, position=(leaf, 0, 0), rotation=flat, inertia=plate)
    b.frame("edge", "plate", rotation=turned, position=(-side, side, 0))
    b.frame("top", "upper2", position=(leaf, 0, 0), rotation=flat)
    b.close("hinge", "edge", "top", joint=HINGE)
    return b.build()


def sarrus_poses(angle: Jet, leaf: float = 0.3, side: float = 0.2):
    """Return the poses of all leaves and of the plate, whose height is 2 l sin θ."""
    c, s = angle.cos(), angle.sin()
    zero, one = Jet(0.0), Jet(1.0)
    found = {}
    for k, turn in ((1, np.eye(3)), (2, rotation.tidied(rotation.about((0, 0, 1), np.pi / 2)))):
        lower = np.array([[c, zero, -s], [zero, one, zero], [s, zero, c]], dtype=object)
        upper = np.array([[-c, zero, -s], [zero, one, zero], [s, zero, -c]], dtype=object)
        found[f"lower{k}"] = turn @ lower, turn @ np.array([jet(side), zero, zero], dtype=object)
        knee = np.array([side + leaf * c, zero, leaf * s], dtype=object)
        found[f"upper{k}"] = turn @ upper, turn @ knee
    found["plate"] = np.eye(3) * one, np.array([jet(side), zero, 2 * leaf * s], dtype=object)
    return found


# Platforms -----------------------------------------------------------------------------------------------


def light_legs(robot, share: float):
    """Return a Stewart platform whose legs have this share of their masses."""
    numbers = np.array(hinge.inertial_parameters(robot))
    for k, body in enumerate(robot.bodies):
        if body.name.startswith("leg"):
            numbers[k] *= share
    return hinge.with_inertial_parameters(robot, numbers)


def stewart_legs(robot, turn, place):
    """Return lengths of the legs and J of l̇ = J V, V [ω; v] of the platform in its own axes."""
    lengths, rows = [], []
    for k in range(1, 7):
        foot = robot.joint(f"leg{k}_foot").inner.position
        top = robot.frame(f"leg{k}_top").placement.position
        leg = place + turn @ top - foot
        lengths.append(np.linalg.norm(leg))
        along_leg = turn.T @ (leg / lengths[-1])
        rows.append(np.concatenate([np.cross(top, along_leg), along_leg]))
    return np.array(lengths), np.array(rows)


def delta_arms(robot, place):
    """Return the angles of the arms of a delta robot whose platform is at `place`, by its closed form.

    In the plane of an arm |W − a (cos θ, −sin θ)|² = l² − y²: one equation A cos θ + B sin θ = C.
    """
    hip, arm = robot.joint("arm1_joint").inner.position[0], robot.joint("rod1a_joint").inner.position[0]
    half = robot.joint("rod1b_joint").inner.position[1]
    forearm = robot.frame("rod1a_end").placement.position[2]
    hand = robot.frame("platform_1a").placement.position[0]
    assert half > 0
    angles = []
    for k in range(3):
        turn = rotation.about((0, 0, 1), radians(120 * k))
        x, y, z = turn.T @ place + (hand - hip, 0, 0)
        a, b = 2 * arm * x, -2 * arm * z
        c = x * x + y * y + z * z + arm * arm - forearm**2
        angles.append(atan2(b, a) - np.arccos(c / hypot(a, b)))
    return np.array(angles)


def parallelogram(angle: float = 1.0):
    """Return a four-bar whose opposite bars are equal; q = (t, −t, t) closes it for all t."""
    return four_bar((0.2, 0.1, 0.2, 0.1), angle=angle)
