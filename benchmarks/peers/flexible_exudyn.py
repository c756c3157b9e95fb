"""The arm of two flexible links by Exudyn, in an environment of its own: python
benchmarks/peers/flexible_exudyn.py.

Each link is a row of ANCF cables; the generalised-α method with an exact Newton step, as Exudyn suggests.
Printed are the elements of a link, the step, how far the tip is off after a second, and the time of the
second.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import exudyn as exu  # pyright: ignore[reportMissingImports]
import numpy as np
from exudyn.beams import GenerateStraightLineANCFCable2D  # pyright: ignore[reportMissingImports]
from exudyn.itemInterface import (  # pyright: ignore[reportMissingImports]
    Cable2D,
    LoadTorqueVector,
    MarkerBodyRigid,
    MarkerNodePosition,
    NodePointGround,
    ObjectJointRevolute2D,
    ObjectMassPoint2D,
)

DENSITY, BENDING, LOAD, AXIAL = 0.5, 30.0, 0.3, 3e5
TORQUES, HALF = (2.0, 1.0), 0.5
TIP = np.array([1.15634, 1.17137])


def main() -> None:
    """Print a row for several numbers of elements and steps."""
    for elements, dt in ((2, 8e-3), (2, 4e-3), (4, 8e-3), (4, 4e-3), (4, 2e-3), (8, 1e-3)):
        tip, taken = moved(elements, dt)
        off = float(np.linalg.norm(tip - TIP))
        print(
            f"{elements:3} elements, {dt:g} s: tip {tip.round(5)}, off by {off:.2e} m, {1e3 * taken:.1f} ms"
        )


def moved(elements: int, dt: float) -> tuple[Any, float]:
    """Return the tip after a second, and the time that it took."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    cable = Cable2D(
        physicsMassPerLength=DENSITY, physicsBendingStiffness=BENDING, physicsAxialStiffness=AXIAL
    )
    elbow = [1.0, 0.0, 0.0]
    end = [1.0 + np.cos(1.0), np.sin(1.0), 0.0]
    upper = GenerateStraightLineANCFCable2D(mbs, [0, 0, 0], elbow, elements, cable)
    lower = GenerateStraightLineANCFCable2D(mbs, elbow, end, elements, cable)
    ground = mbs.AddNode(NodePointGround(referenceCoordinates=[0, 0, 0]))
    at = [
        mbs.AddMarker(MarkerNodePosition(nodeNumber=n))
        for n in (ground, upper[0][0], upper[0][-1], lower[0][0])
    ]
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=at[:2]))
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=at[2:]))
    tip = mbs.AddNode(exu.itemInterface.NodePoint2D(referenceCoordinates=end[:2]))
    mbs.AddObject(ObjectMassPoint2D(mass=LOAD, nodeNumber=tip))
    ends = [mbs.AddMarker(MarkerNodePosition(nodeNumber=n)) for n in (tip, lower[0][-1])]
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=ends))
    length = 1.0 / elements
    places = [
        (upper[1][0], 0.0, TORQUES[0]),
        (upper[1][-1], length, -TORQUES[1]),
        (lower[1][0], 0.0, TORQUES[1]),
    ]
    loads: list[tuple[Any, float]] = []
    for body, x, size in places:
        marker = mbs.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0]))
        loads.append((mbs.AddLoad(LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, size])), size))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(HALF / dt)
    settings.timeIntegration.endTime = HALF
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    taken = 0.0
    for way in (1, -1):
        for load, size in loads:
            mbs.SetLoadParameter(load, "loadVector", [0, 0, way * size])
        began = perf_counter()
        mbs.SolveDynamic(settings)
        taken += perf_counter() - began
        state = mbs.systemData.GetSystemState()
        mbs.systemData.SetSystemState(state, configuration=exu.ConfigurationType.Initial)
    return np.array(mbs.GetNodeOutput(tip, exu.OutputVariableType.Position))[:2], taken


if __name__ == "__main__":
    main()
