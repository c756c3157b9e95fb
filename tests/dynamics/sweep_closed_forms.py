"""Prove the published closed-chain algorithms equal, and print what each costs as it stands and derived.

python -m tests.dynamics.sweep_closed_forms
"""

from __future__ import annotations

import sys

from hinge.pipeline import prove
from hinge.pipeline.derivations import as_given, derive
from tests.dynamics.test_closed_forms import FORMS, QDD


def main() -> int:
    """Print a row for each form; the exit code is 1 when one is not proved."""
    failed = 0
    for name, e in FORMS.items():
        proved, found = bool(prove(e, QDD)), as_given({"qdd": e})
        failed += not proved
        verdict = "equal to q̈_f + 𝓜⁻¹ Jᶜᵀ λ" if proved else "NOT PROVED"
        print(f"{name:10} {verdict}: {found.cost}; {found.program.shape}")
    best = derive({"qdd": QDD})
    print(f"{'derived':10} {best.cost}; {best.program.shape}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
