"""Contacts with closed forms: robots, their states, and what they must do, exactly.

Bodies are on free joints with frames at their centres of mass; the ground is z = 0, or a slope that falls
towards x. Forces and velocities of a contact are [n, t1, t2].
"""

from __future__ import annotations

from math import atan2, cos, hypot, sin, sqrt

import numpy as np

from hinge import reference
from hinge.model import STANDARD_GRAVITY, Builder, Sphere
from hinge.model.joints import Free, Prismatic
from hinge.robots import solid_box
from hinge.spatial import Inertia, Transform, quaternion, rotation

G = float(-STANDARD_GRAVITY[2])
Y = (0.0, 1.0, 0.0)
#: z of the wall x = 0 points to x.
WALL = Transform.place(rotation.about(Y, np.pi / 2))


def pose(position, turn: float = 0.0):
    """Return q (7,) of a free body that is turned about y."""
    return np.concatenate([quaternion.exp(np.array([0.0, turn, 0.0])), position])


def twist(velocity, spin=(0.0, 0.0, 0.0), turn: float = 0.0):
    """Return qd (6,) of a free body that is turned about y; velocity and spin are in world axes."""
    back = rotation.about(Y, -turn)
    return np.concatenate([back @ spin, back @ velocity])


# A block on a slope, and on four corners -----------------------------------------------------------------


def block(size=(0.4, 0.3, 0.2), mass=2.0, *, friction=0.5, restitution=0.0, slope=0.0, com=(0.0, 0.0)):
    """Return a box with contacts at its corners; its centre of mass is `com` from its middle, in x and y."""
    b = Builder("block")
    b.body("block", joint=Free(), inertia=solid_box(mass, size))
    corners = [(np.array(s) - 0.5) * size - (*com, 0.0) for s in np.ndindex(2, 2, 2)]
    for k, corner in enumerate(corners):
        b.frame(f"corner{k}", "block", position=corner)
        b.contact(
            f"foot{k}",
            f"corner{k}",
            friction=friction,
            restitution=restitution,
            surface_placement=Transform.place(rotation.about(Y, slope)),
        )
    return b.build()


def lying(height: float, slope: float = 0.0):
    """Return q of a block of this height that lies on the slope."""
    return pose(height / 2 * np.array([sin(slope), 0.0, cos(slope)]), slope)


def slope_acceleration(slope: float, friction: float) -> float:
    """Return the acceleration down a slope, from rest: g (sin α − μ cos α), none if tan α ≤ μ."""
    return max(0.0, G * (sin(slope) - friction * cos(slope)))


def slope_step(slope: float, friction: float, dt: float, law: str):
    """Return the velocity [n, t1] of a block one step after it rested, by the law "coulomb" or "associated".

    The associated law takes the point of the dual cone that is nearest to the free velocity: the block rises
    by μ of what it slides, and slides 1 + μ² times less.
    """
    slid = slope_acceleration(slope, friction) * dt
    return (
        (0.0, slid) if law == "coulomb" else (friction * slid / (1 + friction**2), slid / (1 + friction**2))
    )


def slips_before_it_tips(size, friction: float) -> bool:
    """Tell whether a block can slide without tipping over its leading edge: μ < width / height."""
    return friction < size[0] / size[2]


def corner_forces(size, mass: float, com):
    """Return the least forces of the four lower corners, in the order of `block`, on flat ground.

    They are m g / 4 (1 ± 2 cx / a ± 2 cy / b), if none of these is negative.
    """
    signs = [(2 * x - 1, 2 * y - 1) for x, y in np.ndindex(2, 2)]
    forces = [mass * G / 4 * (1 + 2 * sx * com[0] / size[0] + 2 * sy * com[1] / size[1]) for sx, sy in signs]
    assert min(forces) >= 0
    return np.array(forces)


# A rocking block -----------------------------------------------------------------------------------------


def rocking_states(size, speed: float):
    """Return q, qd before and qd after a block that turns about its edge at −x strikes with that at x.

    Housner: angular momentum about the new edge is kept, the rate falls to 1 − 3/2 sin² α of what it was,
    tan α = width / height.
    """
    b, h = size[0] / 2, size[2] / 2
    left = speed * rocking_ratio(size)
    before = twist((h * speed, 0.0, -b * speed), (0.0, speed, 0.0))
    return pose((0.0, 0.0, h)), before, twist((h * left, 0.0, b * left), (0.0, left, 0.0))


