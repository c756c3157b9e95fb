"""Files and functions stay short, and modules visible."""

from __future__ import annotations

import ast
import importlib
import types
from pathlib import Path

from tests.api.law import PACKAGE, nodes, sources

LINES_OF_A_FILE = 500
LINES_OF_A_FUNCTION = 60


def length(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    first = f.body[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if said and isinstance(first.value.value, str) else 0
    return f.end_lineno - f.lineno + 1 - docstring


def long_functions(path: Path, bound: int) -> list[str]:
    """Return the functions of a file that are longer than a bound, one line each."""
    functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [f"{path}:{f.lineno}: {f.name} has {length(f)} lines" for f in functions if length(f) > bound]


def long_files(paths: list[Path], bound: int) -> list[str]:
    """Return the files that are longer than a bound, one line each."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    return [f"{path} has {n} lines" for path, n in lines.items() if n > bound]


def hidden_modules() -> list[str]:
    """Return the modules in whose place their package shows something else of the same name."""
    found: list[str] = []
    for path in sources():
        *rooms, name = path.relative_to(PACKAGE).with_suffix("").parts
        if rooms and name != "__init__":
            shown = vars(importlib.import_module(".".join(("hinge", *rooms)))).get(name)
            if not isinstance(shown, types.ModuleType | None):
                found.append(".".join(("hinge", *rooms, name)))
    return found


def test_no_file_is_too_long():
    assert long_files(sources(), LINES_OF_A_FILE) == []


def test_no_function_is_too_long():
    assert [line for path in sources() for line in long_functions(path, LINES_OF_A_FUNCTION)] == []


def test_no_module_is_hidden_by_a_name_of_its_room():
    assert hidden_modules() == []


def test_what_is_too_long_is_noticed(tmp_path):
    file = tmp_path / "x.py"
    file.write_text('def f():\n    """Say\n    something."""\n    x = 1\n    return x\n')
    assert long_functions(file, 3) == [] and long_functions(file, 2) == [f"{file}:1: f has 3 lines"]
    assert long_files([file], 5) == [] and long_files([file], 4) == [f"{file} has 5 lines"]
