"""Complete the axioms, prove every published identity, refute the false ones.

python -m tests.rules.sweep_identities
"""

from __future__ import annotations

import sys
import time

from hinge.pipeline import prove
from hinge.rules import THEORIES
from hinge.rules.identities import IDENTITIES
from tests.rules.false_derivatives import FALSE_DERIVATIVES
from tests.rules.false_identities import FALSE


def main() -> int:
    """Print the tables; the exit code is 1 when one is not proved, or a false one not refuted."""
    for theory in THEORIES:
        print(
            f"{theory.name:13} holds on {theory.holds_on}: {len(theory.axioms)} axioms → {theory.complete()}"
        )
    start = time.perf_counter()
    failed = 0
    for identity in IDENTITIES:
        proof = prove(identity.left, identity.right, axioms=identity.given)
        failed += not proof
        size = len(proof.decision.certificate)
        print(f"{'proved' if proof else 'NOT PROVED'} ({size:4} axiom instances)  {identity}")
        for fact in identity.given:
            print(f"{'':32}given: {fact}")
    print(
        f"\n{len(IDENTITIES) - failed} of {len(IDENTITIES)} proved in {time.perf_counter() - start:.1f} s\n"
    )
    kept = 0
    false = FALSE + FALSE_DERIVATIVES
    for identity in false:
        proof = prove(identity.left, identity.right)
        refuted = not proof and proof.counterexample is not None
        kept += not refuted
        print(f"{identity.left} = {identity.right}\n    {proof.counterexample if refuted else 'NOT REFUTED'}")
    print(f"\n{len(false) - kept} of {len(false)} false ones refuted by numbers")
    return int(failed + kept > 0)


if __name__ == "__main__":
    sys.exit(main())
