"""The notebook runs, in a kernel as a user's would, and is kept with what its cells show."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.pages import DOCS

NOTEBOOK = DOCS / "notebooks" / "first_hour.ipynb"
#: Runs a notebook, and prints how many cells have shown something. In a process of its own: kernels leave
#: sockets behind.
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
places = {"metadata": {"path": sys.argv[2]}}
NotebookClient(notebook, timeout=300, record_timing=False, resources=places).execute()
if len(sys.argv) > 3:
    nbformat.write(notebook, sys.argv[3])
print(sum(bool(c.get("outputs")) for c in notebook.cells))
"""


def cells(kind: str) -> list[dict]:
    return [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == kind]


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, request):
    """With --update-golden what its cells show is kept in it."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    kept = [str(NOTEBOOK)] if request.config.getoption("update_golden") else []
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(tmp_path), *kept],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(bool(c["outputs"]) for c in cells("code")) == len(cells("code"))


def test_its_cells_are_python():
    for cell in cells("code"):
        code = (line for line in cell["source"] if not line.startswith("%"))
        compile("".join(code), NOTEBOOK.name, "exec")
