"""The summary of a simulation, as data and as a table."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

import numpy as np

from hinge.cli.output import rows
from hinge.dynamics import closure_error, gap
from hinge.model import Robot
from hinge.sim import Bar, Run, amount, span


def summary(run: Run, bar: Bar, *, control: str, interrupted: bool) -> dict[str, Any]:
    """Return the summary of a run; `bar` measured its computation."""
    settings, states = run.settings, prod(run.batch)
    adaptive = settings["integrator"] == "adaptive"
    seconds = float(run.t[-1] - run.t[0])
    taken, done = bar.last[0] - bar.began, bar.last[1]
    return {
        "robot": run.robot.name,
        "nv": run.robot.nv,
        "seconds": seconds,
        "integrator": settings["integrator"],
        "dt": settings["dt"],
        "control": control,
        "conservative": control == "none"
        and run.contacts is None
        and not (settings["passive"] and _loses(run.robot))
        and not any(b.flexible is not None and b.flexible.damping.any() for b in run.robot.bodies),
        "steps": None if adaptive else done,
        "states": states,
        "recorded": len(run.t),
        "preparation_seconds": bar.preparation,
        "wall_seconds": taken,
        "state_steps_per_second": None if adaptive else bar.rate * states,
        "times_real_time": seconds * states / max(taken - bar.preparation, 1e-9),
        "energy": _energy(run),
        "closures": _closures(run),
        "contacts": _contacts(run),
        "endings": dict(Counter(e.reason for e in run.endings)),
        "interrupted": interrupted,
    }


def _loses(robot: Robot) -> bool:
    """Tell whether passive joint forces change kinetic and potential energy."""
    return any(x.any() for j in robot.joints for x in (j.damping, j.friction, j.stiffness))


def _energy(run: Run) -> dict[str, float]:
    """Return the largest change of energy since the start, and the largest kinetic energy, of all states."""
    with np.errstate(all="ignore"):
        energy, kinetic = run.energy, run.kinetic_energy
        change = np.abs(energy - energy[..., :1])
    largest = np.nanmax(kinetic, initial=0.0)
    drift = np.nanmax(change, initial=0.0)
    return {
        "change": float(drift),
        "largest_kinetic": float(largest),
        "relative": float(drift / (largest or 1.0)),
    }


def _closures(run: Run) -> dict[str, Any] | None:
    """Return how many closures there are, and the largest error of them in the run."""
    if not run.robot.closures:
        return None
    with np.errstate(all="ignore"):
        error = np.nanmax(np.abs(closure_error(run.robot, run.q)), initial=0.0)
    return {"count": len(run.robot.closures), "error": float(error)}


def _contacts(run: Run) -> dict[str, Any] | None:
    """Return which contacts there are, how deep the deepest went, and how well their law was kept."""
    if run.contacts is None:
        return None
    with np.errstate(all="ignore"):
        return {
            "names": [c.name for c in run.robot.contacts],
            "law": run.settings.get("law", "associated"),
            "friction": sorted({c.friction for c in run.robot.contacts}),
            "depth": float(np.nanmax(-gap(run.robot, run.q), initial=0.0)),
            "force": float(np.nanmax(run.contacts.forces[..., 0], initial=0.0)),
            "residual": float(np.nanmax(run.contacts.residual, initial=0.0)),
        }


def _listed(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def shown(data: dict[str, Any]) -> str:
    """Return a summary as a table of text."""
    energy, closed = data["energy"], data["closures"]
    freedoms = "coordinates of its tree" if closed else "degrees of freedom"
    found = {
        "robot": f"{data['robot']}, {data['nv']} {freedoms}",
        "motion": f"{data['seconds']:g} s" + (", interrupted" if data["interrupted"] else ""),
    }
    if data["steps"] is None:
        found["steps"] = "adaptive"
    else:
        found["steps"] = f"{data['steps']} of {data['dt']:g} s, {data['integrator']}"
    found |= {
        "states": f"{data['states']}, {data['recorded']} recorded times",
        "control": data["control"],
        "time taken": f"{span(data['wall_seconds'])}, {span(data['preparation_seconds'])} of it preparation",
    }
    if data["state_steps_per_second"] is not None:
        found["speed"] = f"{amount(data['state_steps_per_second'])} state-steps per second"
    else:
        found["speed"] = f"{amount(data['times_real_time'])} s of motion per second"
    what = "energy drift" if data["conservative"] else "energy change"
    found[what] = f"{energy['change']:.3g} J, {energy['relative']:.2g} of the largest kinetic energy"
    if closed:
        found["closures"] = f"{closed['count']}, open by {closed['error']:.2g} at most"
    if touched := data["contacts"]:
        mu = " … ".join(f"{x:g}" for x in (*touched["friction"][:1], *touched["friction"][1:][-1:]))
        law = " by Coulomb's law" if touched["law"] == "coulomb" else ""
        found["contacts"] = (
            f"{len(touched['names'])}: {_listed(touched['names'])}; friction {mu}{law}; nothing else touches"
        )
        found["touching"] = (
            f"pressed with {touched['force']:.3g} N at most, {touched['depth']:.1g} m deep, "
            f"residual {touched['residual']:.1g}"
        )
    ended = [f"{n} ended early: {reason}" for reason, n in data["endings"].items()]
    found["endings"] = "; ".join(ended) or "no early endings"
    return rows(found)
