"""A tour of the algebra, for a reader of the papers: run it with `python docs/tour.py`.

Letters are those of JPL Publication 88-11 and the SOA slides. Every line that is printed is computed.
"""

from __future__ import annotations

import numpy as np

import hinge
from hinge.algebra import (
    B,
    Body,
    D,
    Di,
    E,
    H,
    Ha,
    Hp,
    Joint,
    K,
    M,
    One,
    R,
    Structure,
    Ups,
    a,
    b,
    f_ext,
    identity,
    leaf,
    logdet,
    phi,
    psi,
    qdd,
    tau,
)
from hinge.dynamics import BODY_ACCELERATIONS, FORWARD_DYNAMICS
from hinge.pipeline import as_given, written
from hinge.rules import TREE, equation
from hinge.targets import block_structure, random_system


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'─' * len(text)}")


heading("1. Operators are values")
mass = H @ phi @ M @ phi.T @ H.T
bias = H @ phi @ (M @ phi.T @ a + b)
forward = mass.inv() @ (tau - bias)
print("mass matrix      ", mass, f"   ({mass.range} ← {mass.domain})")
print("forward dynamics ", forward)
print("as LaTeX         ", forward.latex())
print("as Python        ", repr(forward), eval(repr(forward)) is forward)
try:
    H @ tau
except hinge.errors.SpaceError as error:
    print("a wrong product  ", error)

heading("2. They have the structure that the papers draw")
system = random_system(parents=(-1, 0, 1, 1), seed=1)
print("φ on a tree, the bodies numbered tip first as in the papers:")
print(block_structure(system, phi, order="tip-first"))

heading("3. Identities are proved from the definitions")
print(TREE.complete())
print(hinge.prove(H @ psi @ M @ psi.T @ H.T, D))
print(hinge.prove(mass, (identity(Joint) + H @ phi @ K) @ D @ (identity(Joint) + H @ phi @ K).T))
print("\nA false one is refused with numbers:")
print(hinge.prove(phi @ M @ phi.T, phi @ R + R @ phi.T))
print("\nOne that holds on serial chains only says so:")
print(str(hinge.prove(psi.T @ H.T @ Di @ H @ psi, Ups @ psi + psi.T @ Ups - Ups)).splitlines()[1])

heading("4. Algorithms are derived")
derivation = hinge.derive({"qdd": forward})
print(derivation)

heading("5. The published forward-dynamics algorithms, and what they cost")
for name, e in FORWARD_DYNAMICS.items():
    print(f"{name}: equal to 𝓜⁻¹(τ − C): {bool(hinge.prove(e, forward))}; {as_given(e).cost}")
accelerations = phi.T @ (H.T @ forward + a)
for name, e in BODY_ACCELERATIONS.items():
    print(f"{name}: equal to φᵀ(Hᵀ q̈ + a): {bool(hinge.prove(e, accelerations))}; {as_given(e).cost}")
print(derivation.reason())

heading("6. More of the catalogue")
J = B.T @ phi.T @ H.T
Mpp, Map, Maa = (x @ phi @ M @ phi.T @ y.T for x, y in ((Hp, Hp), (Ha, Hp), (Ha, Ha)))
examples = {
    "operational space, J 𝓜⁻¹ Jᵀ": J @ mass.inv() @ J.T,
    "tip-force correction, 𝓜⁻¹ Jᵀ f": mass.inv() @ J.T @ f_ext,
    "accelerations of the bodies": accelerations,
    "inter-body forces": phi @ (M @ accelerations + b),
    "hybrid dynamics, S_pp": Mpp.inv(),
    "hybrid dynamics, S_ap": Map @ Mpp.inv(),
    "hybrid dynamics, S_aa": Maa - Map @ Mpp.inv() @ Map.T,
    "log det 𝓜": logdet(mass),
}
for what, e in examples.items():
    found = hinge.derive(e)
    print(f"{what}\n    y = {e}")
    print("\n".join(f"    {line}" for line in written("y", found.expressions["y"])))
    print(f"    sweeps {found.program.shape}")

heading("7. A letter of your own")
X = leaf("X", Body, Body, Structure.DIAGONAL, self_adjoint=True)
reflection = equation("X is a reflection", X @ X, identity(Body), "by choice")
print(hinge.prove(E @ X @ X @ phi, phi - identity(Body), axioms=reflection))

heading("8. Expressions run")
robot = hinge.robots.panda()
q = hinge.random_configuration(robot, np.random.default_rng(0))
qd = np.linspace(-1.0, 1.0, robot.nv)
fd = hinge.compile(derivation, robot)
both = hinge.compile(
    {"tau": mass @ qdd + bias, "energy": leaf("u", Joint, One).T @ mass @ leaf("u", Joint, One)}, robot
)
acceleration = fd(q, qd, tau=np.ones(robot.nv))
print(fd, acceleration)
print(both(q, qd, qdd=acceleration, u=qd))
print("\n".join(fd.explain().splitlines()[-5:]))