def rocking_ratio(size) -> float:
    """Return Housner's ratio of the rates after and before the impact."""
    return 1 - 1.5 * sin(atan2(size[0], size[2])) ** 2


def rocking_friction(size) -> float:
    """Return the least μ for which the new edge does not slip: |pt| / pn of the impulse."""
    r = rocking_ratio(size)
    return size[2] / size[0] * (1 - r) / (1 + r)


def rocking_time(size, tilt: float) -> float:
    """Return the time that a block takes to fall from rest at a tilt onto its base, about an edge that holds.

    u = α − θ has u″ = p² sin u with p² = 3 g / (4 R); ∫ du / u′ is smooth in √(u − u₀).
    """
    alpha, radius = atan2(size[0], size[2]), hypot(size[0], size[2]) / 2
    start = alpha - tilt
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s = sqrt(tilt) * (nodes + 1) / 2
    within = s / np.sqrt(np.sin(start + s**2 / 2) * np.sin(s**2 / 2))
    return float(sqrt(tilt) / 2 * weights @ within) / sqrt(3 * G / (4 * radius))


# A ball --------------------------------------------------------------------------------------------------


def ball(radius=0.1, mass=0.5, *, friction=0.0, restitution=0.0):
    """Return a solid ball on the ground."""
    b = Builder("ball")
    b.body(
        "ball", joint=Free(), inertia=Inertia.from_com(mass, (0, 0, 0), 0.4 * mass * radius**2 * np.eye(3))
    )
    b.contact("ground", "ball", friction=friction, restitution=restitution, radius=radius)
    return b.build()


def rolling(speed: float, friction: float, radius: float, t: float):
    """Return x, speed and spin about y of a ball that slid off with a speed and no spin.

    It rolls from t = 2 v₀ / (7 μ g) on with 5/7 v₀.
    """
    slides = min(t, 2 * speed / (7 * friction * G))
    v = speed - friction * G * slides
    x = speed * slides - friction * G * slides**2 / 2 + v * (t - slides)
    return x, v, 2.5 * friction * G * slides / radius


def bounce_times(speed: float, restitution: float, count: int):
    """Return when a ball that leaves the ground with a speed strikes it: 2 v₀ / g (1 − eⁿ) / (1 − e)."""
    return 2 * speed / G * np.cumsum(restitution ** np.arange(count))


def bouncing_time(speed: float, restitution: float) -> float:
    """Return when it rests, after infinitely many bounces: 2 v₀ / (g (1 − e))."""
    return 2 * speed / (G * (1 - restitution))


# A rod that slides down a wall ---------------------------------------------------------------------------


def rod(length=1.0, mass=3.0, *, friction=0.0):
    """Return a thin rod along z, whose lower end may touch the ground and its upper end the wall x = 0."""
    b = Builder("rod")
    across = mass * length**2 / 12
    b.body(
        "rod",
        joint=Free(),
        inertia=Inertia.from_com(mass, (0, 0, 0), np.diag([across, across, 0.01 * across])),
    )
    b.frame("low", "rod", position=(0, 0, -length / 2))
    b.frame("high", "rod", position=(0, 0, length / 2))
    b.contact("floor", "low", friction=friction)
    b.contact("wall", "high", friction=friction, surface_placement=WALL)
    return b.build()


def leaning(length: float, lean: float, rate: float):
    """Return q, qd of a rod that leans by an angle from the wall and touches both."""
    place = length / 2 * np.array([sin(lean), 0.0, cos(lean)])
    velocity = rate * length / 2 * np.array([cos(lean), 0.0, -sin(lean)])
    return pose(place, -lean), twist(velocity, (0.0, -rate, 0.0), -lean)


def sliding_rod(length: float, mass: float, start: float, lean: float):
    """Return rate, acceleration of the lean and the forces of floor and wall; it was at rest at `start`.

    θ̇² = 3 g / l (cos θ₀ − cos θ), θ̈ = 3 g / (2 l) sin θ, as long as it touches the wall.
    """
    rate = sqrt(3 * G / length * (cos(start) - cos(lean)))
    second = 1.5 * G / length * sin(lean)
    floor = mass * (G - length / 2 * (sin(lean) * second + cos(lean) * rate**2))
    wall = mass * length / 2 * (cos(lean) * second - sin(lean) * rate**2)
    return rate, second, np.array([floor, wall])


