from __future__ import annotations

import pytest

from hinge import dynamics

#: Files whose tests are of the native target; the others judge what all targets have in common, on NumPy,
#: where compiling costs nothing.
NATIVE = ("test_targets", "test_fuzz", "test_native")


@pytest.fixture(scope="module", autouse=True)
def target(request):
    """Run the verbs of a file on one target."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] not in NATIVE:
            patch.setenv("HINGE_TARGET", "numpy")
        dynamics.forget()
        yield
        dynamics.forget()
