"""Draw the pictures of the guides anew: `python docs/pictures.py` writes them to docs/images."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge import view
from hinge.algebra import E, H, M, phi, psi
from hinge.targets import plot_blocks, random_system

IMAGES = Path(__file__).with_name("images")
EXAMPLES = Path(__file__).parents[1] / "examples"


def blocks() -> None:
    """Draw operators of a tree as matrices: a chain of two bodies that splits in two."""
    system = random_system(parents=(-1, 0, 1, 1), seed=1)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    for ax, e in zip(axes, (phi, psi, H @ phi @ M @ phi.T @ H.T), strict=True):
        plot_blocks(system, e, ax=ax)
    figure.savefig(IMAGES / "blocks.png", dpi=100)


def trees() -> None:
    """Draw E and φ of a tree as matrices, and E with the nodes beyond one of its edges last."""
    parents = (-1, 0, 1, 1, 0, 4)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    system = random_system(parents=parents, seed=1, widths=(4, 5, 3, 4, 6, 3), dofs=(1,) * 6)
    plot_blocks(system, E, ax=axes[0])
    plot_blocks(system, phi, ax=axes[1])
    # the edge from 1 to 0 is cut: 0, 4, 5 become 0, 1, 2, and 1, 2, 3 what is beyond
    parted = random_system((-1, 0, 1, 0, 3, 3), seed=1, widths=(4, 6, 3, 5, 3, 4), dofs=(1,) * 6)
    plot_blocks(parted, E, ax=axes[2])
    edge = sum((4, 6, 3)) - 0.5
    axes[2].axvline(edge, color="C3", linewidth=1)
    axes[2].axhline(edge, color="C3", linewidth=1)
    axes[2].set_title("E, partitioned")
    figure.savefig(IMAGES / "trees.png", dpi=100)


def energy() -> None:
    """Draw the energy of a double pendulum, and how far RK4 lets it drift."""
    run = hinge.simulate(hinge.robots.double_pendulum(), [2.0, 1.0], t=6.0, dt=1e-3, record=10)
    view.plot_energy(run).savefig(IMAGES / "energy.png", dpi=90)


def chaos() -> None:
    """Draw two motions that begin a thousandth apart."""
    starts = np.array([[2.0, 1.0], [2.001, 1.0]])
    run = hinge.simulate(hinge.robots.double_pendulum(), starts, t=10.0, dt=1e-3, record=10)
    view.plot_joints(run, runs=[0, 1], what="q").savefig(IMAGES / "chaos.png", dpi=90)


def strip() -> None:
    """Draw a quadruped at six instants of a jump."""
    robot = hinge.robots.quadruped()
    legs = [name.removesuffix("_knee") for name in robot.joint_names if name.endswith("_knee")]
    bent = {f"{leg}_{joint}": x for leg in legs for joint, x in (("hip_pitch", -0.8), ("knee", 1.6))}
    qd = np.zeros(robot.nv)
    qd[3:6] = 1.0, 0.0, 2.0
    run = hinge.simulate(robot, hinge.configuration(robot, bent), qd, t=0.4, dt=1e-3)
    view.plot_strip(run, plane="xz").savefig(IMAGES / "strip_quadruped.png", dpi=100)


def stewart() -> None:
    """Draw a Stewart platform at four instants: three of its legs push it over."""
    robot = hinge.robots.stewart_platform()
    q, still = hinge.neutral(robot), np.zeros(robot.nv)
    legs = [f"leg{k}_length" for k in range(1, 7)]
    tau = hinge.closed_inverse_dynamics(robot, q, still, still, actuated=legs).tau
    tau[robot.joint("leg1_length").qd_slice] += 3.0
    tau[robot.joint("leg4_length").qd_slice] -= 3.0
    run = hinge.simulate(robot, q, t=0.3, dt=1e-3, control=tau)
    view.plot_strip(run, instants=4, plane="xz").savefig(IMAGES / "stewart.png", dpi=100)


def trot() -> None:
    """Draw a quadruped that is dropped, stands and trots: the run of an example."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/trot.npz"
        run_path(str(EXAMPLES / "13_trotting.py"))["main"](path)
        run = hinge.load_run(path)
    times = [0.0, 0.16, 0.9, 1.7, 1.8, 1.9]
    view.plot_strip(run, instants=times, plane="xz").savefig(IMAGES / "trot.png", dpi=100)


def falls() -> None:
    """Draw many falls: an example."""
    run_path(str(EXAMPLES / "16_many_falls.py"))["main"](4096, IMAGES / "falls.png")


if __name__ == "__main__":
    mpl.use("Agg")
    for draw in (blocks, trees, energy, chaos, strip, stewart, trot, falls):
        draw()
