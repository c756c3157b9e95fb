from __future__ import annotations

import os
from tempfile import TemporaryDirectory

import pytest

#: Tests of the native target, and of what a newcomer sees. The others judge what all targets have in common:
#: they run on NumPy, where compiling costs nothing.
NATIVE = (
    "tests.targets.llvm.",
    "tests.dynamics.test_targets",
    "tests.dynamics.test_fuzz",
    "tests.dynamics.test_quick",
    "tests.examples.",
    "tests.sim.",
    "tests.test_",
)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")


def pytest_configure(config):
    """Keep compiled code away from the user's own cache, from before the first import to the end.

    Workers share the directory of the process that started them.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        patch, folder = pytest.MonkeyPatch(), TemporaryDirectory(prefix="hinge-tests-")
        patch.setenv("HINGE_CACHE_DIR", folder.name)
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(patch.undo)


@pytest.fixture(scope="module", autouse=True)
def one_target(request):
    """Run the verbs of a file on one target."""
    from hinge import dynamics

    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.startswith(NATIVE):
            patch.setenv("HINGE_TARGET", "numpy")
        dynamics.forget()
        yield
        dynamics.forget()
