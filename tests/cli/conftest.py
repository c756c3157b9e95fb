from __future__ import annotations

import pytest

from hinge.cli import main
from tests.cli.command import Done


@pytest.fixture
def hinge_command(capsys):
    """Return a function that runs `hinge` with some words."""

    def run(*words: object) -> Done:
        try:
            code = main([str(w) for w in words])
        except SystemExit as error:
            code = int(error.code or 0)
        return Done(code, *capsys.readouterr())

    return run
