"""Verbs of derivatives with options in pairs: python -m tests.dynamics.sweep_derivative_options [robots].

Each result is judged by differences of the verb that it differentiates, called with the same options; then in
a batch, in arrays of the caller's and in single precision. HINGE_TARGET=numpy compiles soonest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

import hinge
from hinge.dynamics import forget
from hinge.model import Robot, embed_couplings
from tests.binding.test_own_joint_types import OWN, with_types
from tests.dynamics.coupled import random_coupled
from tests.dynamics.differences import by_q, by_vector, off
from tests.dynamics.passives import ROLLING, with_physics
from tests.dynamics.zoo import pushes
from tests.sweeps.models import every_joint_type

#: Bounds: of differences, of what is the same but for rounding, of single precision.
BY_DIFFERENCES, SAME, SINGLE = 1e-7, 1e-9, 2e-2
STEP, BATCH = 1e-3, 2
BASE = hinge.BaseMotion(
    angular_velocity=(0.3, -0.2, 0.5), angular_acceleration=(0.1, 0.4, -0.3), acceleration=(1.0, -2.0, 0.5)
)
ROBOTS: dict[str, Callable[[], Robot]] = {
    "panda": hinge.robots.panda,
    "own joints": lambda: with_types(hinge.robots.random_tree(5, 2), OWN),
    "sprung": lambda: with_physics(hinge.robots.random_tree(4, 2, ["revolute", "spherical", "free"]), 2),
    "every joint": lambda: every_joint_type(1).robot,
    "coupled": lambda: embed_couplings(random_coupled(5, 1)),
    "loop": lambda: hinge.embed_loops(hinge.robots.four_bar()),
}
#: What a call may be given beside a state, and what it may be taken by.
LOADS = ("external", "gravity", "base", "passive")


@dataclass
class State:
    """A robot at some states, of which the first is judged by differences."""

    robot: Robot

    def __post_init__(self) -> None:
        rng, n = np.random.default_rng(5), self.robot.nv
        self.q = hinge.random_configuration(self.robot, rng, BATCH)
        self.qd, self.qdd, self.tau, self.c = rng.standard_normal((4, BATCH, n))
        self.frame = self.robot.bodies[-1].name
        self.loads: dict[str, Any] = {**pushes(self.robot), "base": BASE, "passive": True}

    def arrays(self, names: tuple[str, ...], k: int | slice) -> dict[str, np.ndarray]:
        """Return arrays of one state, or of all."""
        return {n: getattr(self, n)[k] for n in names}


#: What a verb returns: results by name.
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Verb:
    """A verb of derivatives: its call, what it differentiates, and the options that it takes."""

    name: str
    arrays: tuple[str, ...]
    call: Callable[..., Found]
    value: Callable[..., Any]
    wrt: tuple[str, ...]
    loads: tuple[str, ...] = ()
    options: tuple[Mapping[str, Any], ...] = ({},)
    #: What is asked for where all that `wrt` allows is no default.
    asks: bool = True

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield options: each pair of loads, with each name of `wrt` alone, and all of them."""
        pairs = chain.from_iterable(combinations(self.loads, n) for n in (0, 1, 2))
        for given in pairs:
            names = [n for n in self.wrt if _fits(n, given)]
            choices = [tuple(names), *((n,) for n in names)] if self.asks else [()]
            for wrt in choices if given or len(choices) < 2 else choices[:1]:
                for options in self.options:
                    yield {"loads": given, "wrt": wrt, **options}


def _fits(name: str, given: tuple[str, ...]) -> bool:
    if name == "external":
        return "external" in given
    if name == "gravity":
        return "base" not in given
    return name != "friction" or "passive" in given


