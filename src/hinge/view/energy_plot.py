"""The energies of a run beside the robot that moves, with a mark where the time is."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.batches import flat
from hinge.view.palette import BLACK, BLUE, VERMILION, Rgb, as_bytes
from hinge.view.poses import thinned

#: So many points has a line of the plot.
POINTS = 300


class EnergyPlot:
    """Kinetic, potential and total energy over time, in the panel of the viewer."""

    def __init__(self, server: Any, run: Run, place: int, at: Array) -> None:
        few = at[thinned(len(at), POINTS)]
        self._t = run.t[few]
        kinetic, potential = (flat(run, x)[place][few] for x in (run.kinetic_energy, run.potential_energy))
        total = kinetic + potential
        self._lines = (self._t, kinetic, potential, total)
        self._total, self._marked = total, -1
        self.handle: Any = None
        if len(few) > 1:
            dot = {"show": True, "size": 9, "fill": "black"}
            with server.gui.add_folder("Energy [J]"):
                self.handle = server.gui.add_uplot(
                    data=(*self._lines, np.full(len(few), np.nan)),
                    series=(
                        {"label": "t [s]"},
                        _series("kinetic", BLUE),
                        _series("potential", VERMILION),
                        _series("total", BLACK),
                        {"label": "now", "stroke": "black", "width": 0, "points": dot},
                    ),
                    scales={"x": {"time": False}},
                    aspect=1.6,
                    legend={"show": True},
                )

    def mark(self, t: float) -> None:
        """Move the mark to a time."""
        if self.handle is None:
            return
        k = int(np.abs(self._t - t).argmin())
        if k != self._marked:
            now = np.full(len(self._t), np.nan)
            now[k] = self._total[k]
            self.handle.data = (*self._lines, now)
            self._marked = k


def _series(label: str, rgb: Rgb) -> dict[str, Any]:
    r, g, b = as_bytes(rgb)
    return {"label": label, "stroke": f"rgb({r},{g},{b})", "width": 2, "points": {"show": False}}
