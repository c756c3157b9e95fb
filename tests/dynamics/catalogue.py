"""The catalogue as rows: a verb, the program behind it, and who judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hinge.algebra import B, Q, f_ext
from hinge.contents import ENTRIES
from hinge.dynamics import CATALOGUE, Compiled, compile, embed_loops
from hinge.dynamics.derivatives import derivative_parts
from hinge.dynamics.expressions import Parts, expression
from hinge.model import Robot, embed_couplings
from hinge.robots import four_bar, panda, spacecraft, two_pandas_with_plate
from hinge.sweeps import Cost
from tests.dynamics import judges as of
from tests.dynamics import judges_bases as bases
from tests.dynamics import judges_closed as shut
from tests.dynamics import judges_derivatives as varied
from tests.dynamics.coupled import coupled
from tests.dynamics.judges import Judge
from tests.dynamics.operational import OPERATIONAL
from tests.dynamics.passives import with_physics
from tests.dynamics.zoo import CASES, tip_of

WIDTH = 60
#: Verbs of robots with contacts, which are judged in tests.dynamics.sweep_contact, by their topic and name.
OF_CONTACTS = {
    e.name
    for e in ENTRIES
    if e.room == "hinge.dynamics"
    and e.name.islower()
    and (e.topic == "Dynamics: contacts" or e.name.startswith("contact_"))
}
#: Verbs that are judged elsewhere: frequencies by closed forms of beams, tests.dynamics.test_flexible.
ELSEWHERE = {*OF_CONTACTS, "natural_frequencies"}
ITEMS = {
    0: "basic verbs",
    1: "hybrid",
    2: "free base",
    3: "moving base",
    4: "factors",
    5: "estimation",
    6: "operational space",
    7: "inverse kinematics",
    8: "loads",
    9: "joints' own physics",
    10: "change at run time",
    11: "parameters",
    12: "identification",
    13: "closures",
    14: "derivatives",
}
#: The item whose rows are judged on robots with closures, and no others.
CLOSED = 13


@dataclass(frozen=True)
class Row:
    """A row of the table.

    `program` names the expressions behind the verb, none for what is no program; its operations are counted
    for the robot of `on`, every second joint prescribed where coordinates are split, and at its tip where
    frames are asked for. `given` are the expressions of what is no program by a name. `judges` are
    functions by the name of the oracle that they ask.
    """

    item: int
    verb: str
    program: str
    judges: Mapping[str, Judge]
    on: Callable[[], Robot] = panda
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    given: Callable[[], Parts] | None = None

    @property
    def parts(self) -> Parts:
        """The expressions behind the verb, with what its keywords change in them."""
        return (
            self.given()
            if self.given is not None
            else expression(self.program, **dict.fromkeys(self.changes, True))
        )

    @property
    def expression(self) -> str:
        """What the program computes as the algebra prints it, shortened if it is long."""
        if not self.program:
            return "–"
        parts = self.parts
        shown = {**parts.expressions, **parts.blocks}
        named = self.program not in CATALOGUE and len(shown) > 1
        return shortened("; ".join(f"{n} = {e}" if named else str(e) for n, e in shown.items()))

    @cached_property
    def compiled(self) -> Compiled:
        """The program for the robot that operations are counted for."""
        robot, parts = self.on(), self.parts
        given = {"nodes": [tip_of(robot)]} if Q in parts.letters or _leads_to_nodes(parts.letters) else {}
        if parts.splits:
            given["prescribed"] = [j.name for j in robot.joints[1::2]]
        return compile(parts, robot, **{**given, **self.options}, target="numpy")

    @property
    def sweeps(self) -> str:
        """The derived cost: sweeps, and what else there is beside them."""
        return costs(self.compiled.derivation.cost) if self.program else "–"

    @property
    def operations(self) -> str:
        """Multiplications and additions for a robot."""
        if not self.program:
            return "–"
        n = self.compiled.code.operations()
        return f"{n.multiplications} + {n.additions}, {self.compiled.robot.name}"


def _leads_to_nodes(letters: set[Any]) -> bool:
    return B in letters and f_ext not in letters


def shortened(text: str) -> str:
    """Return a text cut between two words where it is long."""
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rsplit(" ", 1)[0] + " …"


def costs(cost: Cost) -> str:
    """Return sweeps, recursions, dense solves."""
    found = f"{cost.passes} sweep{'s' * (cost.passes != 1)}, {cost.recursions} recursions"
    found = found.removesuffix("s") if cost.recursions == 1 else found
    found += f", {cost.quadratic} quadratic" if cost.quadratic else ""
    return found + (f", {cost.solves} dense solve" if cost.solves else "")


def _physical_panda() -> Robot:
    return with_physics(panda())


def _coupled_panda() -> Robot:
    robot = panda()
    names = [j.name for j in robot.joints if j.nv]
    pairs = zip(names[::2], names[1::2], strict=False)
    return embed_couplings(coupled(robot, *((b, a, 0.5, 0.0) for a, b in pairs)))


def _embedded_four_bar() -> Robot:
    return embed_loops(four_bar(), independent=["crank_joint"])


def _base_passive(robot: Robot) -> dict[str, Any]:
    return {"prescribed": [j.name for j in robot.joints[1:]]}


#: Verbs that are read off the program of another name.
READ_OFF = {"potential_energy": "composite_inertia", "center_of_mass": "composite_inertia"}


def _basic() -> Iterator[Row]:
    for verb in CASES:
        asked = {"reference": of.book(verb)}
        asked |= {peer: of.peer(peer, verb) for peer in ("Pinocchio", "MuJoCo")}
        yield Row(0, verb, READ_OFF.get(verb, verb), asked)


def _hybrid_and_bases() -> Iterator[Row]:
    dense, name = "dense", "hybrid_dynamics"
    yield Row(1, name, name, {dense: of.hybrid_by_names})
    yield Row(1, f"{name}(prescribed=mask)", name, {dense: of.hybrid_by_masks}, options={"prescribed": None})
    yield Row(1, "partitioned", "partitioned", {dense: of.partitioned})
    floating: dict[str, Any] = {"on": spacecraft, "options": _base_passive(spacecraft())}
    yield Row(2, "floating_inverse_dynamics", name, {dense: bases.floating_inverse}, **floating)
    for verb in ("generalized_jacobian", "disturbance_jacobian"):
        yield Row(2, verb, verb, {dense: bases.floating_jacobian(verb)}, **floating)
    momentum = "centroidal_momentum"
    yield Row(2, momentum, momentum, {"reference": bases.centroidal}, spacecraft)
    for part, own in {
        "matrix": {"reference": bases.centroidal_matrix},
        "bias": {dense: bases.centroidal_bias},
    }.items():
        asked = own | {"Pinocchio": bases.centroidal_pinocchio(part)}
        yield Row(2, f"{momentum}_{part}", f"{momentum}_{part}", asked, spacecraft)
    yield Row(2, "reroot, forward_dynamics", "forward_dynamics", {"old base": bases.another_base}, spacecraft)
    for verb in ("inverse_dynamics", "forward_dynamics", "bias_force", name):
        asked = {"reference, raft": bases.moving(verb)}
        yield Row(3, f"{verb}(base=BaseMotion)", verb, asked, changes=("base",))
    yield Row(3, "interface", "interface", {"reference, raft": bases.interface}, changes=("base",))
    for kind, joint in {"rolling_ball": "RollingBall", "wheeled": "Wheeled"}.items():
        yield Row(3, f"{joint}, forward_dynamics", "", {"Lagrange multipliers": bases.rolling(kind)})


def _factors_and_estimation() -> Iterator[Row]:
    for verb in (
        "mass_factors", "mass_times", "mass_solve", "mass_root", "mass_root_inverse", "quasi_velocities",
        "from_quasi_velocities", "log_determinant",
    ):  # fmt: skip
        yield Row(4, verb, verb, {"dense": of.of("factors", verb)})
    yield Row(4, "sample_velocities", "from_quasi_velocities", {"dense": of.sampled})
    for verb in ("filter_quantities", "acceleration_shares"):
        yield Row(5, verb, verb, {"dense": of.of("factors", verb)})


def _operational_space() -> Iterator[Row]:
    for verb in OPERATIONAL:
        asked = {"dense": of.in_operational_space(verb)}
        if verb == "operational_inverse_inertia":
            asked["Pinocchio"] = of.operational_pinocchio
        yield Row(6, verb, verb, asked)
    yield Row(7, "inverse_kinematics", "jacobian", {"residual, m or rad": of.reached})
    yield Row(8, "hinge_forces(qdd)", "hinge_forces", {"dense": of.of("factors", "hinge_forces, qdd")})
    yield Row(8, "hinge_forces(tau)", "hinge_forces_under", {"dense": of.of("factors", "hinge_forces, tau")})


def _physics_and_changes() -> Iterator[Row]:
    yield Row(9, "passive_force", "passive_force", {"formula": of.own_force}, _physical_panda)
    for verb in ("inverse_dynamics", "forward_dynamics", "bias_force", "hybrid_dynamics"):
        asked = {"reference, formula": of.with_own_force(verb)}
        yield Row(9, f"{verb}(passive=True)", verb, asked, _physical_panda, changes=("passive",))
    yield Row(9, "elastic_energy", "", {"work": of.spring_energy})
    asked = {"projection": of.following, "Pinocchio": of.following_pinocchio}
    yield Row(9, "embed_couplings, forward_dynamics", "forward_dynamics", asked, _coupled_panda)
    yield Row(9, "limit_report", "", {"clipping": of.beyond_limits})
    changing = {"prescribed": None, "parameters": ["inertias"]}
    quantities = ("mass matrix", "kinetic energy", "potential energy", "momentum", "centre of mass")
    named = {
        "Live.hybrid_dynamics": ("hold forces", "accelerations"),
        "Live, other verbs": (*quantities, "inverse dynamics"),
    }
    for verb, names in named.items():
        program = "hybrid_dynamics" if "hybrid" in verb else ""
        yield Row(10, verb, program, {"rebuilt robot": of.of("changes", *names)}, options=changing)
    parts = ("velocities", "lost energy", "impulses", "impulse of the payload")
    yield Row(10, "impact", "impact", {"dense": of.of("impacts", *parts)}, options=changing)


def _parameters() -> Iterator[Row]:
    names = ("inertias", "placements", "rotors", "friction")
    inverse, forward, own = "inverse_dynamics", "forward_dynamics", ("passive",)
    for name in names:
        asked, more = {"rebuilt robot": of.given(inverse, name)}, {"parameters": [name]}
        yield Row(11, f"inverse_dynamics, {name}", inverse, asked, _physical_panda, more, own)
    asked = {"rebuilt robot": of.given(forward, *names)}
    more = {"parameters": names}
    yield Row(11, "forward_dynamics, all four", forward, asked, _physical_panda, more, own)
    yield Row(12, "inertial_regressor", "inertial_regressor", {"reference": of.regressor})
    yield Row(12, "base_parameters", "inertial_regressor", {"other motions": of.told_apart})


def _closures() -> Iterator[Row]:
    reference, dense, on = "reference", "dense", {"on": two_pandas_with_plate}
    name = "closed_dynamics"
    yield Row(13, name, name, {reference: shut.closed_dynamics}, **on)
    yield Row(13, f"{name}(external, gravity)", name, {reference: shut.with_options}, **on)
    yield Row(
        13, f"{name}(held)", name, {"robot without": shut.held}, **on, options={"parameters": ["closed"]}
    )
    both = {"on": two_pandas_with_plate, "changes": ("closed",)}
    yield Row(13, "forward_dynamics, closed", "forward_dynamics", {reference: shut.forward_dynamics}, **both)
    yield Row(
        13,
        "embed_loops, forward_dynamics",
        "forward_dynamics",
        {reference: shut.embedded},
        _embedded_four_bar,
    )
    yield Row(13, "closed_dynamics_derivatives", "", {"differences": shut.derivatives})
    yield Row(13, "closed_inverse_dynamics", "", {"there and back": shut.inverse})
    for verb in ("closure_error", "closure_velocity", "closure_jacobian", "closure_bias"):
        yield Row(13, verb, verb, {reference: shut.of_motion(verb)}, **on)
    yield Row(13, "cross_inertias", "cross_inertias", {dense: shut.cross_inertias}, **on)
    yield Row(13, "settle", "settle", {dense: shut.settle}, **on)
    compliance = "operational_inverse_inertia"
    yield Row(13, f"{compliance}, closed", compliance, {dense: shut.compliance}, **both)
    yield Row(13, "assemble", "", {"residual, m or rad": shut.assemble})
    yield Row(13, "mobility", "", {"rank": shut.mobility})
    yield Row(13, "closure_rows", "", {"count": shut.rows})
    yield Row(13, "internal_forces", "", {dense: shut.internal_forces})
    yield Row(13, "squeeze", "", {reference: shut.squeeze})
    yield Row(13, "grasp_report", "", {"formula": shut.report})


def _derivatives() -> Iterator[Row]:
    """Derivatives by q show the expressions of what a call computes by default."""
    yield _differentiated("inverse_dynamics", ("q", "qd"), varied.inverse_dynamics)
    forward = _differentiated("forward_dynamics", ("q", "qd", "tau"), varied.forward_dynamics)
    yield replace(forward, judges={"𝓜 ∂FD + ∂ID": varied.forward_dynamics})
    yield _differentiated("velocities", ("q", "qd"), varied.of_frame("velocities"), "velocity")
    yield _differentiated(
        "accelerations", ("q", "qd", "qdd"), varied.of_frame("accelerations"), "acceleration"
    )
    others = {
        "jacobian_derivatives": varied.of_frame("jacobian"),
        "mass_matrix_derivatives": varied.mass_matrix,
        "coriolis_matrix": varied.coriolis_matrix,
        "christoffel_symbols": varied.christoffel_symbols,
        "log_determinant_gradient": varied.log_determinant_gradient,
        "centroidal_momentum_derivatives": varied.centroidal_momentum,
        "gradient": varied.gradient,
        "jvp": varied.push,
        "vjp": varied.pull,
        "second_derivatives": varied.second,
    }
    for verb, judge in others.items():
        yield Row(14, verb, "", {"differences": judge})


def _differentiated(verb: str, wrt: tuple[str, ...], judge: Judge, name: str = "") -> Row:
    shown = f"{name or verb}_derivatives"
    return Row(14, shown, shown, {"differences": judge}, given=lambda: derivative_parts(verb, wrt))


ROWS: tuple[Row, ...] = (
    *_basic(),
    *_hybrid_and_bases(),
    *_factors_and_estimation(),
    *_operational_space(),
    *_physics_and_changes(),
    *_parameters(),
    *_closures(),
    *_derivatives(),
)
