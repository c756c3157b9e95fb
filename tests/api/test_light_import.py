from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, sys
import numpy
before = set(sys.modules)
import hinge
new = {m.split('.')[0] for m in set(sys.modules) - before}
print(json.dumps(sorted(new - set(sys.stdlib_module_names))))
"""


def test_import_hinge_loads_numpy_alone():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) <= {"hinge", "numpy"}