def leaves_the_wall(start: float) -> float:
    """Return the lean at which it leaves the wall: its top is at 2/3 of the height from which it started."""
    return float(np.arccos(2 / 3 * cos(start)))


# Newton's cradle -----------------------------------------------------------------------------------------


def cradle(count=5, radius=0.05, mass=0.2, *, restitution=1.0, apart=0.0):
    """Return equal balls in a row along x, this far apart, each against the one before it."""
    b = Builder("cradle")
    solid = Inertia.from_com(mass, (0, 0, 0), 0.4 * mass * radius**2 * np.eye(3))
    for k in range(count):
        place = (k * (2 * radius + apart), 0.0, radius)
        b.body(f"ball{k}", joint=Prismatic((1.0, 0.0, 0.0)), position=place, inertia=solid)
        if k:
            other = {"on": f"ball{k - 1}", "surface": Sphere(radius)}
            b.contact(f"pair{k}", f"ball{k}", restitution=restitution, radius=radius, **other)
    return b.build()


def cradle_at_once(speeds, restitution: float):
    """Return speeds after an impact by Poisson's law: compression to the mean, then e of its impulses again.

    Balls that come do so in front of the row with one speed, so that all contacts are pressed and none opens.
    """
    speeds = np.asarray(speeds, dtype=float)
    return (1 + restitution) * speeds.mean() - restitution * speeds


def cradle_in_turn(speeds, restitution: float):
    """Return speeds after impacts of one pair after another, the first pair that approaches first.

    With e = 1 as many balls leave as came: what a real cradle does, whose balls are a little apart.
    """
    speeds = np.array(speeds, dtype=float)
    while (pairs := np.flatnonzero(speeds[:-1] - speeds[1:] > 1e-12)).size:
        k = pairs[0]
        mean, half = speeds[k : k + 2].mean(), restitution * (speeds[k] - speeds[k + 1]) / 2
        speeds[k : k + 2] = mean - half, mean + half
    return speeds


# Two free bodies -----------------------------------------------------------------------------------------


def pair(restitution: float, seed: int = 0):
    """Return two free bodies with a ball each, off their centres of mass, and q, qd at which these strike."""
    rng = np.random.default_rng(seed)
    radii, turns, normal = rng.uniform(0.05, 0.2, 2), quaternion.random(rng, (2,)), rng.standard_normal(3)
    reach, b, q = radii.sum() * normal / np.linalg.norm(normal), Builder("pair"), []
    for name, turn, place in zip(("first", "second"), turns, (0 * reach, reach), strict=True):
        size, at = tuple(rng.uniform(0.1, 0.5, 3)), rng.uniform(-0.3, 0.3, 3)
        solid = solid_box(rng.uniform(0.5, 3.0), size, rng.uniform(-0.1, 0.1, 3))
        b.body(name, joint=Free(), inertia=solid)
        b.frame(f"{name}_ball", name, position=at)
        q += [turn, place - rotation.from_quaternion(turn) @ at]
    sphere = Sphere(radii[0])
    b.contact("touch", "second_ball", "first_ball", restitution=restitution, radius=radii[1], surface=sphere)
    robot, q, qd = b.build(), np.concatenate(q), rng.standard_normal(12)
    return robot, q, qd if reference.contact_velocity(robot, q, qd)[0, 0] < 0 else -qd


def pair_impulse(robot, q, qd, restitution: float) -> float:
    """Return the impulse between the two by the book's (9.69), in world axes about the world's origin."""
    placed, (touch,) = reference.forward_kinematics(robot, q), reference.touches(robot, q)
    inertias = [x.inv().inertia(body.inertia).matrix() for x, body in zip(placed, robot.bodies, strict=True)]
    velocities = [x.inv().motion(v) for x, v in zip(placed, np.split(qd, 2), strict=True)]
    normal = np.concatenate([np.cross(touch.x, touch.n), touch.n])
    return reference.two_body_impulse(tuple(inertias), tuple(velocities), normal, restitution)
