"""How many operations do the derived algorithms take? Counted, next to Featherstone's Table 8-6."""

from __future__ import annotations

import time
from collections.abc import Callable

from hinge import Robot, robots
from hinge.dynamics import compiled

#: Multiplications and additions of Table 8-6, for n revolute joints of general geometry in a chain.
TABLE_8_6: dict[str, tuple[Callable[[int], int], Callable[[int], int]]] = {
    "inverse_dynamics": (lambda n: 130 * n - 68, lambda n: 101 * n - 56),
    "mass_matrix": (lambda n: 10 * n * n + 31 * n - 41, lambda n: 6 * n * n + 40 * n - 46),
    "forward_dynamics": (lambda n: 300 * n - 267, lambda n: 279 * n - 259),
}


def general_chain(n: int) -> Robot:
    """Return a chain of revolute joints with random placements and inertias."""
    return robots.random_tree(n, 3, ["revolute"], branching=0.0, rotors=False)


def main() -> None:
    """Print the tables."""
    print("Chains of n revolute joints, general geometry: multiplications and additions")
    print(f"{'verb':18} {'n':>3}  {'Hinge':>16}  {'Table 8-6':>16}  {'ratio':>5}")
    for verb, (multiplications, additions) in TABLE_8_6.items():
        for n in (6, 12):
            ours = compiled(general_chain(n), verb).code.operations()
            theirs = (multiplications(n), additions(n))
            ratio = (ours.multiplications + ours.additions + ours.divisions) / sum(theirs)
            mine = f"{ours.multiplications + ours.divisions}m + {ours.additions}a"
            print(f"{verb:18} {n:3}  {mine:>16}  {f'{theirs[0]}m + {theirs[1]}a':>16}  {ratio:5.2f}")
    print("\nGrowth: operations (and operations a body) of chain(n); mass matrix by N · depth")
    print(f"{'verb':18} " + "".join(f"{f'n = {n}':>24}" for n in (10, 100, 1000)) + f"{'compiled in':>14}")
    for verb in ("inverse_dynamics", "forward_dynamics"):
        cells, spent = "", 0.0
        for n in (10, 100, 1000):
            start = time.perf_counter()
            total = compiled(robots.chain(n), verb).code.operations().total
            spent = time.perf_counter() - start
            cells += f"{f'{total} ({total / n:.1f})':>24}"
        print(f"{verb:18} {cells}{spent:12.1f} s")
    cells = ""
    for n in (10, 30, 100):
        total = compiled(robots.chain(n), "mass_matrix").code.operations().total
        cells += f"{f'n = {n}: {total}':>24}"
    print(f"{'mass_matrix':18} {cells}   (operations / (n · depth): {total / n / n:.1f} at n = {n})")


if __name__ == "__main__":
    main()
