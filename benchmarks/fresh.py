"""Run a script in fresh interpreters and take the numbers that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

#: A script calls `lap` to get the seconds since the last call.
CLOCK = """
import time, json, numpy as np
_marks = [time.perf_counter()]
def lap():
    _marks.append(time.perf_counter())
    return _marks[-1] - _marks[-2]
"""


def fresh(
    script: str, environment: Mapping[str, str] | None = None, *, limit: float | None = None
) -> dict[str, float]:
    """Return the JSON object that the script prints; TimeoutError if it takes longer than `limit` seconds.

    Bytecode is kept as when installed, and first calls wait for final code only if the environment says so.
    """
    unset = ("PYTHONDONTWRITEBYTECODE", "HINGE_WAIT")
    env = {k: v for k, v in os.environ.items() if k not in unset} | dict(environment or {})
    command = [sys.executable, "-c", CLOCK + script]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"a fresh interpreter took longer than {limit} s") from error
    if done.returncode != 0:
        raise RuntimeError(f"a fresh interpreter failed:\n{done.stderr}")
    return json.loads(done.stdout)


def least(found: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of each number over several runs."""
    return {name: min(x[name] for x in found) for name in found[0]}
