"""How long does it take to load a URDF file, next to Pinocchio?"""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pinocchio as pin

import hinge
from benchmarks.harness import best_times

ROBOTS = ("ur5_robot.urdf", "panda.urdf", "solo12.urdf", "talos_reduced.urdf")


def main() -> None:
    """Print one line for each robot."""
    root = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    print("Load a URDF file, minimum of 15 interleaved repeats")
    print(f"{'file':22} {'Hinge [ms]':>11} {'Pinocchio [ms]':>15} {'Hinge / Pinocchio':>18}")
    for name in ROBOTS:
        path = str(next(root.rglob(name)))
        t = best_times(
            {
                "hinge": lambda p=path: hinge.load(p, strict=None),
                "pinocchio": lambda p=path: pin.buildModelFromUrdf(p),
            }
        )
        ratio = t["hinge"] / t["pinocchio"]
        print(f"{name:22} {1e3 * t['hinge']:11.2f} {1e3 * t['pinocchio']:15.2f} {ratio:18.1f}")


if __name__ == "__main__":
    main()