def _differentiated(verb: str, last: str, robot: Robot) -> Verb:
    loop = robot.is_embedded
    rolls = any(j.type.kind in ROLLING for j in robot.joints)  # these have no springs, so no "friction"
    numbers = ("inertias",) if loop else ("inertias", "placements", "rotors", "friction")[: 3 if rolls else 4]
    wrt = ("q", "qd", last, "external", "gravity", *numbers)
    f, g = getattr(hinge, f"{verb}_derivatives"), getattr(hinge, verb)
    loads = LOADS if not loop else tuple(x for x in LOADS if x != "external")
    return Verb(f.__name__, ("q", "qd", last), _results(f), g, wrt, loads)


def _results(f: Callable[..., Any]) -> Callable[..., Found]:
    return lambda *args, **options: vars(f(*args, **options))


def _pulled(verb: str, last: str) -> Verb:
    """Return gradients, as the derivatives of a number."""

    def call(robot: Robot, q: Any, qd: Any, u: Any, c: Any, *, wrt: Any, **options: Any) -> Found:
        nodes, forces = hinge.dynamics.arguments.external_forces(options.pop("external", None))
        out = options.pop("out", None)
        passive, gravity = options.pop("passive", False), options.pop("gravity", None)
        names = ["f_ext" if n == "external" else n for n in wrt]
        pull = hinge.vjp(verb, robot, names, nodes=nodes, passive=passive)
        given = {"qd": qd, last: u, **forces}
        to = None if out is None else {{"external": "f_ext"}.get(n, n): x for n, x in out.items()}
        value, by = pull(q, *(given[n] for n in pull.arrays), c, gravity=gravity, out=to)
        return {"value": value, **{n: by["f_ext" if n == "external" else n] for n in wrt}}

    def value(robot: Robot, q: Any, qd: Any, u: Any, c: Any, **options: Any) -> Any:
        return getattr(hinge, verb)(robot, q, qd, u, **options) @ c

    loads = ("external", "gravity", "passive")
    return Verb(
        f"vjp {verb}", ("q", "qd", last, "c"), call, value, ("q", "qd", last, "external", "gravity"), loads
    )


def verbs(robot: Robot) -> Iterator[Verb]:
    """Yield the verbs of derivatives for a robot."""
    for verb, last in (("inverse_dynamics", "qdd"), ("forward_dynamics", "tau")):
        yield _differentiated(verb, last, robot)
        if not robot.is_embedded:
            yield _pulled(verb, last)
    at = tuple({"frame": robot.bodies[-1].name, "expressed": e} for e in ("body", "world", "world-aligned"))
    yield Verb("velocity_derivatives", ("q", "qd"), _results(hinge.velocity_derivatives),
               hinge.velocities, ("q", "qd"), (), at)  # fmt: skip
    yield Verb("acceleration_derivatives", ("q", "qd", "qdd"), _results(hinge.acceleration_derivatives),
               hinge.accelerations, ("q", "qd", "qdd"), (), at)  # fmt: skip
    if robot.mass > 0:
        f = hinge.centroidal_momentum_derivatives
        yield Verb(f.__name__, ("q", "qd"), _results(f), hinge.centroidal_momentum, ("q", "qd"))
    yield _plain("jacobian_derivatives", hinge.jacobian, ("q",), at)
    yield _plain("mass_matrix_derivatives", hinge.mass_matrix, ("q",))
    yield _plain("log_determinant_gradient", hinge.log_determinant, ("q",))


def _plain(name: str, value: Callable[..., Any], arrays: tuple[str, ...], options: Any = ({},)) -> Verb:
    f = getattr(hinge, name)

    def call(*args: Any, out: Any = None, **given: Any) -> Found:
        return {"q": f(*args, **given, out=None if out is None else out["q"])}

    return Verb(name, arrays, call, value, ("q",), (), options, asks=False)


# Judging.


