"""The import law of docs/architecture.md as data: what each room may import besides `errors` and `forks`."""

from __future__ import annotations

import ast
import importlib
import types
from functools import cache
from pathlib import Path

import hinge

PACKAGE = Path(hinge.__file__).parent

#: Room → rooms it may import. `errors` and `forks` may be imported by all and import nothing.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "forks": set(),
    "spatial": set(),
    "tree": set(),
    "model": {"spatial", "tree"},
    "io": {"model", "spatial"},
    "robots": {"model", "spatial", "io"},
    "reference": {"spatial", "model"},
    "algebra": set(),
    "rules": {"algebra"},
    "kernels": set(),
    "sweeps": {"algebra", "tree", "kernels"},
    "targets": {"algebra", "tree", "kernels", "sweeps"},
    "pipeline": {"algebra", "rules", "kernels", "sweeps", "targets"},
    "binding": {"spatial", "tree", "model", "algebra", "kernels", "sweeps"},
    "dynamics": {"spatial", "model", "algebra", "binding", "pipeline", "sweeps", "targets"},
    "sim": {"spatial", "model", "io", "sweeps", "targets", "pipeline", "binding", "dynamics"},
    "view": {"spatial", "model", "dynamics", "sim"},
    "explain": {
        "model",
        "algebra",
        "rules",
        "kernels",
        "sweeps",
        "targets",
        "pipeline",
        "binding",
        "dynamics",
    },
    "gym": {"spatial", "model", "robots", "dynamics", "sim"},
    "export": {
        "model",
        "algebra",
        "kernels",
        "sweeps",
        "targets",
        "pipeline",
        "binding",
        "dynamics",
        "spatial",
    },
    "formulas": {"spatial", "model", "kernels", "sweeps", "targets", "binding", "dynamics"},
    "casadi": {"model", "kernels", "sweeps", "targets", "binding", "dynamics", "export"},
    "jax": {
        "model",
        "algebra",
        "kernels",
        "sweeps",
        "targets",
        "pipeline",
        "binding",
        "dynamics",
        "sim",
        "spatial",
    },
    "torch": {"spatial", "model", "binding", "dynamics", "sim"},
    "campaign": {"spatial", "model", "io", "dynamics", "sim", "view"},
    "cli": {
        "algebra",
        "model",
        "io",
        "robots",
        "targets",
        "dynamics",
        "explain",
        "export",
        "sim",
        "view",
        "campaign",
    },
    "__main__": {"cli"},
    "testing": {"spatial", "tree", "model", "io", "robots", "reference"},
    "contents": set(),
    "__init__": {"contents"},
}

#: Rooms that may import an optional package inside a function.
MAY_IMPORT_LATE = {"io", "targets", "sim", "view", "casadi", "formulas", "jax", "torch"}
MAY_IMPORT_LATE = {"io", "targets", "sim", "view", "casadi", "formulas", "jax", "torch"}

#: Folders that need an optional package, which they may import at the top: they are loaded late themselves.
LOADED_LATE = {"hinge.targets.llvm": "llvmlite", "hinge.gym": "gymnasium"}

#: What the core may import from outside the standard library at the top of a module.
THIRD_PARTY = {"numpy"}


def room_of(path: Path) -> str:
    """Return the room that a source file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def sources() -> list[Path]:
    """Return every source file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the syntax tree of a file as `ast.walk` lists it, parsed once in all tests."""
    return _nodes(path.read_text(encoding="utf-8"))


@cache
def _nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def constants(path: Path) -> frozenset[object]:
    """Return the constants that are written in a file."""
    return _constants(path.read_text(encoding="utf-8"))


@cache
def _constants(text: str) -> frozenset[object]:
    return frozenset(x.value for x in _nodes(text) if isinstance(x, ast.Constant))


def imports(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """Return what a file imports: the module's full name, the line, and whether inside a function."""
    return _imports(path, path.read_text(encoding="utf-8"))


@cache
def _imports(path: Path, text: str) -> tuple[tuple[str, int, bool], ...]:
    found: list[tuple[str, int, bool]] = []
    tree = _nodes(text)
    late = {
        id(inner)
        for node in tree
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    for node in tree:
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno, id(node) in late) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            real = [f"{module}.{a.name}" for a in node.names if _is_module(module, a.name)]
            found += [(name, node.lineno, id(node) in late) for name in (real or [module])]
    return tuple(found)


def breaches(path: Path) -> list[str]:
    """Return what a file imports from the package against its room's row, one line each."""
    room = room_of(path)
    allowed = {room, "errors", "forks"} | MAY_IMPORT[room]
    found: list[str] = []
    for module, line, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "hinge" and (len(parts) == 1 or parts[1] not in allowed):
            found.append(f"{path}:{line}: {room} imports {module}")
    return found


def _is_module(package: str, name: str) -> bool:
    """Tell whether a package hands out a module, not a function, under this name."""
    if package.split(".", maxsplit=1)[0] != "hinge":
        return False
    return isinstance(getattr(importlib.import_module(package), name, None), types.ModuleType)
