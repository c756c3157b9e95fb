"""A page is well-formed, loads and runs nothing, escapes every name, and says what is true."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.algebra import leaves
from hinge.cli.explain import explained as of_verb
from hinge.dynamics import CATALOGUE, compile
from hinge.explain import listings, operators, page
from hinge.explain.markup import tag
from hinge.explain.typeset import typeset
from hinge.model.joints import Fixed, Free, Revolute
from hinge.robots import chain, double_pendulum, quadruped, random_tree
from hinge.targets import SingularError
from tests.explain.reading import ELEMENTS, Element, is_harmless, read
from tests.tiers import daily

SECTIONS = ["expression", "letters", "derivation", "operators", "sweeps", "operations", "machine", "code"]
ROD = hinge.Inertia.from_com(1.0, (0, 0, -0.5), np.diag([0.08, 0.08, 0.001]))
SCRIPT = "<script>alert(1)</script>"


def explained(robot: hinge.Robot, verb: str = "forward_dynamics") -> tuple[Element, str]:
    nodes = [robot.bodies[-1].name] if "B" in {x.name for x in leaves(CATALOGUE[verb])} else []
    text = page(compile({verb: CATALOGUE[verb]}, robot, nodes=nodes, target="numpy"))
    return read(text), text


def section(root: Element, name: str) -> Element:
    (found,) = [e for e in root.all("section") if e.attributes["id"] == name]
    return found


def pictures(root: Element) -> dict[str, Element]:
    """Return the pictures of operators by the letter below them."""
    found = section(root, "operators").all("figure")
    return {f.all("figcaption")[0].children[0].text(): f for f in found}


def filled(figure: Element) -> list[Element]:
    return [r for r in figure.all("rect") if "paper" not in r.classes]


@pytest.mark.parametrize("verb", daily(CATALOGUE, lambda k, verb: k % 3 == 0))
def test_every_verb_has_all_sections(verb):
    root, text = explained(double_pendulum(), verb)
    is_harmless(root, text)
    assert [e.attributes["id"] for e in root.all("section")] == SECTIONS
    assert [a.attributes["href"] for a in root.all("nav")[0].all("a")] == [f"#{s}" for s in SECTIONS]
    assert all(len(section(root, name).text()) > 20 for name in SECTIONS)
    assert verb in root.all("h1")[0].text()


def test_the_native_page_has_the_code_of_this_machine():
    text = page(compile({"y": CATALOGUE["mass_matrix"]}, double_pendulum(), target="llvm"))
    root = read(text)
    is_harmless(root, text)
    shown = section(root, "code").text()
    assert "define void" in shown and "\nrun:" in shown and "y0 = " in shown
    assert "states at once" in section(root, "machine").text()


@pytest.mark.parametrize(
    ("verb", "robot", "by"),
    [
        pytest.param("forward_dynamics", "double_pendulum", "q", marks=pytest.mark.slow),
        ("inverse_dynamics", "double_pendulum", "inertias"),
        pytest.param("velocities", "spacecraft", "q", marks=pytest.mark.slow),
        pytest.param("forward_dynamics", "four_bar", "q", marks=pytest.mark.slow),
    ],
)
def test_pages_of_derivatives_say_what_their_letters_are(verb, robot, by):
    compiled = of_verb(verb, robot, [], "body", floating=False, by=[by])
    text = page(compiled)
    root = read(text)
    is_harmless(root, text)
    made = {x for e in compiled.given.values() for x in leaves(e) if x.origin is not None}
    shown = {row.all("td")[0].text() for row in section(root, "letters").all("tr") if row.all("td")}
    assert made and {read(f"<!DOCTYPE html>\n{tag('p', typeset(str(x)))}").text() for x in made} <= shown
    assert f"{verb}_by_{by}" in root.all("h1")[0].text()
    # What is drawn is what is computed.
    given, system = operators.numbers(compiled)
    found = compiled.flat(given["q"], {x: given[x] for x in compiled.vectors if x in given})
    (e,) = compiled.given.values()
    np.testing.assert_allclose(found, system.evaluate(e), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_random_trees_of_all_joint_types(seed):
    robot = random_tree(7, seed)
    root, text = explained(robot)
    is_harmless(root, text)
    assert len(root.all("g", "body")) % len(root.all("svg", "tree")) == 0


def hostile() -> hinge.Robot:
    b = hinge.Builder(f"</title>{SCRIPT}")
    b.body(SCRIPT, joint=Revolute(), inertia=ROD, joint_name='"><img src=x onerror=alert(1)>')
    b.body("' onload=alert(1) x='", parent=SCRIPT, joint=Fixed(), inertia=ROD, joint_name="--></style>")
    b.body("\x00\x1b\u202e\ud800&amp;", parent=SCRIPT, joint=Revolute(), inertia=ROD)
    b.body("n" * 5000, parent=SCRIPT, joint=Revolute(), inertia=ROD)
    b.frame("<b>frame</b>", SCRIPT)
    return b.build()


@pytest.mark.parametrize("verb", ["forward_dynamics", "velocities", "mass_matrix"])
def test_names_are_text_and_nothing_else(verb):
    robot = hostile()
    nodes = ["<b>frame</b>"] if verb == "velocities" else []
    text = page(compile({verb: CATALOGUE[verb]}, robot, nodes=nodes, target="numpy"))
    root = read(text)
    assert not [e for e in root.walk() if e.name in ("script", "img")]
    assert {e.name for e in root.walk()} <= ELEMENTS
    assert SCRIPT not in text
    assert SCRIPT in root.all("h1")[0].text()
    assert SCRIPT in section(root, "operations").text()
    if nodes:
        assert "<b>frame</b>" in root.all("header")[0].text()
    assert text.encode()  # no halves of characters
    assert not {"\x00", "\x1b", "\u202e"} & set(text)


def test_a_name_of_any_length_leaves_the_page_readable():
    root, text = explained(hostile())
    assert "n" * 200 not in text
    tree = section(root, "sweeps").all("svg", "tree")[0]
    assert all(len("".join(t.texts)) < 40 for t in tree.all("text"))
    assert all(len(e.texts[0]) < 80 for e in section(root, "operations").all("td") if e.texts)


def test_blocks_are_drawn_where_the_tree_has_them():
    robot = quadruped()
    root, _ = explained(robot)
    drawn = pictures(root)
    tree = robot.tree
    assert len(filled(drawn["φ"])) == len(filled(drawn["ψ"])) == sum(tree.depth)
    assert len(filled(drawn["M"])) == len(tree)
    assert len(filled(drawn["E"])) == len(tree) - 1
    assert len([r for r in drawn["φ"].all("rect") if "one" in r.classes]) == len(tree)
    assert len(filled(drawn["𝓜−1"])) == len(tree) ** 2
    titles = {t.text() for t in drawn["E"].all("title")}
    names = [b.name for b in robot.bodies]
    assert titles == {f"{names[p]} ← {names[i]}" for i, p in enumerate(tree.parents) if p >= 0}


def test_many_bodies_are_not_drawn(monkeypatch):
    monkeypatch.setattr(operators, "MOST", 2)
    root, _ = explained(chain(3))
    assert "3 bodies are too many to draw" in section(root, "operators").text()


def test_many_blocks_have_no_names(monkeypatch):
    monkeypatch.setattr(operators, "NAMED", 5)
    drawn = pictures(explained(chain(3))[0])
    assert not drawn["φ"].all("title") and len(filled(drawn["φ"])) == 6
    assert len(drawn["M"].all("title")) == 3


def test_what_does_not_exist_is_said(monkeypatch):
    def singular(system, expr):
        raise SingularError("D")

    monkeypatch.setattr(operators, "block_marks", singular)
    root, _ = explained(double_pendulum())
    assert "does not exist" in section(root, "operators").text()


def test_sweeps_go_along_the_tree():
    robot = chain(4)
    root, _ = explained(robot)
    stages = section(root, "sweeps").all("div", "stage")
    assert [s.all("span", "way")[0].text() for s in stages] == ["scatter", "gather", "scatter"]
    n = len(stages[0].all("g", "body"))
    assert [len(s.all("path", "head")) for s in stages] == [n, n - 1, n - 1]  # gravity comes from the world
    assert "Σc" in stages[1].text()


def test_operations_add_up():
    f = compile({"forward_dynamics": CATALOGUE["forward_dynamics"]}, quadruped(), target="numpy")
    rows = section(read(page(f)), "operations").all("table", "counts")[0].all("tr")[1:]
    cells = [[int(c.text().replace("·", "0")) for c in r.all("td", "count")] for r in rows]
    assert cells[-1][-1] == f.code.operations().total
    assert np.array_equal(np.sum(cells[:-1], axis=0), cells[-1])
    assert all(sum(r[:-1]) == r[-1] for r in cells)


def test_every_step_has_its_identity_its_source_and_a_proof():
    f = compile({"forward_dynamics": CATALOGUE["forward_dynamics"]}, double_pendulum(), target="numpy")
    steps = section(read(page(f)), "derivation").all("div", "step")
    assert len(steps) == len(f.derivation.lines)
    for step in steps[1:]:
        assert step.all("div", "identity") and step.all("span", "source")
        (proof,) = step.all("details", "proof")
        assert "proved" in proof.text() and "definition of" in proof.text()


def test_bodies_on_fixed_joints_are_named_with_those_that_carry_them():
    b = hinge.Builder("carrier")
    b.body("base", joint=Free(), inertia=ROD)
    b.body("lamp", parent="base", joint=Fixed(), inertia=ROD)
    root, _ = explained(b.build())
    assert "1 body on a fixed joint is part of" in root.all("header")[0].text()
    titles = [t.text() for t in section(root, "sweeps").all("title")]
    assert any("with lamp fixed on it" in t for t in titles)


def test_a_robot_that_cannot_move():
    b = hinge.Builder("rock")
    b.body("stone", joint=Fixed(), inertia=ROD)
    root, text = explained(b.build(), "mass_matrix")
    is_harmless(root, text)


def test_long_listings_are_cut_with_a_note(monkeypatch):
    monkeypatch.setattr(listings, "KERNELS", 300)
    monkeypatch.setattr(listings, "LONGEST", 200)
    root, text = explained(chain(3))
    assert "more kernels, left out here" in text and "more lines, left out here" in text
    assert all(len(p.text()) <= 200 for p in section(root, "code").all("pre"))