def judge(s: State, v: Verb, case: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield what is judged, how far off it is, and its bound."""
    loads = {n: s.loads[n] for n in case["loads"]}
    options = {k: x for k, x in case.items() if k not in ("loads", "wrt")}
    asked = {"wrt": case["wrt"]} if v.asks else {}
    one = v.call(s.robot, *s.arrays(v.arrays, 0).values(), **asked, **loads, **options)
    for name in case["wrt"] or ("q",):
        wanted = differences(s, v, name, loads, options)
        if wanted is not None:
            yield f"by {name}", off(np.asarray(one[name]).reshape(wanted.shape), wanted), BY_DIFFERENCES
    every = v.call(s.robot, *s.arrays(v.arrays, slice(None)).values(), **asked, **loads, **options)
    yield "batch", max(off(np.asarray(every[n])[0], np.asarray(x)) for n, x in one.items()), SAME
    out = {n: np.full_like(x, np.nan) for n, x in every.items()}
    again = v.call(s.robot, *s.arrays(v.arrays, slice(None)).values(), **asked, **loads, **options, out=out)
    kept = all(again[n] is x or np.shares_memory(again[n], x) for n, x in out.items())
    yield "out", max(off(out[n], np.asarray(x)) for n, x in every.items()) if kept else np.inf, SAME
    single = [x.astype(np.float32) for x in s.arrays(v.arrays, slice(None)).values()]
    if "base" not in loads:
        down = {n: _single(x) for n, x in loads.items()}
        less = v.call(s.robot, *single, **asked, **down, **options)
        types = {np.asarray(x).dtype for x in less.values()}
        apart = max(off(np.asarray(x).astype(float), np.asarray(every[n])) for n, x in less.items())
        yield "float32", apart if types == {np.dtype(np.float32)} else np.inf, SINGLE


def _single(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {n: y.astype(np.float32) for n, y in x.items()}
    return x.astype(np.float32) if isinstance(x, np.ndarray) else x


def differences(s: State, v: Verb, name: str, loads: Mapping[str, Any], options: Any) -> np.ndarray | None:
    """Return the derivative of the value by differences, None where another test judges it."""
    given = s.arrays(v.arrays, 0)

    def value(**changed: Any) -> Any:
        arrays = {**given, **{n: x for n, x in changed.items() if n in given}}
        more = {n: x for n, x in changed.items() if n not in given}
        return v.value(s.robot, *arrays.values(), **{**loads, **more}, **options)

    if name == "q":
        return by_q(s.robot, lambda x: value(q=x), s.q[0])
    if name in given:
        return by_vector(lambda x: value(**{name: x}), given[name], STEP)
    if name == "gravity":
        down = loads.get("gravity", s.robot.gravity)
        return by_vector(lambda x: value(gravity=x), np.asarray(down, dtype=float))
    if name == "external":
        flat, names = np.concatenate([*loads["external"].values()]), list(loads["external"])
        return by_vector(lambda x: value(external=dict(zip(names, x.reshape(-1, 6), strict=True))), flat)
    return None if name in ("placements", "rotors", "friction", "inertias") else _unknown(name)


def _unknown(name: str) -> None:
    raise AssertionError(name)


def main(names: list[str]) -> int:
    """Print what was judged, and all that is off; exit with 1 if something is."""
    start, count, worst, wrong = time.perf_counter(), 0, dict[str, tuple[float, str]](), list[str]()
    for name in names or ROBOTS:
        s = State(ROBOTS[name]())
        for v in verbs(s.robot):
            for case in v.cases():
                where = f"{name}: {v.name} {dict(case)}"
                try:
                    for what, error, bound in judge(s, v, case):
                        count += 1
                        worst[what] = max(worst.get(what, (0.0, "")), (error, where))
                        if not error <= bound:
                            wrong.append(f"{where}: {what} off by {error:.1e}")
                except Exception as error:
                    wrong.append(f"{where}: {type(error).__name__}: {error}")
            print(f"{name} {v.name}: {count} judged, {len(wrong)} wrong", file=sys.stderr, flush=True)
        forget()
    for what, (error, where) in worst.items():
        print(f"{what:14} off by at most {error:.1e}, {where}")
    print("\n".join(wrong))
    print(f"{count} judged, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
