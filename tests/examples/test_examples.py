"""Every example runs, and its own check of the laws holds; those that take long do less here."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: What `main` is given, and what it prints when all is well; `None` where another test runs it.
RUNS: dict[str, tuple[tuple[object, ...], str] | None] = {
    "01_first_dynamics": ((), "they agree."),
    "02_million_states": ((500,), "they agree."),
    "03_algebra_tour": None,  # tests/test_tour.py
    "04_arm_control": ((), "the laws hold."),
    "05_spacecraft_reach": ((), "the hand is there."),
    "06_docking": None,  # tests/dynamics/test_hybrid.py
    "07_long_chain": ((200,), "it agrees."),
    "08_quasi_velocities": ((2000,), "the shares add up."),
    "09_rolling": None,  # tests/dynamics/test_rolling.py
    "10_catching": None,  # tests/dynamics/test_live.py
    "11_two_arms": ((), "squeezing moves nothing."),
    "12_four_bar_knee": ((), "the leg flies as it must."),
    "13_trotting": ((), "it stands and trots."),
    "14_ball_and_blocks": ((), "they roll, slide and rock as they must."),
    "15_squeeze": ((), "it holds, slips and falls as it must."),
    "16_many_falls": None,  # below
    "17_iterative_lqr": ((), "both are there."),
    "18_masses_by_gradients": ((), "the masses are known."),
    "19_swing_up": ((), "it stands upright."),
    "20_learning": ((), "they reach."),
    "21_reach_with_limits": ((8,), "it is there."),
    "22_learn_a_controller": ((120,), "the network has learned to reach."),
    "23_learning_through_steps": ((40,), "it has learnt to reach."),
    "24_trees_as_matrices": ((), "the trees agree."),
    "25_formulas": ((), "the formulas agree."),
    "26_capture_campaign": ((300,), "the campaign is done."),
    "28_flexible_arm": ((), "the tip comes to rest."),
    "29_spinning_panel": ((), "nothing is lost."),
    "demo": None,  # below
}

#: Optional packages of examples.
NEEDS = {
    "21_reach_with_limits": "casadi",
    "22_learn_a_controller": "jax",
    "23_learning_through_steps": "torch",
    "25_formulas": "sympy",
    "26_capture_campaign": "scipy",
}


def run(name: str):
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"]


def test_every_example_is_known():
    if not EXAMPLES:
        pytest.skip("installed without the examples")
    assert [p.stem for p in EXAMPLES] == list(RUNS)


@pytest.mark.parametrize("name", [name for name, how in RUNS.items() if how])
def test_an_example_keeps_its_laws(name, capsys):
    how = RUNS[name]
    assert how is not None
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    assert run(name)(*how[0]) == 0
    assert how[1] in capsys.readouterr().out


def test_the_demonstration_keeps_a_run_and_a_picture(tmp_path, capsys):
    import hinge

    assert run("demo")(tmp_path / "new", 0.5, 10) == 0
    shown = capsys.readouterr().out
    path = tmp_path / "new" / "panda.npz"
    assert f"play {path}" in shown and "Energy is kept." in shown
    assert hinge.load_run(path).robot.name == "panda"
    assert (tmp_path / "new" / "panda.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_many_fall_and_are_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run("16_many_falls")(60, tmp_path / "falls.png") == 0
    assert "they fall, and energy is lost." in capsys.readouterr().out
    assert (tmp_path / "falls.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_explains_itself(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text and len(text.splitlines()) >= 3
