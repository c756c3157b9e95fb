"""The energies of a run beside the moving robot, with a time marker."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.batches import flat
from hinge.view.energy import stored_energy
from hinge.view.palette import BLACK, BLUE, GREY, VERMILION, Rgb, as_bytes
from hinge.view.poses import thinned

#: Points of a line of the plot.
POINTS = 300


class EnergyPlot:
    """Kinetic, potential and total energy over time, in the panel of the viewer."""

    def __init__(self, server: Any, run: Run, place: int, at: Array) -> None:
        few = at[thinned(len(at), POINTS)]
        self._t = run.t[few]
        kinetic, potential = (flat(run, x)[place][few] for x in (run.kinetic_energy, stored_energy(run)))
        self._lines = (self._t, kinetic, potential, kinetic + potential)
        values = np.concatenate(self._lines[1:])
        values = values[np.isfinite(values)]
        self._low, self._high = float(values.min(initial=0.0)), float(values.max(initial=1e-9))
        self._marked = -1
        self.handle: Any = None
        if len(few) > 1:
            with server.gui.add_folder("Energy [J]"):
                self.handle = server.gui.add_uplot(
                    data=(*self._lines, self._spike(0)),
                    series=(
                        {"label": "t [s]"},
                        _series("kinetic", BLUE),
                        _series("potential", VERMILION),
                        _series("total", BLACK),
                        {**_series("now", GREY), "width": 1},
                    ),
                    scales={"x": {"time": False}},
                    aspect=1.5,
                    legend={"show": True, "live": False},
                )

    def mark(self, t: float) -> None:
        """Move the time marker."""
        if self.handle is None:
            return
        k = int(np.abs(self._t - t).argmin())
        if k != self._marked:
            self.handle.data = (*self._lines, self._spike(k))
            self._marked = k

    def _spike(self, k: int) -> Array:
        """Return a line with a spike as the time marker, since viser's plots have none."""
        line = np.full(len(self._t), self._low)
        line[k] = self._high
        return line


def _series(label: str, rgb: Rgb) -> dict[str, Any]:
    r, g, b = as_bytes(rgb)
    return {"label": label, "stroke": f"rgb({r},{g},{b})", "width": 2, "points": {"show": False}}
