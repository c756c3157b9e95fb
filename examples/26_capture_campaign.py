"""A Monte-Carlo campaign: an arm has caught a tumbling satellite, and its chaser brings both to rest.

Nobody knows the satellite well: its mass, how it tumbles, how much the joints of the arm rub. So thousands of
catches are simulated, each with numbers of its own, spread by Sobol's sequence. The chaser damps its own
rates by jets of limited torque; springs and dampers hold the arm. What matters is measured: how fast both
still turn at the end, how much the jets have worked, how far the arm is bent. The store can be added to,
looked at, and any sample run again alone, to the same bits.

    python examples/26_capture_campaign.py [samples] [store]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import hinge
from hinge.campaign import Attitude, Campaign, LogUniform, Normal, Results, Uniform
from hinge.model.joints import Fixed, Free, Revolute
from hinge.spatial import Array, Inertia

SECONDS, STEP = 30.0, 0.02
#: Torque of the jets in N m for a rate in rad/s, and the most that they have; springs and dampers of the arm.
JETS, MOST, SPRING, DAMPER = 800.0, 60.0, 900.0, 500.0
#: The share of catches that must be at rest, and how slow that is, in rad/s.
WANTED, REST = 0.5, 0.02


def chaser() -> hinge.Robot:
    """Return a chaser of 900 kg with an arm of three joints that holds a satellite of 300 kg."""
    builder = hinge.Builder("chaser")
    bus = Inertia.from_com(900.0, (0, 0, 0), np.diag((300.0, 350.0, 250.0)))
    builder.body("bus", joint=Free(), inertia=bus)
    link = Inertia.from_com(12.0, (0, 0, 0.5), np.diag((1.0, 1.0, 0.05)))
    parent, place = "bus", (0, 0, 0.8)
    for name, axis in (("shoulder", (0, 1, 0)), ("elbow", (0, 1, 0)), ("wrist", (1, 0, 0))):
        builder.body(name, parent=parent, joint=Revolute(axis), inertia=link, position=place)
        parent, place = name, (0, 0, 1.0)
    satellite = Inertia.from_com(300.0, (0, 0, 0.9), np.diag((90.0, 110.0, 70.0)))
    builder.body("satellite", parent="wrist", joint=Fixed(), inertia=satellite, position=place)
    return builder.build()


def hold(_t: float, q: Array, qd: Array, own: dict[str, Array]) -> Array:
    """Return the torques of jets, which weaken by `own["jets"]`, and of the arm."""
    tau = np.zeros_like(qd)
    most = MOST * own["jets"][:, None]
    tau[:, :3] = np.clip(-JETS * qd[:, :3], -most, most)
    tau[:, 6:] = -SPRING * q[:, 7:] - DAMPER * qd[:, 6:]
    return tau


def measure(run: hinge.Run) -> dict[str, Array]:
    """Return what matters of each catch: final spin, work of the jets in N m s, largest bend of the arm."""
    return {
        "spin": np.linalg.norm(run.qd[:, -1, :3], axis=-1),
        "jets": np.abs(run.tau[..., :3]).sum(-1).mean(-1) * SECONDS,
        "bend": np.abs(run.q[..., 7:]).max((1, 2)),
    }


def campaign(samples: int) -> Campaign:
    """Return the campaign."""
    spread = [0.06, 0.06, 0.06, 0.02, 0.02, 0.02]
    return Campaign(
        chaser(),
        samples=samples,
        t=SECONDS,
        dt=STEP,
        seed=1,
        design="sobol",
        gravity=(0, 0, 0),
        vary={
            "attitude": {"bus_joint": Attitude()},
            "qd0": {"bus_joint": Normal([0.0] * 6, spread)},
            "mass_factor": {"satellite": LogUniform(0.3, 4.0)},
            "damping": {"shoulder_joint": Uniform(0, 50), "elbow_joint": Uniform(0, 50)},
            "own": {"jets": Uniform(0.3, 1.0)},
        },
        control=hold,
        measure=measure,
        record=10,
        times=[k * SECONDS / 10 for k in range(11)],
    )


def main(samples: int = 4000, store: str | None = None) -> int:
    """Run the campaign and print what it shows; the exit code is 1 when a check fails."""
    with tempfile.TemporaryDirectory() as room:
        results = campaign(samples).run(store or Path(room) / "store", progress=True)
        print(results.summary().split("\nq:")[0])
        return checked(results, samples)


def checked(results: Results, samples: int) -> int:
    """Print the share that comes to rest and the worst catch, run again; return the exit code."""
    spin, factor = results.column("measure:spin"), results.column("mass_factor:satellite")
    rests = spin < REST
    light, heavy = (100 * rests[which].mean() for which in (factor < 1, factor > 1))
    print(f"\n{100 * rests.mean():.1f} % are at rest after {SECONDS:g} s, ", end="")
    print(f"of light satellites {light:.1f} %, of heavy ones {heavy:.1f} %")
    worst = results.worst("measure:spin", 1)[0]
    again = campaign(samples).rerun(worst, record=10)
    same = bool(np.array_equal(again.q[0, -1], results.array("q")[worst, -1]))
    print(f"the worst is catch {worst}, {spin[worst]:.3f} rad/s; run again alone it ", end="")
    print("has the same bits" if same else "DIFFERS")
    good = same and rests.mean() > WANTED and not results.status().failed
    print("the campaign is done." if good else "THE CAMPAIGN FAILED.")
    return 0 if good else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 4000, given[1] if len(given) > 1 else None))
