"""Derivations as they are printed, word for word.

A change of wording, of the search or of a cost shows here first. To take over what is printed now:

    UPDATE_GOLDEN=1 python -m pytest tests/golden

and read the difference of the text files before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hinge.algebra import E0, B, H, Ha, Hp, M, a, b, f_ext, g, passive, phi, qdd, tau, whole
from hinge.pipeline import derive

HERE = Path(__file__).parent
node = B.T @ phi.T @ H.T
M_ap = Ha @ phi @ M @ phi.T @ Hp.T
bias = H @ phi @ (M @ phi.T @ (a + E0.T @ g) + b - B @ f_ext)

PRINTED = {
    "forward_dynamics": whole.mass.inv() @ (tau - bias),
    "inverse_dynamics": H @ phi @ (M @ phi.T @ (H.T @ qdd + a + E0.T @ g) + b - B @ f_ext),
    "mass_matrix": whole.mass,
    "operational_space_compliance": node @ whole.mass.inv() @ node.T,
    "hybrid_S_aa": Ha @ phi @ M @ phi.T @ Ha.T - M_ap @ passive.mass.inv() @ M_ap.T,
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_derivation_is_printed_as_before(name):
    file = HERE / f"{name}.txt"
    text = str(derive(PRINTED[name])) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), "UPDATE_GOLDEN=1 takes over what is printed now"


def test_there_is_no_file_too_many():
    assert {f.stem for f in HERE.glob("*.txt")} == set(PRINTED)
