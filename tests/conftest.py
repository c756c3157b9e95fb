from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep compiled code away from the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HINGE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
