"""The energy of a motion, and its drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.batches import Runs, checked_run, chosen, draw, flat, subtitle
from hinge.view.extras import new_figure
from hinge.view.palette import BLACK, BLUE, GREEN, VERMILION


def plot_energy(run: Run, *, runs: Runs = None) -> Any:
    """Return a Matplotlib figure of the energies of a run, and of the drift of their sum below it.

    The drift is the gain of the sum beyond the work of the joint forces, relative to the largest kinetic
    energy of the run; in J if nothing moves. The work is integrated by the trapezoidal rule, whose error is
    included. External forces are not part of a run: their work appears as drift.
    Of a batch the median and the band from 5 to 95 % are shown, or the chosen `runs`.
    """
    checked_run(run)
    places, band = chosen(run, runs), runs is None and len(flat(run, run.q)) > 1
    kinetic, potential = (flat(run, x)[places] for x in (run.kinetic_energy, stored_energy(run)))
    total = kinetic + potential
    work = joint_work(run)[places]
    figure = new_figure(7.0, 5.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    histories = [("kinetic", kinetic, BLUE), ("potential", potential, VERMILION), ("total", total, BLACK)]
    driven = bool(np.nan_to_num(work).any())
    if driven:
        histories.append(("work of joint forces", work, GREEN))
    for name, history, color in histories:
        draw(top, run.t, history, band=band, color=color, label=name, linewidth=1.5)
    drift, relative = _drift(kinetic, total - work)
    draw(bottom, run.t, drift, band=band, color=BLACK, linewidth=1.2)
    top.set_ylabel("energy [J]")
    top.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    what = "drift − work" if driven else "drift"
    bottom.set_ylabel(what if relative else f"{what} [J]")
    bottom.set_xlabel("t [s]")
    bottom.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))
    for ax in (top, bottom):
        ax.margins(x=0)
        ax.grid(alpha=0.3)
    if relative:
        bottom.text(
            1.02, 0.5, "relative to\nthe largest\nkinetic energy",
            transform=bottom.transAxes, va="center", fontsize="small", color="dimgrey",
        )  # fmt: skip
    more = subtitle(run, places, band=band)
    figure.suptitle(f"{run.robot.name}: energy{', ' if more else ''}{more}")
    return figure


def stored_energy(run: Run) -> Array:
    """Return the potential energy (…, T) in J, with that in flexible bodies."""
    return run.potential_energy + run.elastic_energy if run.robot.is_flexible else run.potential_energy


def joint_work(run: Run) -> Array:
    """Return the accumulated work (runs, T) of the joint forces in J."""
    power = (flat(run, run.tau) * flat(run, run.qd)).sum(-1)
    steps = np.diff(run.t) * (power[:, 1:] + power[:, :-1]) / 2
    return np.concatenate([np.zeros((len(power), 1)), np.cumsum(steps, axis=1)], axis=1)


def _drift(kinetic: Array, kept: Array) -> tuple[Array, bool]:
    """Return the drift of the conserved quantity, and whether it is relative to the kinetic energy."""
    largest = np.max(kinetic, axis=1, keepdims=True, initial=0.0, where=np.isfinite(kinetic))
    relative = bool((largest > 0).all())
    return (kept - kept[:, :1]) / (largest if relative else 1.0), relative
