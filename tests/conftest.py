from __future__ import annotations

import gc
import os
import re
from tempfile import TemporaryDirectory

import pytest

#: Tests of the native target, and of what a newcomer sees. The others judge what all targets have in common:
#: they run on NumPy, where compiling costs nothing.
NATIVE = (
    "tests.campaign.",
    "tests.cli.test_ground",
    "tests.targets.llvm.",
    "tests.dynamics.test_contact",
    "tests.dynamics.test_targets",
    "tests.dynamics.test_fuzz",
    "tests.dynamics.test_quick",
    "tests.examples.",
    "tests.jax.",
    "tests.sim.",
    "tests.test_",
)
#: Files whose tests are shared out between workers, by robot or by expression.
LARGE = (
    "tests/binding/test_merge.py",
    "tests/dynamics/test_targets.py",
    "tests/dynamics/test_verbs.py",
    "tests/sim/test_simulate.py",
)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")
    parser.addoption("--room", help="run the tests of this room and of those that import it")


def pytest_configure(config):
    """Keep compiled code away from the user's own cache, from before the first import to the end.

    Workers share the directory of the process that started them.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        patch, folder = pytest.MonkeyPatch(), TemporaryDirectory(prefix="hinge-tests-")
        patch.setenv("HINGE_CACHE_DIR", folder.name)
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(patch.undo)
    if config.getoption("room"):
        from tests.rooms import above

        config.rooms = above(config.getoption("room"))


def pytest_ignore_collect(collection_path, config):
    """Leave out the folders of tests that a change in one room cannot break."""
    if config.getoption("room") is None or collection_path.is_dir():
        return None
    from tests.rooms import folders_of

    parts = collection_path.relative_to(config.rootpath / "tests").parts
    return True if parts[0] not in folders_of(config.rooms) else None


def pytest_collection_finish():
    """Look for garbage rarely: compiled programs are many small objects, and stay until the end."""
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is left to `make test-all`; what runs on NumPy comes first."""
    from tests.tiers import is_left_to_test_all

    for item in items:
        if is_left_to_test_all(item.nodeid):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.module.__name__.startswith(NATIVE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let --dist loadscope mean that what shares compiled code goes to the same worker."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    return Scheduler(config, log) if config.getvalue("dist") == "loadscope" else None


def scope(nodeid):
    """Return what shares compiled code with a test: its file, in large files the first of its parameters."""
    file, _, rest = nodeid.partition("::")
    name, _, values = rest.partition("[")
    return f"{file}::{re.split(r'-|]', values)[0] or name}" if file in LARGE else file


@pytest.fixture(scope="module", autouse=True)
def one_target(request):
    """Run the verbs of a file on one target; programs are kept for each."""
    from hinge import dynamics

    gc.freeze()  # who looks for garbage need not look at what other files left
    native = request.module.__name__.startswith(NATIVE)
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setenv("HINGE_TARGET", "numpy")
        if LAST.get("native") != native:
            dynamics.forget(programs=False)
        LAST["native"] = native
        yield


#: Whether the last file was of the native target.
LAST: dict[str, bool] = {}
