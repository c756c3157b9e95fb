"""How the tests run `hinge`: in this process, or in one of its own that can be interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Done:
    """The exit code and both outputs of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What it wrote as JSON."""
        return json.loads(self.out, parse_constant=pytest.fail)


def refused(done: Done, *wanted: str, code: int = 2) -> None:
    """Check that a command wrote one line that says these words, and nothing else."""
    assert done.code == code, done
    assert done.out == "" and "Traceback" not in done.err
    assert done.err.startswith("hinge ") and done.err.count("\n") == 1, done.err
    for text in wanted:
        assert text in done.err


def listen_to_ctrl_c() -> None:
    """Undo what shells do to commands in the background: their children would not hear SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(*words: object, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start `hinge` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "hinge", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        preexec_fn=None if os.name == "nt" else listen_to_ctrl_c,  # noqa: PLW1509 (takes no lock)
    )
