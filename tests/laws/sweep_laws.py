"""The laws on 200 random trees with every joint type: python -m tests.laws.sweep_laws."""

from __future__ import annotations

import sys
import time
from collections import Counter

from hinge.model import joints
from hinge.testing import check_laws, random_robots


def main() -> int:
    """Print how far the worst tree is from each law; a law broken raises LawError."""
    start = time.perf_counter()
    worst: dict[str, float] = {}
    kinds: Counter[str] = Counter()
    robots = list(random_robots(200, bodies=10))
    for seed, robot in enumerate(robots):
        kinds.update(j.type.kind for j in robot.joints)
        for law, error in check_laws(robot, seed=seed, size=2).items():
            worst[law] = max(worst.get(law, 0.0), error)
    for law, error in worst.items():
        print(f"{law:40} off by at most {error:.1e}")
    print("joints: " + ", ".join(f"{kinds[k]} {k}" for k in joints.JOINT_TYPES))
    floating = sum(r.is_floating for r in robots)
    print(f"{len(robots)} trees, {floating} floating, {time.perf_counter() - start:.0f} s")
    return 0 if set(kinds) == set(joints.JOINT_TYPES) else 1


if __name__ == "__main__":
    sys.exit(main())
