"""No dynamics algorithm is written by hand outside `reference/` and `targets/`.

What a recursion over bodies needs is the tree (parents, children, supports …). The compiler's rooms and the
verbs have no access to it, but for the machine that runs any program on any tree, which knows no letter
beside the edges E and E₀, for the choice of frames, and for the members of an aggregate, whose paths are part
of what its letters mean. In the mechanics rooms a function may walk the tree,
but not carry motions or forces along it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.api.law import PACKAGE, imports, nodes, room_of, sources

#: Ways to ask a tree for the neighbours of a body.
TOPOLOGY = {"parents", "children", "roots", "support", "subtree", "path", "runs", "common_ancestor"}
#: What carries motions, forces or inertias from one body to another.
PROPAGATION = {"motion", "motions", "force", "forces", "apply", "articulated", "motion_cross", "force_cross"}
BY_HAND = {"reference", "targets", "tree"}
COMPILER = {"algebra", "rules", "kernels", "sweeps", "pipeline", "binding", "dynamics", "__init__"}

#: Compiler files that see the tree: file → functions (None: all of it).
MACHINE: dict[str, set[str] | None] = {
    "sweeps/tracing.py": None,
    "sweeps/family.py": None,
    "sweeps/slots.py": None,
    "binding/frames.py": {"choose_frames", "frames_for_given_placements", "_moving_children"},
    "binding/binding.py": {"_kind"},
    "binding/aggregate.py": None,
    "binding/embedded.py": {"_tree", "_aggregate", "_member", "_path", "_loop"},
    "binding/merge.py": {"merged"},
}
#: Mechanics functions that carry a motion along the tree, and why.
EXEMPT = {
    "model/state.py:_motion": "takes the velocity of one body from the old coordinates to the new",
    "testing/laws.py": "judges verbs, has none",
}


def label(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def functions(path: Path):
    return (node for node in nodes(path) if isinstance(node, ast.FunctionDef))


def attributes(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def loops(node: ast.AST) -> list[ast.AST]:
    kinds = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    return [n for n in ast.walk(node) if isinstance(n, kinds)]


def breaches_of(path: Path, name: str) -> list[str]:
    """Return the functions of a file that look like a recursion over bodies."""
    found = []
    for f in functions(path):
        allowed = MACHINE.get(name, set())
        if room_of(path) in COMPILER:
            seen = attributes(f) & TOPOLOGY
            if seen and allowed is not None and f.name not in allowed:
                found.append(f"{name}:{f.name} asks the tree for {sorted(seen)}")
        elif f"{name}:{f.name}" not in EXEMPT and name not in EXEMPT:
            calls = {
                n.func.attr
                for n in ast.walk(f)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            }
            calls |= {
                n.func.id for n in ast.walk(f) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            }
            if attributes(f) & TOPOLOGY and loops(f) and calls & PROPAGATION:
                found.append(f"{name}:{f.name} carries {sorted(calls & PROPAGATION)} along the tree")
    return found


def test_no_recursion_over_bodies():
    judged = [path for path in sources() if room_of(path) not in BY_HAND]
    assert len(judged) > 200
    assert [breach for path in judged for breach in breaches_of(path, label(path))] == []


@pytest.mark.parametrize("room", ["dynamics", "targets", "pipeline", "binding", "sweeps"])
def test_nothing_that_runs_imports_the_reference(room):
    for path in sources():
        if room_of(path) == room:
            assert not any(m.startswith("hinge.reference") for m, _, _ in imports(path)), path


@pytest.mark.parametrize("name", ["sweeps/tracing.py", "sweeps/family.py", "sweeps/slots.py"])
def test_the_machine_knows_no_letters_but_the_edges(name):
    from hinge import algebra

    tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    assert names & set(algebra.STANDARD) <= {"E", "E0"}


def test_the_targets_know_no_algorithm():
    for path in (PACKAGE / "targets").glob("numpy*.py"):
        assert not {m for m, _, _ in imports(path) if m.startswith("hinge.algebra")}, path


def test_a_recursion_is_noticed(tmp_path, monkeypatch):
    text = """
def velocities(robot, q, qd):
    v = []
    for i, p in enumerate(robot.tree.parents):
        v.append(robot.joints[i].transform(q).motion(v[p]))
    return v
"""
    monkeypatch.setattr("tests.api.law.PACKAGE", tmp_path)
    for room in ("dynamics", "model"):
        (tmp_path / room).mkdir()
        file = tmp_path / room / "bad.py"
        file.write_text(text)
        assert breaches_of(file, f"{room}/bad.py")
